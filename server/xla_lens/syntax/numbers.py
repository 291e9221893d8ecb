"""Numbers as dumps write them."""

from typing import Final

GREATEST: Final = (1 << 63) - 1
"""The greatest number that fits into 64 bits, as all of XLA's do."""

_ENOUGH: Final = len(str(-GREATEST)) + 1


def integer(digits: bytes | str) -> int:
    """A number by its decimal digits, with a minus before them or not; one that does not fit into 64 bits is the
    greatest that does, or the least: numpy cannot keep it, and Python reads no more than some thousand digits.
    """
    return max(-GREATEST - 1, min(GREATEST, int(digits[:_ENOUGH])))
