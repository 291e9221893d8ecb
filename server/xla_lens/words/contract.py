"""The JSON that commands and notifications of XLA Lens carry beyond the Language Server Protocol.

`vscode-extension/generate_protocol.py` turns these types into `vscode-extension/shared/protocol.ts`, so that the
compiler checks the extension and the memory map against them.

A `uri` names a file of a dump set, open in the editor or not, or a page that the server made from one. Sizes are bytes,
and steps are those of the schedule. As in the JSON of commands, names have underscores, and a number that is unknown or
absent is `None`; only in a column it is -1. Texts are empty where there is nothing to say.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from xla_lens.model.warrants import Bound
from xla_lens.syntax.file_names import FileKind


class Position(TypedDict):
    """A position as in LSP: both numbers count from 0, characters in the encoding that client and server agreed on."""

    line: int
    character: int


class Range(TypedDict):
    """A range as in LSP: the end is exclusive."""

    start: Position
    end: Position


class Location(TypedDict):
    """A location as in LSP."""

    uri: str
    range: Range


class SourceLine(TypedDict):
    """A line of the program. The command `xla-lens.goTo` takes it and opens the file."""

    path: str
    """The path on the machine that compiled the program."""
    line: int | None
    """The number of the line, from 1."""


GapWord: TypeAlias = Literal["", "cut off", "incomplete", "contradictory", "unreadable in part"]


Cells: TypeAlias = list[int]
"""A column of a table, or the numbers of some rows."""


class SetFile(TypedDict):
    """A file of a dump set."""

    kind: FileKind
    uri: str
    size_bytes: int


class Capacity(TypedDict):
    """How much memory the device has."""

    size_bytes: int
    source: str
    """What states it, in words: `the setting xla-lens.device.memory`, `error.log`."""
    over_bytes: int | None
    """By how much the program exceeds it, 0 if it fits; `null` if the dump does not tell. The device must provide
    `needed_bytes`.
    """


class SpaceSummary(TypedDict):
    """A memory space."""

    color: int
    """XLA's number of the memory space."""
    name: str
    """The name to display: `HBM`, `VMEM`, `host memory`, or `memory space 7` if the number has no known meaning."""
    reserved_bytes: int
    """The sum of the sizes of its allocations."""
    needed_bytes: int
    """What the device must provide: the reserved bytes without thread-local allocations."""
    reserved_bound: Bound
    """How `reserved_bytes` and `needed_bytes` relate to the true numbers. `at_least`: the true one is the same or
    larger. `at_most`: it is the same or smaller. `unknown`: it may be smaller or larger, so they must not be shown.
    """
    peak_live_bytes: int
    peak_bound: Bound
    """How `peak_live_bytes` relates to the true number."""
    peak_step: int | None
    """`null`: no value of this space has a live range."""
    capacity: Capacity | None
    """The capacity of the device, `null` if it is unknown."""
    needed: str
    """The needed bytes with their bound: `3.57 MiB`, `≥ 3.57 MiB` or `unknown`."""
    reserved: str
    peak: str
    limit: str
    """To follow a number of bytes: `of 15.75 GiB HBM, over by 28.61 GiB`. Empty if the capacity is unknown."""
    headline: str
    """`HBM: needs 5.00 MiB, peak 4.21 MiB`"""
    is_over: bool
    """The dump proves that the program does not fit into the device."""
    is_small: bool
    """Views fold the space if there are several such."""


class ModuleSummary(TypedDict):
    """A dump set of the workspace."""

    uri: str
    """The file to open first."""
    module: str
    incomplete: str
    """Why numbers of the set are not exact: `the live ranges are cut off`. Empty if all are."""
    gap: GapWord
    """What is wrong with the set, in one word or two. Empty if all numbers are exact."""
    spaces: list[SpaceSummary]
    files: list[SetFile]


class Modules(TypedDict):
    """The dump sets of the workspace that have been read so far: first those that do not fit their device, then those
    that need most of the main memory.
    """

    is_reading: bool
    """More sets are being read: ask again later."""
    is_truncated: bool
    """The workspace has more sets than the server reads."""
    modules: list[ModuleSummary]


class PrintedPeak(TypedDict):
    """The peak that XLA printed."""

    step: int
    bytes: int | None
    """`null`: the dump does not print it."""


class LocatedPeak(PrintedPeak):
    """The peak that XLA printed, and where."""

    location: Location | None


