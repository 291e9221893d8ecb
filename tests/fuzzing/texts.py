"""Damaged dumps, as from a full disk, an editor or a later XLA."""

import random
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

from xla_lens.disk.sets import find_sets

Operator: TypeAlias = Callable[[random.Random, bytes, bytes], bytes]
"""Changes a text. The second text is from another dump."""

_NUMBERS = (
    *(b"%d" % number for number in (-1, 0, 1, 7, 255, 10**6, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64)),
    b"-9223372036854775808",
    b"%d" % 10**21,
    b"%d" % 10**30,
    # More digits than Python converts to an integer.
    b"9" * 5000,
)
_ODD = (
    b"\0",
    b"\r",
    b"\r\n",
    b"\n",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"\x85",
    b"\x7f",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xed\xb0\x80",
    b"\xf4\x90\x80\x80",
    "é".encode(),
    "名".encode(),
    "🚀".encode(),
    "\u2028".encode(),
    "\u0085".encode(),
    "\ufeff".encode(),
    "\u200f".encode(),
    b"<",
    b">",
    b"{",
    b"}",
    b'"',
    b"%",
    b"(",
    b"|",
)


@cache
def dump_sets(folder: Path, longest: int) -> list[dict[str, bytes]]:
    """Return the files, by name, of the dump sets in a folder that are not bigger than `longest` bytes."""
    found = (
        {path.name: path.read_bytes() for path in files.paths.values()}
        for below in sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in ("big", "programs"))
        for files in find_sets(below)
        if sum(path.stat().st_size for path in files.paths.values()) <= longest
    )
    return list(found)


