"""Comparisons: what they contain (`options`), their facts (`facts`), and which dumps of two folders belong together."""
