"""References and document highlights: where a dump set mentions a thing, or an HLO module and its dump."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain, groupby, islice

from xla_lens.model.hlo.mentions import (
    HloInstruction,
    HloMention,
    HloTarget,
    definition_place,
    meaning_of,
    references_to,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Instruction, Mention, Role, Target
from xla_lens.model.places.occurrences import Occurrence, is_declaration, occurrences
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE

# ---------------------------------------------------------------- references


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


def module_references(dump: DumpSet, module: HloModule, target: HloTarget, limit: int) -> list[Place]:
    """Return at most `limit` places: the definition in the module, then its readers or callers there, then every
    mention of its values in the dump.
    """
    uses = (Place(module.file, use.start, use.end) for use in references_to(module, target))
    found = chain((definition_place(module, target),), uses, _in_dump(dump, module, target))
    return list(islice(found, limit))


def _in_dump(dump: DumpSet, module: HloModule, target: HloTarget) -> Iterator[Place]:
    if isinstance(target, HloInstruction):
        name = module.name(target.row)
        meaning, number = meaning_of(dump, name, target.index), dump.name_number(name)
        entry = Instruction(number) if number != NONE and dump.schedule_row_of_name[number] != NONE else None
        for meant in dict.fromkeys(meant for meant in (meaning, entry) if meant):
            yield from (occurrence.place for occurrence in occurrences(dump, meant))


# ---------------------------------------------------------------- highlights


class HighlightKind(Enum):
    """Whether a mention defines the thing, reads it, or neither."""

    WRITE = auto()
    READ = auto()
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class Highlight:
    """Bytes `start` to `end` of the file to highlight."""

    start: int
    end: int
    kind: HighlightKind


def highlights(dump: DumpSet, file: DumpFile, mention: Mention, limit: int) -> list[Highlight]:
    """Return at most `limit` mentions of the same thing in a file, including `mention` itself."""
    kinds = {role: _kind(mention.target, role) for role in Role}
    found = [
        Highlight(occurrence.word.start, occurrence.word.end, kinds[occurrence.role])
        for occurrence in islice(occurrences(dump, mention.target, file), limit)
    ]
    if not any(word.start == mention.start and word.end == mention.end for word in found):
        found = [Highlight(mention.start, mention.end, HighlightKind.TEXT), *found[: limit - 1]]
    return found


def _kind(target: Target, role: Role) -> HighlightKind:
    if role in (Role.OPERAND, Role.INSTRUCTION_TEXT):
        return HighlightKind.READ
    # The entry in the schedule defines a value.
    is_made = role is Role.SCHEDULE or is_declaration(target, role)
    return HighlightKind.WRITE if is_made else HighlightKind.TEXT


def module_highlights(module: HloModule, mention: HloMention, limit: int) -> list[Highlight]:
    """Return the definition of what is mentioned and the references to it, or to any element of it; at most `limit`."""
    place = definition_place(module, mention.target)
    uses = islice(references_to(module, mention.target), limit - 1)
    reads = (Highlight(use.start, use.end, HighlightKind.READ) for use in uses)
    return [Highlight(place.start, place.end, HighlightKind.WRITE), *reads]
