"""Jumps from a mention: definition, declaration, type definition, implementation, references and highlights."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.features import navigation
from xla_lens.features.highlight import HighlightKind, highlights
from xla_lens.features.hlo import navigation as hlo_navigation
from xla_lens.features.hlo.highlight import highlights as hlo_highlights
from xla_lens.features.references import references as find_references
from xla_lens.features.references import references_without_declaration
from xla_lens.lsp.converter import RawJson
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.hlo.mentions import HloMention
from xla_lens.model.places.mentions import Mention
from xla_lens.model.places.places import Place

_Locations: TypeAlias = list[lsp.Location] | list[lsp.LocationLink] | None

HIGHLIGHT_LIMIT: Final = 300
"""Maximum number of highlights. Editors request them with each movement of the cursor."""

_HIGHLIGHT_KINDS: Final = {
    HighlightKind.WRITE: lsp.DocumentHighlightKind.Write,
    HighlightKind.READ: lsp.DocumentHighlightKind.Read,
    HighlightKind.TEXT: lsp.DocumentHighlightKind.Text,
}

# ---------------------------------------------------------------- jumps


def _jump(method: str, snapshot: Snapshot, params: lsp.DefinitionParams) -> _Locations:
    """Go from what a dump file or an HLO module mentions to the places that a request is about."""
    is_hlo, at, limit = isinstance(snapshot, HloSnapshot), params.position, snapshot.settings.place_limit
    mention = snapshot.hlo_mention(at) if isinstance(snapshot, HloSnapshot) else snapshot.mention(at)
    if mention is None:
        return None
    places = _JUMPS[method][is_hlo](snapshot, mention, limit + 1)
    return _locations(snapshot, method, mention, snapshot.truncate([*places], limit, "places"))


_Find: TypeAlias = Callable[[Any, Any, int], Sequence[Place]]

_JUMPS: Final[Mapping[str, tuple[_Find, _Find]]] = {
    # Where a value, an allocation, an instruction or a computation is defined.
    lsp.TEXT_DOCUMENT_DEFINITION: (
        lambda of, mention, limit: navigation.definition(of.dump, mention, limit),
        lambda of, mention, _: hlo_navigation.definition(of.module, mention),
    ),
    # The slice of a value in the buffer assignment; in an HLO module, the definition.
    lsp.TEXT_DOCUMENT_DECLARATION: (
        lambda of, mention, _: navigation.declaration(of.dump, mention),
        lambda of, mention, _: hlo_navigation.definition(of.module, mention),
    ),
    # The allocation of a value; in an HLO module, the slices of the values of an instruction.
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: (
        lambda of, mention, _: navigation.type_definition(of.dump, mention),
        lambda of, mention, limit: hlo_navigation.type_definition(of.dump, of.module, mention, limit),
    ),
    # The instruction in the HLO module, or else the step of the schedule; in an HLO module, the step.
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: (
        lambda of, mention, _: navigation.implementation(of.dump, of.module, mention),
        lambda of, mention, _: hlo_navigation.implementation(of.dump, of.module, mention),
    ),
}

definition, declaration, type_definition, implementation = (partial(_jump, method) for method in _JUMPS)


def _locations(snapshot: Snapshot, method: str, mention: Mention | HloMention, places: Sequence[Place]) -> _Locations:
    """Convert places, to links from the mention if the editor supports those."""
    if method not in snapshot.capabilities.links:
        return [snapshot.convert.location(place) for place in places] or None
    # With an origin the editor underlines the whole name, not only the word that it sees in it.
    origin = snapshot.convert.range(snapshot.file, mention.start, mention.end)
    return [snapshot.convert.link(place, origin) for place in places] or None


# ---------------------------------------------------------------- references and highlights


def references(snapshot: Snapshot, params: lsp.ReferenceParams) -> RawJson | None:
    """All mentions in the files of the set, and those of an HLO module in the module."""
    limit, has_declaration = snapshot.settings.place_limit, params.context.include_declaration
    if isinstance(snapshot, HloSnapshot):
        if (named := snapshot.hlo_mention(params.position)) is None:
            return None
        places = hlo_navigation.references(snapshot.dump, snapshot.module, named, limit + 1)
        places = snapshot.truncate(places, limit, "references")
        return snapshot.convert.locations(places if has_declaration else places[1:])
    if (mention := snapshot.mention(params.position)) is None:
        return None
    find = find_references if has_declaration else references_without_declaration
    places = find(snapshot.dump, mention.target, limit + 1)
    return snapshot.convert.locations(snapshot.truncate(places, limit, "references"))


def document_highlight(snapshot: Snapshot, params: lsp.DocumentHighlightParams) -> RawJson | None:
    """The mentions of the same thing in the file."""
    limit = HIGHLIGHT_LIMIT + 1
    if isinstance(snapshot, HloSnapshot):
        if (named := snapshot.hlo_mention(params.position)) is None:
            return None
        write, read = lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read
        uses = hlo_highlights(snapshot.module, named, limit)
        found = [(one.start, one.end, write if one.is_definition else read) for one in uses]
    else:
        if (mention := snapshot.mention(params.position)) is None:
            return None
        marks = highlights(snapshot.dump, snapshot.file, mention, limit)
        found = [(one.start, one.end, _HIGHLIGHT_KINDS[one.kind]) for one in marks]
    found = snapshot.truncate(found, HIGHLIGHT_LIMIT, "highlights")
    ranges = snapshot.convert.ranges(snapshot.file, [(start, end) for start, end, _ in found])
    return RawJson([{"range": where, "kind": kind.value} for (_, _, kind), where in zip(found, ranges, strict=True)])
