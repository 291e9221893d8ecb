"""The sizes that XLA prints in reports, logs and messages."""

from decimal import Decimal
from typing import Final

from msgspec import Struct

from xla_lens.text.patterns import lazy_pattern

SIZE: Final = (
    r"\d(?:[\d,]{0,25}\d)?(?:\.\d{1,9})?(?:\s?(?:[KMGTPE]i?B?|bytes?|words|B)\b)?"
    r"(?:\s\(\s*(?:rounded\sto\s|-)?\d[\d,]{0,25}(?:\s?bytes|B)?\))?"
)
"""A size in powers of 1024, which may have the exact one behind it: ``15.75G``, ``3.39GiB (3640655872B)``. Words of
SparseCores have 4 bytes.
"""

_PARTS_OF_SIZE: Final = lazy_pattern(
    r"(?:[^(]*\((?:\s*|rounded\sto\s|-)(?=\d[\d,]{0,25}(?:\s?bytes|B)?\)))?"
    r"(?P<text>(?P<digits>\d(?:[\d,]{0,25}\d)?)(?:\.(?P<fraction>\d{1,9}))?"
    r"(?:\s?(?:(?P<unit>[KMGTPE])i?B?|bytes?|(?P<words>words)|B)\b)?)"
)


class PrintedSize(Struct, frozen=True):
    """A size as a message prints it, and the bytes that it stands for.

    XLA rounds some sizes and truncates others. The real size is at least `least_bytes` and at most `most_bytes`.
    """

    text: str
    size_bytes: int
    least_bytes: int
    most_bytes: int

    @property
    def is_exact(self) -> bool:
        """Whether the message prints all digits."""
        return self.least_bytes == self.most_bytes

    def may_be(self, size_bytes: int) -> bool:
        """Whether this text can stand for a number of bytes."""
        return self.least_bytes <= size_bytes <= self.most_bytes


def printed_size(text: str | None) -> PrintedSize | None:
    """Read a size, the exact one if the text has two; None if the text does not begin with one, or is cut off in it:
    no message prints a part of a byte.
    """
    match = _PARTS_OF_SIZE.match(text or "")
    if not match or (match["fraction"] and match["text"][-1].isdecimal()):
        return None
    unit, fraction = 1024 ** " KMGTPE".index(match["unit"] or " "), match["fraction"] or ""
    value = Decimal(f"{match['digits'].replace(',', '')}.{fraction}") * unit
    error = Decimal(unit).scaleb(-len(fraction)) if unit > 1 or fraction else Decimal(0)
    if match["words"]:
        value *= 4
    return PrintedSize(match["text"], round(value), max(0, int(value - error / 2)), int(value + error))
