"""One sentence for each term of a dump that hovers explain."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Kind
from xla_lens.syntax.numbers import integer
from xla_lens.text.document import Document
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.markdown import code

_KINDS: Final = {
    Kind.THREAD_LOCAL: "a buffer inside a fusion, a reduction or the like, without device memory of its own",
    Kind.PREALLOCATED_TEMP: "one block for temporaries; values that are not live at the same time share its bytes",
    Kind.MAYBE_LIVE_OUT: "the buffer may hold an output of the program, so it is kept to the end",
}
_WORDS: Final = {
    "thread-local": _KINDS[Kind.THREAD_LOCAL],
    "preallocated-temp": _KINDS[Kind.PREALLOCATED_TEMP],
    "maybe-live-out": _KINDS[Kind.MAYBE_LIVE_OUT],
}
REMAT: Final = "XLA computes the value again instead of keeping it live, which takes time to save memory"
"""What `remat` in the name of a value means."""

_NEAR: Final = 64
"""How far from a position a term is searched, in bytes. Lines can have a hundred thousand."""

_TERM: Final = lazy_pattern(
    rb"(?<![\w.-])(?P<word>thread-local|maybe-live-out|preallocated-temp)(?![\w.-])"
    rb"|(?<=[:)])(?P<tiles>T(?:\(\d{1,9}(?:,\d{1,9}){0,7}\)){1,4})"
    rb"|(?<=[:)])S\((?P<space>\d{1,4})\)"
    rb"|\.(?P<remat>remat)\d*(?![A-Za-z])"
)
_TILE: Final = lazy_pattern(rb"\(([\d,]+)\)")


class Term(NamedTuple):
    """A term from byte `start` to `end` of a file, explained in Markdown. `is_in_name` is whether it is part of the
    name of a value.
    """

    start: int
    end: int
    markdown: str
    is_in_name: bool


def term_at(dump: DumpSet, document: Document, offset: int) -> Term | None:
    """Return the term at a byte of a file, None if there is none."""
    first = max(offset - _NEAR, document.data.rfind(b"\n", 0, offset) + 1)
    for match in _TERM.finditer(document.data, first, offset + _NEAR):
        if match.start() <= offset < match.end():
            markdown = f"**{code(match[0].decode())}**: {_sentence(dump, match)}."
            return Term(*match.span(), markdown, is_in_name=bool(match["remat"]))
    return None


def kind_sentence(kind: Kind) -> str | None:
    """Return what the kind of an allocation means, None for kinds that need no explanation."""
    return next((sentence for flag, sentence in _KINDS.items() if flag in kind), None)


def _sentence(dump: DumpSet, match: "re.Match[bytes]") -> str:
    if match["tiles"]:
        return _tiles([tuple(map(integer, lengths.split(b","))) for lengths in _TILE.findall(match["tiles"])])
    if match["space"]:
        return _space(dump.space_id(integer(match["space"])))
    return _WORDS[match["word"].decode()] if match["word"] else REMAT


def color_name(color: SpaceId) -> str:
    """Return the name of a color that shares a memory space with others: ``collective memory (color 7)``, and
    ``color 0`` for the one that stands for the memory space.
    """
    if color.memory == color:
        return f"color {color.color}"
    return f"{color.name} (color {color.color})" if color.is_known else f"color {color.color} (unknown use)"


def place_name(color: SpaceId) -> str:
    """Return the name of the memory space of a color, and that of the color if it does not stand for the memory space:
    ``HBM, collective memory (color 7)``.
    """
    return color.name if color.memory == color else f"{color.memory.name}, {color_name(color)}"


def _space(color: SpaceId) -> str:
    name, number = place_name(color), f"memory space {color.color}"
    return f"the array is in {name}{'' if name == number or color.memory != color else f', {number}'}"


def _tiles(tiles: Sequence[Sequence[int]]) -> str:
    first, *inner = tiles
    lengths = " × ".join(f"{length:,}" for length in first)
    padded = " and ".join(f"{length:,}" for length in first)
    dimensions = "last dimension is" if len(first) == 1 else f"last {len(first)} dimensions are"
    multiple = "a multiple" if len(first) == 1 else "multiples"
    split = "".join(f", each made of tiles of {' × '.join(map(str, lengths))}" for lengths in inner)
    return (
        f"the array is stored in tiles of {lengths} elements{split}; in memory order, its {dimensions} padded to "
        f"{multiple} of {padded}"
    )
