"""The facts that a hover tells."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from xla_lens.model.advice.padding import Padding
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.backend import SpaceId
from xla_lens.syntax.columns import Kind
from xla_lens.syntax.file_names import FileKind


class End(Enum):
    """Why a live range ends where it does."""

    CALLER = auto()
    """A parameter that nothing is written over: its bytes are the caller's to the end."""
    OUTPUT = auto()
    """It may be part of the result, so that it is kept to the end."""
    LAST_USE = auto()
    """It is read for the last time."""
    PASSED_ON = auto()
    """Another value of the same buffer takes over its bytes."""
    LAST_ALIAS = auto()
    """The last instruction that shows its bytes under another name."""
    COMPUTATION_END = auto()
    """None of these: the end of its computation."""
    UNKNOWN = auto()
    """The set does not tell what reads it."""


@dataclass(frozen=True, slots=True)
class ValueName:
    """A value to be named: its label, size and live range."""

    label: str
    size_bytes: int
    start_step: int
    end_step: int


@dataclass(frozen=True, slots=True)
class LiveRangeFacts:
    """When a value is live, and why no longer. `by` is the value that takes over its bytes, or the instruction around
    the last one that reads it.
    """

    start_step: int
    end_step: int
    start_instruction: str | None
    end_instruction: str | None
    end: End
    by: str | None


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """A value. What the set does not tell is None. `alias` is the instruction that is mentioned, where that only shows
    the bytes of the value. `padding` is None without them; `live_at_peak` tells whether it is
    part of the peak of its memory space, which has `peak_bytes`. `frames` are the calls that made it, the innermost
    first. `missing` are the files that would tell more.
    """

    id: int
    label: str
    alias: str | None
    space: SpaceId
    shape: str | None
    size_bytes: int | None
    padding: Padding | None
    offset: int | None
    allocation: "AllocationName | None"
    live_range: LiveRangeFacts | None
    live_at_peak: bool
    peak_bytes: int
    neighbours: tuple[ValueName, ...]
    neighbour_count: int
    opcode: str | None
    op_name: str | None
    frames: tuple[StackFrame, ...]
    missing: tuple[FileKind, ...]


@dataclass(frozen=True, slots=True)
class AllocationName:
    """An allocation to be named."""

    index: int
    size_bytes: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class AllocationFacts:
    """An allocation. `peak_bytes` of it are live at once at most, first at `peak_step`; `live_at_space_peak` of them
    when its memory space has its peak. `fill` cuts the schedule into parts of equal length and tells the most bytes
    of it that are live in each. `full_size_steps`, first and last, are those at which an arena needs its full size.
    """

    name: AllocationName
    space: SpaceId
    parameter: str | None
    shape: str | None
    values: int
    peak_bytes: int
    peak_step: int | None
    live_at_space_peak: int
    space_peak_step: int | None
    fill: tuple[int, ...]
    full_size_steps: tuple[tuple[int, int], ...]
    largest: tuple[ValueName, ...]


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step. For each memory space with live bytes: the bytes live before, at and after the step.
    `missing` are files that would tell more.
    """

    step: int
    instruction: str | None
    live: tuple[tuple[SpaceId, int, int, int], ...]
    born: tuple[ValueName, ...]
    born_count: int
    dying: tuple[ValueName, ...]
    dying_count: int
    missing: tuple[FileKind, ...]


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """A scheduled instruction without a value of its own, as far as the set tells; `missing` are files that may."""

    name: str
    step: int
    missing: tuple[FileKind, ...]


@dataclass(frozen=True, slots=True)
class SpacePeak:
    """The peak of a memory space against the printed one."""

    space: SpaceId
    reserved_bytes: int
    peak_bytes: int
    peak_step: int | None
    peak_instruction: str | None
    live_at_printed: int


@dataclass(frozen=True, slots=True)
class PeakFacts:
    """The printed peak: `printed_bytes` are the sum of its list, of which `other_space_bytes` lie outside of the
    default memory space. What is live then was assigned `assigned_bytes`, of which `shared_bytes` are there more than
    once. `is_whole_tuples` tells that elements are printed with the size of their whole tuple. Where XLA looks for the
    peak, it counts `counted` bytes at the printed step and at that of the true peak; None if that cannot be told, or
    both are one. `died_before_bytes` of it belong to values that ended one step earlier.
    """

    step: int
    printed_bytes: int
    other_space_bytes: int
    assigned_bytes: int
    shared_bytes: int
    died_before_bytes: int
    counted: tuple[int, int] | None
    is_whole_tuples: bool
    spaces: tuple[SpacePeak, ...]
    missing: tuple[FileKind, ...]


Hover: TypeAlias = ValueFacts | AllocationFacts | StepFacts | InstructionFacts | PeakFacts
