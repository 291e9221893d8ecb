"""What explains a number in reports and hovers: the sums behind the peak that XLA prints, and the causes of padding."""

from typing import Final

from xla_lens.model.memory.padding import PaddingPart, PaddingReason
from xla_lens.model.memory.printed_peak import PrintedPeak
from xla_lens.model.memory.unseen import Unseen, UnseenKind
from xla_lens.words.numbers import apart, human, signed

RULE: Final = "XLA prints the first step at which its own sum is largest."

_TERMS: Final = (
    ("died_bytes", "ended one step earlier", 1),
    ("tuple_bytes", "tuple elements counted as whole tuples", 1),
    ("other_space_bytes", "in other memory spaces", 1),
    ("shared_bytes", "shared bytes counted more than once", 1),
    ("padding_bytes", "padding, which XLA does not count", -1),
    ("unplaced_bytes", "in no allocation", 1),
)
"""The fields of `CountedBytes` that XLA adds to the live bytes, or subtracts from them."""


def printed_peak_sums(printed: PrintedPeak | None, space: str) -> list[tuple[str, ...]]:
    """Return the sum of the printed list, and those that XLA counts at the printed step and at the real peak: first the
    title of each that is known, then a row for each term, its name and its bytes in each sum. `space` is the name of
    the default memory space. Empty if no sum is known.
    """
    if printed is None:
        return []
    columns = {"printed list": printed.listed, f"counted at step {printed.step}": printed.counted_at_printed}
    if at_peak := printed.counted_at_peak:
        columns.setdefault(f"counted at step {at_peak.step}", at_peak)
    known = {title: column for title, column in columns.items() if column}
    sums = known.values()
    terms = [(title, [int(getattr(column, field)) * sign for column in sums]) for field, title, sign in _TERMS]
    # The sum at the printed step is the largest, by a few bytes in some dumps.
    largest = max((column.total_bytes for column in sums), default=0)
    rows = [
        ("", *known),
        (f"live in {space}", *(human(column.live_bytes) for column in sums)),
        *((title, *map(signed, sizes)) for title, sizes in terms if any(sizes)),
        ("= XLA's sum", *(apart(column.total_bytes, largest) for column in sums)),
    ]
    return rows if known else []


_UNSEEN: Final = {
    UnseenKind.LAPACK: "LAPACK's workspace, about two matrices",
    UnseenKind.SORT: "the scratch of a stable sort, up to 16 bytes for each element of a row",
    UnseenKind.FFT: "the scratch of a long transform, about as much as its result",
}
"""What is taken, as measured."""


def unseen_words(unseen: Unseen) -> str:
    """Return what an instruction takes memory for that no dump shows."""
    if unseen.kind is not UnseenKind.YNN_FUSION:
        return _UNSEEN[unseen.kind]
    return "the products inside it" + (f", {human(unseen.size_bytes)}" if unseen.size_bytes else ", if it has any")


def padding_part(part: PaddingPart) -> str:
    """Return one cause of padding with its bytes: ``dimension 1 from 1 to 128: 508 B``."""
    return f"{padding_cause(part)}: {human(part.size_bytes)}"


def padding_cause(part: PaddingPart) -> str:
    """Return one cause of padding: ``dimension 1 from 1 to 128``."""
    rounded = f"from {part.length:,} to {part.padded_length:,}"
    return {
        PaddingReason.DIMENSION: f"dimension {part.dimension} {rounded}",
        PaddingReason.MISSING_DIMENSION: f"the tile's own dimension {rounded}",
        PaddingReason.TAIL: f"elements {rounded}",
        PaddingReason.SLICE: "the slice is larger than its layout requires",
    }[part.cause]


def padding_clause(part: PaddingPart) -> str:
    """Return one cause of padding as a clause about an array: ``whose dimension 1 is padded from 8 to 128``."""
    rounded = f"padded from {part.length:,} to {part.padded_length:,}"
    return {
        PaddingReason.DIMENSION: f"whose dimension {part.dimension} is {rounded}",
        PaddingReason.MISSING_DIMENSION: f"whose tile has one more dimension, {rounded}",
        PaddingReason.TAIL: f"whose elements are {rounded}",
        PaddingReason.SLICE: "whose slice is larger than its layout requires",
    }[part.cause]
