"""Checks of a dump set against its HLO module."""
