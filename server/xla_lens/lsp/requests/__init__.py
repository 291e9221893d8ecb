"""The functions that answer requests and run commands."""
