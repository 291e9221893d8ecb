"""References and document highlights: where a dump set mentions a thing, or an HLO module and its dump."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain, groupby, islice

import numpy as np

from xla_lens.model.hlo.mentions import (
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
    files = _files(dump, file)
    match target:
        case Value(row):
            return chain(_rows_of_value(dump, files, row), _operands_of_value(dump, files, row))
        case Allocation(row):
            return _allocation(dump, files, row)
        case Instruction(name):
            return _scheduled(dump, files, name)
        case Step(step):
            return _step(dump, files, step)
        case Peak(row):
            return _known(row_place(files.live, dump.peaks, row) if files.live else None, Role.PEAK)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files to search: all files of a set, or one. A part is None if it is missing or not searched."""

    files: tuple[DumpFile, ...]
    assignment: DumpFile | None
    used: DumpFile | None
    live: DumpFile | None


def _files(dump: DumpSet, file: DumpFile | None) -> _Files:
    if file is None:
        return _Files(dump.files, dump.assignment, dump.used, dump.live)
    parts = (part if part is file else None for part in (dump.assignment, dump.used, dump.live))
    return _Files((file,), *parts)


def _known(place: Place | None, role: Role) -> Iterator[Occurrence]:
    if place:
        yield Occurrence(place, role, place)


def _rows_of_value(dump: DumpSet, files: _Files, value: int) -> Iterator[Occurrence]:
    if files.assignment:
        yield from _known(slice_place(dump, value), Role.SLICE)
    if files.used:
        yield from _known(used_value_place(dump, value), Role.USED_VALUE)
        yield from _positions_and_uses(dump, files.used, int(dump.values.used_value[value]))
    if files.live:
        yield from _known(live_range_place(dump, value), Role.LIVE_RANGE)
        table = dump.peak_buffers
        for row in np.flatnonzero(dump.value_of_peak_buffer == value).tolist():
            place = row_place(files.live, table, row)
            yield Occurrence(place, Role.PEAK, Place(files.live, place.start, int(table.value_end[row])))
        yield from _known(schedule_place(dump, int(dump.schedule_row_of_name[dump.values.name[value]])), Role.SCHEDULE)


def _positions_and_uses(dump: DumpSet, used: DumpFile, used_value: int) -> Iterator[Occurrence]:
    if used_value == NONE:
        return
    for place in row_places(used, dump.positions, dump.positions_of(used_value)):
        yield Occurrence(place, Role.POSITION, place)
    for place, user_end in use_places(dump, used, dump.uses_of(used_value)):
        yield Occurrence(place, Role.OPERAND, Place(used, user_end + len(b", "), place.end))


def _operands_of_value(dump: DumpSet, files: _Files, value: int) -> Iterator[Occurrence]:
    used_value = int(dump.values.used_value[value])
    if files.used is None or used_value == NONE:
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
            for place in _operand(dump, files.used, operand[1], rows[first:last], is_read=operand in read):
                yield Occurrence(place, Role.INSTRUCTION_TEXT, place)


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


def _allocation(dump: DumpSet, files: _Files, allocation: int) -> Iterator[Occurrence]:
    if files.assignment:
        yield from _known(allocation_place(dump, allocation), Role.ALLOCATION_HEADER)
        for place in value_places(dump, files.assignment, allocation):
            yield Occurrence(place, Role.SLICE, place)
    for file in files.files:
        reported = file.columns.report_allocations
        rows = np.flatnonzero(reported.index == dump.allocations.index[allocation])
        for place in row_places(file, reported, rows):
            yield Occurrence(place, Role.REPORT, place)


def _scheduled(dump: DumpSet, files: _Files, name: int) -> Iterator[Occurrence]:
    if files.live:
        yield from _known(schedule_place(dump, int(dump.schedule_row_of_name[name])), Role.SCHEDULE)
    if files.used:
        for place, user_end in use_places(dump, files.used, np.flatnonzero(dump.uses.name == name)):
            yield Occurrence(place, Role.USER, Place(files.used, place.start, user_end))


def _step(dump: DumpSet, files: _Files, step: int) -> Iterator[Occurrence]:
    if files.live is None:
        return
    row = dump.schedule_row(step)
    name, number = schedule_place(dump, row), step_place(dump, row)
    if name and number:
        yield Occurrence(name, Role.SCHEDULE, number)
    ranges = dump.live_ranges
    starts, ends = ranges.start_step == step, ranges.end_step == step
    for row in np.flatnonzero(starts | ends).tolist():
        place = row_place(files.live, ranges, row)
        start, end = live_range_steps(files.live, ranges, row)
        if starts[row]:
            yield Occurrence(place, Role.LIVE_RANGE, start)
        if ends[row]:
            yield Occurrence(place, Role.LIVE_RANGE, end)
    for place in row_places(files.live, dump.peaks, np.flatnonzero(dump.peaks.step == step)):
        yield Occurrence(place, Role.PEAK, place)


# ---------------------------------------------------------------- references


def references(dump: DumpSet, target: Target, limit: int, module: HloModule | None = None) -> list[Place]:
    """Return at most `limit` places that mention an entity, each once, in the order of the dump, then those in the HLO
    module.
    """
    return _first_places(occurrences(dump, target), _in_module(dump, module, target), limit)


def references_without_declaration(
    dump: DumpSet, target: Target, limit: int, module: HloModule | None = None
) -> list[Place]:
    """Return at most `limit` references without the definition and the declaration."""
    others = (found for found in occurrences(dump, target) if not is_declaration(target, found.role))
    return _first_places(others, islice(_in_module(dump, module, target), 1, None), limit)


def _first_places(found: Iterable[Occurrence], others: Iterable[Place], limit: int) -> list[Place]:
    """One place may have several adjacent words."""
    places = (place for place, _ in groupby(found, lambda occurrence: occurrence.place))
    return list(islice(chain(places, others), limit))


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
