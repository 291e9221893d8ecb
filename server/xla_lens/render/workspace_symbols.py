"""The query language of workspace symbols, and the text beside each match.

A query is a list of words in any order: filters, and words to find in names. Filters of one kind are alternatives;
filters of different kinds must all match::

    fusion >1GiB            names with `fusion`, more than 1 GiB; also `<`, `>=`, `<=`
    peak:                   live at the peak of its memory space
    temp: param:            allocations of a kind, and their values; any prefix of a word in `KIND_NAMES`
    vmem: space:5           in a memory space, by name or number
    module:train_step       in modules with this in their name
    kind:value              modules, allocations or values; any prefix of the word
"""

import re
from dataclasses import replace
from typing import Final

from xla_lens.features.workspace_symbols import Query, WorkspaceSymbol
from xla_lens.model.summary import EntryKind
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.model.warrants import Quantity
from xla_lens.render.memory_spaces import parse_spaces, space_name
from xla_lens.render.numbers import human, parse_size, percent
from xla_lens.render.warrants import warranted_size

_BOUND: Final = re.compile(r"([<>]=?)(.+)")


def parse_query(text: str) -> Query:
    """Return the query that a text stands for. Words that are no filters are the text to find."""
    query, words = Query(), []
    for word in text.split():
        narrowed = _with_bound(query, word) or _with_filter(query, word.lower())
        if narrowed is None:
            words.append(word)
        query = narrowed or query
    return replace(query, text=" ".join(words))


def container_text(symbol: WorkspaceSymbol) -> str:
    """Return the container of a symbol, in words that a client may filter by:
    ``jit_step · buffer-assignment · 1.42 GiB · temp · live at the peak``.
    """
    parts: list[str] = [] if symbol.kind is EntryKind.MODULE else [symbol.module]
    parts.append(symbol.file_kind)
    live = symbol.warrants.of(Quantity.LIVE)
    if symbol.size_bytes is not None:
        is_module = symbol.kind is EntryKind.MODULE
        parts.append(f"peak {warranted_size(symbol.size_bytes, live)}" if is_module else human(symbol.size_bytes))
    if (
        live.is_exact
        and symbol.size_bytes
        and symbol.most_live_bytes is not None
        and symbol.most_live_bytes < symbol.size_bytes
    ):
        parts.append(f"{percent(symbol.most_live_bytes, symbol.size_bytes)} live at once")
    if symbol.allocation_kind is not None:
        parts.append(symbol.allocation_kind)
    if symbol.space and symbol.space.color:
        parts.append(space_name(symbol.space))
    if symbol.is_at_peak and live.is_known:
        parts.append("live at the peak")
    return " · ".join(parts)


def _with_bound(query: Query, word: str) -> Query | None:
    """The query with a size bound, None if the word is not a bound."""
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
    """The query with a filter, None if the word is not a filter."""
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
