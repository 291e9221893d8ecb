"""What a mutation is, and the list of all edits."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from mutations.lines import Line
from mutations.view import View, view_of

ANY: Final = "*"
"""Among `also`: the rest of the dump may be told to be wrong in any way."""

Row = tuple[str, int]
"""A file, by what it holds, and a line of it, from 0."""


@dataclass(frozen=True)
class Mutation:
    """A dump after one edit, and what must be found in it.

    One finding at least has one of `codes` and stands at one of `places`, at any line if there are none. Where nothing
    tells which of two lines was edited, `related` is the other one: there a finding counts, too, if it names one of
    `places` as related. `also` are the codes of what else is then wrong with the dump: such findings are not needed,
    but they are no false alarms. Any other error or warning is one. No `codes`: any finding will do.
    """

    name: str
    files: Mapping[str, bytes]
    places: frozenset[Row]
    codes: frozenset[str]
    also: frozenset[str] = frozenset()
    related: frozenset[Row] = frozenset()

    @property
    def file(self) -> str | None:
        """The file of the first of the places."""
        return min(self.places)[0] if self.places else None

    @property
    def line(self) -> int | None:
        """The line of the first of the places."""
        return min(self.places)[1] if self.places else None


Edit = Callable[[random.Random, Mapping[str, bytes]], Mutation | None]

EDITS: Final[dict[str, Edit]] = {}
"""All edits by name. One that does not apply to a dump returns None."""


@dataclass(frozen=True)
class Change:
    """Bytes of a file that are replaced."""

    file: str
    start: int
    end: int
    new: bytes


@dataclass(frozen=True)
class Place:
    """A line: that of a byte of the file before the edit, or one so many lines below."""

    file: str
    offset: int
    below: int = 0


def edit(function: Callable[[random.Random, View], Mutation | None]) -> Edit:
    """Makes an edit of a function, with its name."""
    name = function.__name__.replace("_", "-")

    def apply(rng: random.Random, files: Mapping[str, bytes]) -> Mutation | None:
        made = function(rng, view_of(files))
        assert made is None or made.files != files, f"{name} changes nothing"
        return made and replace(made, name=name)

    EDITS[name] = apply
    return apply


def made(
    view: View,
    changes: Sequence[Change],
    places: Iterable[Line | Place],
    codes: str,
    also: str = "",
    related: Iterable[Line | Place] = (),
) -> Mutation:
    """The mutation that some changes make. Codes stand between blanks."""
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
        "",
        files,
        frozenset(map(row, places)),
        frozenset(codes.split()),
        frozenset(also.split()),
        frozenset(map(row, related)),
    )


def put(line: Line, group: str, new: bytes | int) -> Change:
    """A part of a line replaced."""
    return Change(line.file, *line.span(group), str(new).encode() if isinstance(new, int) else new)


def removed(line: Line) -> Change:
    """A line deleted."""
    return Change(line.file, line.start, line.end + 1, b"")


def doubled(line: Line) -> tuple[Change, Place]:
    """A line written twice, and where the second one then stands."""
    return Change(line.file, line.end, line.end, b"\n" + line.whole), Place(line.file, line.start, 1)


def exchanged(first: Line, second: Line, group: str | None = None) -> list[Change]:
    """Two lines exchanged, or a part of each."""
    if group:
        return [put(first, group, second.text(group)), put(second, group, first.text(group))]
    return [
        Change(first.file, first.start, first.end, second.whole),
        Change(second.file, second.start, second.end, first.whole),
    ]


_T = TypeVar("_T")


def pick(rng: random.Random, candidates: Iterable[_T]) -> _T | None:
    """One of the candidates, if there are any."""
    found = list(candidates)
    return rng.choice(found) if found else None


def other_number(rng: random.Random, number: int, low: int, high: int) -> int:
    """Another number between two, both included; `number` itself if there is none."""
    return rng.choice([other for other in range(low, high + 1) if other != number] or [number])


def changed_size(rng: random.Random, size: int) -> int:
    """Another number of bytes, near or far."""
    return rng.choice([size + 1, size + 64, size * 2 + 8, *([size - 1, size // 2] if size > 1 else [])])


UNITS: Final = (b"B", b"KiB", b"MiB", b"GiB", b"TiB", b"PiB", b"EiB")


def changed_human(rng: random.Random, human: bytes) -> bytes:
    """Another size as people read it: the first digit or the unit changed."""
    if rng.random() < 0.3:
        number = human.rstrip(b"BKMGTPEi")
        unit = human[len(number) :]
        return number + rng.choice([other for other in UNITS if other != unit])
    digit = human[:1]
    return rng.choice([other for other in (b"%d" % number for number in range(1, 10)) if other != digit]) + human[1:]
