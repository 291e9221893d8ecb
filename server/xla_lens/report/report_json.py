"""What `xla-lens report` and `xla-lens advise` print as JSON, from which `make docs` generates
`docs/report.schema.json`. Sizes are in bytes. Steps are positions in the schedule, counted from 0.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from xla_lens.advice.actions import Certainty, Cost
from xla_lens.advice.codes import Rule
from xla_lens.model.capacity import CapacitySource
from xla_lens.model.memory import padding
from xla_lens.model.memory.alive import Reason
from xla_lens.model.memory.donation import Fit
from xla_lens.model.memory.unseen import UnseenKind
from xla_lens.model.warrants import Cause, Quantity
from xla_lens.oom.oom_json import CompiledProgram, Message
from xla_lens.report.options import Part
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.json_types import (
    AllocationKind,
    Bounds,
    ColorNumber,
    Count,
    CountFrom1,
    Files,
    Finding,
    Inexact,
    JsonObject,
    Value,
    keyed_by,
)

# ---------------------------------------------------------------- values


class LiveValue(Value):
    """A value that occupies bytes."""

    offset: Count
    """Its first byte in the allocation."""
    size_bytes: Count
    """Its bytes in the allocation, with padding."""
    start_step: Count
    """The first step at which it is live."""
    end_step: Count
    """The last step at which it is live."""
    allocation: Annotated[int, Meta(ge=-1)]
    """The index of its allocation in the dump."""
    shape: str
    """Its shape with layout; empty if the dump does not have it."""
    op_name: str | None
    """The op_name of the instruction, or of the one named in `derived_from`; null if it has none."""
    derived_from: str | None
    """The instruction that computes the content of the value, if the value has the source of that instruction and not
    of the one that defines it; found by following the data flow of the HLO module through loops, copies and fusions.
    Null otherwise.
    """
    owned_bytes: Count | UnsetType = UNSET
    """In `live_at_peak`: the bytes that count for this value; those of all values add up to the peak. 0 if all of its
    bytes count for values that share them.
    """


class LiveSet(JsonObject):
    """What is live at a step."""

    step: Count
    """The step."""
    instruction: str | None
    """The instruction at the step; null if none runs there."""
    live_bytes: Count
    """The live bytes at the step."""
    bounds: Bounds
    live: list[LiveValue]
    """The values live there, biggest first, at most --top."""


# ---------------------------------------------------------------- sources


class KindBytes(JsonObject):
    """The bytes of some values in allocations of one kind."""

    kind: str
    """What the allocations are for."""
    size_bytes: Count
    """The bytes."""
    count: Count
    """The number of values."""


class Frame(JsonObject):
    """A call."""

    file: str
    """The path of the file as the compiling machine knew it."""
    line: Count | None
    """The line, counted from 1; null if unknown."""
    column: Count | None
    """The column, counted from 0; null if unknown."""
    function: str | None
    """The function; null if unknown."""


class Stack(JsonObject):
    """A call stack."""

    size_bytes: Count
    """The bytes at the peak that come from it."""
    frames: list[Frame]
    """The calls, innermost first, at most 64."""


class Line(JsonObject):
    """A source line, or the parameters of an argument."""

    file: str | None
    """The path of the file as the compiling machine knew it; null for all bytes without a source."""
    line: Count | None
    """The line, counted from 1; null if unknown."""
    function: str | None
    """The function; null if unknown."""
    argument: str | None
    """The argument whose parameters these are, such as `state[1]`, if they have no source line; null otherwise."""
    size_bytes: Count
    """The bytes at the peak that come from the line."""
    derived_bytes: Count
    """Those of them whose line is derived: it is that of the instruction that computes what a loop, a copy or a fusion
    holds.
    """
    values: list[int]
    """The ids of the values."""
    stacks: list[Stack]
    """The call stacks that lead to the line, most bytes first. Those with the fewest bytes are left out once the stacks
    of all lines have 100,000 calls.
    """


class LayerBytes(JsonObject):
    """The bytes at the peak of a layer."""

    name: str | None
    """The layer, such as `functional_1/conv2d_1`; null for what is of no layer."""
    size_bytes: Count
    """The bytes."""
    count: Count
    """The number of values that own them."""


class Lines(JsonObject):
    """The bytes at the peak by source line. Each live byte counts once, for the value on it that was defined last, and
    each value for the innermost call outside of libraries.
    """

    size_bytes: Count
    """The live bytes at the peak."""
    count: Count
    """The number of lines and arguments, also of those that --top leaves out."""
    rest_bytes: Count
    """The bytes of the lines that --top leaves out."""
    unresolved_bytes: Count
    """Bytes whose source line only the HLO module contains, if that file is missing or lacks the line."""
    left_out_by: str | None
    """The flag of XLA that left these source lines out, such as `--xla_dump_disable_metadata=true`; null if it is
    unknown.
    """
    lines: list[Line]
    """The lines, most bytes first, at most --top; then the bytes without a source."""
    without_source: list[KindBytes]
    """The bytes without a source line by what their allocations are for, largest first."""
    library: str | None
    """The package that gives most of the values without a source only lines of its own, such as `tensorflow`; null if
    there are none.
    """
    layers: list[LayerBytes]
    """All bytes at the peak by layer of the program if there is such a package, most bytes first, and last those of no
    layer. Empty if no op_name has a layer.
    """
    bounds: Bounds


class Node(JsonObject):
    """A node of a tree."""

    name: str | None
    """The part of the path at this node; null for the root, and for values without an op_name or opcode."""
    size_bytes: Count
    """The bytes at this node and below it."""
    own_bytes: Count
    """The bytes at this node itself."""
    count: Count
    """The number of values at this node and below it."""
    values: list[int]
    """The ids of the values at this node itself, most bytes first."""
    children: "list[Node]"
    """The nodes below, most bytes first."""


class Sources(JsonObject):
    """The bytes at the peak as four trees, each of which adds up to the peak."""

    bounds: Bounds
    by_op_name: Node
    """By the path of the op_name."""
    by_opcode: Node
    """By opcode."""
    by_kind: Node
    """By what the allocation is for."""
    by_parameter: Node
    """By the path of the parameter whose buffer or copy holds the bytes, such as `state[1]['layers'][*]['w_down']`: `*`
    replaces the numbers of layers. The child without a name has all other bytes.
    """


# ---------------------------------------------------------------- parts of a memory space


class AliveValue(Value):
    """The peak without a value, and what frees the value."""

    size_bytes: Count
    """Its bytes in the allocation, with padding."""
    end_step: Count
    """The last step at which it is live."""
    freed_bytes: Count
    """The bytes at the peak that only this value occupies."""
    next_peak_bytes: Count
    """The peak of the memory space without it, in bytes."""
    saved_bytes: Count
    """By how much that is lower than the peak."""
    next_peak_step: Count | None
    """The step of that peak; null if nothing else is ever live."""
    reason: Reason
    """Why it is live until then: it is a parameter or part of the result and live to the end (`parameter`, `live_out`);
    an instruction reads it last (`read`); its last reader is inside a called computation (`called`); another value
    takes over its bytes (`replaced`); an instruction passes its bytes on under another name (`passed_on`); nothing
    reads it (`unused`); its computation ends (`computation_end`); or the dump does not say (`unknown`).
    """
    ended_by: list[str]
    """The instructions that read it, or pass it on, at its last step."""


class PaddingCause(JsonObject):
    """One cause of padding."""

    cause: padding.PaddingReason
    """What is rounded up: a dimension to the tile (`dimension`); a dimension that the tile has and the array lacks
    (`missing dimension`); the number of elements (`tail`); or the slice, which is bigger than the layout needs
    (`slice`).
    """
    size_bytes: Count
    """The bytes it adds."""
    dimension: Count | None
    """The dimension of the array, counted from 0; null for other causes."""
    length: Count
    """The length before: elements, or bytes of a slice."""
    padded_length: Count
    """The length after rounding up."""


class PaddedValue(Value):
    """A value with padding."""

    size_bytes: Count
    """Its bytes in the allocation."""
    shape: str
    """Its shape with layout."""
    logical_bytes: Count | None
    """The bytes of its shape without padding; null if unknown."""
    padding_bytes: Count
    """Its padding among the bytes that it owns at the peak."""
    causes: list[PaddingCause]
    """What the padding consists of; empty if it is unexplained."""
    unexplained: padding.Unexplained | None
    """Why the causes are unknown; null if they are known."""


class Padding(JsonObject):
    """The padding among the bytes at the peak."""

    padding_bytes: Count
    """All padding that is known."""
    unknown_bytes: Count
    """Bytes of values whose padding is unknown: tuples, dynamic and split arrays."""
    values: list[PaddedValue]
    """The values with padding, most padding first, at most --top."""


class Arena(JsonObject):
    """A preallocated temp: an allocation that XLA divides among many values over time."""

    allocation: Count
    """The index of the allocation in the dump."""
    size_bytes: Count
    """Its size."""
    peak_step: Count | None
    """The first step with the most live bytes in it; null if nothing is ever live."""
    peak_bytes: Count
    """The most live bytes in it."""
    fragmentation: Annotated[float, Meta(ge=0, le=1)] | None
    """The part of it that is never used at once: 1 - peak_bytes / size_bytes. Null for a size of 0."""
    never_used_bytes: Count
    """The bytes that belong to no value."""
    free_bytes: Count | None
    """The bytes that are free at the peak of the memory space; null if nothing is ever live in it."""
    holes: list[tuple[Count, Count]]
    """These bytes: the first byte of each hole, and the one after its last."""
    full_size_steps: list[tuple[Count, int]]
    """The steps at which a value reaches the end of the allocation: the first and the last step of each range."""
    reaching: list[Value]
    """The values that reach the end of the allocation, at most --top."""


class Budget(JsonObject):
    """The values to remove so that the memory space fits into a budget."""

    budget_bytes: Count
    """The budget."""
    is_reached: bool
    """Whether what the program needs is within the budget without `values`."""
    is_proven_smallest: bool
    """Whether no smaller set suffices."""
    at_least: Count
    """No set of fewer values suffices; 0 if that is unknown."""
    needed_bytes: Count
    """What the program needs without the values, in bytes, if the needed bytes that are not live at the peak stay."""
    peak_bytes: Count
    """The peak without the values, in bytes."""
    peak_step: Count | None
    """The step of that peak; null if nothing is live any more."""
    count: Count
    """The number of values to remove."""
    values: list[LiveValue]
    """The values to remove, biggest first, at most --top; empty if the program fits already, or if nothing helps."""


# ---------------------------------------------------------------- memory spaces


class KindSize(JsonObject):
    """The reserved bytes of one kind of allocation."""

    kind: AllocationKind
    """The kind of the allocations."""
    size_bytes: CountFrom1
    """Their size."""


class KindBalance(JsonObject):
    """The bytes of one kind of allocation that are needed but not live."""

    kind: AllocationKind
    """The kind of the allocations."""
    size_bytes: int
    """Their size; negative for thread-local ones, which are live but not needed."""


class Color(JsonObject):
    """What one color takes of a memory space."""

    color: ColorNumber
    """The number in the dump."""
    name: str
    """What XLA uses the color for: `collective memory`; `memory space 9` if that is unknown."""
    peak_step: Count | None
    """The first step with the most live bytes; null if nothing is ever live."""
    reserved_bytes: Count | None
    """The sum of the sizes of its allocations, in bytes."""
    needed_bytes: Count | None
    """The reserved bytes without thread-local allocations."""
    peak_live_bytes: Count | None
    """The most live bytes of all steps; null if the dump has no live ranges."""
    live_bytes_at_printed_peak: Count | None
    """The live bytes at the step that XLA prints as the peak; null if it prints none."""
    bounds: Bounds
    reserved_by_kind: list[KindSize] | UnsetType | None = UNSET
    """Part `totals`, where the memory space has several colors: the reserved bytes by the kind of the allocation; null
    if they are unknown.
    """


class MemorySpace(JsonObject):
    """One memory space. Parts that were not requested are absent."""

    color: ColorNumber
    """The number of the memory space in the dump; 0 is the device's memory: HBM on TPU and GPU, host memory on CPU. Of
    several colors, the one that stands for the memory space.
    """
    name: str
    """The name of the memory space: `HBM`, `VMEM` or `host memory`; `memory space 7` if the number has no known
    meaning.
    """
    is_device: bool
    """Whether this is the device's memory, whose `needed_bytes` decide whether the program fits."""
    colors: list[Color]
    """The colors of the memory space, several where XLA uses several for the same memory, such as one for collective
    memory on GPUs. The reserved and needed bytes add up to those of the memory space; the peaks need not, because they
    may be at different steps.
    """
    fits: bool | None
    """Whether `needed_bytes` are within `limit_bytes`; null without a limit, and if the dump does not determine it."""
    limit_bytes: Count | None
    """The budget or, without one, the capacity of the device; null if neither is known, and for memory spaces other
    than the device's memory.
    """
    over_bytes: Count | None
    """By how much the program exceeds `limit_bytes`, 0 if it fits; null where `fits` is."""
    free_bytes: Count | None
    """How much of `limit_bytes` the program does not need; null unless it fits."""
    peak_step: Count | None
    """The first step with the most live bytes; null if nothing is ever live."""
    peak_instruction: str | None
    """The instruction at that step; null if none runs there, as at the end of the program."""
    reserved_bytes: Count | None
    """The sum of the sizes of its allocations, in bytes."""
    needed_bytes: Count | None
    """What the device must provide, in bytes: the reserved bytes without thread-local allocations. They decide whether
    the program fits.
    """
    parameter_bytes: Count | None
    """The sizes of the allocations of arguments, in bytes."""
    output_bytes: Count | None
    """The sizes of the allocations of outputs, in bytes, including donated arguments that hold outputs."""
    temporary_bytes: Count | None
    """The preallocated temporaries, in bytes."""
    aliased_bytes: Count | None
    """The sizes of the allocations of donated arguments that hold outputs, in bytes. They count as arguments and as
    outputs.
    """
    peak_live_bytes: Count | None
    """The most live bytes of all steps; null if the dump has no live ranges."""
    live_bytes_at_printed_peak: Count | None
    """The live bytes at the step that XLA prints as the peak; null if it prints none."""
    not_live_bytes: int | None
    """The needed bytes that are not live at the peak; negative if more is live than is needed, because thread-local
    bytes are not needed. Null if either number is not exact.
    """
    not_live: list[KindBalance] | None
    """The same by the kind of the allocation; null for memory spaces other than the device's memory."""
    bounds: Bounds
    reserved_by_kind: list[KindSize] | UnsetType | None = UNSET
    """Part `totals`: the reserved bytes by the kind of the allocation; null without a buffer assignment, and if they
    are unknown.
    """
    at_step: LiveSet | UnsetType | None = UNSET
    """With --at: what is live at that step; null if the schedule does not have it."""
    live_at_peak: list[LiveValue] | UnsetType = UNSET
    """Part `live`: the values live at the peak, biggest first, at most --top."""
    curve: list[tuple[Count, Count]] | UnsetType = UNSET
    """Part `curve`: the live bytes over time, as pairs of a step and the bytes that are live from there on."""
    lines: Lines | UnsetType | None = UNSET
    """Part `line`; null if nothing is ever live."""
    sources: Sources | UnsetType | None = UNSET
    """Part `source`; null if nothing is ever live."""
    alive_at_peak: list[AliveValue] | UnsetType = UNSET
    """Part `alive`: the values live at the peak; those that would lower it most come first."""
    padding: Padding | UnsetType | None = UNSET
    """Part `padding`, and for the device's memory also part `advice`; null if nothing is ever live."""
    arenas: list[Arena] | UnsetType = UNSET
    """Part `arenas`: the preallocated temps."""
    budget: Budget | UnsetType | None = UNSET
    """With --budget; null for every memory space but the device's memory."""


