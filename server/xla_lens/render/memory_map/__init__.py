"""The memory map as JSON and as an HTML page."""
