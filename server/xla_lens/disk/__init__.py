"""Which files are a dump set, reading and loading them, and what beside them states the device."""
