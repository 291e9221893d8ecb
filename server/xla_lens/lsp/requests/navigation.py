"""Jumps from a mention: definition, declaration, type definition, implementation and references; highlights; and the
call hierarchy.

In a dump file, callers are the producers of what a value is computed from and callees its consumers; in an HLO module,
also the callers and callees of a computation.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from lsprotocol import types as lsp

from xla_lens.editor import navigation
from xla_lens.editor.call_hierarchy import Flow, Item, find_item, incoming, outgoing, prepare
from xla_lens.editor.references import highlights
from xla_lens.editor.references import references as find_references
from xla_lens.lsp.converter import RawJson
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.model.hlo.mentions import HloComputation, HloMention
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.text.positions import decode, encode

HIGHLIGHT_LIMIT: Final = 300
"""Maximum number of highlights. Editors request them with each movement of the cursor."""

_Find: TypeAlias = Callable[[DumpSet, HloModule | None, Mention | HloMention, int], list[Place]]


def _jump(find: _Find, snapshot: Snapshot, position: lsp.Position) -> RawJson | None:
    """Go from what a dump file or an HLO module mentions to the places that a request is about."""
    limit, convert, mention = snapshot.settings.place_limit, snapshot.convert, snapshot.mention(position)
    if mention is None:
        return None
    about = snapshot.dump, snapshot.module, mention
    places = find(*about, limit + 1)
    if places and all(convert.is_in_pages(place.file) for place in places):
        # Another place about it, in a file that the editor can open: an instruction only once the module is loaded.
        others = navigation.declaration(*about, 1)
        if snapshot.module:
            others += navigation.implementation(*about, 1)
        fits = (other for other in others if not convert.is_in_pages(other.file))
        file, start = snapshot.file, mention.start
        places = [fit for fit in fits if fit.file is not file or not fit.start <= start < fit.end][:1] or places
    return convert.locations(snapshot.truncate(places, limit, "places")) if places else None


def definition(snapshot: Snapshot, params: lsp.DefinitionParams) -> RawJson | None:
    """The places that define what is mentioned at a position."""
    return _jump(navigation.definition, snapshot, params.position)


def declaration(snapshot: Snapshot, params: lsp.DeclarationParams) -> RawJson | None:
    """The row in the allocation of what is mentioned at a position, or the nearest equivalent."""
    return _jump(navigation.declaration, snapshot, params.position)


def type_definition(snapshot: Snapshot, params: lsp.TypeDefinitionParams) -> RawJson | None:
    """The header of the allocation of the value at a position, or rows of values."""
    return _jump(navigation.type_definition, snapshot, params.position)


def implementation(snapshot: Snapshot, params: lsp.ImplementationParams) -> RawJson | None:
    """The instruction in the HLO module, or its entry in the schedule."""
    return _jump(navigation.implementation, snapshot, params.position)


# ---------------------------------------------------------------- references and highlights


def references(snapshot: Snapshot, params: lsp.ReferenceParams) -> RawJson | None:
    """All mentions in the files of the set and in its HLO module."""
    limit, has_declaration = snapshot.settings.place_limit, params.context.include_declaration
    if (mention := snapshot.mention(params.position)) is None:
        return None
    places = find_references(snapshot.dump, snapshot.module, mention.target, limit + 1, has_declaration=has_declaration)
    return snapshot.convert.locations(snapshot.truncate(places, limit, "references"))


def document_highlight(snapshot: Snapshot, params: lsp.DocumentHighlightParams) -> RawJson | None:
    """The mentions of the same thing in the file."""
    if (mention := snapshot.mention(params.position)) is None:
        return None
    found = highlights(snapshot.dump, snapshot.module, snapshot.file, mention, HIGHLIGHT_LIMIT + 1)
    found = snapshot.truncate(found, HIGHLIGHT_LIMIT, "highlights")
    ranges = snapshot.convert.ranges(snapshot.file, [(word.start, word.end) for word in found])
    kinds = (lsp.DocumentHighlightKind[word.kind].value for word in found)
    return RawJson([{"range": where, "kind": kind} for kind, where in zip(kinds, ranges, strict=True)])


# ---------------------------------------------------------------- call hierarchy


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
    item: lsp.CallHierarchyItem,
) -> list[_Call]:
    data: Mapping[str, Any] = item.data if isinstance(item.data, Mapping) else {}
    name, is_computation = data.get("name"), data.get("isComputation") is True
    if not isinstance(name, str):
        return []
    module = snapshot.module if snapshot.is_module else None
    known = find_item(snapshot.dump, module, encode(name), is_computation=is_computation)
    flows = find(snapshot.dump, module, known, FLOW_LIMIT + 1) if known else []
    found: list[Flow] = snapshot.truncate(flows, FLOW_LIMIT, what)
    return [call(_item(snapshot, flow.item), [*map(snapshot.convert.range, flow.places)]) for flow in found]


def incoming_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The producers of what an item is computed from, or the callers of a computation."""
    return _calls(incoming, lsp.CallHierarchyIncomingCall, "producers or callers", snapshot, params.item)


def outgoing_calls(
    snapshot: Snapshot, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The consumers of an item, or the callees of a computation."""
    return _calls(outgoing, lsp.CallHierarchyOutgoingCall, "consumers or callees", snapshot, params.item)


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
