"""Mutations, and the registry of all edits."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from mutations.lines import Line
from mutations.view import View, view_of

Row = tuple[str, int]
"""The kind of a file, and a line of it, counted from 0."""


@dataclass(frozen=True)
class Mutation:
    """A dump after one edit, and the findings that it must have.

    At least one finding has one of `codes` and is at one of `places`. Without `places` any line counts, without `codes`
    any finding. If the edit may have been at either of two lines, `related` is the other one: a finding there counts if
    one of `places` is a related location of it.

    `also` are the codes of consequences of the edit: findings that may occur, but do not have to. All other errors and
    warnings are false alarms.
    """

    files: Mapping[str, bytes]
    places: frozenset[Row]
    codes: frozenset[str]
    also: frozenset[str] = frozenset()
    related: frozenset[Row] = frozenset()


ANY: Final = "*"
"""As one of `also`: any further finding is allowed."""

Edit = Callable[[random.Random, Mapping[str, bytes]], Mutation | None]

EDITS: Final[dict[str, Edit]] = {}
"""All edits by name. An edit that does not apply to a dump returns None."""


@dataclass(frozen=True)
class Change:
    """A replacement of bytes of a file."""

    file: str
    start: int
    end: int
    new: bytes


@dataclass(frozen=True)
class Place:
    """The line of a byte of the file before the edit, or the line `below` lines further down."""

    file: str
    offset: int
    below: int = 0


class DoesNotApplyError(Exception):
    """A dump has nothing that an edit could change."""


def register(name: str, function: Callable[[random.Random, View], Mutation | None]) -> None:
    """Register an edit. It does not apply to a dump for which the function returns None or picks from nothing."""

    def apply(rng: random.Random, files: Mapping[str, bytes]) -> Mutation | None:
        try:
            made = function(rng, view_of(files))
        except DoesNotApplyError:
            return None
        assert made is None or made.files != files, f"{name} changes nothing"
        return made

    EDITS[name] = apply


def edit(function: Callable[[random.Random, View], Mutation | None]) -> None:
    """Register a function as an edit under its name."""
    register(function.__name__.replace("_", "-"), function)


def always(_view: View, _line: Line) -> bool:
    """Select every line."""
    return True


def part(
    name: str,
    kinds: str,
    group: str,
    new: Callable[[random.Random, bytes], bytes | int],
    codes: str,
    also: str = "",
    where: Callable[[View, Line], bool] = always,
) -> None:
    """Register an edit that changes a part of a line of some kinds, which is where the finding has to be."""

    def change(rng: random.Random, view: View) -> Mutation:
        lines = [line for kind in kinds.split() for line in view.all(kind)]
        line = pick(rng, (line for line in lines if line[group] is not None and where(view, line)))
        return made(view, [put(line, group, new(rng, line.text(group)))], [line], codes, also)

    register(name, change)


def made(
    view: View,
    changes: Sequence[Change],
    places: Iterable[Line | Place],
    codes: str,
    also: str = "",
    related: Iterable[Line | Place] = (),
) -> Mutation:
    """The mutation that changes make. `codes` and `also` are separated by blanks."""
    files = dict(view.files)
    for change in sorted(changes, key=lambda change: -change.start):
        files[change.file] = files[change.file][: change.start] + change.new + files[change.file][change.end :]

    def row(place: Line | Place) -> Row:
        place = place if isinstance(place, Place) else Place(place.file, place.start)
        offset = place.offset
        for change in changes:
            if change.file == place.file and change.start < place.offset:
                offset += len(change.new) + change.start - min(change.end, place.offset)
        return place.file, files[place.file].count(b"\n", 0, offset) + place.below

    return Mutation(
        files,
        frozenset(map(row, places)),
        frozenset(codes.split()),
        frozenset(also.split()),
        frozenset(map(row, related)),
    )


def put(line: Line, group: str, new: bytes | int) -> Change:
    """Replace a part of a line."""
    return Change(line.file, *line.span(group), str(new).encode() if isinstance(new, int) else new)


def removed(line: Line) -> Change:
    """Delete a line."""
    return Change(line.file, line.start, line.end + 1, b"")


def doubled(line: Line) -> tuple[Change, Place]:
    """Repeat a line. Returns the change and the place of the second one."""
    return Change(line.file, line.end, line.end, b"\n" + line.whole), Place(line.file, line.start, 1)


def exchanged(first: Line, second: Line, group: str | None = None) -> list[Change]:
    """Swap two lines, or the same part of both."""
    if group:
        return [put(first, group, second.text(group)), put(second, group, first.text(group))]
    return [
        Change(first.file, first.start, first.end, second.whole),
        Change(second.file, second.start, second.end, first.whole),
    ]


_T = TypeVar("_T")


def pick(rng: random.Random, candidates: Iterable[_T]) -> _T:
    """A random candidate. The edit does not apply if there are none."""
    found = list(candidates)
    if not found:
        raise DoesNotApplyError
    return rng.choice(found)


def first(candidates: Iterable[_T]) -> _T:
    """The first candidate. The edit does not apply if there is none."""
    for candidate in candidates:
        return candidate
    raise DoesNotApplyError


def other_number(rng: random.Random, number: int, low: int, high: int) -> int:
    """A different number from `low` to `high`, both included; `number` itself if there is none."""
    return rng.choice([other for other in range(low, high + 1) if other != number] or [number])


def changed_size(rng: random.Random, size: int) -> int:
    """A different number of bytes, slightly or much larger or smaller."""
    return rng.choice([size + 1, size + 64, size * 2 + 8, *([size - 1, size // 2] if size > 1 else [])])


def other_size(rng: random.Random, part: bytes) -> int:
    """Another number of bytes for a part of a line."""
    return changed_size(rng, int(part))


def number(low: int, high: int) -> Callable[[random.Random, bytes], int]:
    """Another number from `low` to `high` for a part of a line."""
    return lambda rng, part: other_number(rng, int(part), low, high)


UNKNOWN: Final = b"renamed.9999"
"""A name that no dump contains."""


def unknown(_rng: random.Random, _part: bytes) -> bytes:
    """A name that no dump contains, for a part of a line."""
    return UNKNOWN


def nothing(_rng: random.Random, _part: bytes) -> bytes:
    """Delete a part of a line."""
    return b""


UNITS: Final = (b"B", b"KiB", b"MiB", b"GiB", b"TiB", b"PiB", b"EiB")


def changed_human(rng: random.Random, human: bytes) -> bytes:
    """A rounded size with another first digit or unit."""
    if rng.random() < 0.3:
        number = human.rstrip(b"BKMGTPEi")
        unit = human[len(number) :]
        return number + rng.choice([other for other in UNITS if other != unit])
    digit = human[:1]
    return rng.choice([other for other in (b"%d" % number for number in range(1, 10)) if other != digit]) + human[1:]
