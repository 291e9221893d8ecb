"""What a report tells, as plain data. What the set does not tell is None."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from xla_lens.model.advice.padding import PaddingPart
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.printed_peak import PrintedPeak
from xla_lens.syntax.file_names import FileKind


class Part(StrEnum):
    """A part of a report that can be chosen."""

    TOTALS = "totals"
    PEAK = "peak"
    CURVE = "curve"
    LIVE = "live"
    LINE = "line"
    STACKS = "stacks"
    SOURCE = "source"
    ALIVE = "alive"
    PADDING = "padding"
    ARENAS = "arenas"
    BIOGRAPHY = "biography"
    DONATION = "donation"
    BUDGET = "budget"


DEFAULT_PARTS: Final = frozenset(Part) - {Part.CURVE, Part.STACKS, Part.BIOGRAPHY}
"""Those three are long: all steps, all calls that led to a line, and all values of the arenas."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """`top` values of each list, None for all; `at_step` asks for the live set of a step, too, and `budget_bytes` for
    what would have to go for the default memory space to stay within it.
    """

    top: int | None = None
    at_step: int | None = None
    parts: frozenset[Part] = DEFAULT_PARTS
    budget_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ValueName:
    """A value; `index` is None where the instruction has no tuple shape."""

    id: int
    name: str
    index: str | None


@dataclass(frozen=True, slots=True)
class LiveValue(ValueName):
    """A value that takes bytes at a step."""

    allocation: int
    offset: int
    size_bytes: int
    shape: str
    start_step: int
    end_step: int
    op_name: str | None


@dataclass(frozen=True, slots=True)
class KindTotal:
    """The allocations of one memory space that are for the same."""

    kind: str
    allocations: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LiveSet:
    """What is live in a memory space at a step, biggest first. `values` may be cut, `count` is not."""

    step: int
    instruction: str | None
    live_bytes: int
    count: int
    values: tuple[LiveValue, ...]


@dataclass(frozen=True, slots=True)
class SourceStack:
    """A chain of calls, the innermost first, and the bytes that come from it."""

    size_bytes: int
    frames: tuple[StackFrame, ...]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the program, outside of libraries, and the bytes at the peak that come from it: those of the `values`
    (ids), by the chains of calls that led there. All of which the source is not told have the `file` None.
    """

    file: str | None
    line: int | None
    function: str | None
    size_bytes: int
    values: tuple[int, ...]
    stacks: tuple[SourceStack, ...]


@dataclass(frozen=True, slots=True)
class LineReport:
    """The bytes at the peak by line, the most first: of `count` lines, and all that have no source, the first. What is
    cut has `rest_bytes`. The source of `unresolved_bytes` only an HLO module can tell, and none does.
    """

    size_bytes: int
    count: int
    lines: tuple[SourceLine, ...]
    rest_bytes: int
    unresolved_bytes: int


