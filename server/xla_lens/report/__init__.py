"""The report of a dump set and the ranking of several: facts, sections and JSON."""
