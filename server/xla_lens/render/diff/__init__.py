"""Comparisons in words, as text, Markdown, pages and JSON."""
