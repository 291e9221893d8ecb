"""Requests about a document as a whole, or about some lines of it."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from xla_lens.features.hints import hints
from xla_lens.features.links import LinkTarget, links
from xla_lens.features.symbols import document_symbols
from xla_lens.lsp.plain import Json, Plain
from xla_lens.lsp.requests.context import Context
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.outline import Symbol
from xla_lens.render.links import link_tooltip

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

SYMBOL_LIMIT: Final = 1_000
"""Entries below one part of an outline, at most: editors draw all of it at once."""

HINT_LIMIT: Final = 100_000
"""Hints of each kind in one answer, at most: some editors ask for those of a whole file."""

LINK_LIMIT: Final = 1_000
"""Links of each kind, at most."""


def list_symbols(context: Context, _params: lsp.DocumentSymbolParams) -> Plain:
    """The outline."""
    return outline(context, document_symbols(context.analysis.dump, context.file, SYMBOL_LIMIT))


def outline(context: Context, symbols: list[Symbol]) -> Plain:
    """An outline of the document, as a tree if the editor takes one."""
    if context.client.has_nested_symbols:
        return context.convert.symbols(context.file, symbols)
    if any(map(_is_cut, symbols)):
        # In a tree the part itself says so.
        context.told_cut(f"the {SYMBOL_LIMIT:,} biggest of each part are shown")
    return context.convert.flat_symbols(context.file, symbols)


def _is_cut(symbol: Symbol) -> bool:
    return 0 < len(symbol.children) < symbol.count or any(map(_is_cut, symbol.children))


def show_hints(context: Context, params: lsp.InlayHintParams) -> Plain | None:
    """What the dump leaves unsaid, beside its lines."""
    if not context.settings.inlay_hints:
        return None
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    found = hints(context.analysis, context.file, start, end, HINT_LIMIT)
    if any(count == HINT_LIMIT for count in Counter(type(hint.facts) for hint in found).values()):
        context.told_cut(f"the first {HINT_LIMIT:,} hints of each kind are shown")
    return context.convert.hints(context.file, found)


def list_links(context: Context, _params: lsp.DocumentLinkParams) -> Plain:
    """The links. Where those to sources lead is found when one is followed."""
    found = links(context.analysis.dump, context.module, context.file, LINK_LIMIT + 1)
    return links_to(context, [(link.start, link.end, link.target) for link in found])


def links_to(context: Context, found: list[tuple[int, int, LinkTarget]]) -> Plain:
    """Links from some bytes of a document. Where those to sources lead is found when one is followed."""
    found = context.cut(found, LINK_LIMIT, "links")
    ranges = context.convert.ranges(context.file, [(start, end) for start, end, _ in found])
    return Plain(
        [
            {"range": where, "tooltip": link_tooltip(target), **_link_target(context, target)}
            for (_, _, target), where in zip(found, ranges, strict=True)
        ]
    )


def _link_target(context: Context, target: LinkTarget) -> Json:
    if isinstance(target, StackFrame):
        return {"data": {"path": target.file, "line": target.line}}
    return {"target": context.convert.address(target.place)}


async def resolve_link(server: "XlaLensServer", link: lsp.DocumentLink) -> lsp.DocumentLink:
    """Where a link to a source leads: to a file, whatever the dump says."""
    data = link.data if isinstance(link.data, Mapping) else {}
    path, line = data.get("path"), data.get("line")
    if link.target is None and isinstance(path, str):
        link.target = await server.index.sources.address(path, line if isinstance(line, int) else None)
    return link
