"""Numbers with their warrants: every size that a dump set may not determine is worded here, in every format."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrant, Warrants
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.contract import GapWord
from xla_lens.words.numbers import human, percent

UNKNOWN: Final = "unknown"

_PREFIX: Final = {Bound.EXACT: "", Bound.AT_LEAST: "≥ ", Bound.AT_MOST: "≤ "}

_FACTS: Final = {
    FileKind.BUFFER_ASSIGNMENT: "the buffer assignment is",
    FileKind.VALUES: "the list of values is",
    FileKind.LIVE_RANGE: "the live ranges are",
    FileKind.MEMORY_USAGE_REPORT: "the memory usage report is",
    FileKind.HLO: "the HLO module is",
}

_VERBS: Final = {
    Cause.CUT_OFF: "cut off",
    Cause.MISSING: "missing",
    Cause.EMPTY: "missing, since its file is empty",
    Cause.NO_DUMP: "missing, since its file has no line of a dump",
    Cause.UNREADABLE: "unreadable in part",
}


def bounded(text: str, bound: Bound) -> str:
    """A number with its bound: ``3.57 MiB``, ``≥ 3.57 MiB`` or ``unknown``."""
    return UNKNOWN if bound is Bound.UNKNOWN else _PREFIX[bound] + text


def bounded_size(size_bytes: int, bound: Bound) -> str:
    """A size with its bound: ``3.57 MiB``, ``≥ 3.57 MiB`` or ``unknown``."""
    return bounded(human(size_bytes), bound)


def peak_size(space: MemorySpace) -> str:
    """The peak of a memory space with its bound."""
    return bounded_size(space.peak_live_bytes, space.live_bound)


def warranted_size(size_bytes: int, warrant: Warrant) -> str:
    """A size with its bound and the reason: ``≥ 3.57 MiB, dump is cut off``. For places that show no more."""
    return bounded_size(size_bytes, warrant.bound) + short_suffix(warrant)


def real_peak(space: MemorySpace) -> str:
    """The recomputed peak of a memory space: ``real HBM peak: ≥ 3.57 MiB at step 4``."""
    return f"real {space.id.name} peak: {peak_size(space)} at step {space.peak_step}"


def short_suffix(warrant: Warrant | Warrants) -> str:
    """The reason for the end of a text: ``, dump is cut off``. Empty if the numbers are exact."""
    reason = short_reason(warrant)
    return f", {reason}" if reason else ""


def suffix(warrant: Warrant) -> str:
    """The reasons for the end of a title: `` (the live ranges are cut off)``. Empty if the numbers are exact."""
    found = reasons(warrant.gaps)
    return f" ({found})" if found else ""


def share(part: int, whole: int, bound: Bound) -> str:
    """A share of a number, empty if that number is not exact."""
    return percent(part, whole) if bound is Bound.EXACT else ""


def gap_word(warrants: Warrants) -> GapWord:
    """What is wrong with a dump, in one word or two. Empty if its numbers are exact."""
    return _worst_cause(warrants)[0]


def short_reason(warrant: Warrant | Warrants) -> str:
    """Why a number is not exact, in a few words: ``dump is cut off``. Empty if it is exact."""
    return _worst_cause(warrant)[1]


_CAUSES: Final[Mapping[Cause, tuple[GapWord, str]]] = {
    Cause.CONTRADICTION: ("contradictory", "dump contradicts itself"),
    Cause.CUT_OFF: ("cut off", "dump is cut off"),
    Cause.UNREADABLE: ("unreadable in part", "dump has unreadable lines"),
    Cause.NO_DUMP: ("incomplete", "a file has no line of a dump"),
    Cause.EMPTY: ("incomplete", "a file of the dump is empty"),
    Cause.MISSING: ("incomplete", "dump is incomplete"),
}
"""The worst first."""


def _worst_cause(warrant: Warrant | Warrants) -> tuple[GapWord, str]:
    causes = {gap.cause for gap in warrant.gaps}
    return next((words for cause, words in _CAUSES.items() if cause in causes), ("", ""))


_QUANTITIES: Final = {
    Quantity.RESERVED: "reserved bytes",
    Quantity.LIVE: "live bytes and peaks",
    Quantity.VALUES: "the number of values",
    Quantity.SCHEDULE: "the number of instructions",
    Quantity.TOTAL: "XLA's total",
    Quantity.PRINTED_PEAK: "XLA's printed peak",
    Quantity.SOURCES: "op_names and source lines",
    Quantity.USES: "the readers of values",
}

_BOUNDS: Final = {Bound.AT_LEAST: "lower bounds", Bound.AT_MOST: "upper bounds", Bound.UNKNOWN: "unknown"}


def gap_lines(gaps: Iterable[Gap]) -> Iterator[str]:
    """Yield one line for each reason, with what it makes inexact: ``the live ranges are cut off (lower bounds: live
    bytes and peaks)``.
    """
    found: dict[str, dict[Bound, dict[str, None]]] = {}
    for gap in gaps:
        found.setdefault(reasons([gap]), {}).setdefault(gap.bound, {})[_QUANTITIES[gap.quantity]] = None
    for reason, bounds in found.items():
        effects = (f"{words}: {', '.join(bounds[bound])}" for bound, words in _BOUNDS.items() if bound in bounds)
        yield f"{reason} ({'; '.join(effects)})"


def reasons(gaps: Iterable[Gap]) -> str:
    """Why numbers are not exact, one clause for each reason: ``the live ranges are cut off``. Empty if they are."""
    gaps = tuple(gaps)
    found = [f"{_FACTS[gap.kind]} {_VERBS[gap.cause]}" for gap in gaps if gap.cause is not Cause.CONTRADICTION]
    codes = dict.fromkeys(gap.code or "" for gap in gaps if gap.cause is Cause.CONTRADICTION)
    if codes:
        found.append(f"the dump contradicts itself ({', '.join(filter(None, codes))})")
    found += [f"XLA ran with {gap.flag}" for gap in gaps if gap.flag]
    return "; ".join(dict.fromkeys(found))
