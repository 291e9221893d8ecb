"""References and document highlights: where a dump set mentions a thing, or an HLO module and its dump."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import chain, groupby, islice
from typing import TypeAlias

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
    Peak,
    Role,
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
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.numbers import integer

# ---------------------------------------------------------------- occurrences


@dataclass(frozen=True, slots=True)
class Occurrence:
    """`place` is the text about the thing, often a whole row. `word` is the part of it that means the thing, as
    `mention_at` spans it. For a step in the schedule, `word` is the number before the name.
    """

    place: Place
    role: Role
    word: Place


def occurrences(dump: DumpSet, target: Target, file: DumpFile | None = None) -> Iterator[Occurrence]:
    """Iterate over the occurrences of something, in the order of the dump, without duplicates. With a file, only over
    those in the file. Lazy: each part is computed when the iteration reaches it.

    Those of a value are its row in the allocation, its header, positions and uses, its live range, its entries in the
    printed peak, the schedule entry of its instruction, and each operand in an instruction that reads it or passes it
    on.
    """
    parts = (part for part in _parts(dump, target) if part[0] and file in (None, part[0]))
    return chain.from_iterable(find(part_file) for part_file, find in parts if part_file)


_Find: TypeAlias = Callable[[DumpFile], Iterable[Occurrence]]


def _parts(dump: DumpSet, target: Target) -> list[tuple[DumpFile | None, _Find]]:
    """What finds the occurrences of something in a file, in the order of the dump; None for a missing file."""
    match target:
        case Value(row):
            scheduled = int(dump.schedule_row_of_name[dump.values.name[row]])
            return [
                (dump.assignment, lambda _: _known(slice_place(dump, row), Role.SLICE)),
                (dump.used, lambda _: _known(used_value_place(dump, row), Role.USED_VALUE)),
                (dump.used, partial(_positions_and_uses, dump, int(dump.values.used_value[row]))),
                (dump.live, lambda _: _known(live_range_place(dump, row), Role.LIVE_RANGE)),
                (dump.live, partial(_peak_buffers, dump, row)),
                (dump.live, lambda _: _known(schedule_place(dump, scheduled), Role.SCHEDULE)),
                (dump.used, partial(_operands_of_value, dump, int(dump.values.used_value[row]))),
            ]
        case Allocation(row):
            return [
                (dump.assignment, lambda _: _known(allocation_place(dump, row), Role.ALLOCATION_HEADER)),
                (dump.assignment, lambda file: _each(value_places(dump, file, row), Role.SLICE)),
                *((file, partial(_reported, dump, row)) for file in dump.files),
            ]
        case Instruction(name):
            scheduled = int(dump.schedule_row_of_name[name])
            return [
                (dump.live, lambda _: _known(schedule_place(dump, scheduled), Role.SCHEDULE)),
                (dump.used, partial(_users, dump, name)),
            ]
        case Step(step):
            peaks = np.flatnonzero(dump.peaks.step == step)
            return [
                (dump.live, partial(_step, dump, step)),
                (dump.live, lambda file: _each(row_places(file, dump.peaks, peaks), Role.PEAK)),
            ]
        case Peak(row):
            return [(dump.live, lambda file: _known(row_place(file, dump.peaks, row), Role.PEAK))]


def _known(place: Place | None, role: Role) -> Iterable[Occurrence]:
    return [Occurrence(place, role, place)] if place else []


def _each(places: Iterable[Place], role: Role) -> Iterator[Occurrence]:
    return (Occurrence(place, role, place) for place in places)


def _peak_buffers(dump: DumpSet, value: int, file: DumpFile) -> Iterator[Occurrence]:
    for row in np.flatnonzero(dump.value_of_peak_buffer == value).tolist():
        place = row_place(file, dump.peak_buffers, row)
        yield Occurrence(place, Role.PEAK, Place(file, place.start, int(dump.peak_buffers.value_end[row])))


def _positions_and_uses(dump: DumpSet, used_value: int, used: DumpFile) -> Iterator[Occurrence]:
    if used_value == NONE:
        return
    yield from _each(row_places(used, dump.positions, dump.positions_of(used_value)), Role.POSITION)
    for place, user_end in use_places(dump, used, dump.uses_of(used_value)):
        yield Occurrence(place, Role.OPERAND, Place(used, user_end + len(b", "), place.end))


def _operands_of_value(dump: DumpSet, used_value: int, used: DumpFile) -> Iterator[Occurrence]:
    if used_value == NONE:
        return
    uses = dump.uses_of(used_value)
    read = set(zip(dump.uses.name[uses].tolist(), dump.uses.operand[uses].tolist(), strict=True))
    passed_on = set()
    for row in dump.positions_of(used_value):
        # Element `{2}` of a tuple is operand 2. Deeper indices are elements of the operand.
        index = dump.indices[dump.positions.index[row]].strip(b"{}") if dump.positions.index[row] != NONE else b""
        if index.isdigit():
            passed_on.add((int(dump.positions.name[row]), integer(index)))
    operands = sorted(read | passed_on)
    rows, quoted = dump.quoting_rows
    names = np.array([name for name, _ in operands], np.int64)
    copies = zip(quoted.searchsorted(names).tolist(), quoted.searchsorted(names, "right").tolist(), strict=True)
    for operand, (first, last) in zip(operands, copies, strict=True):
        if first < last:
            places = _operand(dump, used, operand[1], rows[first:last], is_read=operand in read)
            yield from _each(places, Role.INSTRUCTION_TEXT)


def _operand(dump: DumpSet, used: DumpFile, operand: int, copies: Column, *, is_read: bool) -> list[Place]:
    """The places of an operand in every quote of an instruction. Each of its values, rows of `DumpSet.used_values`,
    quotes the whole instruction.
    """
    data, starts = used.document.data, dump.used_values.instruction_start[copies].tolist()
    first, end = starts[0], int(dump.used_values.instruction_end[copies[0]])
    instruction = read_instruction(data, first, end)
    if instruction is None or not (is_read or instruction.opcode == b"tuple"):
        return []
    found = instruction.operand(operand)
    if found is None:
        return []
    found_start, found_end = found.start - first, found.end - first
    # A broken file can end in the middle of a quote.
    name_start = found_start + len(b"%")
    return [
        Place(used, start + found_start, start + found_end)
        for start in starts
        if data.startswith(found.name, start + name_start)
    ]


def _reported(dump: DumpSet, allocation: int, file: DumpFile) -> Iterator[Occurrence]:
    reported = file.columns.report_allocations
    rows = np.flatnonzero(reported.index == dump.allocations.index[allocation])
    return _each(row_places(file, reported, rows), Role.REPORT)


def _users(dump: DumpSet, name: int, used: DumpFile) -> Iterator[Occurrence]:
    for place, user_end in use_places(dump, used, np.flatnonzero(dump.uses.name == name)):
        yield Occurrence(place, Role.USER, Place(used, place.start, user_end))


def _step(dump: DumpSet, step: int, live: DumpFile) -> Iterator[Occurrence]:
    row = dump.schedule_row(step)
    name, number = schedule_place(dump, row), step_place(dump, row)
    if name and number:
        yield Occurrence(name, Role.SCHEDULE, number)
    ranges = dump.live_ranges
    for row in np.flatnonzero((ranges.start_step == step) | (ranges.end_step == step)).tolist():
        place = row_place(live, ranges, row)
        for word, own in zip(live_range_steps(live, ranges, row), (ranges.start_step, ranges.end_step), strict=True):
            if own[row] == step:
                yield Occurrence(place, Role.LIVE_RANGE, word)


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
    shown = (one for one in found if has_declaration or not is_declaration(target, one.role))
    # One place may have several adjacent words.
    places = (place for place, _ in groupby(shown, lambda occurrence: occurrence.place))
    return list(islice(chain(places, islice(_in_module(dump, module, target), first, None)), limit))


def _in_module(dump: DumpSet, module: HloModule | None, target: Target) -> Iterator[Place]:
    """The instruction that defines a value, then its readers in the module: those of the element that is the value."""
    if module is None or not isinstance(target, Value | Instruction):
        return
    name = target.name if isinstance(target, Instruction) else int(dump.values.name[target.row])
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
        reads = (Highlight(use.start, use.end, HighlightKind.READ) for use in islice(uses, limit - 1))
        return [Highlight(place.start, place.end, HighlightKind.WRITE), *reads]
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
