"""The facts in hovers. `xla_lens.render.hover` words each type."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from xla_lens.model.advice.padding import Padding
from xla_lens.model.attribution.frames import Derived
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.backend import SpaceId
from xla_lens.syntax.columns import Kind
from xla_lens.syntax.file_names import FileKind


class End(Enum):
    """Why a live range ends where it does."""

    CALLER = auto()
    """The value is a parameter that is never overwritten: its bytes belong to the caller to the end."""
    OUTPUT = auto()
    """The value may be part of the output and is kept to the end."""
    LAST_USE = auto()
    """An instruction reads the value for the last time."""
    PASSED_ON = auto()
    """Another value of the same buffer takes over the bytes."""
    LAST_ALIAS = auto()
    """The last instruction that refers to the bytes by another name."""
    COMPUTATION_END = auto()
    """None of these: its computation ends."""
    UNKNOWN = auto()
    """The dump set does not contain the uses of the value."""


@dataclass(frozen=True, slots=True)
class ValueName:
    """A value in a list: its label, size and live range."""

    label: str
    size_bytes: int
    start_step: int
    end_step: int


@dataclass(frozen=True, slots=True)
class LiveRangeFacts:
    """When a value is live, and why its live range ends.

    `by` is the value that takes over the bytes, or the caller of the computation with the last use; otherwise None.
    """

    start_step: int
    end_step: int
    start_instruction: str | None
    end_instruction: str | None
    end: End
    by: str | None


@dataclass(frozen=True, slots=True)
class Elements:
    """The values that an instruction defines besides its tuple: their number and bytes, and the first of them, each
    with the index of its allocation, NONE if it has none.
    """

    count: int
    size_bytes: int
    shown: tuple[tuple[ValueName, int], ...]


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """A value. Facts that the dump set lacks are None; `missing` are the files that would have them.

    `alias` is the hovered instruction where that is only another name for the bytes of the value. `live_at_peak` says
    whether the value is part of the peak of its memory space, `peak_bytes`. `nearest` is the nearest in time of the
    `sharer_count` values that share bytes with it. `frames` are the calls that made it, innermost first; `derived` says
    from what they and the `op_name` are derived. `is_for_backward` says that only the backward pass reads what a loop
    of the forward pass stores in it. `elements` are what the instruction defines if the value is its tuple.
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
    nearest: ValueName | None
    sharer_count: int
    opcode: str | None
    op_name: str | None
    frames: tuple[StackFrame, ...]
    derived: Derived | None
    is_for_backward: bool
    missing: tuple[FileKind, ...]
    elements: Elements | None


@dataclass(frozen=True, slots=True)
class AllocationName:
    """An allocation as other hovers refer to it. `path` is that of the parameter whose buffer it is."""

    index: int
    size_bytes: int
    kind: Kind
    path: str | None


@dataclass(frozen=True, slots=True)
class AllocationFacts:
    """An allocation of `values` values.

    `peak_bytes` is the maximum of its live bytes, first at `peak_step`. `live_at_space_peak` bytes are live when its
    memory space peaks with `space_peak_bytes` at `space_peak_step`. `fill` is the maximum of its live bytes in each of
    some parts of the schedule of equal length. `full_size_steps` are the first and last steps of each interval in which
    a preallocated temp needs its full size.
    """

    name: AllocationName
    space: SpaceId
    parameter: str | None
    shape: str | None
    values: int
    peak_bytes: int
    peak_step: int | None
    live_at_space_peak: int
    space_peak_bytes: int
    space_peak_step: int | None
    fill: tuple[int, ...]
    full_size_steps: tuple[tuple[int, int], ...]
    largest: tuple[ValueName, ...]


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step. `live` has, for each memory space with live bytes, the bytes before, at and after the step.

    `born` and `dying` are the largest values whose live range starts or ends at the step.
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
    """A scheduled instruction without a value in the dump set. `missing` are files that may contain one."""

    name: str
    step: int
    missing: tuple[FileKind, ...]


@dataclass(frozen=True, slots=True)
class SpacePeak:
    """The needed bytes and the real peak of a memory space, and its live bytes at the printed one."""

    space: SpaceId
    needed_bytes: int
    peak_bytes: int
    peak_step: int | None
    peak_instruction: str | None
    live_at_printed: int


@dataclass(frozen=True, slots=True)
class PeakFacts:
    """The printed peak against the real one.

    `printed_bytes` is the sum of the printed list; `other_space_bytes` of it are not in the first memory space. The
    values live at `step` were assigned `assigned_bytes`, `shared_bytes` of them more than once. `is_whole_tuples` says
    that the list has tuple elements with the size of the whole tuple. `counted` are the bytes by which XLA selects the
    step, at the printed and at the real peak; None if they are unknown or both peaks are one. `died_before_bytes` of
    them belong to values that ended one step earlier.
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
