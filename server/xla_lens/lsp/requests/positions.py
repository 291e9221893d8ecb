"""Requests about what stands at a position."""

from collections.abc import Callable
from typing import Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.features.highlight import HighlightKind, highlights
from xla_lens.features.hover import hover
from xla_lens.features.navigation import declaration, definition, implementation, type_definition
from xla_lens.features.references import references, references_without_declaration
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.requests.context import Context
from xla_lens.model.places.mentions import Mention
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.hover import hover_markdown
from xla_lens.render.markdown import without_marks

Going: TypeAlias = lsp.DefinitionParams | lsp.DeclarationParams | lsp.TypeDefinitionParams | lsp.ImplementationParams
_Locations: TypeAlias = list[lsp.Location] | list[lsp.LocationLink] | None

HIGHLIGHT_LIMIT: Final = 300
"""Words that are marked, at most: an editor asks at each move of the cursor."""

_HIGHLIGHTS: Final = {
    HighlightKind.WRITE: lsp.DocumentHighlightKind.Write.value,
    HighlightKind.READ: lsp.DocumentHighlightKind.Read.value,
    HighlightKind.TEXT: lsp.DocumentHighlightKind.Text.value,
}


def show_hover(context: Context, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is known of what is mentioned."""
    mention = context.mention(params.position)
    if mention is None:
        return None
    markdown = hover_markdown(hover(context.analysis, context.module, mention))
    return hover_of(context, markdown, mention.start, mention.end)


def hover_of(context: Context, markdown: str, start: int, end: int) -> lsp.Hover:
    """A hover about some bytes of the document."""
    if context.client.reads_markdown:
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    else:
        content = lsp.MarkupContent(lsp.MarkupKind.PlainText, without_marks(markdown))
    return lsp.Hover(content, context.convert.range(context.file, start, end))


def go_to_definition(context: Context, params: lsp.DefinitionParams) -> _Locations:
    """The definition of what is mentioned."""
    limit = context.settings.place_limit
    return _go(
        context,
        params,
        lsp.TEXT_DOCUMENT_DEFINITION,
        lambda dump, mention: context.cut(definition(dump, mention, limit + 1), limit, "definitions"),
    )


def go_to_declaration(context: Context, params: lsp.DeclarationParams) -> _Locations:
    """The declaration of what is mentioned."""
    return _go(context, params, lsp.TEXT_DOCUMENT_DECLARATION, declaration)


def go_to_type_definition(context: Context, params: lsp.TypeDefinitionParams) -> _Locations:
    """The type definition of what is mentioned."""
    return _go(context, params, lsp.TEXT_DOCUMENT_TYPE_DEFINITION, type_definition)


def _go(
    context: Context,
    params: Going,
    method: str,
    find: Callable[[DumpSet, Mention], list[Place]],
) -> _Locations:
    mention = context.mention(params.position)
    if mention is None:
        return None
    return go(context, find(context.analysis.dump, mention), mention.start, mention.end, method)


def go(context: Context, places: list[Place], start: int, end: int, method: str) -> _Locations:
    """Places where some bytes of the document lead."""
    if method not in context.client.links:
        return [context.convert.location(place) for place in places] or None
    # The editor shows the whole name as one link, and not the words that it sees in it.
    origin = context.convert.range(context.file, start, end)
    return [context.convert.link(place, origin) for place in places] or None


def go_to_implementation(context: Context, params: lsp.ImplementationParams) -> _Locations:
    """What runs."""
    return _go(
        context,
        params,
        lsp.TEXT_DOCUMENT_IMPLEMENTATION,
        lambda dump, mention: implementation(dump, context.module, mention),
    )


def mark_highlights(context: Context, params: lsp.DocumentHighlightParams) -> Plain | None:
    """The words of the document that mean the same."""
    mention = context.mention(params.position)
    if mention is None:
        return None
    found = highlights(context.analysis.dump, context.file, mention, HIGHLIGHT_LIMIT + 1)
    found = context.cut(found, HIGHLIGHT_LIMIT, "words that mean the same")
    ranges = context.convert.ranges(context.file, [(word.start, word.end) for word in found])
    return Plain([{"range": where, "kind": _HIGHLIGHTS[word.kind]} for word, where in zip(found, ranges, strict=True)])


def find_references(context: Context, params: lsp.ReferenceParams) -> Plain | None:
    """All places that mention the same."""
    mention = context.mention(params.position)
    if mention is None:
        return None
    limit = context.settings.place_limit
    find = references if params.context.include_declaration else references_without_declaration
    places = context.cut(find(context.analysis.dump, mention.target, limit + 1), limit, "references")
    return context.convert.locations(places)
