"""Sizes as messages print them: ``15.75G``, ``384.0KiB``, ``6291456 bytes``, all in powers of 1024."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

SIZE: Final = (
    r"\d[\d,]{0,25}(?:\.\d{1,9})?(?:\s?(?:[KMGTPE]i?B?|bytes?|B)\b)?"
    r"(?:\s\(\s*(?:rounded\sto\s)?\d[\d,]{0,25}(?:\s?bytes|B)?\))?"
)
"""A regular expression for a size, which may have the exact one behind it: ``3.39GiB (3640655872B)``."""

_EXACT: Final = re.compile(r"[^(]*\((?:\s*|rounded\sto\s)(\d[\d,]*(?:\s?bytes|B)?)\)")
_PARTS: Final = re.compile(r"(?P<digits>\d[\d,]*)(?:\.(?P<fraction>\d+))?(?:\s?(?:(?P<unit>[KMGTPE])i?B?|bytes?|B)\b)?")


@dataclass(frozen=True, slots=True)
class PrintedSize:
    """A size as a message prints it, and the bytes that it stands for.

    XLA rounds some sizes and truncates others. The real size is at least `least_bytes` and less than `end_bytes`.
    """

    text: str
    size_bytes: int
    least_bytes: int
    end_bytes: int

    @property
    def is_exact(self) -> bool:
        """Whether the message prints all digits."""
        return self.end_bytes - self.least_bytes == 1

    def may_be(self, size_bytes: int) -> bool:
        """Whether this text can stand for a number of bytes."""
        return self.least_bytes <= size_bytes < self.end_bytes


def printed_size(text: str | None) -> PrintedSize | None:
    """Read a size, the exact one if the text has two; None if the text does not begin with one."""
    exact = _EXACT.match(text or "")
    match = _PARTS.match(exact[1] if exact else text or "")
    if not match:
        return None
    text, digits = match[0], match["digits"].replace(",", "")
    unit = 1024 ** ("KMGTPE".index(match["unit"]) + 1 if match["unit"] else 0)
    fraction = match["fraction"] or ""
    if unit == 1 and not fraction:
        return PrintedSize(text, int(digits), int(digits), int(digits) + 1)
    value = Decimal(f"{digits}.{fraction or 0}") * unit
    digit = Decimal(unit).scaleb(-len(fraction))
    return PrintedSize(text, round(value), max(0, int(value - digit / 2)), int(value + digit) + 1)
