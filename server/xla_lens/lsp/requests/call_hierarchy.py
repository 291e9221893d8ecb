"""Call hierarchy. In a dump file, callers are the producers of what a value is computed from and callees its consumers;
in an HLO module, also the callers and callees of a computation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

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

_Item: TypeAlias = Item | hlo_hierarchy.Item
_Flow: TypeAlias = Flow | hlo_hierarchy.Flow


def prepare_call_hierarchy(
    snapshot: Snapshot, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    """The value, instruction or computation at a position."""
    found = list[_Item]()
    if isinstance(snapshot, HloSnapshot):
        if named := snapshot.hlo_mention(params.position):
            found = [hlo_hierarchy.item(snapshot.dump, snapshot.module, named.target)]
    elif mention := snapshot.mention(params.position):
        found = [*prepare(snapshot.dump, mention)]
    return [_item(snapshot, item) for item in found] or None


def incoming_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The producers of what an item is computed from, or the callers of a computation."""
    found = _flows(snapshot, params.item, producers, hlo_hierarchy.incoming, "producers")
    return [lsp.CallHierarchyIncomingCall(_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def outgoing_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The consumers of an item, or the callees of a computation."""
    found = _flows(snapshot, params.item, consumers, hlo_hierarchy.outgoing, "consumers")
    return [lsp.CallHierarchyOutgoingCall(_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def _flows(
    snapshot: Snapshot,
    item: lsp.CallHierarchyItem,
    find: Callable[[DumpSet, ItemTarget, int], list[Flow]],
    hlo_find: Callable[[DumpSet, HloModule, HloTarget, int], list[hlo_hierarchy.Flow]],
    what: str,
) -> Sequence[_Flow]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    dump, name, index, found = snapshot.dump, data.get("name"), data.get("index"), list[_Flow]()
    if not isinstance(name, str):
        return []
    if isinstance(snapshot, HloSnapshot):
        is_computation = data.get("isComputation") is True
        if target := hlo_hierarchy.find_item(snapshot.module, encode(name), is_computation=is_computation):
            found = [*hlo_find(dump, snapshot.module, target, FLOW_LIMIT + 1)]
            what = f"{'callers' if what == 'producers' else 'callees'} or {what}"
    elif known := find_item(dump, encode(name), encode(index) if isinstance(index, str) else None):
        found = [*find(dump, known.target, FLOW_LIMIT + 1)]
    return snapshot.truncate(found, FLOW_LIMIT, what)


def _item(snapshot: Snapshot, item: _Item) -> lsp.CallHierarchyItem:
    place, function, variable = item.place, lsp.SymbolKind.Function, lsp.SymbolKind.Variable
    data: dict[str, Any] = {"uri": snapshot.uri, "name": decode(item.name)}
    if isinstance(item, Item):
        kind = variable if isinstance(item.target, Value) else function
        name, detail = item.label, item_detail(item)
        data["index"] = None if item.index is None else decode(item.index)
    else:
        kind = function if isinstance(item.target, HloComputation) else variable
        name, detail = decode(item.name), hlo_item_detail(item)
        data["isComputation"] = kind is function
    return lsp.CallHierarchyItem(
        name=name,
        kind=kind,
        uri=snapshot.convert.uri(place.file),
        range=snapshot.convert.range(place.file, place.start, place.end),
        selection_range=snapshot.convert.range(place.file, item.selection.start, item.selection.end),
        detail=detail,
        data=data,
    )


def _ranges(snapshot: Snapshot, flow: _Flow) -> list[lsp.Range]:
    return [snapshot.convert.range(place.file, place.start, place.end) for place in flow.places]
