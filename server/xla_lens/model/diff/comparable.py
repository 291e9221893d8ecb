"""Whether two dumps can be compared: they should be of the same program, for the same backend and as many devices."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


class Side(Enum):
    """Which of the dumps something is true of."""

    OLD = "old"
    NEW = "new"
    BOTH = "both"


def _side(*, is_old: bool, is_new: bool) -> Side:
    return Side.BOTH if is_old and is_new else Side.OLD if is_old else Side.NEW


@dataclass(frozen=True, slots=True)
class OtherBackend:
    """The dumps are of two backends, which place values by different rules."""

    old: Backend
    new: Backend


@dataclass(frozen=True, slots=True)
class OtherDevices:
    """The modules are compiled for different numbers of devices: replicas times partitions."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class OtherParameters:
    """The programs take different parameters. `first` is the first parameter whose shape differs, with both shapes,
    None where one program has no such parameter.
    """

    old_count: int
    new_count: int
    old_bytes: int
    new_bytes: int
    first: int
    old_shape: str | None
    new_shape: str | None


@dataclass(frozen=True, slots=True)
class NoLiveRanges:
    """A dump has no live ranges, so its peak is unknown."""

    side: Side


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file of a dump could not be read."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Incomplete:
    """Some numbers of a dump are not exact, because it is cut off, lacks a file or contradicts itself."""

    side: Side


@dataclass(frozen=True, slots=True)
class FewMatches:
    """Less than half of the bytes at the peaks belong to matched values. These are different programs, or, with the
    same parameters, the program was rewritten.
    """

    fraction: float
    has_same_parameters: bool


@dataclass(frozen=True, slots=True)
class OtherCompiler:
    """The dumps are of two builds of libtpu, by their changelists."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class OtherFlags:
    """The modules are compiled with other flags: the name, the old and the new value, None for the default."""

    flags: tuple[tuple[str, str | None, str | None], ...]


Difference = (
    OtherBackend
    | OtherDevices
    | OtherParameters
    | NoLiveRanges
    | Unreadable
    | Incomplete
    | FewMatches
    | OtherCompiler
    | OtherFlags
)

_FEW: Final = 0.5


def differences(
    old: Analysis, old_module: HloModule | None, new: Analysis, new_module: HloModule | None, fraction: float
) -> Iterator[Difference]:
    """Yield what makes two dumps hard to compare, the most important first. `fraction` of the bytes at their peaks are
    matched.
    """
    yield from unreadable_files(old)
    yield from unreadable_files(new)
    if old.dump.backend and new.dump.backend and old.dump.backend is not new.dump.backend:
        yield OtherBackend(old.dump.backend, new.dump.backend)
    devices = device_count(old_module), device_count(new_module)
    if devices[0] and devices[1] and devices[0] != devices[1]:
        yield OtherDevices(devices[0], devices[1])
    parameters = [*_parameters(old.dump, new.dump)]
    if fraction < _FEW:
        yield FewMatches(fraction, has_same_parameters=not parameters)
    has_live_ranges = len(old.dump.live_ranges) > 0, len(new.dump.live_ranges) > 0
    if not all(has_live_ranges):
        yield NoLiveRanges(_side(is_old=not has_live_ranges[0], is_new=not has_live_ranges[1]))
    if not (old.warrants.is_complete and new.warrants.is_complete):
        yield Incomplete(_side(is_old=not old.warrants.is_complete, is_new=not new.warrants.is_complete))
    yield from parameters


def unreadable_files(one: Analysis) -> Iterator[Unreadable]:
    """Return the files of a dump that could not be read."""
    return (Unreadable(file.label, file.unreadable) for file in one.unreadable)


def other_flags(old: Mapping[str, str] | None, new: Mapping[str, str] | None) -> Iterator[OtherFlags]:
    """Yield the flags that differ, if those of both dumps are known."""
    if old is None or new is None:
        return
    names = sorted({*old, *new})
    changed = tuple((name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name))
    if changed:
        yield OtherFlags(changed)


def other_compiler(old: int | None, new: int | None) -> Iterator[OtherCompiler]:
    """Yield the changelists of two builds of libtpu, if both are known and differ."""
    if old is not None and new is not None and old != new:
        yield OtherCompiler(old, new)


def _parameters(old: DumpSet, new: DumpSet) -> Iterator[OtherParameters]:
    if old.assignment is None or new.assignment is None:
        return
    old_shapes, new_shapes = entry_parameters(old), entry_parameters(new)
    keys = sorted({*old_shapes, *new_shapes})
    first = next((key for key in keys if old_shapes.get(key) != new_shapes.get(key)), None)
    if first is not None:
        yield OtherParameters(
            len(old_shapes),
            len(new_shapes),
            _parameter_bytes(old),
            _parameter_bytes(new),
            first[0],
            old_shapes.get(first),
            new_shapes.get(first),
        )


def entry_parameters(dump: DumpSet) -> dict[tuple[int, str], str]:
    """Return the shapes of the program's parameters by number and index, as the allocations print them."""
    if dump.assignment is None:
        return {}
    table, data = dump.allocations, dump.assignment.document.data
    columns = (table.parameter, table.parameter_index, table.parameter_shape_start, table.parameter_shape_end)
    return {
        (number, dump.indices[index].decode() if index != NONE else "{}"): data[start:end].decode("utf-8", "replace")
        for number, index, start, end in zip(*(column.tolist() for column in columns), strict=True)
        if NONE not in (number, start)
    }


def _parameter_bytes(dump: DumpSet) -> int:
    return sum(dump.allocations.size_bytes[dump.allocations.parameter != NONE].tolist())


_COUNTS: Final = re.compile(rb"\b(num_partitions|replica_count)=(\d{1,9})\b")
_HEADER: Final = 1 << 20


def device_count(module: HloModule | None) -> int | None:
    """Return the number of devices that a module is compiled for, None if it is unknown."""
    if module is None or module.header() == (0, 0):
        return None
    start, end = module.header_line
    counts = {match[1]: int(match[2]) for match in _COUNTS.finditer(module.data, start, min(end, start + _HEADER))}
    # XLA prints only counts other than 1.
    return counts.get(b"num_partitions", 1) * counts.get(b"replica_count", 1)
