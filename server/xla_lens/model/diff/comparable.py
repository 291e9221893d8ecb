"""Whether two dumps can be compared: they should be of the same program, for the same backend and as many devices, by
the same compiler with the same flags.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


class DifferenceKind(Enum):
    """What makes two dumps hard to compare, or explains their numbers, the most important first.

    - `UNREADABLE`: a file could not be read.
    - `BACKEND`: each backend places values by its own rules.
    - `DEVICES`: the number of devices that the modules are compiled for, replicas times partitions.
    - `OTHER_PROGRAM`: less than half of the bytes at the peaks belong to matched values. `REWRITTEN`: the same, but
      with the same parameters.
    - `NO_LIVE_RANGES`: dumps without live ranges have no peak.
    - `INCOMPLETE`: some numbers are not exact, because a dump is cut off, lacks a file or contradicts itself.
    - `PARAMETERS`: the programs take different parameters.
    - `COMPILER`: two builds of libtpu, by their changelists.
    - `FLAGS`: the modules are compiled with other flags.
    """

    UNREADABLE = "unreadable"
    BACKEND = "backend"
    DEVICES = "devices"
    OTHER_PROGRAM = "other program"
    REWRITTEN = "rewritten"
    NO_LIVE_RANGES = "no live ranges"
    INCOMPLETE = "incomplete"
    PARAMETERS = "parameters"
    COMPILER = "compiler"
    FLAGS = "flags"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference. The `facts` are mostly `old` and `new`; `render/diff/words.py` has a sentence for each kind."""

    kind: DifferenceKind
    facts: Mapping[str, Any]


_FEW: Final = 0.5


def differences(
    old: Analysis, old_module: HloModule | None, new: Analysis, new_module: HloModule | None, fraction: float
) -> Iterator[Difference]:
    """Yield what makes two dumps hard to compare, the most important first. `fraction` of the bytes at their peaks are
    matched.
    """
    yield from unreadable_files(old)
    yield from unreadable_files(new)
    yield from other(DifferenceKind.BACKEND, old.dump.backend, new.dump.backend)
    yield from other(DifferenceKind.DEVICES, device_count(old_module), device_count(new_module))
    parameters = [*_parameters(old.dump, new.dump)]
    if fraction < _FEW:
        kind = DifferenceKind.OTHER_PROGRAM if parameters else DifferenceKind.REWRITTEN
        yield Difference(kind, {"fraction": fraction})
    yield from lacking(DifferenceKind.NO_LIVE_RANGES, not len(old.dump.live_ranges), not len(new.dump.live_ranges))
    yield from lacking(DifferenceKind.INCOMPLETE, not old.warrants.is_complete, not new.warrants.is_complete)
    yield from parameters


def unreadable_files(one: Analysis) -> Iterator[Difference]:
    """Return the files of a dump that could not be read."""
    facts = ({"file": file.label, "reason": file.unreadable} for file in one.unreadable)
    return (Difference(DifferenceKind.UNREADABLE, fact) for fact in facts)


def other(kind: DifferenceKind, old: object, new: object) -> Iterator[Difference]:
    """Yield two facts if both are known and differ."""
    if None not in (old, new) and old != new:
        yield Difference(kind, {"old": old, "new": new})


def lacking(kind: DifferenceKind, is_old: bool, is_new: bool) -> Iterator[Difference]:  # noqa: FBT001
    """Yield what one of the dumps or both lack."""
    if is_old or is_new:
        yield Difference(kind, {"is_old": is_old, "is_new": is_new})


# ---------------------------------------------------------------- parameters


def _parameters(old: DumpSet, new: DumpSet) -> Iterator[Difference]:
    """The number and bytes of the parameters of both programs, and the first one whose shape differs, with both shapes,
    None where one program has no such parameter.
    """
    if old.assignment is None or new.assignment is None:
        return
    shapes = before, after = entry_parameters(old), entry_parameters(new)
    first = min((key for key in {**before, **after} if before.get(key) != after.get(key)), default=None)
    if first is not None:
        sides = [
            (len(of), sum(dump.allocations.size_bytes[dump.allocations.parameter != NONE].tolist()), of.get(first))
            for of, dump in zip(shapes, (old, new), strict=True)
        ]
        yield Difference(DifferenceKind.PARAMETERS, {"old": sides[0], "new": sides[1], "first": first[0]})


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


# ---------------------------------------------------------------- devices


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


# ---------------------------------------------------------------- flags

_FLAG: Final = re.compile(r'^(\w+): ?(.*)$|^\s+key: ?"(.*)"\s+value: ?"(.*)"$', re.MULTILINE)
"""A flag, or one of `xla_backend_extra_options`, which has its name and its value on lines of their own."""

_ABOUT_OUTPUT: Final = ("xla_dump_", "xla_enable_dumping", "xla_detailed_logging")
"""How the names of flags begin that change no program. JAX sets `xla_detailed_logging` for some compilations only."""


def parse_flags(text: str) -> Mapping[str, str]:
    """Return the flags and their values from the ``*.debug_options`` file that XLA writes beside a dump, a protocol
    buffer as text. It has only the flags that are not at their defaults. Those about dumps and logs are left out;
    repeated ones are joined.
    """
    found: dict[str, str] = {}
    for match in _FLAG.finditer(text):
        name, value = (match[1], match[2].strip('"')) if match[1] else (match[3], match[4])
        if not name.startswith(_ABOUT_OUTPUT):
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found
