"""Call hierarchy: the data flow between values in `dump`; calls of computations, and the data flow between
instructions, in `hlo`. Producers call their consumers.
"""
