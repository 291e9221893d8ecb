"""Requests about what stands at a position."""

from collections.abc import Callable
from typing import TypeAlias

from lsprotocol import types as lsp

from xla_lens.features.hover import hover
from xla_lens.features.navigation import declaration, definition, type_definition
from xla_lens.features.references import references
from xla_lens.lsp.requests.context import Context
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.mentions import Mention
from xla_lens.model.places import Place
from xla_lens.render.hover import hover_markdown
from xla_lens.render.markdown import without_marks

_Going: TypeAlias = lsp.DefinitionParams | lsp.DeclarationParams | lsp.TypeDefinitionParams | lsp.ImplementationParams
_Locations: TypeAlias = list[lsp.Location] | list[lsp.LocationLink] | None


def show_hover(context: Context, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is known of what is mentioned."""
    mention = context.mention(params.position)
    if mention is None:
        return None
    markdown = hover_markdown(hover(context.analysis, mention))
    if context.client.reads_markdown:
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    else:
        content = lsp.MarkupContent(lsp.MarkupKind.PlainText, without_marks(markdown))
    return lsp.Hover(content, context.convert.range(context.member, mention.start, mention.end))


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
    params: _Going,
    method: str,
    find: Callable[[DumpSet, Mention], list[Place]],
) -> _Locations:
    mention = context.mention(params.position)
    if mention is None:
        return None
    places = find(context.analysis.dump, mention)
    if method not in context.client.links:
        return [context.convert.location(place) for place in places] or None
    # The editor shows the whole name as one link, and not the words that it sees in it.
    origin = context.convert.range(context.member, mention.start, mention.end)
    return [context.convert.link(place, origin) for place in places] or None


def find_references(context: Context, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    """All places that mention the same."""
    mention = context.mention(params.position)
    if mention is None:
        return None
    limit = context.settings.place_limit
    places = context.cut(references(context.analysis.dump, mention.target, limit + 1), limit, "references")
    return [context.convert.location(place) for place in places]
