"""The HLO module of a dump set, and the instructions that the dump quotes."""
