"""References and document highlights: where a dump set mentions a thing, or an HLO module and its dump."""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from typing import NamedTuple

import numpy as np

from xla_lens.model.hlo.mentions import (
    HloComputation,
    HloInstruction,
    HloMention,
    HloTarget,
    definition_place,
    meaning_of,
    references_to,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import (
    Allocation,
    Instruction,
    Mention,
    PeakHeader,
    Step,
    Target,
    Value,
    is_declaration,
)
from xla_lens.model.places.places import (
    Place,
    allocation_place,
    live_range_place,
    live_range_steps,
    row_place,
    row_places,
    schedule_place,
    slice_place,
    step_place,
    use_places,
    used_value_place,
    value_places,
)
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, cells, place_in
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.tables import MentionRole

# ---------------------------------------------------------------- occurrences


class Occurrence(NamedTuple):
    """`place` is the text about the thing, often a whole row. `word` is the part of it that means the thing, as
    `mention_at` spans it. For a step in the schedule, `word` is the number before the name.
    """

    place: Place
    role: MentionRole
    word: Place


def occurrences(dump: DumpSet, target: Target, file: DumpFile | None = None) -> Iterator[Occurrence]:
    """Iterate over the occurrences of something, in the order of the dump, without duplicates. With a file, only over
    those in the file. Lazy: each part is computed when the iteration reaches it.

    Those of a value are its row in the allocation, its header, positions and uses, its live range, its entries in the
    printed peak, the schedule entry of its instruction, and each operand in an instruction that reads it or passes it
    on.
    """
    return (mention for mention in _all(dump, target) if file in (None, mention.place.file))


def _each(role: MentionRole, places: Iterable[Place | None]) -> Iterator[Occurrence]:
    """Occurrences of which the whole place means the thing."""
    return (Occurrence(place, role, place) for place in places if place)


def _all(dump: DumpSet, target: Target) -> Iterator[Occurrence]:
    used, live, peaks = dump.used, dump.live, dump.peaks
    match target:
        case Value(row):
            used_value = dump.values.used_value.item(row)
            yield from _each(MentionRole.SLICE, [slice_place(dump, row)])
            yield from _each(MentionRole.USED_VALUE, [used_value_place(dump, row)])
            if used and used_value != NONE:
                yield from _each(MentionRole.POSITION, row_places(used, dump.positions, dump.positions_of(used_value)))
                for place, user_end in use_places(dump, used, dump.uses_of(used_value)):
                    yield Occurrence(place, MentionRole.OPERAND, Place(used, user_end + len(b", "), place.end))
            yield from _each(MentionRole.LIVE_RANGE, [live_range_place(dump, row)])
            if live:
                rows = np.flatnonzero(dump.value_of_peak_buffer == row)
                places, words = (row_places(live, dump.peak_buffers, rows, end=end) for end in ("end", "value_end"))
                yield from (
                    Occurrence(place, MentionRole.PEAK, word) for place, word in zip(places, words, strict=True)
                )
            entry = dump.schedule_row_of_name.item(dump.values.name[row])
            yield from _each(MentionRole.SCHEDULE, [schedule_place(dump, entry)])
            if used and used_value != NONE:
                yield from _each(MentionRole.INSTRUCTION_TEXT, _operands(dump, used_value, used))
        case Allocation(row):
            yield from _each(MentionRole.ALLOCATION_HEADER, [allocation_place(dump, row)])
            yield from _each(MentionRole.SLICE, value_places(dump, dump.assignment, row) if dump.assignment else ())
            for file in dump.files:
                reported = file.columns.report_allocations
                rows = np.flatnonzero(reported.index == dump.allocations.index[row])
                yield from _each(MentionRole.REPORT, row_places(file, reported, rows))
        case Instruction(name):
            yield from _each(MentionRole.SCHEDULE, [schedule_place(dump, dump.schedule_row_of_name.item(name))])
            if used:
                for place, user_end in use_places(dump, used, np.flatnonzero(dump.uses.name == name)):
                    yield Occurrence(place, MentionRole.USER, Place(used, place.start, user_end))
        case Step(step) if live:
            row, ranges = dump.schedule_row(step), dump.live_ranges
            scheduled, number = schedule_place(dump, row), step_place(dump, row)
            if scheduled and number:
                yield Occurrence(scheduled, MentionRole.SCHEDULE, number)
            for row in np.flatnonzero((ranges.start_step == step) | (ranges.end_step == step)).tolist():
                first, last = live_range_steps(live, ranges, row)
                for word, own in ((first, ranges.start_step[row]), (last, ranges.end_step[row])):
                    if own == step:
                        yield Occurrence(row_place(live, ranges, row), MentionRole.LIVE_RANGE, word)
            yield from _each(MentionRole.PEAK, row_places(live, peaks, np.flatnonzero(peaks.step == step)))
        case PeakHeader(row) if live:
            yield from _each(MentionRole.PEAK, [row_place(live, peaks, row)])


def _operands(dump: DumpSet, used_value: int, used: DumpFile) -> Iterator[Place]:
    """The operands that are a value in all quotes of the instructions that read it or pass it on."""
    uses = dump.uses_of(used_value)
    read = set(cells(dump.uses.name[uses], dump.uses.operand[uses]))
    passed_on = set()
    for row in dump.positions_of(used_value):
        # Element `{2}` of a tuple is operand 2. Deeper indices are elements of the operand.
        index = dump.indices[dump.positions.index[row]].strip(b"{}") if dump.positions.index[row] != NONE else b""
        if index.isdigit():
            passed_on.add((dump.positions.name.item(row), integer(index)))
    data, (rows, quoted) = used.document.data, dump.quoting_rows
    for name, number in sorted(read | passed_on):
        instruction = dump.instruction(name)
        is_passing = (name, number) in read or (instruction is not None and instruction.opcode == b"tuple")
        operand = instruction.operand(number) if instruction and is_passing else None
        if instruction is None or operand is None:
            continue
        # Each value of an instruction quotes the whole instruction.
        copies = rows[place_in(quoted, name) : place_in(quoted, name, "right")]
        for start in dump.used_values.instruction_start[copies].tolist():
            place = Place(used, start + operand.start - instruction.start, start + operand.end - instruction.start)
            # A broken file can end in the middle of a quote.
            if data.startswith(operand.name, place.start + len(b"%")):
                yield place


# ---------------------------------------------------------------- references


def references(
    dump: DumpSet, module: HloModule | None, target: Target | HloTarget, limit: int, *, has_declaration: bool = True
) -> list[Place]:
    """Return at most `limit` places that mention something, each once: in the order of the dump, then in the HLO
    module; for an instruction or a computation of the module first there. Without `has_declaration`, the definition and
    the declaration are left out.
    """
    first = 0 if has_declaration else 1
    if isinstance(target, HloInstruction | HloComputation):
        return list(islice(_of_module(dump, module, target), first, first + limit)) if module else []
    found = occurrences(dump, target)
    shown = (mention for mention in found if has_declaration or not is_declaration(target, mention.role))
    # One place may have several adjacent words.
    places = (place for place, _ in groupby(shown, lambda occurrence: occurrence.place))
    return list(islice(chain(places, islice(_in_module(dump, module, target), first, None)), limit))


def _in_module(dump: DumpSet, module: HloModule | None, target: Target) -> Iterator[Place]:
    """The instruction that defines a value, then its readers in the module: those of the element that is the value."""
    if module is None or not isinstance(target, Value | Instruction):
        return
    name = target.name if isinstance(target, Instruction) else dump.name_of(target.row)
    row = module.row_of(dump.names[name])
    if row == NONE:
        return
    yield module.place(row)
    for use in references_to(module, HloInstruction(row)):
        read = use.target.index if isinstance(use.target, HloInstruction) else b""
        if isinstance(target, Instruction) or not read or meaning_of(dump, dump.names[name], read) == target:
            yield Place(module.file, use.start, use.end)


def _of_module(dump: DumpSet, module: HloModule, target: HloTarget) -> Iterator[Place]:
    """The definition in the module, its readers or callers there, and every mention of its values in the dump."""
    yield definition_place(module, target)
    yield from (Place(module.file, use.start, use.end) for use in references_to(module, target))
    if isinstance(target, HloInstruction):
        name = module.name(target.row)
        meaning, number = meaning_of(dump, name, target.index), dump.name_number(name)
        entry = Instruction(number) if number != NONE and dump.schedule_row_of_name[number] != NONE else None
        for meant in dict.fromkeys(meant for meant in (meaning, entry) if meant):
            yield from (occurrence.place for occurrence in occurrences(dump, meant))


# ---------------------------------------------------------------- highlights


class Highlight(NamedTuple):
    """Bytes `start` to `end` of the file to highlight. `kind` is that of the protocol: ``Write`` for a mention that
    defines the thing, ``Read`` for one that reads it, else ``Text``.
    """

    start: int
    end: int
    kind: str


def highlights(
    dump: DumpSet, module: HloModule | None, file: DumpFile, mention: Mention | HloMention, limit: int
) -> list[Highlight]:
    """Return at most `limit` mentions of the same thing in a file, including `mention` itself; in an HLO module, the
    definition and the references to it, or to any element of it.
    """
    if isinstance(mention, HloMention):
        if module is None:
            return []
        place, uses = definition_place(module, mention.target), references_to(module, mention.target)
        reads = (Highlight(use.start, use.end, "Read") for use in islice(uses, limit - 1))
        return [Highlight(place.start, place.end, "Write"), *reads]
    found = [
        Highlight(one.word.start, one.word.end, _kind(mention.target, one.role))
        for one in islice(occurrences(dump, mention.target, file), limit)
    ]
    if (mention.start, mention.end) not in {word[:2] for word in found}:
        found = [Highlight(mention.start, mention.end, "Text"), *found[: limit - 1]]
    return found


def _kind(target: Target, role: MentionRole) -> str:
    if role in (MentionRole.OPERAND, MentionRole.INSTRUCTION_TEXT):
        return "Read"
    # The entry in the schedule defines a value.
    is_made = role is MentionRole.SCHEDULE or is_declaration(target, role)
    return "Write" if is_made else "Text"
