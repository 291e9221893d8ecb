"""How far the numbers of a dump set can be trusted.

XLA prints each fact once, so a dump set that is cut off or lacks a file lacks facts, and some numbers that are computed
from the rest are only lower bounds. Where a dump contradicts itself, a number may be too large as well as too small.
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from xla_lens.syntax.file_names import FileKind


class Bound(StrEnum):
    """How a number that was computed from a dump set relates to the true one."""

    EXACT = "exact"
    AT_LEAST = "at_least"
    """The true number is the same or larger."""
    AT_MOST = "at_most"
    """The true number is the same or smaller."""
    UNKNOWN = "unknown"
    """The true number may be smaller or larger, so the computed one is not shown."""


def worst(*bounds: Bound) -> Bound:
    """The bound of a number that is computed from others."""
    found = {*bounds} - {Bound.EXACT}
    return Bound.UNKNOWN if len(found) > 1 else next(iter(found), Bound.EXACT)


class Quantity(StrEnum):
    """A group of numbers that depend on the same facts."""

    RESERVED = "reserved_bytes"
    """The allocations: their number, their sizes, and the sums of their sizes."""
    LIVE = "live_bytes"
    """Live bytes at any step, and everything that is computed from them, such as peaks."""
    VALUES = "values"
    """The number of values."""
    SCHEDULE = "instructions"
    """The number of scheduled instructions."""
    TOTAL = "printed_total"
    """The total that XLA prints."""
    PRINTED_PEAK = "printed_peak"
    """The peak that XLA prints."""
    SOURCES = "sources"
    """The op_name, the opcode and the source line of each value."""
    USES = "uses"
    """The instructions that read each value."""


class Cause(StrEnum):
    """Why a dump set does not determine a number."""

    CUT_OFF = "cut_off"
    """A file is cut off."""
    MISSING = "missing"
    """The dump set lacks a file."""
    EMPTY = "empty"
    """A file is there but empty."""
    NO_DUMP = "no_dump"
    """A file is there but has no line of a dump."""
    UNREADABLE = "unreadable"
    """A file has lines that are not those of a dump."""
    CONTRADICTION = "contradiction"
    """Two parts of the dump contradict each other."""


class Gap(Struct, frozen=True):
    """One reason why a quantity is not exact. `kind` is the file in which the facts are missing or wrong; `code` is
    that of the finding, None for a missing file; `flag` is the flag of XLA that left the file out, None if unknown.
    """

    quantity: Quantity
    bound: Bound
    cause: Cause
    kind: FileKind
    code: str | None = None
    flag: str | None = None


class Warrant(Struct, frozen=True):
    """How a number relates to the true one, and the gaps because of which it may differ."""

    bound: Bound
    gaps: tuple[Gap, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the number is the true one."""
        return self.bound is Bound.EXACT

    @property
    def is_known(self) -> bool:
        """Whether the number is the true one or a bound of it, so that it may be shown."""
        return self.bound is not Bound.UNKNOWN


class Warrants(Struct, frozen=True):
    """The warrants of all numbers of a dump set."""

    gaps: tuple[Gap, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all numbers are exact."""
        return not self.gaps

    def of(self, *quantities: Quantity) -> Warrant:
        """Return the warrant of a number that depends on some quantities."""
        gaps = tuple(gap for gap in self.gaps if gap.quantity in quantities)
        return Warrant(worst(Bound.EXACT, *(gap.bound for gap in gaps)), gaps)

    @property
    def live(self) -> Warrant:
        """The warrant of live bytes."""
        return self.of(Quantity.LIVE)

    def with_gaps(self, gaps: Iterable[Gap]) -> "Warrants":
        """Return the warrants with some more gaps."""
        return Warrants(tuple(dict.fromkeys((*self.gaps, *gaps))))
