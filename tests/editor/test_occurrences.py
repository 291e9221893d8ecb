"""Occurrences, compared with the mentions at their places."""

import random
from itertools import islice

from samples import on_dumps
from xla_lens.editor.references import occurrences
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.mentions import Allocation, Instruction, PeakHeader, Step, Target, Value, mention_at
from xla_lens.syntax.tables import MentionRole

_MOST = 300


def _targets(analysis: Analysis) -> list[Target]:
    """Some targets of each kind."""
    dump = analysis.dump
    targets: list[Target] = [Value(row) for row in range(len(dump.values))]
    targets += [Allocation(row) for row in range(len(dump.allocations))]
    targets += [Step(step) for step in range(len(dump.schedule) + 1)]
    targets += [Instruction(name) for name in range(len(dump.names))]
    targets += [PeakHeader(row) for row in range(len(dump.peaks))]
    return targets if len(targets) <= 50 else random.Random(0).sample(targets, 50)


def _is_named_otherwise(target: Target, role: MentionRole) -> bool:
    """Whether the mention at an occurrence may have another target.

    An operand that reads a tuple element names the whole tuple. A schedule entry names the top-level value of its
    instruction. The header of the peak refers to the peak. An instruction without a value of its own may forward one.
    """
    match target:
        case Value():
            return role in (MentionRole.INSTRUCTION_TEXT, MentionRole.SCHEDULE)
        case Allocation():
            return role is MentionRole.SLICE
        case Step():
            return role is MentionRole.PEAK
    return isinstance(target, Instruction)


@on_dumps
def test_occurrences_match_mentions(analysis: Analysis) -> None:
    """Words are unique, equal the mention at their place and mean the target, also file by file."""
    dump, count = analysis.dump, 0
    for target in _targets(analysis):
        found = list(islice(occurrences(dump, target), _MOST))
        assert len({occurrence.word for occurrence in found}) == len(found)
        for occurrence in found:
            place, word = occurrence.place, occurrence.word
            assert place.file is word.file
            mention = mention_at(dump, word.file, word.start)
            assert mention, (target, occurrence.role)
            span = (mention.role, mention.start, mention.end)
            assert span == (occurrence.role, word.start, word.end), (target, mention)
            if not _is_named_otherwise(target, occurrence.role):
                assert mention.target == target, (target, mention)
        if len(found) < _MOST:
            one_by_one = [occurrence for file in dump.files for occurrence in occurrences(dump, target, file)]
            assert set(one_by_one) == set(found)
            assert len(one_by_one) == len(found)
        count += len(found)
    assert count
