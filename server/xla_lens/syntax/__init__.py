"""Bytes to columns. The only package that imports tree-sitter."""