def damaged(chance: random.Random, text: bytes, other: bytes, longest: int | None = None) -> bytes:
    """Return a text with some damage or none, of at most `longest` bytes."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 8))):
        text = OPERATORS[chance.choice(list(OPERATORS))](chance, text, other)[:longest]
    return text


def _place(chance: random.Random, text: bytes) -> int:
    return chance.randint(0, len(text))


def _lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True) or [b""]


def _cut(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    return text[: _place(chance, text)]


def _cut_start(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    return text[_place(chance, text) :]


def _hole(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    start, end = sorted((_place(chance, text), _place(chance, text)))
    return text[:start] + text[end:]


def _other_bytes(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    edited = bytearray(text)
    for _ in range(chance.randint(1, 20)):
        if edited:
            edited[chance.randrange(len(edited))] = chance.randrange(256)
    return bytes(edited)


def _more_bytes(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    for _ in range(chance.randint(1, 10)):
        place = _place(chance, text)
        text = text[:place] + chance.choice(_ODD) * chance.choice((1, 1, 1, 2, 300)) + text[place:]
    return text


def _lines_gone(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    share = chance.choice((0.02, 0.3, 0.9))
    return b"".join(line for line in _lines(text) if chance.random() > share)


def _lines_twice(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    return b"".join(line * chance.choice((1, 1, 1, 2, 3)) for line in _lines(text))


def _lines_swapped(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    lines = _lines(text)
    for _ in range(chance.randint(1, 30)):
        one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def _lines_moved(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    lines = _lines(text)
    start, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    some = lines[start : start + chance.randint(1, 20)]
    del lines[start : start + len(some)]
    return b"".join([*lines[:to], *some, *lines[to:]])


def _lines_of_other(chance: random.Random, text: bytes, other: bytes) -> bytes:
    lines, others = _lines(text), _lines(other)
    for _ in range(chance.randint(1, 20)):
        lines.insert(chance.randrange(len(lines)), chance.choice(others))
    return b"".join(lines)


def _spliced(chance: random.Random, text: bytes, other: bytes) -> bytes:
    return text[: _place(chance, text)] + other[_place(chance, other) :]


def _few_lines(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    """Leave so few lines that most tables are empty."""
    lines = _lines(text)
    return b"".join(lines[row] for row in sorted(chance.choices(range(len(lines)), k=chance.randint(1, 6))))


def _numbers(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    share = chance.choice((0.01, 0.1, 1.0))
    return re.sub(rb"\d+", lambda found: chance.choice(_NUMBERS) if chance.random() < share else found[0], text)


def _negative(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    return re.sub(rb"\d+", lambda found: b"-" + found[0] if chance.random() < 0.05 else found[0], text)


def _frames(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    """Chain all stack frames, make them their own parents or parents of each other, or let them name frames, places
    and functions that do not exist.
    """
    ids = [int(number) for number in re.findall(rb"(?m)^(\d{1,9}) \{file_location_id", text)] or [1]
    way = chance.randrange(4)

    def parent(found: re.Match[bytes]) -> bytes:
        frame = int(found[2])
        other = (frame - 1, frame, chance.choice(ids), chance.choice((0, -1, 10**9, 2**63)))[way]
        return b"%s%d%s%d" % (found[1], frame, found[3], other)

    text = re.sub(rb"(?m)^()(\d{1,9})( \{file_location_id=\d+ parent_frame_id=)\d+", parent, text)
    if chance.random() < 0.5:
        more = b"".join(
            b"%d {file_location_id=%d parent_frame_id=%d}\n" % (frame, chance.choice(ids), max(1, frame - 1))
            for frame in range(len(ids) + 1, len(ids) + chance.choice((2, 50, 2000)))
        )
        text = text.replace(b"\nStackFrames\n", b"\nStackFrames\n" + more)
    last = max(ids) + chance.choice((0, 40, 1900))
    return re.sub(rb"stack_frame_id=\d+", lambda _: b"stack_frame_id=%d" % chance.randint(0, last), text)


def _names(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    names = re.findall(rb"[A-Za-z_][\w.-]+", text) or [b"x"]
    new = (chance.choice(names), b"\xe5\x90\x8d", b"a\tb", b"x" * 3000, b"", "🚀".encode())
    return text.replace(chance.choice(names), chance.choice(new))


def _paths(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    """Odd paths of the source files of the program."""
    found = sorted(set(re.findall(rb'"([^"\n]*\.py)"', text)))
    for path in chance.sample(found, min(2, len(found))):
        text = text.replace(path, chance.choice(ODD_PATHS))
    return text


ODD_PATHS = (
    b"\0",
    b"/a\0b.py",
    b"a/\0.py",
    b"",
    b"/",
    b".",
    b"..",
    b"//host/share/a.py",
    b"/" + b"a" * 10_000 + b".py",
    b"/a" * 5_000,
    b"../" * 3_000 + b"a.py",
    b"\xed\xa0\x80.py",
    b"/dev/zero",
    b"/dev/stdin",
    b"/proc/self/mem",
    b"a\\..\\b.py",
    b"C:\\a.py",
    b"~/a.py",
)


def _carriage_returns(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    share = chance.choice((0.1, 1.0))
    end = chance.choice((b"\r\n", b"\r"))
    return re.sub(b"\n", lambda _: end if chance.random() < share else b"\n", text)


def _glued(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    share = chance.choice((0.05, 1.0))
    return re.sub(b"\n", lambda _: b"" if chance.random() < share else b"\n", text)


def _split(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    return re.sub(rb"[ {(,:]", lambda found: b"\n" + found[0] if chance.random() < 0.05 else found[0], text)


def _nested(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    """Nest a shape, a computation or the braces of an attribute deeply."""
    depth = chance.choice((3, 100, 5000))
    place = _place(chance, text)
    start = max(text.find(mark, place) for mark in (b"f32[", b"{", b"("))
    if start < 0:
        return text
    one, two = chance.choice(((b"(", b")"), (b"{", b"}"), (b"[", b"]"), (b"(", b""), (b"a(b{", b"}")))
    end = chance.randint(start, min(len(text), start + 60))
    return text[:start] + one * depth + text[start:end] + two * depth + text[end:]


def _blown_up(chance: random.Random, text: bytes, _other: bytes) -> bytes:
    """Make one line very long, repeat it very often, or nest it deeply."""
    lines = _lines(text)
    row = chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            lines[row] = lines[row].rstrip(b"\n") * 500 + b"\n"
        case 1:
            lines[row] = lines[row] * 500
        case 2:
            lines[row] = re.sub(rb"[({\[]", lambda found: found[0] * 2000, lines[row], count=1)
        case _:
            lines[row] = lines[row].replace(b" ", b" " * 5000, 1)
    return b"".join(lines)


def _without_end(_chance: random.Random, text: bytes, _other: bytes) -> bytes:
    return text.rstrip()


def _on_standard_output(_chance: random.Random, text: bytes, other: bytes) -> bytes:
    blocks = (
        b"*** Begin %s ***\n%s\n*** End %s ***\n" % (name, part, name) for name, part in ((b"a", text), (b"b", other))
    )
    return b"".join(blocks)


OPERATORS: Mapping[str, Operator] = {
    operator.__name__.removeprefix("_"): operator
    for operator in (
        _cut,
        _cut_start,
        _hole,
        _other_bytes,
        _more_bytes,
        _lines_gone,
        _lines_twice,
        _lines_swapped,
        _lines_moved,
        _lines_of_other,
        _spliced,
        _few_lines,
        _numbers,
        _negative,
        _frames,
        _names,
        _paths,
        _carriage_returns,
        _glued,
        _split,
        _nested,
        _blown_up,
        _without_end,
        _on_standard_output,
    )
}
