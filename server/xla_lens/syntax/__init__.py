"""Bytes to columns. The only package that knows of tree-sitter."""