# ---------------------------------------------------------------- what the dump prints, and the device


class Sum(JsonObject):
    """A sum that XLA makes, term by term, in bytes: total = live + died + tuple + other_space + shared - padding +
    unplaced.
    """

    step: Count
    """The step."""
    color: ColorNumber
    """The memory space that the terms compare with."""
    total_bytes: int
    """The sum."""
    live_bytes: Count
    """The live bytes of the memory space at the step."""
    died_bytes: Count
    """Values whose live range ended one step earlier."""
    tuple_bytes: int
    """What tuple elements are overcounted by because each counts as the whole tuple's table of pointers; negative if
    they are undercounted.
    """
    other_space_bytes: Count
    """Values in other memory spaces."""
    shared_bytes: Count
    """Bytes that several values share, counted more than once."""
    padding_bytes: int
    """Padding, which XLA does not count; negative if a slice is smaller than its shape."""
    unplaced_bytes: Count
    """Values in no allocation."""


class Explained(JsonObject):
    """What XLA added up for its printed peak."""

    listed: Sum | None
    """The printed list; null if it does not match the live values, or a shape is unknown."""
    counted_at_printed: Sum | None
    """What XLA counts at the printed step; null if a shape is unknown."""
    counted_at_peak: Sum | None
    """What XLA counts at the recomputed peak of the device's memory; null if a shape is unknown or nothing is ever
    live.
    """


