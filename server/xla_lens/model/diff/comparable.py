"""Whether two dumps can be compared: they should be of the same program, for the same backend and as many devices, by
the same compiler with the same flags.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from xla_lens.model.analysis import Analysis
from xla_lens.model.flags import CHIP, DEVICE_MEMORY, Flags, Setting, device_changes, flag_changes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, cells
from xla_lens.syntax.file_names import FileKind, changelist, module_name
from xla_lens.text.patterns import lazy_pattern


class DiffSide(Struct, frozen=True, eq=False):
    """One of two dumps: its analysis, the labels of its files, and its flags and device, None if they are unknown."""

    analysis: Analysis
    files: Mapping[FileKind, str]
    flags: Flags | None = None

    @property
    def label(self) -> str:
        """The label of the first file."""
        return next(iter(self.files.values()))

    @property
    def name(self) -> str | None:
        """The name of the HLO module, None if it is unknown."""
        return next(filter(None, map(module_name, self.files.values())), self.analysis.name)

    @property
    def changelist(self) -> int | None:
        """The changelist of libtpu, None if the names of the files do not contain it."""
        return next((number for number in map(changelist, self.files.values()) if number is not None), None)

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump."""
        return self.analysis.dump


DifferenceKind: TypeAlias = Literal[
    "unreadable",
    "backend",
    "devices",
    "other program",
    "rewritten",
    "no live ranges",
    "incomplete",
    "parameters",
    "compiler",
    "device",
    "flags",
    "library",
]
"""What makes two dumps hard to compare, or explains their numbers, the most important first.

- ``unreadable``: a file could not be read.
- ``backend``: each backend places values by its own rules.
- ``devices``: the number of devices that the modules are compiled for, replicas times partitions.
- ``other program``: less than half of the bytes at the peaks belong to matched values. ``rewritten``: the same, but
  with the same parameters.
- ``no live ranges``: dumps without live ranges have no peak.
- ``incomplete``: some numbers are not exact, because a dump is cut off, lacks a file or contradicts itself.
- ``parameters``: the programs take different parameters.
- ``compiler``: two builds of libtpu, by their changelists.
- ``device``: the modules are compiled for other devices, or for less memory. ``flags``: they are compiled with other
  flags. ``library``: only one of them has fusions that a library executes, which a flag decides.
"""


class Difference(Struct, frozen=True):
    """A difference. The `facts` are mostly `old` and `new`, or `changes`; `render/diff/words.py` has a sentence for
    each kind.
    """

    kind: DifferenceKind
    facts: Mapping[str, Any]


_FEW: Final = 0.5


def differences(old: DiffSide | None, new: DiffSide, fraction: float) -> Iterator[Difference]:
    """Yield what makes two dumps hard to compare, the most important first. `fraction` of the bytes at their peaks are
    matched. Without the old dump, of which only a report is left, yield what the new one lacks.
    """
    for side in filter(None, (old, new)):
        for file in side.analysis.unreadable:
            yield Difference("unreadable", {"file": file.label, "reason": file.unreadable})
    has_no_live_ranges = {
        "is_old": bool(old and not len(old.dump.live_ranges)),
        "is_new": not len(new.dump.live_ranges),
    }
    if old is None:
        yield from _lacking("no live ranges", has_no_live_ranges)
        return
    yield from _other("backend", old.dump.backend, new.dump.backend)
    yield from _other("devices", device_count(old.analysis.module), device_count(new.analysis.module))
    parameters = [*_parameters(old.dump, new.dump)]
    if fraction < _FEW:
        yield Difference("other program" if parameters else "rewritten", {"fraction": fraction})
    yield from _lacking("no live ranges", has_no_live_ranges)
    is_incomplete = (not side.analysis.warrants.is_complete for side in (old, new))
    yield from _lacking("incomplete", dict(zip(("is_old", "is_new"), is_incomplete, strict=True)))
    yield from parameters
    yield from _other("compiler", old.changelist, new.changelist)
    if old.flags and new.flags:
        yield from _settings("device", _device(old.analysis, new.analysis, device_changes(old.flags, new.flags)))
        yield from _settings("flags", flags := flag_changes(old.flags, new.flags, new.dump.backend))
    else:
        flags = []
    named = {flag.name for flag in flags}
    yield from (library for library in _libraries(old.dump, new.dump) if library.facts["flag"] not in named)


