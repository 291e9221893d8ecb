"""Edits of every column of a dump set, found by the form of the text alone.

A *column* is a kind of token at a kind of place: the number after `operand`, the name after `copy(`, the second layout
number of a shape. The columns come from the words and brackets around a token, not from a list, so that none can be
forgotten. The edits say nothing about what should be found: `compare_builds.py` compares two builds, and
`test_column_edits.py` records the findings of each edit. `tests/mutations` has the edits whose findings are known.

Nothing here uses code of XLA Lens, so that two builds get the same edits.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple


class Token(NamedTuple):
    """A number, name or word of a file, and the column that it is in."""

    file: str
    row: int
    start: int
    end: int
    kind: str
    column: str


class ColumnEdit(NamedTuple):
    """One edit: `data` is the new text of `file`; `row` is the line that it changes, counted from 0."""

    column: str
    edit: str
    file: str
    row: int
    before: bytes
    after: bytes
    data: bytes


_TOKEN: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][\w.-]*|\d{1,3}(?: \d{3})+|\d+(?:\.\d+)?')
_TYPE: Final = re.compile(rb"pred|token|opaque|(?:bf|f|s|u|c)\d\w*")
_NAMED: Final = re.compile(
    rb"^(?:<\d+|    \d+:|\s+(?:ROOT )?%?(?=\S+ = )| value: <\d+) ?%?([A-Za-z_][\w.-]*)", re.MULTILINE
)
_COMPUTATION: Final = re.compile(rb"^(?:ENTRY )?%?([A-Za-z_][\w.-]*) \(.*\{$", re.MULTILINE)


def _names(files: Mapping[str, bytes]) -> set[bytes]:
    """The names of all instructions and computations."""
    return {name for data in files.values() for pattern in (_NAMED, _COMPUTATION) for name in pattern.findall(data)}


def tokens_of(files: Mapping[str, bytes]) -> Iterator[Token]:
    """The tokens of all files of a set in which a column begins or goes on."""
    names = _names(files)
    for file, data in files.items():
        start = 0
        for row, line in enumerate(data.split(b"\n")):
            for begin, end, kind, column in _tokens_of_line(line, names):
                yield Token(file, row, start + begin, start + end, kind, f"{file}: {column}")
            start += len(line) + 1


def _tokens_of_line(line: bytes, names: set[bytes]) -> Iterator[tuple[int, int, str, str]]:
    """Each token's start, end, kind and column: the attribute that it belongs to, and the word or bracket before it."""
    is_instruction = b" = " in line and not line.startswith(b"HloModule")
    attribute, last, last_end = "instruction", "", 0
    for match in _TOKEN.finditer(line):
        text, between = match[0], line[last_end : match.start()]
        following = line[match.end() : match.end() + 1]
        kind = _kind(text, following, names)
        if is_instruction and attribute == "instruction" and following == b"(" and between.endswith(b" "):
            kind, attribute = "opcode", "operands"
        if is_instruction and following == b"=":
            attribute = text.decode()
        before = re.sub(rb"[^!-~]+", b"", between).decode()
        if not is_instruction and not last:
            attribute = text.decode() if kind == "word" else kind
        yield *match.span(), kind, " ".join((attribute, last, before, kind)).replace("  ", " ")
        last, last_end = (text.decode() if kind == "word" and not is_instruction else kind), match.end()


def _kind(text: bytes, following: bytes, names: set[bytes]) -> str:
    if text.startswith(b'"'):
        return "text"
    if text[:1].isdigit():
        return "number"
    if following == b"[" and _TYPE.fullmatch(text):
        return "type"
    return "name" if text in names else "word"


Change = Callable[[random.Random, bytes, list[bytes]], bytes | None]
"""Makes another token of a token. It gets all tokens of the column, and returns None if it does not apply."""


def _other(rng: random.Random, text: bytes, column: list[bytes]) -> bytes | None:
    others = sorted({*column} - {text})
    return rng.choice(others) if others else None


def _number(text: bytes, change: Callable[[int], int]) -> bytes | None:
    """The changed number, with groups of digits if it had them. Leaves out fractions."""
    digits = text.replace(b" ", b"")
    if not digits.isdigit():
        return None
    number = change(int(digits))
    return (f"{number:,}".replace(",", " ") if digits != text else f"{number}").encode()


def _renumbered(rng: random.Random, text: bytes, _column: list[bytes]) -> bytes | None:
    """The name with another number: fusion.5 becomes fusion.6."""
    found = re.search(rb"\d+$", text)
    return text[: found.start()] + b"%d" % (int(found[0]) + rng.choice((1, 2))) if found else None


_CHANGES: Final[dict[str, dict[str, Change]]] = {
    "number": {
        "plus one": lambda _rng, text, _column: _number(text, lambda number: number + 1),
        "minus one": lambda _rng, text, _column: _number(text, lambda number: max(0, number - 1)),
        "doubled": lambda _rng, text, _column: _number(text, lambda number: 2 * number),
        "another of the column": _other,
    },
    "name": {
        "another of the column": _other,
        "renumbered": _renumbered,
        "unknown": lambda _rng, text, _column: text + b"_unknown",
    },
    "type": {
        "another type": lambda rng, text, _column: rng.choice([one for one in (b"s32", b"f32", b"bf16") if one != text])
    },
    "opcode": {"another opcode": lambda rng, text, _column: b"negate" if text != b"negate" else b"abs"},
    "word": {"another of the column": _other},
    "text": {"another of the column": _other},
}

_LINES: Final = ("deleted", "repeated", "swapped with the next")


def column_edits(files: Mapping[str, bytes], rng: random.Random, most: int) -> list[ColumnEdit]:
    """Make at most `most` edits, spread over all columns and kinds of edits."""
    columns: dict[str, list[Token]] = defaultdict(list)
    for token in tokens_of(files):
        columns[token.column].append(token)
    jobs = [(column, edit) for column, tokens in columns.items() for edit in _CHANGES[tokens[0].kind]]
    jobs += [(f"{file}: line", edit) for file in files for edit in _LINES for _ in range(4)]
    rng.shuffle(jobs)
    made: list[ColumnEdit] = []
    for column, edit in jobs:
        if len(made) == most:
            break
        found = (
            _edit_line(files, rng, column, edit) if edit in _LINES else _edit_token(files, rng, columns[column], edit)
        )
        if found and found.data != files[found.file]:
            made.append(found)
    return made


def _edit_token(files: Mapping[str, bytes], rng: random.Random, tokens: list[Token], edit: str) -> ColumnEdit | None:
    one = rng.choice(tokens)
    data = files[one.file]
    texts = [data[token.start : token.end] for token in tokens]
    after = _CHANGES[one.kind][edit](rng, data[one.start : one.end], texts)
    if after is None:
        return None
    edited = data[: one.start] + after + data[one.end :]
    return ColumnEdit(one.column, edit, one.file, one.row, data[one.start : one.end], after, edited)


def _edit_line(files: Mapping[str, bytes], rng: random.Random, column: str, edit: str) -> ColumnEdit | None:
    file = column.removesuffix(": line")
    lines = files[file].split(b"\n")
    rows = [row for row, line in enumerate(lines[:-1]) if line.strip()]
    if len(rows) < 2:
        return None
    row = rng.choice(rows[:-1])
    line, following = lines[row], lines[row + 1]
    new = {"deleted": [following], "repeated": [line, line, following], "swapped with the next": [following, line]}[
        edit
    ]
    return ColumnEdit(column, edit, file, row, line, b"", b"\n".join([*lines[:row], *new, *lines[row + 2 :]]))
