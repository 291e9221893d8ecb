"""Requests about an HLO module."""

from typing import Any

from lsprotocol import types as lsp

from xla_lens.features.hlo_hover import HloInstructionFacts, hlo_hover
from xla_lens.features.hlo_navigation import (
    hlo_definition,
    hlo_implementation,
    hlo_references,
    hlo_type_definition,
)
from xla_lens.features.hover import hover
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.requests.context import Context
from xla_lens.lsp.requests.positions import Going, go, hover_of
from xla_lens.model.hlo_mentions import HloMention, hlo_mention_at
from xla_lens.model.hlo_module import HloModule
from xla_lens.model.mentions import Mention, Role
from xla_lens.model.places import Place
from xla_lens.render.hlo import hlo_hover_markdown
from xla_lens.render.hover import hover_markdown


def _mention(context: Context, position: lsp.Position) -> tuple[HloModule, HloMention] | None:
    module = context.module
    mention = hlo_mention_at(module, context.offset(position)) if module else None
    return (module, mention) if module and mention else None


def show_hover(context: Context, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is known of what is mentioned, in the module and in the dump."""
    found = _mention(context, params.position)
    if found is None:
        return None
    module, mention = found
    facts = hlo_hover(context.analysis, module, mention)
    target = facts.target if isinstance(facts, HloInstructionFacts) else None
    meant = Mention(target, Role.INSTRUCTION_TEXT, mention.start, mention.end) if target else None
    value = hover_markdown(hover(context.analysis, module, meant)) if meant else None
    return hover_of(context, hlo_hover_markdown(facts, value), mention.start, mention.end)


def go_to_definition(context: Context, params: lsp.DefinitionParams) -> Any:
    """Where an instruction or a computation is defined."""
    return _go(context, params, lsp.TEXT_DOCUMENT_DEFINITION)


def go_to_declaration(context: Context, params: lsp.DeclarationParams) -> Any:
    """Where an instruction or a computation is defined."""
    return _go(context, params, lsp.TEXT_DOCUMENT_DECLARATION)


def go_to_type_definition(context: Context, params: lsp.TypeDefinitionParams) -> Any:
    """The rows of the values in the buffer assignment."""
    return _go(context, params, lsp.TEXT_DOCUMENT_TYPE_DEFINITION)


def go_to_implementation(context: Context, params: lsp.ImplementationParams) -> Any:
    """When it runs."""
    return _go(context, params, lsp.TEXT_DOCUMENT_IMPLEMENTATION)


def _go(context: Context, params: Going, method: str) -> Any:
    found = _mention(context, params.position)
    if found is None:
        return None
    module, mention = found
    return go(context, _places(context, module, mention, method), mention.start, mention.end, method)


def _places(context: Context, module: HloModule, mention: HloMention, method: str) -> list[Place]:
    dump, limit = context.analysis.dump, context.settings.place_limit
    match method:
        case lsp.TEXT_DOCUMENT_TYPE_DEFINITION:
            return context.cut(hlo_type_definition(dump, module, mention, limit + 1), limit, "values")
        case lsp.TEXT_DOCUMENT_IMPLEMENTATION:
            return hlo_implementation(dump, module, mention)
    return hlo_definition(module, mention)


def find_references(context: Context, params: lsp.ReferenceParams) -> Plain | None:
    """All places that mention the same, in the module and in the dump."""
    found = _mention(context, params.position)
    if found is None:
        return None
    limit = context.settings.place_limit
    places = context.cut(hlo_references(context.analysis.dump, *found, limit + 1), limit, "references")
    return context.convert.locations(places if params.context.include_declaration else places[1:])
