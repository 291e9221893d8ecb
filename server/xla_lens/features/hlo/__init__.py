"""The features of HLO modules."""
