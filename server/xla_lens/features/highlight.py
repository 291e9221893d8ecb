"""Where a file mentions what stands at a place of it, for an editor to mark."""

from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from xla_lens.model.places.mentions import Mention, Role, Target
from xla_lens.model.places.occurrences import is_declaration, occurrences
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet


class HighlightKind(Enum):
    """What is said there: that it is made, that it is read, or anything else."""

    WRITE = auto()
    READ = auto()
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class Highlight:
    """A word to mark, from byte `start` to `end` of the file."""

    start: int
    end: int
    kind: HighlightKind


def highlights(dump: DumpSet, file: DumpFile, mention: Mention, limit: int) -> list[Highlight]:
    """The words of a file that mean the same as one of them, each once, the one itself among them; at most `limit`."""
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
    # The entry of the schedule is what makes a value.
    is_made = role is Role.SCHEDULE or is_declaration(target, role)
    return HighlightKind.WRITE if is_made else HighlightKind.TEXT
