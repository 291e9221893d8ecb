"""The memory map: its data, its page, and the pages that have several maps."""
