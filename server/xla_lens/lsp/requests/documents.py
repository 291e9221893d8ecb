"""Requests about a document as a whole, or about some lines of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from xla_lens.features.hints import hints
from xla_lens.features.links import LinkTarget, SourceLine, links
from xla_lens.features.symbols import document_symbols
from xla_lens.lsp.requests.context import Context
from xla_lens.lsp.sync import uri_of
from xla_lens.render.links import link_tooltip

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

SYMBOL_LIMIT: Final = 1_000
"""Entries below one part of an outline, at most: editors draw all of it at once."""

HINT_LIMIT: Final = 10_000
"""Hints of each kind in one answer, at most."""

LINK_LIMIT: Final = 5_000
"""Links of each kind, at most."""


def list_symbols(
    context: Context, _params: lsp.DocumentSymbolParams
) -> Sequence[lsp.DocumentSymbol] | Sequence[lsp.SymbolInformation]:
    """The outline."""
    symbols = document_symbols(context.analysis.dump, context.member, SYMBOL_LIMIT)
    if context.client.has_nested_symbols:
        return [context.convert.symbol(context.member, symbol) for symbol in symbols]
    return [flat for symbol in symbols for flat in context.convert.flat_symbols(context.member, symbol, None)]


def show_hints(context: Context, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
    """What the dump leaves unsaid, beside its lines."""
    if not context.settings.inlay_hints:
        return None
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    found = hints(context.analysis, context.member, start, end, HINT_LIMIT)
    return [context.convert.hint(context.member, hint) for hint in found]


def list_links(context: Context, _params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """The links. Where those to sources lead is found when one is followed."""
    found = links(context.analysis.dump, context.member, LINK_LIMIT + 1)
    return [_link(context, link.start, link.end, link.target) for link in context.cut(found, LINK_LIMIT, "links")]


def _link(context: Context, start: int, end: int, target: LinkTarget) -> lsp.DocumentLink:
    place, tooltip = context.convert.range(context.member, start, end), link_tooltip(target)
    if isinstance(target, SourceLine):
        return lsp.DocumentLink(place, tooltip=tooltip, data={"path": target.path, "line": target.line})
    return lsp.DocumentLink(place, context.convert.address(target.place), tooltip)


async def resolve_link(server: "XlaLensServer", link: lsp.DocumentLink) -> lsp.DocumentLink:
    """Where a link to a source leads: to a file, whatever the dump says; and nothing is read of it."""
    data = link.data if isinstance(link.data, Mapping) else {}
    path, line = data.get("path"), data.get("line")
    if link.target is None and isinstance(path, str):
        absolute = next((folder / path for folder in server.folders), Path(path))
        if absolute.is_absolute():
            link.target = uri_of(absolute) + (f"#L{line}" if isinstance(line, int) else "")
    return link
