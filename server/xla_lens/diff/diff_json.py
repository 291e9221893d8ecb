"""What `xla-lens diff` prints as JSON, from which `make docs` generates `docs/diff.schema.json`. Sizes are in bytes.
Steps are positions in the schedule, counted from 0.
"""

from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from xla_lens.model.diff.causes import CauseKind
from xla_lens.model.diff.changes import Change as ChangeFlag
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.matching import Confidence
from xla_lens.words.json_types import Count, Files, JsonObject, Value, one_of

_CHANGED: Final = [value_class for value_class in ValueClass if value_class is not ValueClass.UNCHANGED]

_ValueClass: TypeAlias = Annotated[str, one_of(value_class.name.lower() for value_class in _CHANGED)]
_Change: TypeAlias = Annotated[str, one_of(str(flag.name).lower() for flag in ChangeFlag)]
_Confidence: TypeAlias = Annotated[str, one_of(confidence.name.lower() for confidence in Confidence)]


class Run(JsonObject):
    """A module in one run. Sizes are those of the device's memory, null if unknown or if the run lacks the module."""

    path: str
    """The argument."""
    has_module: bool
    """Whether the run has the module."""
    needed_bytes: int | None
    """What the device must provide."""
    needed_change_bytes: int | None
    """By how much that is more than in the run before; null if either is unknown."""
    peak_live_bytes: int | None
    """The most bytes that are live at once."""
    line: str | None
    """The source line or the argument with most bytes at the peak."""
    line_bytes: int | None
    """The bytes of `line`."""


class ModuleInRuns(JsonObject):
    """A module in several runs."""

    module: str
    """The name of the HLO module."""
    runs: list[Run]
    """The runs in the order of the arguments."""


class Side(JsonObject):
    """One of the two dumps."""

    module: str | None
    """The name of its HLO module; null if the names of the files do not contain it."""
    files: Files
    """The path of each file of the dump by what the file holds."""


class Unpaired(JsonObject):
    """A module that only one side has. The other side is null."""

    module: str | None
    """The name of the HLO module; null if the names of the files do not contain it."""
    old: Side | None
    """The dump, if only the old side has the module."""
    new: Side | None
    """The dump, if only the new side has the module."""


class Pair(JsonObject):
    """A number of the old and of the new dump."""

    old: Count
    """The number of the old dump."""
    new: Count
    """The number of the new dump."""


class StepPair(JsonObject):
    """The steps of the peaks; null where nothing is ever live."""

    old: Count | None
    """The step in the old dump."""
    new: Count | None
    """The step in the new dump."""


class Row(JsonObject):
    """A row of a breakdown."""

    key: str | None
    """What the bytes are for."""
    old_bytes: Count
    """The bytes in the old dump."""
    new_bytes: Count
    """The bytes in the new dump."""
    old_count: Count
    """The number of values or allocations that have these bytes in the old dump."""
    new_count: Count
    """The same in the new dump."""
    old_derived_bytes: Count | UnsetType = UNSET
    """Part `line` only: the bytes in the old dump whose line is derived: it is that of the instruction that computes
    what a loop, a copy or a fusion holds.
    """
    new_derived_bytes: Count | UnsetType = UNSET
    """The same in the new dump."""


class GroupRow(Row, kw_only=True):
    """Buffers with the same shape, the same op_name without numbers (or the same opcode, without an op_name) and the
    same source line.
    """

    shape: str | None
    """The shape without its layout."""
    op_name: str | None
    """The op_name, in which `#` replaces numbers."""
    opcode: str | None
    """The opcode of values without an op_name."""
    line: str | None
    """The source line as `file:line`."""


class Breakdowns(JsonObject):
    """One list of rows for each requested part."""

    line: list[Row] | UnsetType = UNSET
    """Part `line`: the bytes at the peak by source line; the key is `file:line`, or `parameters state[1]` for those of
    an argument, null without a source.
    """
    parameter: list[Row] | UnsetType = UNSET
    """Part `parameter`: the bytes at the peak by the path of the parameter whose buffer or copy holds them, with `*` in
    place of the numbers of layers; null elsewhere.
    """
    op_name: list[Row] | UnsetType = UNSET
    """Part `op_name`: the bytes at the peak by op_name; null without one."""
    opcode: list[Row] | UnsetType = UNSET
    """Part `opcode`: the bytes at the peak by opcode; null where the dump quotes no instructions."""
    kind: list[Row] | UnsetType = UNSET
    """Part `kind`: the bytes at the peak by kind of the allocation."""
    group: list[GroupRow] | UnsetType = UNSET
    """Part `group`: the bytes at the peak by groups of like buffers."""


