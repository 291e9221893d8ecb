"""Jumps from a mention: definition, declaration, type definition, implementation, references and highlights."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.features import navigation
from xla_lens.features.highlight import HighlightKind, highlights
from xla_lens.features.hlo import navigation as hlo_navigation
from xla_lens.features.hlo.highlight import highlights as hlo_highlights
from xla_lens.features.references import references as find_references
from xla_lens.features.references import references_without_declaration
from xla_lens.lsp.raw_json import RawJson
from xla_lens.lsp.snapshot import HloSnapshot, PageSnapshot, Snapshot
from xla_lens.lsp.sources import source_uri
from xla_lens.model.hlo.mentions import HloMention
from xla_lens.model.places.mentions import Mention
from xla_lens.model.places.places import Place
from xla_lens.render.pages import PageLink

_Locations: TypeAlias = list[lsp.Location] | list[lsp.LocationLink] | None

HIGHLIGHT_LIMIT: Final = 300
"""Maximum number of highlights. Editors request them with each movement of the cursor."""

_HIGHLIGHT_KINDS: Final = {
    HighlightKind.WRITE: lsp.DocumentHighlightKind.Write,
    HighlightKind.READ: lsp.DocumentHighlightKind.Read,
    HighlightKind.TEXT: lsp.DocumentHighlightKind.Text,
}

# ---------------------------------------------------------------- definition


def definition(snapshot: Snapshot, params: lsp.DefinitionParams) -> _Locations:
    """Where a value, an allocation or an instruction is defined."""
    if mention := snapshot.mention(params.position):
        limit = snapshot.settings.place_limit
        places = navigation.definition(snapshot.analysis.dump, mention, limit + 1)
        places = snapshot.truncate(places, limit, "definitions")
        return _locations(snapshot, lsp.TEXT_DOCUMENT_DEFINITION, mention, places)
    return None


def hlo_definition(snapshot: HloSnapshot, params: lsp.DefinitionParams) -> _Locations:
    """Where an instruction or a computation is defined."""
    if mention := snapshot.hlo_mention(params.position):
        places = hlo_navigation.definition(snapshot.module, mention)
        return _locations(snapshot, lsp.TEXT_DOCUMENT_DEFINITION, mention, places)
    return None


async def page_definition(snapshot: PageSnapshot, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
    """Where the link at a position of a page leads: to a line of the program, or to a place in the dump and, in a
    comparison, its counterpart in the other dump.
    """
    link = snapshot.page.link_at(params.position, snapshot.capabilities.encoding)
    if link is None:
        return None
    if not isinstance(link, PageLink):
        source, line = await snapshot.find_source(link.frame.file), max((link.frame.line or 1) - 1, 0)
        start = lsp.Position(line, 0)
        return [lsp.Location(source_uri(source, None), lsp.Range(start, start))] if source else None
    others = snapshot.page.beside(link) if len(snapshot.page.sources) > 1 else []
    return [snapshot.convert.location(one.target) for one in (link, *others)]


# ---------------------------------------------------------------- declaration


def declaration(snapshot: Snapshot, params: lsp.DeclarationParams) -> _Locations:
    """The slice of a value in the buffer assignment."""
    if mention := snapshot.mention(params.position):
        places = navigation.declaration(snapshot.analysis.dump, mention)
        return _locations(snapshot, lsp.TEXT_DOCUMENT_DECLARATION, mention, places)
    return None


def hlo_declaration(snapshot: HloSnapshot, params: lsp.DeclarationParams) -> _Locations:
    """Where an instruction or a computation is defined."""
    if mention := snapshot.hlo_mention(params.position):
        places = hlo_navigation.definition(snapshot.module, mention)
        return _locations(snapshot, lsp.TEXT_DOCUMENT_DECLARATION, mention, places)
    return None


# ---------------------------------------------------------------- type definition


def type_definition(snapshot: Snapshot, params: lsp.TypeDefinitionParams) -> _Locations:
    """The allocation of a value."""
    if mention := snapshot.mention(params.position):
        places = navigation.type_definition(snapshot.analysis.dump, mention)
        return _locations(snapshot, lsp.TEXT_DOCUMENT_TYPE_DEFINITION, mention, places)
    return None


def hlo_type_definition(snapshot: HloSnapshot, params: lsp.TypeDefinitionParams) -> _Locations:
    """The slices of the values of an instruction in the buffer assignment."""
    if mention := snapshot.hlo_mention(params.position):
        dump, limit = snapshot.analysis.dump, snapshot.settings.place_limit
        places = hlo_navigation.type_definition(dump, snapshot.module, mention, limit + 1)
        places = snapshot.truncate(places, limit, "values")
        return _locations(snapshot, lsp.TEXT_DOCUMENT_TYPE_DEFINITION, mention, places)
    return None


# ---------------------------------------------------------------- implementation


def implementation(snapshot: Snapshot, params: lsp.ImplementationParams) -> _Locations:
    """The instruction in the HLO module, or else the step of the schedule."""
    if mention := snapshot.mention(params.position):
        places = navigation.implementation(snapshot.analysis.dump, snapshot.module, mention)
        return _locations(snapshot, lsp.TEXT_DOCUMENT_IMPLEMENTATION, mention, places)
    return None


def hlo_implementation(snapshot: HloSnapshot, params: lsp.ImplementationParams) -> _Locations:
    """The step of an instruction in the schedule."""
    if mention := snapshot.hlo_mention(params.position):
        places = hlo_navigation.implementation(snapshot.analysis.dump, snapshot.module, mention)
        return _locations(snapshot, lsp.TEXT_DOCUMENT_IMPLEMENTATION, mention, places)
    return None


def _locations(snapshot: Snapshot, method: str, mention: Mention | HloMention, places: Sequence[Place]) -> _Locations:
    """Convert places, to links from the mention if the editor supports those."""
    if method not in snapshot.capabilities.links:
        return [snapshot.convert.location(place) for place in places] or None
    # With an origin the editor underlines the whole name, not only the word that it sees in it.
    origin = snapshot.convert.range(snapshot.file, mention.start, mention.end)
    return [snapshot.convert.link(place, origin) for place in places] or None


# ---------------------------------------------------------------- references


def references(snapshot: Snapshot, params: lsp.ReferenceParams) -> RawJson | None:
    """All mentions in the files of the set."""
    mention = snapshot.mention(params.position)
    if mention is None:
        return None
    limit = snapshot.settings.place_limit
    find = find_references if params.context.include_declaration else references_without_declaration
    places = snapshot.truncate(find(snapshot.analysis.dump, mention.target, limit + 1), limit, "references")
    return snapshot.convert.locations(places)


def hlo_references(snapshot: HloSnapshot, params: lsp.ReferenceParams) -> RawJson | None:
    """All mentions in the HLO module and in the files of the set."""
    mention = snapshot.hlo_mention(params.position)
    if mention is None:
        return None
    limit = snapshot.settings.place_limit
    places = hlo_navigation.references(snapshot.analysis.dump, snapshot.module, mention, limit + 1)
    places = snapshot.truncate(places, limit, "references")
    return snapshot.convert.locations(places if params.context.include_declaration else places[1:])


# ---------------------------------------------------------------- highlights


def document_highlight(snapshot: Snapshot, params: lsp.DocumentHighlightParams) -> RawJson | None:
    """The mentions of the same thing in the dump file."""
    mention = snapshot.mention(params.position)
    if mention is None:
        return None
    found = highlights(snapshot.analysis.dump, snapshot.file, mention, HIGHLIGHT_LIMIT + 1)
    return _highlights(snapshot, [(one.start, one.end, _HIGHLIGHT_KINDS[one.kind]) for one in found])


def hlo_document_highlight(snapshot: HloSnapshot, params: lsp.DocumentHighlightParams) -> RawJson | None:
    """The definition and the uses of the same thing in the HLO module."""
    mention = snapshot.hlo_mention(params.position)
    if mention is None:
        return None
    write, read = lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read
    found = hlo_highlights(snapshot.module, mention, HIGHLIGHT_LIMIT + 1)
    return _highlights(snapshot, [(one.start, one.end, write if one.is_definition else read) for one in found])


def _highlights(snapshot: Snapshot, found: list[tuple[int, int, lsp.DocumentHighlightKind]]) -> RawJson:
    found = snapshot.truncate(found, HIGHLIGHT_LIMIT, "highlights")
    ranges = snapshot.convert.ranges(snapshot.file, [(start, end) for start, end, _ in found])
    return RawJson([{"range": where, "kind": kind.value} for (_, _, kind), where in zip(found, ranges, strict=True)])
