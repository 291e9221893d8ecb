"""The comparison of two dump sets, or of the dump sets of two runs: facts, words and JSON."""