class Printed(JsonObject):
    """What the dump itself prints."""

    peak_step: Count | None
    """The step of the printed peak; null if there is none."""
    total_bytes: Count | None
    """The printed total, in bytes; null if there is none."""
    peak_bytes: Count | None
    """The sum of the printed list at that peak, in bytes; null if there is none."""
    bounds: Bounds
    explained: Explained | UnsetType | None = UNSET
    """Part `peak`; null if no peak is printed."""


class Device(JsonObject):
    """The device, its capacity, and what takes it."""

    chip: str | None
    """The name of the chip that XLA compiled for, such as `TPU v5e` or `NVIDIA H100 80GB HBM3`; null if no file beside
    the dump names it.
    """
    size_bytes: Count | None
    """The capacity; null if it is unknown."""
    source: CapacitySource | None
    """What states the capacity: the user's setting; the flag xla_tpu_max_hbm_size_mib; an out-of-memory message or the
    log of a compilation beside the dump, which print what programs may use, in two decimals; the description of the GPU
    that XLA compiled for, which is all its memory; or the TPU that XLA compiled for, of which libtpu lets programs use
    this much. Null if it is unknown.
    """
    file: str | None
    """The file that states the capacity, or for `libtpu` the one that names the chip; null for a setting."""
    over_bytes: Count | None
    """By how much the program exceeds it; 0 if it fits, null if the dump does not tell. Thread-local buffers do not
    count.
    """
    reserved: list[KindSize]
    """The reserved bytes by the kind of the allocation."""
    bounds: Bounds


