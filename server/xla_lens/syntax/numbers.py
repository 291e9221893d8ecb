"""Numbers in the text of dumps."""

from typing import Final

GREATEST: Final = (1 << 63) - 1
"""The greatest signed 64-bit integer, the type of all numbers of XLA."""

_MAX_DIGITS: Final = len(str(-GREATEST)) + 1


def integer(digits: bytes | str) -> int:
    """Convert decimal digits with an optional minus sign. Clamps to 64 bits: numpy cannot store more, and Python
    refuses to convert more than some thousand digits.
    """
    return max(-GREATEST - 1, min(GREATEST, int(digits[:_MAX_DIGITS])))
