"""The terms of dumps that hovers explain."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.numbers import integer
from xla_lens.text.document import Document


class Term(StrEnum):
    """A term; words have their own text."""

    THREAD_LOCAL = "thread-local"
    MAYBE_LIVE_OUT = "maybe-live-out"
    PREALLOCATED_TEMP = "preallocated-temp"
    TILES = "tiles"
    SPACE = "space"
    REMAT = "remat"


@dataclass(frozen=True, slots=True)
class TermFacts:
    """A term from byte `start` to `end` of a file. `tiles` are the lengths of each level of tiles, `space` is the
    memory space that the text names.
    """

    term: Term
    text: str
    start: int
    end: int
    tiles: tuple[tuple[int, ...], ...] = ()
    space: SpaceId | None = None


_NEAR: Final = 64
"""How far from a position a term is searched, in bytes. Lines can have a hundred thousand."""

_TERM: Final = re.compile(
    rb"(?<![\w.-])(?P<word>thread-local|maybe-live-out|preallocated-temp)(?![\w.-])"
    rb"|(?<=[:)])(?P<tiles>T(?:\(\d{1,9}(?:,\d{1,9}){0,7}\)){1,4})"
    rb"|(?<=[:)])S\((?P<space>\d{1,4})\)"
    rb"|\.(?P<remat>remat)\d*(?![A-Za-z])"
)
_TILE: Final = re.compile(rb"\(([\d,]+)\)")


def term_at(dump: DumpSet, document: Document, offset: int) -> TermFacts | None:
    """Return the term at a byte of a file, None if there is none."""
    first = max(offset - _NEAR, document.data.rfind(b"\n", 0, offset) + 1)
    for match in _TERM.finditer(document.data, first, offset + _NEAR):
        if match.start() <= offset < match.end():
            return _facts(dump, match)
    return None


def _facts(dump: DumpSet, match: "re.Match[bytes]") -> TermFacts:
    text, (start, end) = match[0].decode(), match.span()
    if match["tiles"]:
        tiles = tuple(tuple(map(integer, lengths.split(b","))) for lengths in _TILE.findall(match["tiles"]))
        return TermFacts(Term.TILES, text, start, end, tiles=tiles)
    if match["space"]:
        return TermFacts(Term.SPACE, text, start, end, space=dump.space_id(integer(match["space"])))
    return TermFacts(Term(match["word"].decode()) if match["word"] else Term.REMAT, text, start, end)