class MeasuredDevice(JsonObject):
    """What the runtime says about a device; null where it does not."""

    name: str
    """The name of the device."""
    peak_bytes: Count | None
    """The most bytes that were in use at once."""
    limit_bytes: Count | None
    """The bytes that programs may use."""
    largest_free_bytes: Count | None
    """The largest free block, in bytes."""


class LiveArrays(JsonObject):
    """Arrays of the same type and shape."""

    shape: str
    """The type and shape, such as `float32[2,3]`."""
    count: CountFrom1
    """The number of arrays."""
    size_bytes: Count
    """Their bytes."""


class LoadedPrograms(JsonObject):
    """The compiled programs that the runtime keeps loaded."""

    count: CountFrom1
    """The number of programs."""
    temporary_bytes: Count
    """The temporaries of all of them, in bytes. They are allocated while a program runs, so all of this is only taken
    if all run at the same time.
    """
    largest_temporary_bytes: Count
    """The temporaries of the program with the most, in bytes: what they take one after another."""
    code_bytes: Count
    """Their code, in bytes, which is taken all the time."""


class Measured(JsonObject):
    """What a process measured of its memory."""

    resident_bytes: Count | None
    """The most memory of the host that the process had at once, in bytes; null if the system does not tell."""
    devices: list[MeasuredDevice]
    """The devices, as `memory_stats()` of JAX describes them; empty where it does not."""
    arrays: list[LiveArrays]
    """The arrays of JAX that were alive, most bytes first; at most the 100 shapes with the most bytes."""
    programs: LoadedPrograms | None
    """The programs that JAX had loaded; null if that is unknown."""
    is_running: bool
    """Whether the process was still running when this was measured, as for `Capture.to_dict`. Otherwise it was about to
    end.
    """
    words: str | None
    """What the process used at most beside what the module needs, in words; null if either is unknown."""


