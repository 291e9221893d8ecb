"""Document highlights: the other mentions of a thing in the same file."""

from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from xla_lens.model.places.mentions import Mention, Role, Target
from xla_lens.model.places.occurrences import is_declaration, occurrences
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet


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
