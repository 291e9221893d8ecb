"""Bytes, lines, positions and edits. Knows nothing of dumps."""
