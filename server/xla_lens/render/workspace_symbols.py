"""What people type to find modules, allocations and values, and what they read about those.

A query is words in any order: filters, and a text of all that is no filter. Filters of one sort are alternatives; those
of several sorts must all hold::

    fusion >1GiB            has `fusion` in its name and more than 1 GiB; also `<`, `>=`, `<=`
    peak:                   live at the peak of its memory space
    temp: param:            an allocation of that kind, or a value in one: the start of a word of `KIND_NAMES`
    vmem: space:5           in a memory space, by its name or number
    module:train_step       in a module that has this in its name
    kind:value              a module, an allocation or a value: the start of the word is enough
"""

import re
from dataclasses import replace
from typing import Final

from xla_lens.features.workspace_symbols import Query, WorkspaceSymbol
from xla_lens.model.summary import EntryKind
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.render.memory_spaces import parse_spaces, space_name
from xla_lens.render.numbers import human, parse_size, percent

_BOUND: Final = re.compile(r"([<>]=?)(.+)")


def parse_query(text: str) -> Query:
    """The query that people mean by a text. What is no filter, is looked for."""
    query, words = Query(), []
    for word in text.split():
        narrowed = _with_bound(query, word) or _with_filter(query, word.lower())
        if narrowed is None:
            words.append(word)
        query = narrowed or query
    return replace(query, text=" ".join(words))


def container_text(symbol: WorkspaceSymbol) -> str:
    """What is told of a symbol besides its name, in words that a client may filter by:
    ``jit_step · buffer-assignment · 1.42 GiB · temp · live at the peak``.
    """
    parts: list[str] = [] if symbol.kind is EntryKind.MODULE else [symbol.module]
    parts.append(symbol.file_kind)
    if symbol.size_bytes is not None:
        parts.append(f"{'peak ' if symbol.kind is EntryKind.MODULE else ''}{human(symbol.size_bytes)}")
    if symbol.size_bytes and symbol.most_live_bytes is not None and symbol.most_live_bytes < symbol.size_bytes:
        parts.append(f"{percent(symbol.most_live_bytes, symbol.size_bytes)} live at once")
    if symbol.allocation_kind is not None:
        parts.append(symbol.allocation_kind)
    if symbol.space and symbol.space.color:
        parts.append(space_name(symbol.space))
    if symbol.is_at_peak:
        parts.append("live at the peak")
    return " · ".join(parts)


def _with_bound(query: Query, word: str) -> Query | None:
    """The query with a bound of sizes, None if the word is none."""
    match = _BOUND.fullmatch(word)
    size_bytes = parse_size(match[2]) if match else None
    if match is None or size_bytes is None:
        return None
    if match[1].startswith(">"):
        least_bytes = size_bytes + (match[1] == ">")
        return replace(query, least_bytes=max(least_bytes, query.least_bytes or 0))
    most_bytes = size_bytes - (match[1] == "<")
    return replace(query, most_bytes=most_bytes if query.most_bytes is None else min(most_bytes, query.most_bytes))


def _with_filter(query: Query, word: str) -> Query | None:
    """The query with a filter, None if the word is none."""
    name, colon, wanted = word.partition(":")
    match name, wanted:
        case _ if not name or not colon:
            return None
        case "module", _:
            return replace(query, modules=query.modules | {wanted} - {""})
        case "kind", _:
            kinds = {kind for kind in EntryKind if kind.name.lower().startswith(wanted)}
            return replace(query, kinds=query.kinds | kinds) if kinds else None
        case "peak", "":
            return replace(query, is_at_peak=True)
    spaces = parse_spaces(wanted if name == "space" else name)
    if spaces and (name == "space" or not (wanted or name.isdecimal())):
        return replace(query, spaces=query.spaces | spaces)
    allocation_kinds = {number for number, kind in enumerate(KIND_NAMES) if kind.startswith(name) and not wanted}
    return replace(query, allocation_kinds=query.allocation_kinds | allocation_kinds) if allocation_kinds else None
