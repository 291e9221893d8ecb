"""Requests about how an HLO module is built: its computations and their instructions, and how they hang together."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lsprotocol import types as lsp

from xla_lens.features.hlo.call_hierarchy import (
    HloFlow,
    HloItem,
    find_hlo_item,
    hlo_incoming,
    hlo_item,
    hlo_outgoing,
)
from xla_lens.features.hlo.folding import hlo_folds
from xla_lens.features.hlo.highlight import hlo_highlights
from xla_lens.features.hlo.selection import hlo_selection
from xla_lens.features.hlo.symbols import hlo_symbols
from xla_lens.features.hlo.tokens import hlo_tokens
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.requests.context import ModuleContext
from xla_lens.lsp.requests.documents import SYMBOL_LIMIT, outline
from xla_lens.lsp.requests.hierarchy import FLOW_LIMIT
from xla_lens.lsp.requests.positions import HIGHLIGHT_LIMIT
from xla_lens.lsp.requests.structure import (
    NESTING_LIMIT,
    TOKEN_LIMIT,
    fold_limit,
    shown_folds,
    shown_selections,
    shown_words,
)
from xla_lens.model.hlo.mentions import HloComputation, HloTarget
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.hlo import hlo_item_detail
from xla_lens.text.positions import decode, encode


def list_symbols(context: ModuleContext, _params: lsp.DocumentSymbolParams) -> Plain:
    """The computations and their instructions."""
    return outline(context, hlo_symbols(context.analysis.dump, context.module, SYMBOL_LIMIT))


def list_folds(context: ModuleContext, _params: lsp.FoldingRangeParams) -> Plain:
    """What can be folded, the biggest first if it is too much."""
    return shown_folds(context, hlo_folds(context.module, fold_limit(context)))


def widen_selections(context: ModuleContext, params: lsp.SelectionRangeParams) -> Plain:
    """What surrounds each of some places, from the word to the whole file."""
    return shown_selections(context, params, lambda offset: hlo_selection(context.module, offset, NESTING_LIMIT))


def colour_words(context: ModuleContext, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
    """The words of some lines with what they are."""
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    return shown_words(context, hlo_tokens(context.analysis, context.module, start, end, TOKEN_LIMIT + 1))


def mark_highlights(context: ModuleContext, params: lsp.DocumentHighlightParams) -> Plain | None:
    """Where the same is defined and read."""
    mention = context.hlo_mention(params.position)
    if mention is None:
        return None
    found = hlo_highlights(context.module, mention, HIGHLIGHT_LIMIT + 1)
    found = context.cut(found, HIGHLIGHT_LIMIT, "words that mean the same")
    ranges = context.convert.ranges(context.file, [(word.start, word.end) for word in found])
    write, read = lsp.DocumentHighlightKind.Write.value, lsp.DocumentHighlightKind.Read.value
    return Plain(
        [
            {"range": where, "kind": write if word.is_definition else read}
            for word, where in zip(found, ranges, strict=True)
        ]
    )


# ---------------------------------------------------------------- call hierarchy

_Find: TypeAlias = Callable[[DumpSet, HloModule, HloTarget, int], list[HloFlow]]


def prepare_hierarchy(
    context: ModuleContext, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    """The computation or the instruction that is mentioned."""
    mention = context.hlo_mention(params.position)
    return [_item(context, hlo_item(context.analysis.dump, context.module, mention.target))] if mention else None


def list_incoming(
    context: ModuleContext, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """Who calls a computation, or what an instruction is computed from."""
    found = _flows(context, params.item, hlo_incoming, "callers or producers")
    return [lsp.CallHierarchyIncomingCall(_item(context, flow.item), _ranges(context, flow)) for flow in found]


def list_outgoing(
    context: ModuleContext, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """Whom a computation calls, or what reads an instruction."""
    found = _flows(context, params.item, hlo_outgoing, "callees or consumers")
    return [lsp.CallHierarchyOutgoingCall(_item(context, flow.item), _ranges(context, flow)) for flow in found]


def _flows(context: ModuleContext, item: lsp.CallHierarchyItem, find: _Find, what: str) -> list[HloFlow]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    module, name = context.module, data.get("name")
    if not isinstance(name, str):
        return []
    target = find_hlo_item(module, encode(name), is_computation=data.get("isComputation") is True)
    if target is None:
        return []
    return context.cut(find(context.analysis.dump, module, target, FLOW_LIMIT + 1), FLOW_LIMIT, what)


def _item(context: ModuleContext, item: HloItem) -> lsp.CallHierarchyItem:
    place, is_computation, name = item.place, isinstance(item.target, HloComputation), decode(item.name)
    return lsp.CallHierarchyItem(
        name=name,
        kind=lsp.SymbolKind.Function if is_computation else lsp.SymbolKind.Variable,
        uri=context.convert.uri(place.file),
        range=context.convert.range(place.file, place.start, place.end),
        selection_range=context.convert.range(place.file, item.selection.start, item.selection.end),
        detail=hlo_item_detail(item),
        data={"uri": context.uri, "name": name, "isComputation": is_computation},
    )


def _ranges(context: ModuleContext, flow: HloFlow) -> list[lsp.Range]:
    return [context.convert.range(place.file, place.start, place.end) for place in flow.places]
