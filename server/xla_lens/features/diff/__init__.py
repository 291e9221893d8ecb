"""Comparisons: what they contain (`options`) and their facts (`facts`)."""
