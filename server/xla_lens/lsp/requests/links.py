"""Document links: to source files, and from pages into the files of a dump set."""

from collections.abc import Mapping
from typing import Final

from lsprotocol import types as lsp

from xla_lens.features.hlo.links import links as hlo_links
from xla_lens.features.links import LinkTarget, links
from xla_lens.lsp.converter import Json, RawJson
from xla_lens.lsp.snapshot import HloSnapshot, PageSnapshot, Snapshot
from xla_lens.lsp.sources import source_uri
from xla_lens.lsp.state import State
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.render.links import link_tooltip
from xla_lens.render.pages import PageLink, SourceLink

LINK_LIMIT: Final = 1_000
"""Maximum number of links of each kind."""


def document_link(snapshot: Snapshot, _params: lsp.DocumentLinkParams) -> RawJson:
    """The links of a dump file or an HLO module. Links to source files get their target from `documentLink/resolve`."""
    found: list[tuple[int, int, LinkTarget]]
    if isinstance(snapshot, HloSnapshot):
        found = [(link.start, link.end, link.frame) for link in hlo_links(snapshot.module, LINK_LIMIT + 1)]
    else:
        every = links(snapshot.dump, snapshot.module, snapshot.file, LINK_LIMIT + 1)
        found = [(link.start, link.end, link.target) for link in every]
    found = snapshot.truncate(found, LINK_LIMIT, "links")
    ranges = snapshot.convert.ranges(snapshot.file, [(start, end) for start, end, _ in found])
    return RawJson(
        [
            {"range": where, **_tooltip(snapshot, target), **_target(snapshot, target)}
            for (_, _, target), where in zip(found, ranges, strict=True)
        ]
    )


def page_document_link(snapshot: PageSnapshot, _params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """The links of a page. Links to source files get their target from `documentLink/resolve`."""

    def link_to(link: PageLink | SourceLink) -> lsp.DocumentLink:
        where = snapshot.page.range_of(link, snapshot.capabilities.encoding)
        if isinstance(link, PageLink):
            return lsp.DocumentLink(where, snapshot.convert.line_uri(link.target))
        return lsp.DocumentLink(where, data=_source(link.frame), **_tooltip(snapshot, link.frame))

    return [link_to(link) for link in snapshot.page.links]


def _tooltip(snapshot: Snapshot | PageSnapshot, target: LinkTarget) -> dict[str, str]:
    """Return the tooltip of a link as a property, if the editor shows any."""
    if not snapshot.capabilities.has_link_tooltips:
        return {}
    return {"tooltip": link_tooltip(target, is_markdown=snapshot.capabilities.has_markdown)}


def _target(snapshot: Snapshot, target: LinkTarget) -> Json:
    if isinstance(target, StackFrame):
        return {"data": _source(target)}
    return {"target": snapshot.convert.line_uri(target.place)}


def _source(frame: StackFrame) -> Json:
    """Return what `documentLink/resolve` needs to find a source line."""
    return {"path": frame.file, "line": frame.line}


async def document_link_resolve(state: State, link: lsp.DocumentLink) -> lsp.DocumentLink:
    """Find the source file of a link. The target is always a `file:` URI, whatever the dump contains."""
    data = link.data if isinstance(link.data, Mapping) else {}
    path, line = data.get("path"), data.get("line")
    if link.target is None and isinstance(path, str):
        found = await state.find_source(path)
        link.target = source_uri(found, line if type(line) is int and line > 0 else None) if found else None
    return link
