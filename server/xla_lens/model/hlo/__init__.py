"""The HLO module of a dump set, and the data flow between its instructions."""
