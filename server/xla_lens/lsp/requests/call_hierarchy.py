"""Call hierarchy. In a dump file, callers are the producers of what a value is computed from and callees its consumers;
in an HLO module, also the callers and callees of a computation.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.features.call_hierarchy import Flow, Item, ItemTarget, consumers, find_item, prepare, producers
from xla_lens.features.hlo import call_hierarchy as hlo_hierarchy
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.hlo.mentions import HloComputation, HloTarget
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Value
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.call_hierarchy import item_detail
from xla_lens.render.hlo import hlo_item_detail
from xla_lens.text.positions import decode, encode

FLOW_LIMIT: Final = 1_000
"""Maximum number of callers or callees of one item. Editors show them in one list."""

# ---------------------------------------------------------------- dump files


def prepare_call_hierarchy(
    snapshot: Snapshot, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    """The value or instruction at a position."""
    mention = snapshot.mention(params.position)
    return [_item(snapshot, item) for item in prepare(snapshot.analysis.dump, mention)] or None if mention else None


def incoming_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The producers of what an item is computed from."""
    found = _flows(snapshot, params.item, producers, "producers")
    return [lsp.CallHierarchyIncomingCall(_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def outgoing_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The consumers of an item."""
    found = _flows(snapshot, params.item, consumers, "consumers")
    return [lsp.CallHierarchyOutgoingCall(_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def _flows(
    snapshot: Snapshot,
    item: lsp.CallHierarchyItem,
    find: Callable[[DumpSet, ItemTarget, int], list[Flow]],
    what: str,
) -> list[Flow]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    name, index = data.get("name"), data.get("index")
    if not isinstance(name, str):
        return []
    dump = snapshot.analysis.dump
    known = find_item(dump, encode(name), encode(index) if isinstance(index, str) else None)
    return snapshot.truncate(find(dump, known.target, FLOW_LIMIT + 1), FLOW_LIMIT, what) if known else []


def _item(snapshot: Snapshot, item: Item) -> lsp.CallHierarchyItem:
    place, index = item.place, None if item.index is None else decode(item.index)
    return lsp.CallHierarchyItem(
        name=item.label,
        kind=lsp.SymbolKind.Variable if isinstance(item.target, Value) else lsp.SymbolKind.Function,
        uri=snapshot.convert.uri(place.file),
        range=snapshot.convert.range(place.file, place.start, place.end),
        selection_range=snapshot.convert.range(place.file, item.selection.start, item.selection.end),
        detail=item_detail(item),
        data={"uri": snapshot.uri, "name": decode(item.name), "index": index},
    )


# ---------------------------------------------------------------- HLO modules


def hlo_prepare_call_hierarchy(
    snapshot: HloSnapshot, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    """The computation or instruction at a position."""
    mention = snapshot.hlo_mention(params.position)
    if mention is None:
        return None
    return [_hlo_item(snapshot, hlo_hierarchy.item(snapshot.analysis.dump, snapshot.module, mention.target))]


def hlo_incoming_calls(
    snapshot: HloSnapshot, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The callers of a computation, or the producers of the operands of an instruction."""
    found = _hlo_flows(snapshot, params.item, hlo_hierarchy.incoming, "callers or producers")
    return [lsp.CallHierarchyIncomingCall(_hlo_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def hlo_outgoing_calls(
    snapshot: HloSnapshot, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The callees of a computation, or the consumers of an instruction."""
    found = _hlo_flows(snapshot, params.item, hlo_hierarchy.outgoing, "callees or consumers")
    return [lsp.CallHierarchyOutgoingCall(_hlo_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def _hlo_flows(
    snapshot: HloSnapshot,
    item: lsp.CallHierarchyItem,
    find: Callable[[DumpSet, HloModule, HloTarget, int], list[hlo_hierarchy.Flow]],
    what: str,
) -> list[hlo_hierarchy.Flow]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    module, name = snapshot.module, data.get("name")
    if not isinstance(name, str):
        return []
    target = hlo_hierarchy.find_item(module, encode(name), is_computation=data.get("isComputation") is True)
    if target is None:
        return []
    return snapshot.truncate(find(snapshot.analysis.dump, module, target, FLOW_LIMIT + 1), FLOW_LIMIT, what)


def _hlo_item(snapshot: HloSnapshot, item: hlo_hierarchy.Item) -> lsp.CallHierarchyItem:
    place, is_computation, name = item.place, isinstance(item.target, HloComputation), decode(item.name)
    return lsp.CallHierarchyItem(
        name=name,
        kind=lsp.SymbolKind.Function if is_computation else lsp.SymbolKind.Variable,
        uri=snapshot.convert.uri(place.file),
        range=snapshot.convert.range(place.file, place.start, place.end),
        selection_range=snapshot.convert.range(place.file, item.selection.start, item.selection.end),
        detail=hlo_item_detail(item),
        data={"uri": snapshot.uri, "name": name, "isComputation": is_computation},
    )


def _ranges(snapshot: Snapshot, flow: Flow | hlo_hierarchy.Flow) -> list[lsp.Range]:
    return [snapshot.convert.range(place.file, place.start, place.end) for place in flow.places]
