"""Requests about an HLO module."""

from typing import Any

from lsprotocol import types as lsp

from xla_lens.features.hlo.hover import HloInstructionFacts, hlo_hover
from xla_lens.features.hlo.navigation import (
    hlo_definition,
    hlo_implementation,
    hlo_references,
    hlo_type_definition,
)
from xla_lens.features.hover import hover
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.requests.context import ModuleContext
from xla_lens.lsp.requests.positions import Going, go, hover_of
from xla_lens.model.hlo.mentions import HloMention
from xla_lens.model.places.mentions import Mention, Role
from xla_lens.model.places.places import Place
from xla_lens.render.hlo import hlo_hover_markdown
from xla_lens.render.hover import hover_markdown


def show_hover(context: ModuleContext, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is known of what is mentioned, in the module and in the dump."""
    mention = context.hlo_mention(params.position)
    if mention is None:
        return None
    facts = hlo_hover(context.analysis, context.module, mention)
    target = facts.target if isinstance(facts, HloInstructionFacts) else None
    meant = Mention(target, Role.INSTRUCTION_TEXT, mention.start, mention.end) if target else None
    value = hover_markdown(hover(context.analysis, context.module, meant)) if meant else None
    return hover_of(context, hlo_hover_markdown(facts, value), mention.start, mention.end)


def go_to_definition(context: ModuleContext, params: lsp.DefinitionParams) -> Any:
    """Where an instruction or a computation is defined."""
    return _go(context, params, lsp.TEXT_DOCUMENT_DEFINITION)


def go_to_declaration(context: ModuleContext, params: lsp.DeclarationParams) -> Any:
    """Where an instruction or a computation is defined."""
    return _go(context, params, lsp.TEXT_DOCUMENT_DECLARATION)


def go_to_type_definition(context: ModuleContext, params: lsp.TypeDefinitionParams) -> Any:
    """The rows of the values in the buffer assignment."""
    return _go(context, params, lsp.TEXT_DOCUMENT_TYPE_DEFINITION)


def go_to_implementation(context: ModuleContext, params: lsp.ImplementationParams) -> Any:
    """When it runs."""
    return _go(context, params, lsp.TEXT_DOCUMENT_IMPLEMENTATION)


def _go(context: ModuleContext, params: Going, method: str) -> Any:
    mention = context.hlo_mention(params.position)
    if mention is None:
        return None
    return go(context, _places(context, mention, method), mention.start, mention.end, method)


def _places(context: ModuleContext, mention: HloMention, method: str) -> list[Place]:
    dump, module, limit = context.analysis.dump, context.module, context.settings.place_limit
    match method:
        case lsp.TEXT_DOCUMENT_TYPE_DEFINITION:
            return context.cut(hlo_type_definition(dump, module, mention, limit + 1), limit, "values")
        case lsp.TEXT_DOCUMENT_IMPLEMENTATION:
            return hlo_implementation(dump, module, mention)
    return hlo_definition(module, mention)


def find_references(context: ModuleContext, params: lsp.ReferenceParams) -> Plain | None:
    """All places that mention the same, in the module and in the dump."""
    mention = context.hlo_mention(params.position)
    if mention is None:
        return None
    limit = context.settings.place_limit
    places = context.cut(hlo_references(context.analysis.dump, context.module, mention, limit + 1), limit, "references")
    return context.convert.locations(places if params.context.include_declaration else places[1:])
