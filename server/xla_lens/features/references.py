"""References."""

from collections.abc import Iterable
from itertools import groupby, islice

from xla_lens.model.places.mentions import Target
from xla_lens.model.places.occurrences import Occurrence, is_declaration, occurrences
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet


def references(dump: DumpSet, target: Target, limit: int) -> list[Place]:
    """Return at most `limit` places that mention an entity, each once, in the order of the dump."""
    return _first_places(occurrences(dump, target), limit)


def references_without_declaration(dump: DumpSet, target: Target, limit: int) -> list[Place]:
    """Return at most `limit` references without the definition and the declaration."""
    others = (found for found in occurrences(dump, target) if not is_declaration(target, found.role))
    return _first_places(others, limit)


def _first_places(found: Iterable[Occurrence], limit: int) -> list[Place]:
    """One place may have several adjacent words."""
    return [place for place, _ in islice(groupby(found, lambda occurrence: occurrence.place), limit)]