class Interval(JsonObject):
    """A number of bytes: at least and at most so many."""

    least_bytes: Count
    """The least number."""
    most_bytes: Count
    """The greatest number."""


class KindInterval(Interval):
    """The bytes of one kind of allocation."""

    kind: AllocationKind
    """The kind of the allocations."""


class UsageReportSpace(JsonObject):
    """A memory space in a memory usage report."""

    color: Count
    """XLA's number of the memory space."""
    reserved: Interval
    """The sum of the sizes of its allocations."""
    needed: Interval
    """The reserved bytes without thread-local allocations."""
    kinds: list[KindInterval]
    """The bytes by the kind of the allocation. Empty if the report has no kinds, as those with a part for each memory
    space.
    """


class UsageReportBuffer(Interval):
    """Bytes of an allocation in a memory usage report."""

    color: Count
    """XLA's number of the memory space."""
    kind: AllocationKind | None
    """The kind of the allocation; null if the report has no kinds."""
    size: str
    """The bytes in the words of the report, such as `195.31MiB`."""
    values: Count
    """The number of values that take the bytes."""
    shapes: str
    """Their shapes as the report prints them."""


class UsageReport(JsonObject):
    """What a memory usage report tells by itself. It prints most sizes rounded."""

    memory_spaces: list[UsageReportSpace]
    """The memory spaces, by color."""
    buffers: list[UsageReportBuffer]
    """The largest buffers, at most `top`. Several values can take the bytes of one in turn."""


# ---------------------------------------------------------------- donation and advice


class Donated(JsonObject):
    """A donated parameter."""

    parameter: Value
    """The parameter."""
    reused_by: list[Value]
    """The other values in its buffer, in order of time."""
    size_bytes: Count
    """The size of the buffer."""


class Missed(JsonObject):
    """A parameter that an output could have reused."""

    parameter: Value
    """The parameter."""
    output: Value
    """The output."""
    last_read: Count | None
    """The step that reads the parameter last; null if nothing reads it."""
    birth: Count
    """The step from which the output's buffer is in use; with the fit `shared`, the step that defines the output."""
    fit: Fit
    """`free`: the parameter is dead before the output's buffer is first used. `in place`: the parameter's last reader
    would have to write in place. `shared`: other values use the output's buffer first, so less may be saved. `read
    later`: XLA would have to read the parameter before it makes the output, or to copy it.
    """
    size_bytes: Count
    """The size of the output's allocation."""


