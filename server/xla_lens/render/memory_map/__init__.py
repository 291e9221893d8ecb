"""The memory map, for programs and as a page."""