class Space(JsonObject):
    """One memory space. What either dump does not determine exactly is null."""

    color: Count
    """XLA's number for the memory space."""
    name: str
    """Its name, such as `HBM`."""
    peak_live_bytes: Pair | None
    """The most live bytes."""
    peak_step: StepPair | None
    """The steps of the peaks."""
    reserved_bytes: Pair | None
    """The sizes of all allocations."""
    needed_bytes: Pair | None
    """What the program needs: the sizes of all allocations without thread-local ones."""
    values: Pair | None
    """The numbers of values; null if the old side is the report of a dump."""
    allocations: Pair | None
    """The numbers of allocations; null if the old side is the report of a dump."""
    breakdowns: Breakdowns | None
    """Where the change of the peak comes from. Without `--top`, the rows of each breakdown add up to both peaks. The
    biggest change comes first.
    """
    reserved_by_kind: list[Row] | UnsetType | None = UNSET
    """Part `totals`: the reserved bytes by the kind of the allocation; the rows add up to `reserved_bytes`."""
    free_bytes: Pair | UnsetType | None = UNSET
    """Part `totals`: the reserved bytes that are free at the peaks."""
    padding_bytes: Pair | UnsetType | None = UNSET
    """Part `totals`: the padding among the bytes at the peaks."""
    unknown_padding_bytes: Pair | UnsetType | None = UNSET
    """Part `totals`: the bytes at the peaks whose padding is unknown."""


class ChangedValue(Value):
    """A value of one dump."""

    size_bytes: Count | None
    """Its size; null if it is in no allocation."""
    color: Count
    """The memory space."""
    start_step: Count | None
    """The first step of its live range; null without one."""
    end_step: Count | None
    """The last step of its live range; null without one."""
    shape: str | None
    """Its shape with the layout; null if it is in no allocation."""
    op_name: str | None
    """Its op_name; null if it has none."""


class Change(JsonObject):
    """A value that changed, moved, was added or removed."""

    value_class: _ValueClass = field(name="class")
    """What happened to it."""
    old: ChangedValue | None
    """The value in the old dump, null if it was added."""
    new: ChangedValue | None
    """The value in the new dump, null if it was removed."""
    changed: list[_Change]
    """What changed."""
    longer_by_steps: int
    """By how many matched steps it lives longer than before; negative for shorter."""
    is_at_old_peak: bool
    """Whether it is live at the old peak of its memory space."""
    is_at_new_peak: bool
    """Whether it is live at the new peak of its memory space."""
    confidence: _Confidence | None
    """How likely the two are the same value of the program; null without a match."""


class Values(JsonObject):
    """What happened to the values. Each value of both dumps counts once; `unchanged`, `changed` and `moved` count
    pairs.
    """

    unchanged: Count
    """Values with the same size, shape, memory space and live range, relative to the matched schedule."""
    changed: Count
    """Values whose size, shape, layout, padding or memory space changed."""
    moved: Count
    """Values that only live longer, shorter or at other steps, relative to the matched schedule."""
    added: Count
    """Values that only the new dump has."""
    removed: Count
    """Values that only the old dump has."""
    matched_peak_bytes_fraction: Annotated[float, Meta(ge=0, le=1)]
    """The share of the bytes at the peaks of all memory spaces of both dumps that belong to matched values."""
    changes: list[Change] | UnsetType = UNSET
    """Part `values`: the values that are not unchanged, the biggest change of bytes at the peaks first."""


class Cause(JsonObject):
    """A cause of a change."""

    kind: CauseKind
    """What changed: donated parameters, element types or dimensions of values at the peaks, instructions that XLA or
    `jax.checkpoint` compute again, asynchronous collectives, padding at the peak, the number of outputs, operations
    inside of fusions, or only the schedule.
    """
    count: Pair
    """How many values or instructions of each dump it is about; for `donation`, how many parameters are no longer
    donated (`old`) and newly donated (`new`); for `fusion`, how many operations at the peaks are inside of fusions now
    (`old`) and were before (`new`).
    """
    size_bytes: Pair | None
    """Their bytes; null where the cause is not about bytes."""
    text: str
    """The cause in one sentence."""


class Diff(JsonObject):
    """What changed between two dumps."""

    module: str | None
    """The name of the HLO module in the new dump, or else in the old one; null if the names of the files do not contain
    it.
    """
    old: Side
    """The old dump."""
    new: Side
    """The new dump."""
    is_unchanged: bool | None
    """Whether nothing differs but names, ids and the order of allocations; null if the old side is the report of a
    dump, which does not show all that.
    """
    warnings: list[str]
    """What makes the dumps hard to compare, and other flags or another release of the compiler; one sentence each, the
    most important first.
    """
    causes: list[Cause]
    """Causes of the change in the device's memory that the dumps prove, the most telling first."""
    instructions: Pair | None
    """The length of the schedules; null if the old side is the report of a dump."""
    memory_spaces: list[Space]
    """The memory spaces that either dump has, by color."""
    values: Values | None
    """What happened to the values; null if the old side is the report of a dump."""