class ValueEntry(TypedDict):
    """A value. Unknown texts are empty."""

    value: int
    """The row of the value in `MemoryMap.values`."""
    label: str
    """Name and index: `fusion.5{0}`."""
    path: str
    """The path of a parameter in the arguments of the program: `state[1]['w']`. What replaces it in its buffer has it,
    too. Empty for other values.
    """
    size_bytes: int
    shape: str
    op_name: str
    source: str
    """The line of the program that the value comes from: `train.py:31 in step`."""
    source_line: SourceLine | None
    """The same line for `xla-lens.goTo`."""
    location: Location | None
    """`null`: no file of the set mentions the value in a line of its own."""


class SpaceOverview(SpaceSummary):
    """A memory space, and what it needs besides its peak."""

    not_live: list[str]
    """What is needed, but not live at the peak: `1.20 GiB of outputs that no argument is donated to`. Empty if numbers
    are not exact.
    """
    notes: list[str]
    """Sentences about what makes its numbers larger or smaller than expected, such as padding."""
    device: str
    """What the device has, and what takes it: `15.75 GiB (error.txt); arguments 18.70 GiB (118.7 %)`. Empty if that is
    unknown.
    """
    peak_instruction: str
    """The instruction that runs at the peak, empty if unknown."""
    peak_location: Location | None
    """The line of the schedule."""


class ValueGroup(TypedDict):
    """Values that are live at a peak and belong together."""

    kind: Literal["line", "like", "path"]
    """`line`: the values of a source line, or those without one. `like`: those of them that have the same shape and the
    same op_name except for numbers of layers. `path`: what is in the buffers of the parameters below a path.
    """
    label: str
    """The source line, the shape of like values, or the next part of the path."""
    detail: str
    """The function of a source line, the op_name of like values with `*` in place of the numbers of layers, what a path
    among source lines is, or why some values have no source line. May be empty.
    """
    source_line: SourceLine | None
    size_bytes: int
    """Each byte counts for one value, so that the groups beside each other add up to what is above them."""
    bound: Bound
    """How `size_bytes` and `count` relate to the true numbers, as in `SpaceSummary`."""
    count: int
    """How many values are in the group and the groups below it."""
    groups: list["ValueGroup"]
    """Smaller groups, largest first."""
    values: Cells
    """The values that are in no smaller group, largest first: rows for `xla-lens.values`."""


class PeakGroups(TypedDict):
    """What is live at the peak of a memory space."""

    lines: list[ValueGroup]
    """By source line, and parameters by their argument, largest first. Empty if the dump is too incomplete to tell."""
    parameters: list[ValueGroup]
    """The parameters of the program by their paths in its arguments, largest first. Empty if none has a path."""
    values: Cells
    """All values, largest first: rows for `xla-lens.values`."""


class SourceLineMemory(TypedDict):
    """A line of a file of the program with bytes at the peak."""

    line: int
    """The number of the line when the program was compiled, from 1."""
    row: int
    """Where the line is now, from 0."""
    size_bytes: int
    is_shown: bool
    """The line makes enough of the peak for a label at its end."""
    label: str
    """`██████ 24.10 GiB (76.0 %)`"""
    markdown: str
    """The hover."""
    values: Cells
    """The values of the line that are live at the peak: rows for `xla-lens.values`."""


class FunctionMemory(TypedDict):
    """A function of a file of the program with bytes at the peak, those of functions inside it included."""

    row: int
    """Where its first line is now, from 0."""
    last_row: int
    label: str
    """`24.10 GiB of the 31.70 GiB HBM peak · jit_train_step`"""


class SourceMemory(TypedDict):
    """The bytes at the peak of a dump set that come from a file of the program."""

    uri: str
    """The file of the set to open first."""
    module: str
    space: str
    """The name of the memory space with the greatest peak, which this is about."""
    peak_live_bytes: int
    size_bytes: int
    label: str
    """`24.10 GiB (76.0 %) of the HBM peak`"""
    is_newer: bool
    """The file has changed since the dump was written."""
    lines: list[SourceLineMemory]
    """In the order of the file."""
    functions: list[FunctionMemory]
    """In the order of the file. Empty if the file that the program was compiled from is unknown."""
    others: list[str]
    """The modules of the other sets in memory that name the file."""


class StepHeat(TypedDict):
    """The lines of a schedule whose steps are near the peak of the device's main memory, in runs of one level. Each
    column has an entry for each run.
    """

    first_row: Cells
    """From 0."""
    last_row: Cells
    level: Cells
    """From 0 to 3, the greater the nearer to the peak."""


