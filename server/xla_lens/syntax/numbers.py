"""Numbers in the text of dumps, and sizes as XLA prints them for people."""

from typing import Final

GREATEST: Final = (1 << 63) - 1
"""The greatest signed 64-bit integer, the type of all numbers of XLA."""

_MAX_DIGITS: Final = len(str(-GREATEST)) + 1


def integer(digits: bytes | str) -> int:
    """Convert decimal digits with an optional minus sign. Clamps to 64 bits: numpy cannot store more, and Python
    refuses to convert more than some thousand digits.
    """
    return max(-GREATEST - 1, min(GREATEST, int(digits[:_MAX_DIGITS])))


_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_size(size_bytes: int) -> bytes:
    """Format a size as tsl::strings::HumanReadableNumBytes does: ``1023B``, ``1.5KiB``, ``4.00MiB``. It divides
    integers, so digits below the last unit but one are truncated, not rounded.
    """
    sign, size = "-" * (size_bytes < 0), abs(size_bytes)
    if size < 1024:
        return f"{sign}{size}B".encode()
    unit = 0
    while size >= 1 << 20 and unit + 1 < len(_UNITS):
        size //= 1024
        unit += 1
    return f"{sign}{size / 1024:.{2 if unit else 1}f}{_UNITS[unit]}".encode()
