"""Jumps from a mention: definition, declaration, type definition, implementation, references and highlights."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.features import navigation
from xla_lens.features.references import highlights
from xla_lens.features.references import references as find_references
from xla_lens.lsp.converter import RawJson
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.model.hlo.mentions import HloMention
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet

HIGHLIGHT_LIMIT: Final = 300
"""Maximum number of highlights. Editors request them with each movement of the cursor."""

# ---------------------------------------------------------------- jumps


_Find: TypeAlias = Callable[[DumpSet, HloModule | None, Mention | HloMention, int], list[Place]]


def _jump(find: _Find, snapshot: Snapshot, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
    """Go from what a dump file or an HLO module mentions to the places that a request is about."""
    limit, convert, mention = snapshot.settings.place_limit, snapshot.convert, snapshot.mention(params.position)
    if mention is None:
        return None
    about = snapshot.dump, snapshot.module, mention
    places = find(*about, limit + 1)
    if places and all(convert.is_in_pages(place.file) for place in places):
        # Another place about it, in a file that the editor can open: an instruction only once the module is loaded.
        others = navigation.declaration(*about, 1)
        if snapshot.module:
            others += navigation.implementation(*about, 1)
        fits = (one for one in others if not convert.is_in_pages(one.file))
        file, start = snapshot.file, mention.start
        places = [one for one in fits if one.file is not file or not one.start <= start < one.end][:1] or places
    return [*map(convert.location, snapshot.truncate(places, limit, "places"))] or None


definition = partial(_jump, navigation.definition)
declaration = partial(_jump, navigation.declaration)
type_definition = partial(_jump, navigation.type_definition)
implementation = partial(_jump, navigation.implementation)


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
    kinds = (lsp.DocumentHighlightKind[word.kind.name.title()].value for word in found)
    return RawJson([{"range": where, "kind": kind} for kind, where in zip(kinds, ranges, strict=True)])
