"""Findings: the rules that dumps follow, the problems that break them, and their codes."""
