"""The bytes at a peak by what they are for, in a form in which two dumps can be compared.

Each byte that is live at the peak counts for the value that owns it (`model/attribution/owned.py`), so the rows of each
breakdown add up to the peak. Rows that do not own a byte are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owners
from xla_lens.model.attribution.parameters import argument_of, paths_of
from xla_lens.model.diff.traits import folded, line_key, plain_op_name
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.shapes import without_layout


class By(StrEnum):
    """What a breakdown tells apart."""

    LINE = "line"
    PARAMETER = "parameter"
    OP_NAME = "op_name"
    OPCODE = "opcode"
    KIND = "kind"
    GROUP = "group"


WITH_SOURCES: Final = (By.LINE, By.GROUP)
"""The breakdowns whose keys have source lines."""


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """Like buffers: the same shape without its layout, the same op_name without numbers (or, where there is none, the
    same opcode), and the same source line.
    """

    shape: str | None
    op_name: str | None
    opcode: str | None
    line: str | None


@dataclass(frozen=True, slots=True, order=True)
class Argument:
    """The parameters of an argument, such as ``state[1]``, which stand among source lines."""

    name: str

    def __str__(self) -> str:
        return f"parameters {self.name}"


Key = str | Argument | Group | None
"""The key of a row; None where the dump does not say."""


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of one row, the number of values that own them, and the value that owns most; NONE if it is unknown.

    The source of `derived_bytes` is derived from the data flow; 0 in breakdowns by something else.
    """

    size_bytes: int
    count: int
    value: int = NONE
    derived_bytes: int = 0


Breakdown = Mapping[Key, Part]


def added(parts: Iterable[tuple[Key, Part]]) -> Breakdown:
    """Add the parts of equal keys up, the biggest part of a key first."""
    found: dict[Key, Part] = {}
    for key, part in parts:
        known = found.get(key)
        found[key] = part
        if known:
            size_bytes, derived_bytes = known.size_bytes + part.size_bytes, known.derived_bytes + part.derived_bytes
            found[key] = Part(size_bytes, known.count + part.count, known.value, derived_bytes)
    return found


def breakdowns(
    dump: DumpSet, module: HloModule | None, step: int, color: int, *, other_paths: Collection[str]
) -> Mapping[By, Breakdown]:
    """Return the bytes that are live in a memory space at a step, by everything in `By`. Numbers of layers in the paths
    of parameters are folded as they are among `other_paths`, too. If the other dump has no paths, nothing has one.
    """
    sizes = dict(owners(dump, step, color))
    origins = Origins(dump, module)
    paths = paths_of(origins, sizes, other_paths) if other_paths else {}
    kinds = allocation_kinds(dump)
    rows: dict[By, list[tuple[Key, Part]]] = {by: [] for by in By}
    for value, size_bytes in sizes.items():
        origin = origins.of_value(value)
        line = line_key(origin.line.file, origin.line.line) if origin.line else None
        path, op_name = paths.get(value), plain_op_name(origin.op_name)
        opcode = (dump.opcode(int(dump.values.name[value])) or b"").decode() or None
        # A group says what its buffers are: a copy of something is a copy.
        group = group_of(dump.shape(value), op_name if origin.derived is None else None, opcode, line)
        keys: dict[By, Key] = {
            By.LINE: Argument(argument_of(path)) if path and line is None else line,
            By.PARAMETER: path,
            By.OP_NAME: op_name,
            By.OPCODE: opcode,
            By.KIND: KIND_NAMES[kinds[dump.values.allocation[value]]],
            By.GROUP: group,
        }
        part = Part(size_bytes, 1, value)
        sourced = Part(size_bytes, 1, value, size_bytes) if origin.derived else part
        for by, key in keys.items():
            rows[by].append((key, sourced if by in WITH_SOURCES else part))
    return {by: added(parts) for by, parts in rows.items()}


def group_of(shape: bytes | None, op_name: str | None, opcode: str | None, line: str | None) -> Group:
    """Return the group of a buffer."""
    bare = without_layout(shape).decode("utf-8", "replace") if shape is not None else None
    return Group(bare, folded(op_name) if op_name else None, None if op_name else opcode, line)


# ---------------------------------------------------------------- source lines that an edit of the program moved


def moved_lines(pairs: Iterable[tuple[Breakdown, Breakdown]]) -> dict[str, str]:
    """Return the new text of source lines that an edit of the program moved, from the groups of both dumps: those whose
    buffers are mostly like those of another line of the same file, which are mostly like them.

    Groups that differ only in their lines correspond in the order of the lines, if they are equally many. An old line
    that is still there keeps its text only if no other line took it.
    """
    votes: Counter[tuple[_Source, _Source]] = Counter()
    old_lines: set[_Source] = set()
    for pair in pairs:
        old, new = map(_lines_by_rest, pair)
        for rest, rows in old.items():
            old_lines |= {source for source, _ in rows}
            others = new.get(rest, [])
            if len(rows) == len(others):
                for (before, count), (after, new_count) in zip(rows, others, strict=True):
                    votes[before, after] += min(count, new_count)
    sums: tuple[Counter[_Source], Counter[_Source]] = Counter(), Counter()
    for (before, after), count in votes.items():
        sums[0][before] += count
        sums[1][after] += count
    moved = {
        line_key(*before): line_key(*after)
        for (before, after), count in votes.items()
        if before != after and before[0] == after[0] and 2 * count > max(sums[0][before], sums[1][after])
    }
    taken_lines = set(moved.values())
    stayed = (line for line in (line_key(*source) for source in old_lines) if line not in moved)
    return moved | {line: f"{line} (old)" for line in stayed if line in taken_lines}


_Source = tuple[str, int | None]
"""A file and a line."""


def _lines_by_rest(groups: Breakdown) -> dict[Group, list[tuple[_Source, int]]]:
    """The lines and the numbers of buffers of groups by what else they have, in the order of the lines."""
    found: defaultdict[Group, list[tuple[_Source, int]]] = defaultdict(list)
    for group, part in groups.items():
        if isinstance(group, Group) and group.line is not None:
            file, _, number = group.line.rpartition(":")
            source = (file, int(number)) if file and number.isdecimal() else (group.line, None)
            found[replace(group, line=None)].append((source, part.count))
    return {rest: sorted(rows, key=lambda row: (row[0][0], row[0][1] or 0)) for rest, rows in found.items()}


def renamed(rows: Breakdown, new_line: Callable[[str], str]) -> Breakdown:
    """Return a breakdown by lines or groups with other lines."""

    def key_of(key: Key) -> Key:
        if isinstance(key, Group):
            return replace(key, line=new_line(key.line)) if key.line is not None else key
        return new_line(key) if isinstance(key, str) else key

    return added((key_of(key), part) for key, part in rows.items())