class Copy(JsonObject):
    """A copy of a parameter's content in a buffer of its own."""

    copy: Value
    """The copy."""
    parameter: Value
    """The parameter."""
    is_output: bool
    """Whether the copy is an output. Otherwise the parameter is donated, and its content is needed after it is
    overwritten.
    """
    size_bytes: Count
    """The bytes of the copy."""


class Donation(JsonObject):
    """Which parameters hold outputs, which could, and which copies keep the two apart. Lists have the most bytes first
    and at most --top rows; counts and sums cover all.
    """

    donated_count: Count
    """The number of donated parameters."""
    donated_bytes: Count
    """The bytes of their buffers."""
    donated: list[Donated]
    """Parameters with a buffer that also holds an output."""
    missed_count: Count
    """The number of parameters that an output could have reused."""
    missed_bytes: Annotated[dict[Fit, Count], keyed_by(Fit)]
    """The bytes that could be saved, by how sure that is; see `fit`."""
    missed: list[Missed]
    """Parameters that an output could have reused."""
    copies_count: Count
    """The number of copies that keep parameters and outputs apart."""
    copies_bytes: Count
    """Their bytes."""
    copies: list[Copy]
    """Those copies."""


class BufferGroup(JsonObject):
    """Buffers that are alike except for the number of their layer."""

    count: CountFrom1
    """The number of buffers, or of layers in buffers that stack those of many."""
    shape: str
    """The shape of one, or of one layer, without its layout."""
    size_bytes: CountFrom1
    """Their bytes at the peak."""
    op_name: str | None
    """The op_name, with `*` in place of the numbers in which those of the values differ; null if there is none."""
    values: list[int]
    """The ids of the values."""
    file: str | None
    """The source file; null if unknown."""
    line: int | None
    """The source line; null if unknown."""
    function: str | None
    """The function; null if unknown."""


class Policy(JsonObject):
    """What an action may keep, so that less is computed again."""

    code: str
    """The argument to add to the code."""
    kept: str
    """What is kept, in words."""
    saved_needed_bytes: int
    """By how much less the program then needs; negative if a compiler has measured that it needs more."""
    certainty: Certainty
    """Whether that is estimated or measured."""


class Action(JsonObject):
    """One action, and the peak after it alone. `xla-lens explain RULE` explains it."""

    rule: Rule
    """The rule that found it."""
    what: str
    """What to do, in the terms of the program."""
    snippet: str | None
    """Code to adapt and paste, null if it depends on the program too much."""
    certainty: Certainty
    """`estimated`: the peak assumes today's schedule. `measured`: the program was changed and compiled again
    (`Capture.try_advice`).
    """
    cost: Cost
    """What it costs: `nothing`; `code`: a change that computes the same in other steps; `time`: what ran at once runs
    one after another; `compute`: what it frees is computed again; `numbers`: the results change slightly.
    """
    others: list[Count]
    """The rows of the actions that have to be taken with it, without which it saves too little. The numbers then
    compare all of them with and without it. Empty if it saves enough alone.
    """
    size_bytes: Count
    """The bytes of its buffers at the peak."""
    saved_bytes: int
    """By how much the peak is lower after it; negative if the program needs less but more is live at once."""
    saved_needed_bytes: int
    """By how much less the program needs after it; negative if a compiler has measured that it needs more."""
    policy: Policy | None
    """What to keep for a smaller saving in less time; null if the rule has no such choice."""
    needed_bytes: Count
    """What the program needs after it."""
    peak_bytes: Count
    """The peak after it, recomputed."""
    peak_step: int | None
    """The first step of that peak; null if nothing is live any more."""
    factor: int | None
    """The number of parts into which the rule divides the buffers; null if it does not."""
    buffers: list[BufferGroup]
    """The buffers live at the peak that it concerns, in groups of the same shape and source."""


class Suggestion(JsonObject):
    """Something worth trying whose saving the dump does not tell."""

    rule: Rule
    """The rule that found it."""
    what: str
    """What to do."""
    snippet: str
    """Code to adapt and paste."""
    measured: str
    """What it saved in other programs."""
    cost: Cost
    """What it costs, as for actions."""
    needed_bytes: Count | None
    """What this program needs with it, measured; null if it was not tried."""


