"""Call hierarchy. In a dump file, callers are the producers of what a value is computed from and callees its consumers;
in an HLO module, also the callers and callees of a computation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.features.call_hierarchy import (
    Flow,
    Item,
    consumers,
    find_item,
    find_module_item,
    module_incoming,
    module_item,
    module_outgoing,
    prepare,
    producers,
)
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.hlo.mentions import HloComputation
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Instruction
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.text.positions import decode, encode

FLOW_LIMIT: Final = 1_000
"""Maximum number of callers or callees of one item. Editors show them in one list."""


def prepare_call_hierarchy(
    snapshot: Snapshot, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    """The value, instruction or computation at a position."""
    found = list[Item]()
    if isinstance(snapshot, HloSnapshot):
        if named := snapshot.hlo_mention(params.position):
            found = [module_item(snapshot.dump, snapshot.module, named.target)]
    elif mention := snapshot.mention(params.position):
        found = [*prepare(snapshot.dump, mention)]
    return [_item(snapshot, item) for item in found] or None


def incoming_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The producers of what an item is computed from, or the callers of a computation."""
    found = _flows(snapshot, params.item, producers, module_incoming, "producers")
    return [lsp.CallHierarchyIncomingCall(_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def outgoing_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The consumers of an item, or the callees of a computation."""
    found = _flows(snapshot, params.item, consumers, module_outgoing, "consumers")
    return [lsp.CallHierarchyOutgoingCall(_item(snapshot, flow.item), _ranges(snapshot, flow)) for flow in found]


def _flows(
    snapshot: Snapshot,
    item: lsp.CallHierarchyItem,
    find: Callable[[DumpSet, Item, int], list[Flow]],
    hlo_find: Callable[[DumpSet, HloModule, Item, int], list[Flow]],
    what: str,
) -> Sequence[Flow]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    dump, name, index, found = snapshot.dump, data.get("name"), data.get("index"), list[Flow]()
    if not isinstance(name, str):
        return []
    if isinstance(snapshot, HloSnapshot):
        is_computation = data.get("isComputation") is True
        if known := find_module_item(dump, snapshot.module, encode(name), is_computation=is_computation):
            found = hlo_find(dump, snapshot.module, known, FLOW_LIMIT + 1)
            what = f"{'callers' if what == 'producers' else 'callees'} or {what}"
    elif known := find_item(dump, encode(name), encode(index) if isinstance(index, str) else None):
        found = find(dump, known, FLOW_LIMIT + 1)
    return snapshot.truncate(found, FLOW_LIMIT, what)


def _item(snapshot: Snapshot, item: Item) -> lsp.CallHierarchyItem:
    place, is_computation = item.place, isinstance(item.target, HloComputation)
    is_function = is_computation or isinstance(item.target, Instruction)
    data: dict[str, Any] = {"uri": snapshot.uri, "name": decode(item.name), "isComputation": is_computation}
    data["index"] = None if item.index is None else decode(item.index)
    return lsp.CallHierarchyItem(
        name=item.label,
        kind=lsp.SymbolKind.Function if is_function else lsp.SymbolKind.Variable,
        uri=snapshot.convert.uri(place.file),
        range=snapshot.convert.range(place.file, place.start, place.end),
        selection_range=snapshot.convert.range(place.file, item.selection.start, item.selection.end),
        detail=item.detail,
        data=data,
    )


def _ranges(snapshot: Snapshot, flow: Flow) -> list[lsp.Range]:
    return [snapshot.convert.range(place.file, place.start, place.end) for place in flow.places]
