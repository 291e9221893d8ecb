"""Reads what programs write to pseudo-terminals and pipes."""

import os
from contextlib import suppress


def read_all(descriptor: int) -> bytes:
    """Read a terminal or a pipe to its end. Reading a terminal ends with an error."""
    output = b""
    with suppress(OSError):
        while block := os.read(descriptor, 1 << 16):
            output += block
    return output