class AllocationEntry(TypedDict):
    """An allocation."""

    allocation: int
    """The row of the allocation in `MemoryMap.allocations`."""
    index: int
    """The number that XLA prints."""
    kind: str
    color: int
    size_bytes: int
    most_live_bytes: int | None
    """The maximum number of its bytes that are live at the same step; `null`: none of its values has a live range."""
    location: Location


class Overview(TypedDict):
    """Where the memory of one set goes."""

    uri: str
    module: str
    incomplete: str
    """Why numbers of the set are not exact, as in `ModuleSummary`."""
    gap: GapWord
    """What is wrong with the set, as in `ModuleSummary`."""
    files: list[SetFile]
    spaces: list[SpaceOverview]
    printed_peak: LocatedPeak | None
    allocations: list[AllocationEntry]
    """The largest first."""
    allocation_count: int
    """How many allocations the set has, including those that `allocations` leaves out."""


class FoundValue(TypedDict):
    """A module, an allocation or a value that a query found. Unknown texts are empty."""

    kind: Literal["module", "allocation", "value"]
    name: str
    module: str
    allocation_kind: str
    """`temp`, `parameter`; empty for a module."""
    space: str
    """The name of the memory space, as in `SpaceSummary`; empty for a module."""
    size_bytes: int | None
    """For a module, the greatest peak of its memory spaces; `null`: unknown."""
    peak_bytes: int | None
    """The peak of the memory space if the value is live there; `null`: it is not, or the peak is not exact."""
    source: str
    """The line of the program that a value comes from, if its set is open: `train.py:31 in step`."""
    location: Location


class FoundValues(TypedDict):
    """What a query found in the dump sets of the workspace that have been read so far, the best match first."""

    is_reading: bool
    """More sets are being read: ask again later."""
    is_truncated: bool
    """There are more matches."""
    found: list[FoundValue]


class WhatIsAt(TypedDict):
    """What a position refers to, as rows of the memory map and a step; `null` for each that it does not refer to."""

    value: int | None
    allocation: int | None
    step: int | None


class Description(TypedDict):
    """The hover of a value, an allocation or a step, and its location: that in the file that was asked about, if that
    file mentions a value, else that in the file that defines it.
    """

    markdown: str
    location: Location


class MapSpace(SpaceSummary):
    """A memory space with its curve: the live bytes become `curve_bytes[i]` at `curve_step[i]`."""

    curve_step: Cells
    curve_bytes: Cells


class AllocationColumns(TypedDict):
    """One entry for each allocation in every column. `kind` indexes `MemoryMap.strings`."""

    index: Cells
    color: Cells
    size_bytes: Cells
    kind: Cells


class ValueColumns(TypedDict):
    """One entry for each value in every column. Texts are indices of `MemoryMap.strings`, -1 where unknown."""

    label: Cells
    allocation: Cells
    """The row of the allocation; -1: the value has none."""
    offset_bytes: Cells
    size_bytes: Cells
    start_step: Cells
    """The first step of the live range; -1: the value has none."""
    end_step: Cells
    """The last step of the live range, inclusive; -1: the value has none."""
    kind: Cells
    shape: Cells
    op_name: Cells
    source: Cells
    """The line of the program that the value comes from."""
    call: Cells
    """The innermost Python call that made the value, as a row of `MemoryMap.calls`; -1: unknown."""
    derived_from: Cells
    """The instruction that has this line and this op_name and computes the content of the value; -1: the one that
    defines the value.
    """
    padding_bytes: Cells
    """Assigned size minus the bytes of the logical shape; -1: unknown."""


class CallColumns(TypedDict):
    """The Python calls that made the values, as a tree: one entry for each call in every column, after its caller."""

    frame: Cells
    """The file, line and function, as an index of `MemoryMap.strings`."""
    caller: Cells
    """The row of the caller; -1: an outermost call."""


class MapComparison(TypedDict):
    """What makes a memory map one of two that are compared. The steps of both maps are those of one common axis."""

    side: Literal["old", "new"]
    own_step: Cells
    """The step of the dump at each step of the axis; -1 before its first one."""
    change: Cells
    """What happened to each value, as an index of `MemoryMap.strings`: `added`, `longer`, or empty."""
    partner: Cells
    """The row of each value in the other map; -1 without a partner."""


class MemoryMap(TypedDict):
    """Everything of a dump set that can be drawn, as columns."""

    module: str
    incomplete: str
    """Why numbers of the set are not exact, as in `ModuleSummary`."""
    strings: list[str]
    steps: Cells
    """The instruction of each step as an index of `strings`, -1 where unknown. The last entry is the last step that any
    file mentions.
    """
    spaces: list[MapSpace]
    printed_peak: PrintedPeak | None
    allocations: AllocationColumns
    values: ValueColumns
    calls: CallColumns
    comparison: NotRequired[MapComparison]