class TriedActions(JsonObject):
    """What `xla-lens try` or `Capture.try_advice` has measured, besides what the actions and the suggestions have."""

    file: str
    """The file that keeps it, beside the dump."""
    is_stale: bool
    """Whether the dump is of another compilation by now, so that nothing of it is used."""
    measured_needed_bytes: Count | None
    """What the program needs as the compiler of the trials compiles it. If that is not what it needs in the dump, that
    was another compiler, and nothing is used. Null if it cannot compile the program.
    """
    taken: list[str]
    """What is taken together, such as `action 1`; empty if nothing helps, or if nothing is used."""
    taken_needed_bytes: Count | None
    """What the program needs with all of these, compiled as a whole; null if there are none."""
    flags: dict[str, Count]
    """What it needs with other flags of the compiler that make a difference, each alone."""


class ArgumentTree(JsonObject):
    """Arguments with the same first part of their names."""

    name: str
    """The first part of the name, empty if the dump has no names."""
    count: CountFrom1
    """The number of arrays."""
    size_bytes: Count
    """Their bytes."""
    is_optimizer_state: bool
    """Whether nothing reads most of these bytes before the backward pass."""


class Sharding(JsonObject):
    """What the program needs with more devices."""

    factor: CountFrom1
    """Over how many times as many devices to shard the arguments, with the same batch on each."""
    actions: list[Count]
    """The rows of the actions to take, too."""
    needed_bytes: Count
    """What the program then needs on each device, in bytes."""
    left_bytes: int
    """What is then left of the budget, negative if the program needs more."""
    fits: bool
    """Whether what it needs at most is within the budget."""


class AdviceBudget(JsonObject):
    """The budget, and the actions that reach it."""

    is_reached: bool
    """Whether what the program needs at most after `actions` is within the budget."""
    actions: list[Count]
    """The rows of the actions to take, in this order: those that cost nothing first."""
    divide_arguments_by: CountFrom1
    """The smallest power of two by which the arguments have to be divided to be within the budget."""
    divided_argument_bytes: Count
    """The bytes of the arguments, divided by that."""
    size_bytes: Count
    """The budget, in bytes."""
    over_bytes: Count
    """By how much the program exceeds the budget after `actions`, 0 if they reach it."""
    arguments_over_bytes: Count
    """By how much the arguments alone exceed the budget."""
    needed_bytes: list[Count]
    """What the program needs after each of them and all before it."""
    at_most_bytes: Count
    """What the program needs at most after all of them, by the margin of estimates that were measured; 0 if there are
    none.
    """
    peak_bytes: list[Count]
    """The peak after each of them and all before it, recomputed."""
    remaining_argument_bytes: int
    """What the arguments take after all of them."""
    remaining_other_bytes: int
    """What temporaries, outputs and constants take after all of them."""
    sharding: Sharding | None
    """More devices with which the program fits if the actions alone do not reach the budget; null if they do, and if
    even 8 times as many are too few.
    """
    shardings: list[Sharding]
    """What the program needs with 2, 4 and 8 times as many devices, after as few of `actions` as suffice, or after all;
    empty if the actions alone reach the budget.
    """
    arguments_exceed: bool
    """Whether the arguments alone are more than the budget."""


class Advice(JsonObject):
    """Actions that lower the peak of a memory space, or what the program needs of it."""

    color: int
    """The number of the memory space."""
    peak_bytes: Count
    """The peak now, in bytes."""
    peak_step: Count | None
    """The first step of the peak."""
    needed_bytes: Count
    """What the program needs now, in bytes."""
    argument_bytes: Count
    """The sizes of the allocations of the program's arguments, in bytes."""
    argument_bytes_without_optimizer_state: int
    """The same without the arguments that are optimizer state."""
    rematerialized: Count
    """The number of instructions that XLA already repeats to save memory."""
    actions: list[Action]
    """The actions, those that save the most of the needed bytes first; then those that save enough only with others."""
    together: list[Count]
    """The rows of `actions` that can be taken together, counted from 0."""
    together_saved_needed_bytes: int
    """By how much less the program needs after these."""
    together_needed_bytes: Count
    """What the program needs after these, in bytes."""
    together_peak_bytes: Count
    """The peak after these, recomputed, in bytes."""
    together_peak_step: int | None
    """The first step of that peak; null if nothing is live any more."""
    arguments: list[ArgumentTree]
    """The arguments by the first part of their name, such as `state[1]`; most bytes first."""
    budget: AdviceBudget | None
    """Whether and how the actions reach the budget; null without a budget."""
    suggestions: list[Suggestion]
    """What is worth trying, although the dump does not tell what it saves."""
    tried: TriedActions | None
    """What was tried; null if nothing was."""


# ---------------------------------------------------------------- a report


