"""The bytes at the peaks of two dumps by what they are for.

Each byte that is live at a peak counts for the value that owns it (`model/attribution/owned.py`), so the rows of each
breakdown add up to both peaks. Values that own no byte are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owners
from xla_lens.model.attribution.parameters import argument_of
from xla_lens.model.diff.traits import plain_op_name
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import decode


class Pair(NamedTuple):
    """A number of both dumps."""

    old: int
    new: int

    @property
    def change(self) -> int:
        """The new number minus the old one."""
        return self.new - self.old


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


class Group(Struct, frozen=True, order=True):
    """Like buffers: the same shape without its layout, the same op_name without numbers (or, where there is none, the
    same opcode), and the same source line.
    """

    shape: str | None
    op_name: str | None
    opcode: str | None
    line: str | None


class Argument(Struct, frozen=True, order=True):
    """The parameters of an argument, such as ``state[1]``, which stand among source lines."""

    name: str

    def __str__(self) -> str:
        return f"parameters {self.name}"


Key = str | Argument | Group | None
"""The key of a row; None where the dump does not say."""

Source: TypeAlias = tuple[str, int]
"""A file and a line, 0 if it is unknown."""


class Owner(Struct, frozen=True):
    """What owns bytes: a value at a peak, a row of `DumpSet.values` or NONE if it is unknown; or an allocation, of
    which only the kind counts. `function` is that of the source line. `is_derived` is whether the source is derived
    from the data flow.
    """

    size_bytes: int
    kind: str | None
    value: int = NONE
    shape: bytes | None = None
    op_name: str | None = None
    opcode: str | None = None
    path: str | None = None
    source: Source | None = None
    is_derived: bool = False
    function: str | None = None


class BreakdownRow(Struct, frozen=True):
    """A row of a breakdown: its bytes, the number of values that own them, the value that owns most (NONE if it is
    unknown or there is none), and how many bytes have a derived source, in both dumps.
    """

    key: Key
    size_bytes: Pair
    count: Pair
    value: Pair
    derived_bytes: Pair

    @property
    def change(self) -> int:
        """The change in bytes."""
        return self.size_bytes.change


def owners_at(origins: Origins, step: int, color: int, folded: Mapping[str, str]) -> tuple[Owner, ...]:
    """Return the owners of the bytes that are live in a memory space at a step, largest first. `folded` has the paths
    of parameters with ``*`` in place of the numbers of layers. A parameter that it lacks has no path.
    """
    dump, kinds = origins.dump, allocation_kinds(origins.dump)
    sizes = dict(owners(dump, step, color))
    paths = origins.paths_of(sizes, folded) if folded else {}

    def owner(value: int, size_bytes: int) -> Owner:
        origin, opcode = origins.of_value(value), dump.opcode(dump.name_of(value))
        return Owner(
            size_bytes,
            KIND_NAMES[kinds[dump.values.allocation[value]]],
            value,
            dump.shape(value),
            plain_op_name(origin.op_name),
            decode(opcode) if opcode else None,
            paths.get(value),
            (origin.line.file, origin.line.line or 0) if origin.line else None,
            origin.derived is not None,
            origin.line.function if origin.line else None,
        )

    return tuple(owner(*size) for size in sizes.items())


def rows_by(
    by: By, old: Iterable[Owner], new: Iterable[Owner], moved: Mapping[Source, str]
) -> tuple[BreakdownRow, ...]:
    """Return the rows of a breakdown, the biggest change first. `moved` has the new text of old lines."""
    found: defaultdict[Key, tuple[list[Owner], list[Owner]]] = defaultdict(lambda: ([], []))
    for side, (of_side, texts) in enumerate(((old, moved), (new, {}))):
        for one in of_side:
            line = texts.get(one.source) or _line_text(*one.source) if one.source else None
            found[_key(by, one, line)][side].append(one)
    rows = [BreakdownRow(key, *map(Pair, _sums(old, by), _sums(new, by))) for key, (old, new) in found.items()]
    rows.sort(key=lambda row: (-abs(row.change), -max(row.size_bytes), str(row.key)))
    return tuple(rows)


def _key(by: By, owner: Owner, line: str | None) -> Key:
    match by:
        case By.LINE:
            return Argument(argument_of(owner.path)) if owner.path and line is None else line
        case By.PARAMETER:
            return owner.path
        case By.GROUP:
            shape = decode(without_layout(owner.shape)) if owner.shape is not None else None
            # A group says what its buffers are: a copy of something is a copy.
            op_name = _DIGITS.sub("#", owner.op_name) if owner.op_name and not owner.is_derived else None
            return Group(shape, op_name, None if op_name else owner.opcode, line)
    found: str | None = getattr(owner, by.value)
    return found


_DIGITS: Final = lazy_pattern(r"\d+")


def _line_text(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file


def _sums(side: Sequence[Owner], by: By) -> tuple[int, int, int, int]:
    """The bytes, the number of values, the value that owns most, and the bytes with a derived source."""
    derived = sum(owner.size_bytes for owner in side if owner.is_derived) if by in WITH_SOURCES else 0
    return sum(owner.size_bytes for owner in side), len(side), side[0].value if side else NONE, derived


# ---------------------------------------------------------------- source lines that an edit of the program moved


def moved_lines(old: Collection[Owner], new: Collection[Owner]) -> dict[Source, str]:
    """Return the new text of source lines that an edit of the program moved: those whose buffers are mostly like those
    of another line of the same file, which are mostly like them; and of the lines of a file that was renamed, which
    correspond in their order where a function has equally many.

    Buffers that differ only in their lines correspond in the order of the lines, if these are equally many. An old line
    that is still there keeps its text only if no other line took it.
    """
    votes, sums = Counter[tuple[Source, Source]](), Counter[tuple[str, Source]]()
    before, after = _lines_by_rest(old), _lines_by_rest(new)
    for rest, lines in before.items():
        others = after[rest]
        if len(lines) == len(others):
            for line, other in zip(sorted(lines), sorted(others), strict=True):
                count = min(lines[line], others[other])
                votes[line, other] += count
                sums["old", line] += count
                sums["new", other] += count
    moved = _lines_of_renamed(old, new) | {
        line: other
        for (line, other), count in votes.items()
        if line != other and line[0] == other[0] and 2 * count > max(sums["old", line], sums["new", other])
    }
    lost = {*moved.values()} & {line for lines in before.values() for line in lines} - moved.keys()
    texts = {line: _line_text(*other) for line, other in moved.items()}
    return texts | {line: f"{_line_text(*line)} (old)" for line in lost}


_LEAST_COMMON: Final = 0.5
"""The part of the buffers of two files that must be alike, if one file is the other one renamed."""


def _renamed_files(old: Iterable[Owner], new: Iterable[Owner]) -> dict[str, str]:
    """Return the new name of each file that is only in the old dump, where the buffers of a file that is only in the
    new one come from functions of the same names, or have the same op_names.
    """
    before, after = _traits_by_file(old), _traits_by_file(new)
    alike = [
        (sum((traits & others).values()) / max(traits.total(), others.total()), file, other)
        for file, traits in before.items()
        for other, others in after.items()
        if file not in after and other not in before
    ]
    found: dict[str, str] = {}
    for common, file, other in sorted(alike, reverse=True):
        if common >= _LEAST_COMMON and file not in found and other not in found.values():
            found[file] = other
    return found


def _traits_by_file(owners: Iterable[Owner]) -> defaultdict[str, Counter[str | None]]:
    """What tells the files of buffers apart: how many come from each function, or have each op_name."""
    found: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
    for owner in owners:
        if owner.source:
            # All files have a `<module>`.
            has_name = owner.function and not owner.function.endswith(">")
            found[owner.source[0]][owner.function if has_name else owner.op_name] += 1
    return found


def _lines_of_renamed(old: Collection[Owner], new: Collection[Owner]) -> dict[Source, Source]:
    """The lines of renamed files, where a function has equally many in both."""
    renamed, before, after = _renamed_files(old, new), _lines_by_function(old), _lines_by_function(new)
    found: dict[Source, Source] = {}
    for (file, function), lines in before.items():
        others = after[renamed.get(file, ""), function]
        if len(lines) == len(others):
            found |= zip(sorted(lines), sorted(others), strict=True)
    return found


def _lines_by_function(owners: Iterable[Owner]) -> defaultdict[tuple[str, str | None], set[Source]]:
    found: defaultdict[tuple[str, str | None], set[Source]] = defaultdict(set)
    for owner in owners:
        if owner.source:
            found[owner.source[0], owner.function].add(owner.source)
    return found


def _lines_by_rest(owners: Iterable[Owner]) -> defaultdict[Key, Counter[Source]]:
    """The lines of buffers, with how many buffers each has, by what else these have."""
    found: defaultdict[Key, Counter[Source]] = defaultdict(Counter)
    for owner in owners:
        if owner.source:
            found[_key(By.GROUP, owner, None)][owner.source] += 1
    return found