class ComparedMaps(TypedDict):
    """The memory maps of two dumps that are compared, and a file of each."""

    old: MemoryMap
    new: MemoryMap
    old_uri: str
    new_uri: str


class DidLoad(TypedDict):
    """Parameters of the notification `xla-lens/didLoad`: the server loaded, reloaded or closed a dump set."""

    uris: list[str]
    """All files of the set."""
    loaded: bool
    """False: the set was closed."""


class MapFile(TypedDict):
    """A file with the JSON of a memory map, or of two that are compared. The client deletes it."""

    path: str


class UnpackedDumps(TypedDict):
    """The files that were written for dumps that an editor cannot show as they are."""

    uris: list[str]
    """The file to show of each set, that of the biggest set first."""


class PositionArguments(TypedDict):
    """A position of a file or page."""

    uri: str
    position: Position


class SourceArguments(TypedDict):
    """The arguments of `xla-lens.goTo` for a line of the program."""

    path: str
    """As in the dump."""
    line: NotRequired[int]
    """From 1."""
    character: NotRequired[int]
    """From 0."""


class BriefArguments(TypedDict):
    """A question about files or folders of the workspace."""

    question: Literal["memory", "savings", "comparison", "failure"]
    uri: str
    """The dump, in a comparison the new one, or the log of a failure."""
    old: NotRequired[str]
    text: NotRequired[str]
    """The message of a failure that is in no log."""
    dump: NotRequired[str]
    """A dump that the failure may be about."""


_URI: Final = {"uri": str}

COMMANDS: Final[Mapping[str, tuple[type | Mapping[str, Any], type | UnionType | None]]] = {
    "xla-lens.modules": ({}, Modules),
    "xla-lens.overview": ({**_URI, "top?": int}, Overview),
    "xla-lens.unpackDumps": ({**_URI, "folder": str, "text?": str}, UnpackedDumps),
    "xla-lens.peak": ({**_URI, "color": int}, PeakGroups),
    "xla-lens.values": ({**_URI, "values": list[int]}, list[ValueEntry]),
    "xla-lens.memoryMap": ({**_URI, "as_file": bool}, MapFile),
    "xla-lens.whatIsAt": (PositionArguments, WhatIsAt),
    "xla-lens.describe": ({**_URI, "value?": int, "allocation?": int, "step?": int}, Description),
    "xla-lens.sourceMemory": ({**_URI, "dump?": str, "search?": bool}, SourceMemory | None),
    "xla-lens.heat": (_URI, StepHeat),
    "xla-lens.findValues": ({"query": str, "limit?": int}, FoundValues),
    "xla-lens.goTo": (SourceArguments, None),
    "xla-lens.showReport": (_URI, None),
    "xla-lens.showAnswer": (_URI, None),
    "xla-lens.showAdvice": (_URI, None),
    "xla-lens.showOutOfMemory": ({**_URI, "text?": str, "dump?": str}, None),
    "xla-lens.brief": (BriefArguments, str),
    "xla-lens.showLiveSet": ({**_URI, "position?": Position, "step?": int}, None),
    "xla-lens.compare": ({"old": str, "new": str}, None),
    "xla-lens.comparedMaps": ({**_URI, "as_file": bool}, MapFile),
    "xla-lens.selectForCompare": (_URI, None),
    "xla-lens.endComparison": ({}, None),
    "xla-lens.report": ({**_URI, "format": Literal["markdown", "html"]}, str),
}
"""The arguments of each command that the extension calls, and the answer if the extension uses it. An argument with a
question mark may be left out.

`top` and `limit` truncate lists, to 100 entries by default. Memory maps come in a file to a client on the same machine
(`as_file`), because megabytes in an answer would delay all others. `describe` takes exactly one of a row of a value, a
row of an allocation, or a step, and `showLiveSet` a step, or a position that refers to one. The `uri` of `sourceMemory`
is a file of the program. `dump` is a file of the dump set to prefer; otherwise, that with the greatest peak of those
that name the file counts. With `search`, it may be one of the workspace that is not in memory. The `query` of
`findValues` is one of workspace symbols. `unpackDumps` writes the dumps of a compressed file or of a log into a folder.
`brief` answers a question in a few kilobytes, about files or folders of the workspace only.
"""
