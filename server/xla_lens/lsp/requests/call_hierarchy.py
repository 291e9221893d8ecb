"""Call hierarchy. In a dump file, callers are the producers of what a value is computed from and callees its consumers;
in an HLO module, also the callers and callees of a computation.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from lsprotocol import types as lsp

from xla_lens.features.call_hierarchy import Flow, Item, find_item, incoming, outgoing, prepare
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.model.hlo.mentions import HloComputation
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.text.positions import decode, encode

_Call = TypeVar("_Call")

FLOW_LIMIT: Final = 1_000
"""Maximum number of callers or callees of one item. Editors show them in one list."""


def prepare_call_hierarchy(
    snapshot: Snapshot, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    """The instruction or computation at a position."""
    mention = snapshot.mention(params.position)
    item = prepare(snapshot.dump, snapshot.module, mention) if mention else None
    return [_item(snapshot, item)] if item else None


def _calls(
    find: Callable[[DumpSet, HloModule | None, Item, int], list[Flow]],
    call: Callable[[lsp.CallHierarchyItem, list[lsp.Range]], _Call],
    what: str,
    snapshot: Snapshot,
    params: lsp.CallHierarchyIncomingCallsParams | lsp.CallHierarchyOutgoingCallsParams,
) -> list[_Call]:
    data: Mapping[str, Any] = params.item.data if isinstance(params.item.data, Mapping) else {}
    name, is_computation = data.get("name"), data.get("isComputation") is True
    if not isinstance(name, str):
        return []
    module = snapshot.module if snapshot.is_module else None
    known = find_item(snapshot.dump, module, encode(name), is_computation=is_computation)
    flows = find(snapshot.dump, module, known, FLOW_LIMIT + 1) if known else []
    found: list[Flow] = snapshot.truncate(flows, FLOW_LIMIT, what)
    return [call(_item(snapshot, flow.item), [*map(snapshot.convert.range, flow.places)]) for flow in found]


incoming_calls = partial(_calls, incoming, lsp.CallHierarchyIncomingCall, "producers or callers")
"""The producers of what an item is computed from, or the callers of a computation."""

outgoing_calls = partial(_calls, outgoing, lsp.CallHierarchyOutgoingCall, "consumers or callees")
"""The consumers of an item, or the callees of a computation."""


def _item(snapshot: Snapshot, item: Item) -> lsp.CallHierarchyItem:
    place, is_computation = item.place, isinstance(item.target, HloComputation)
    return lsp.CallHierarchyItem(
        name=decode(item.name),
        kind=lsp.SymbolKind.Function if is_computation else lsp.SymbolKind.Variable,
        uri=snapshot.convert.uri(place.file),
        range=snapshot.convert.range(place),
        selection_range=snapshot.convert.range(item.selection),
        detail=item.detail,
        data={"uri": snapshot.uri, "name": decode(item.name), "isComputation": is_computation},
    )
