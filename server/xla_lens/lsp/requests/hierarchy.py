"""Call hierarchy: who makes what a value is computed from, and who reads it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.features.call_hierarchy import Flow, Item, ItemTarget, consumers, find_item, prepare, producers
from xla_lens.lsp.requests.context import Context
from xla_lens.model.places.mentions import Value
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.call_hierarchy import item_detail
from xla_lens.text.positions import decode, encode

FLOW_LIMIT: Final = 1_000
"""Producers or consumers of one thing, at most: editors show them as one list."""


def prepare_hierarchy(context: Context, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem] | None:
    """What is mentioned, as something that data flows to and from."""
    mention = context.mention(params.position)
    return [_item(context, item) for item in prepare(context.analysis.dump, mention)] or None if mention else None


def list_producers(
    context: Context, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall] | None:
    """What an item is computed from."""
    found = _flows(context, params.item, producers, "producers")
    return [lsp.CallHierarchyIncomingCall(_item(context, flow.item), _ranges(context, flow)) for flow in found]


def list_consumers(
    context: Context, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall] | None:
    """What reads an item."""
    found = _flows(context, params.item, consumers, "consumers")
    return [lsp.CallHierarchyOutgoingCall(_item(context, flow.item), _ranges(context, flow)) for flow in found]


def _flows(
    context: Context,
    item: lsp.CallHierarchyItem,
    find: Callable[[DumpSet, ItemTarget, int], list[Flow]],
    what: str,
) -> list[Flow]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    name, index = data.get("name"), data.get("index")
    if not isinstance(name, str):
        return []
    dump = context.analysis.dump
    known = find_item(dump, encode(name), encode(index) if isinstance(index, str) else None)
    return context.cut(find(dump, known.target, FLOW_LIMIT + 1), FLOW_LIMIT, what) if known else []


def _item(context: Context, item: Item) -> lsp.CallHierarchyItem:
    place, index = item.place, None if item.index is None else decode(item.index)
    return lsp.CallHierarchyItem(
        name=item.label,
        kind=lsp.SymbolKind.Variable if isinstance(item.target, Value) else lsp.SymbolKind.Function,
        uri=context.convert.uri(place.file),
        range=context.convert.range(place.file, place.start, place.end),
        selection_range=context.convert.range(place.file, item.selection.start, item.selection.end),
        detail=item_detail(item),
        data={"uri": context.uri, "name": decode(item.name), "index": index},
    )


def _ranges(context: Context, flow: Flow) -> list[lsp.Range]:
    return [context.convert.range(place.file, place.start, place.end) for place in flow.places]