class Gap(JsonObject):
    """One reason why a group of numbers is not exact."""

    quantity: Quantity
    """The numbers: those that rely on the same facts."""
    bound: Inexact
    """What the numbers are instead."""
    cause: Cause
    """What is wrong."""
    file: FileKind
    """The file, or the part of a file, that lacks the facts or contradicts another one."""
    finding: str | None
    """The code of the finding; null for a missing file."""
    flag: str | None
    """The flag of XLA that left the file out, such as `--xla_dump_buffer_assignment_analysis=false`; null if it is
    unknown.
    """


class Unseen(JsonObject):
    """An instruction that takes memory which no dump shows."""

    kind: UnseenKind
    """What takes the memory."""
    instruction: str
    """The name of the instruction."""
    size_bytes: int | None
    """The bytes of the arrays that the memory is taken for: of the products inside a `ynn_fusion`, of the result of a
    LAPACK call or an `fft`, of a row of a sort. Null if the HLO module was not read.
    """


class CompiledAgain(JsonObject):
    """A function that XLA compiled more than once: modules of the same name in one folder."""

    numbers: list[Count]
    """The numbers of all its modules, in order."""
    argument: str | None
    """The first argument whose shape differs between the first two; null if no shape differs, or the numbers of
    arguments do, or they are unknown.
    """
    shapes: tuple[str, str] | None
    """Its shapes there; null if `argument` is."""
    argument_counts: list[Count | None]
    """The number of arguments of the first two modules; null if it is unknown."""
    words: str
    """The same in words."""


class Report(JsonObject, kw_only=True):
    """Where the memory of one dump goes."""

    rank: CountFrom1 | UnsetType = UNSET
    """Of several modules: the rank of this one, from 1. Only the first one, or those selected by --module or --all,
    have the parts of a report.
    """
    number: Count | UnsetType | None = UNSET
    """Of several modules: the number of this one in the names of its files; null if they have none."""
    compiled_again: CompiledAgain | UnsetType | None = UNSET
    """Of several modules: why XLA compiled the function more than once; null if it did so once."""
    temp_bytes: Count | UnsetType | None = UNSET
    """Of several modules: the preallocated temps of the device's memory, in bytes; null if they are unknown."""
    module: str | None
    """The name of the HLO module, from the names of the files; null if they do not contain it."""
    files: Files
    """The path of each file of the dump by what the file holds."""
    complete: bool
    """Whether all numbers are exact. False for a dump that is cut off, lacks files or contradicts itself."""
    incomplete: list[Gap]
    """Why numbers are not exact, one entry for each reason and quantity; empty for a complete dump."""
    left_out: list[Part]
    """The parts that were requested, but whose numbers would not even be bounds."""
    unseen: list[Unseen]
    """Instructions of a program for the CPU that take memory which no dump shows, the most bytes first."""
    findings: list[Finding]
    """What `xla-lens check` reports."""
    instructions: Count | None
    """The number of scheduled instructions; null if no file has a schedule."""
    values: Count | None
    """The number of values; null if no file lists values."""
    allocations: Count | None
    """The number of allocations; null without a buffer assignment."""
    reserved_bytes: Count | None
    """The sum of the sizes of all allocations, in bytes; null without a buffer assignment."""
    thread_local_bytes: Count
    """Those of them that the device need not provide, as far as they are exact: in registers and on stacks."""
    bounds: Bounds
    printed: Printed
    """What the dump itself prints."""
    device: Device | None
    """The device and its capacity for the device's memory; null if no file beside the dump names either."""
    usage_report: UsageReport | None
    """What the memory usage report tells of a dump without a buffer assignment; null for other dumps."""
    measured: Measured | None
    """What the process that compiled the module measured of its memory when it ended under `xla-lens run`; null if
    nothing was measured.
    """
    donation: Donation | UnsetType | None = UNSET
    """Part `donation`; null if the dump lacks the facts for it."""
    advice: Advice | UnsetType | None = UNSET
    """Part `advice`: what would lower the peak of the device's memory; null if the dump does not determine it."""
    memory_spaces: list[MemorySpace]
    """The memory spaces, by color."""


class Oom(JsonObject):
    """The messages of a log."""

    log: str
    """The path of the log."""
    messages: list[Message]
    """The messages, in the order of the log, each once; none if the log only has `programs`."""
    programs: list[CompiledProgram]
    """What the compiler for TPUs logged about programs, in the order of the log; empty if there are messages."""
    left_out: Count
    """The number of messages beyond the first 1,000."""
    dumps: Count
    """The number of dumps among which those of the messages were searched."""
    report: Report | None
    """The report of the dump that the first failure is about; null without a dump."""