@dataclass(frozen=True, slots=True)
class SourceNode:
    """A part of the bytes at the peak: those of the `values` (ids) at this node, and those of its children. A `name` of
    None, below the root, is what the set does not tell the source of.
    """

    name: str | None
    size_bytes: int
    own_bytes: int
    count: int
    values: tuple[int, ...]
    children: tuple["SourceNode", ...]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The bytes at the peak three times; each tree adds up to the peak."""

    by_op_name: SourceNode
    by_opcode: SourceNode
    by_kind: SourceNode


@dataclass(frozen=True, slots=True)
class AliveValue(ValueName):
    """Why a value is live at the peak, and what would be without it: `freed_bytes` fewer live there, and a peak of
    `next_peak_bytes`, at `next_peak_step`. `reason` tells why it ends where it does, `ended_by` the instructions there
    that read or show it.
    """

    size_bytes: int
    freed_bytes: int
    next_peak_bytes: int
    next_peak_step: int | None
    end_step: int
    reason: str
    ended_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaddedValue(ValueName):
    """A value at the peak, with its padding: by `causes`, or, if there are none, not explained because of
    `unexplained`.
    """

    shape: str
    size_bytes: int
    logical_bytes: int | None
    padding_bytes: int
    causes: tuple[PaddingPart, ...]
    unexplained: str | None


@dataclass(frozen=True, slots=True)
class PaddingReport:
    """The padding among the bytes at the peak. Of `unknown_bytes` it cannot be told (tuples, dynamic and split arrays).
    `values` have the most padding first.
    """

    padding_bytes: int
    unknown_bytes: int
    values: tuple[PaddedValue, ...]


@dataclass(frozen=True, slots=True)
class Slot(ValueName):
    """Who holds which bytes of an allocation when; the steps are None without a live range."""

    offset: int
    end_offset: int
    start_step: int | None
    end_step: int | None


@dataclass(frozen=True, slots=True)
class ArenaReport:
    """A preallocated-temp allocation. `fragmentation` is the part that is never used at once, None without bytes.

    `holes` are its bytes, start and end, that are free at the peak of its memory space; `never_used_bytes` no value
    ever has. It needs its full size at `full_size_steps`, first and last, because of the values `reaching`.
    """

    allocation: int
    size_bytes: int
    peak_step: int | None
    peak_bytes: int
    fragmentation: float | None
    never_used_bytes: int
    holes: tuple[tuple[int, int], ...]
    full_size_steps: tuple[tuple[int, int], ...]
    reaching: tuple[ValueName, ...]
    biography: tuple[Slot, ...] | None


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """The values, biggest first, without which the memory space stays within a budget; then its peak is `peak_bytes`.
    Fewer than `at_least` are not enough. None have to go if the peak is within the budget already.
    """

    budget_bytes: int
    is_reached: bool
    is_proven_smallest: bool
    at_least: int
    peak_bytes: int
    peak_step: int | None
    values: tuple[LiveValue, ...]


@dataclass(frozen=True, slots=True)
class DonatedBuffer:
    """A parameter and what else is in its buffer."""

    parameter: ValueName
    heirs: tuple[ValueName, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class MissedDonation:
    """A parameter whose buffer could have been an output's; `fit` tells how sure that is."""

    parameter: ValueName
    output: ValueName
    last_read: int | None
    birth: int
    fit: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ParameterCopy:
    """A copy that keeps a parameter apart from an output."""

    copy: ValueName
    parameter: ValueName
    is_output: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DonationReport:
    """Donation of parameters, the most bytes first. Lists may be cut, sums are not. `missed_bytes` are those at
    stake by how sure it is.
    """

    donated_count: int
    donated_bytes: int
    donated: tuple[DonatedBuffer, ...]
    missed_count: int
    missed_bytes: dict[str, int]
    missed: tuple[MissedDonation, ...]
    copies_count: int
    copies_bytes: int
    copies: tuple[ParameterCopy, ...]


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """One memory space. `peak` is None if nothing is ever live, `at_step` if no step was asked for or the set does not
    know that step, `live_at_printed_peak` if no peak is printed. `curve` are steps and the bytes live from there up to
    the next. Parts that were not asked for are None.
    """

    color: int
    reserved_bytes: int
    kinds: tuple[KindTotal, ...]
    peak: LiveSet | None
    live_at_printed_peak: int | None
    at_step: LiveSet | None
    curve: tuple[tuple[int, int], ...] | None
    lines: LineReport | None
    sources: SourceReport | None
    alive: tuple[AliveValue, ...] | None
    padding: PaddingReport | None
    arenas: tuple[ArenaReport, ...] | None
    budget: BudgetReport | None


@dataclass(frozen=True, slots=True)
class Report:
    """One dump set. `files` are the labels of its files by what they hold; `has_live_ranges` tells whether it says when
    values are live. The steps are 0 to `last_step`; `lacks_step` tells that `asked_step` is none of them. `explained`
    is why the printed peak is what it is, None also if no peak is printed.
    """

    module: str | None
    files: dict[FileKind, str]
    parts: frozenset[Part]
    instructions: int | None
    values: int | None
    allocations: int | None
    reserved_bytes: int | None
    has_live_ranges: bool
    last_step: int | None
    asked_step: int | None
    lacks_step: bool
    total_bytes: int | None
    printed_peak_step: int | None
    printed_peak_bytes: int | None
    explained: PrintedPeak | None
    donation: DonationReport | None
    spaces: tuple[SpaceReport, ...]
    findings: int