def _other(kind: DifferenceKind, old: object, new: object) -> Iterator[Difference]:
    """Two facts if both are known and differ."""
    if None not in (old, new) and old != new:
        yield Difference(kind, {"old": old, "new": new})


def _device(old: Analysis, new: Analysis, changes: Sequence[Setting]) -> Sequence[Setting]:
    """What differs between two devices. Other chips differ in everything, so their names and memory are enough."""
    if None in (old.chip, new.chip) or old.chip == new.chip:
        return changes
    return [Setting(CHIP, old.chip, new.chip), *(change for change in changes if change.name == DEVICE_MEMORY)]


def _settings(kind: DifferenceKind, changes: Sequence[Setting]) -> Iterator[Difference]:
    if changes:
        yield Difference(kind, {"changes": changes})


def _lacking(kind: DifferenceKind, facts: Mapping[str, bool]) -> Iterator[Difference]:
    """What one of the dumps or both lack."""
    if any(facts.values()):
        yield Difference(kind, facts)


# ---------------------------------------------------------------- parameters


def _parameters(old: DumpSet, new: DumpSet) -> Iterator[Difference]:
    """The number and bytes of the parameters of both programs, and the first one whose shape differs, with both shapes,
    None where one program has no such parameter.
    """
    if old.assignment is None or new.assignment is None:
        return
    shapes = before, after = entry_parameters(old), entry_parameters(new)
    first = min(dict(before.items() ^ after.items()), default=None)
    if first is not None:
        sides = [
            (len(of), sum(dump.allocations.size_bytes[dump.allocations.parameter != NONE].tolist()), of.get(first))
            for of, dump in zip(shapes, (old, new), strict=True)
        ]
        yield Difference("parameters", {"old": sides[0], "new": sides[1], "first": first[0]})


def entry_parameters(dump: DumpSet) -> dict[tuple[int, str], str]:
    """Return the shapes of the program's parameters by number and index, as the allocations print them."""
    if dump.assignment is None:
        return {}
    table, data = dump.allocations, dump.assignment.document.data
    columns = (table.parameter, table.parameter_index, table.parameter_shape_start, table.parameter_shape_end)
    return {
        (number, dump.indices[index].decode() if index != NONE else "{}"): data[start:end].decode("utf-8", "replace")
        for number, index, start, end in cells(*columns)
        if NONE not in (number, start)
    }


# ---------------------------------------------------------------- libraries


_LIBRARIES: Final = {
    b"ynn_fusion": ("YNNPACK", "xla_cpu_experimental_ynn_fusion_type"),
    b"xnn_fusion": ("XNNPACK", "xla_cpu_experimental_xnn_fusion_type"),
    b"onednn_fusion": ("oneDNN", "xla_cpu_experimental_onednn_fusion_type"),
}
"""The names of fusions that a library executes on CPUs, without their numbers: the library, and the flag with the
operations that go into them (`LibraryRewriter` in xla/backends/cpu/transforms). An empty list, for none, is in no
`FlagFile.DEBUG_OPTIONS`.
"""


def _libraries(old: DumpSet, new: DumpSet) -> Iterator[Difference]:
    """The libraries that execute fusions of one dump, and none of the other."""
    counts = [Counter(dump.names[name].split(b".")[0] for name in dump.schedule.name.tolist()) for dump in (old, new)]
    for name, (library, flag) in _LIBRARIES.items():
        before, after = (count[name] for count in counts)
        if bool(before) != bool(after):
            yield Difference("library", {"old": before, "new": after, "library": library, "flag": flag})


# ---------------------------------------------------------------- devices


_COUNTS: Final = lazy_pattern(rb"\b(num_partitions|replica_count)=(\d{1,9})\b")


def device_count(module: HloModule | None) -> int | None:
    """Return the number of devices that a module is compiled for, None if it is unknown."""
    if module is None or module.header() == (0, 0):
        return None
    counts = {match[1]: int(match[2]) for match in _COUNTS.finditer(module.data, *module.header_line)}
    # XLA prints only counts other than 1.
    return counts.get(b"num_partitions", 1) * counts.get(b"replica_count", 1)
