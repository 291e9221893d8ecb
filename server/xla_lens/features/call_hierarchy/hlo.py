"""Call hierarchy in an HLO module: the callers and callees of a computation, and the data flow between instructions,
in which a producer calls its consumers, as in the dump.

Views such as `get-tuple-element` and `bitcast` are skipped in favor of the instructions behind them. A view that
nothing reads is a consumer.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from xla_lens.features.call_hierarchy.items import Flow, Item
from xla_lens.model.hlo.mentions import (
    HloComputation,
    HloInstruction,
    HloMention,
    HloTarget,
    reference_at,
    references_to,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.numbers import counted, human
from xla_lens.syntax.columns import NONE
from xla_lens.text.positions import decode

VIEWS: Final = frozenset((b"get-tuple-element", b"bitcast"))
"""The opcodes of instructions that give a part or another view of their operand."""


def item(dump: DumpSet, module: HloModule, target: HloTarget) -> Item:
    """Return a computation or an instruction as an item."""
    match target:
        case HloComputation(row):
            name, place = module.computation_name(row), Place(module.file, *module.computation_span(row))
            entry = "entry · " if module.columns.computations.is_entry[row] else ""
            detail = entry + counted(len(module.instructions_of(row)), "instruction")
            return Item(target, decode(name), detail, name, None, place, module.computation_place(row))
        case HloInstruction(row):
            name, place = module.name(row), Place(module.file, *module.span(row))
            instruction, number = module.instruction(row), dump.name_number(name)
            sizes = dump.values.size_bytes[dump.values.name == number] if number != NONE else np.zeros(0, np.int64)
            sizes = sizes[sizes != NONE]
            computation = decode(module.computation_name(module.computation_of(row)))
            parts = [decode(instruction.opcode) if instruction else "?", f"in {computation}"]
            parts[1:1] = [human(sum(sizes.tolist()))] if len(sizes) else []
            return Item(HloInstruction(row), decode(name), " · ".join(parts), name, None, place, module.place(row))


def find_item(dump: DumpSet, module: HloModule, name: bytes, *, is_computation: bool) -> Item | None:
    """Find a computation or an instruction by name, for instance after a reload; None if it no longer exists."""
    row = module.computation_rows.get(name, NONE) if is_computation else module.row_of(name)
    return item(dump, module, HloComputation(row) if is_computation else HloInstruction(row)) if row != NONE else None


def incoming(dump: DumpSet, module: HloModule, of: Item, limit: int) -> list[Flow]:
    """Return at most `limit` callers of a computation, or producers that an instruction reads, in the order of the
    text.
    """
    match of.target:
        case HloComputation():
            return _flows(dump, module, _callers(module, of.target), limit)
        case HloInstruction(row):
            return _flows(dump, module, _producers(module, row), limit)
    return []


def outgoing(dump: DumpSet, module: HloModule, of: Item, limit: int) -> list[Flow]:
    """Return at most `limit` callees of a computation, or consumers of an instruction, in the order of the text."""
    match of.target:
        case HloComputation(row):
            return _flows(dump, module, _callees(module, row, limit), limit)
        case HloInstruction(row):
            return _flows(dump, module, _consumers(module, row), limit)
    return []


def _flows(dump: DumpSet, module: HloModule, found: Iterable[tuple[HloTarget, int, int]], limit: int) -> list[Flow]:
    places: dict[HloTarget, list[Place]] = {}
    for target, start, end in found:
        if target in places or len(places) < limit:
            places.setdefault(target, []).append(Place(module.file, start, end))
    return [Flow(item(dump, module, target), tuple(found_places)) for target, found_places in places.items()]


def _callers(module: HloModule, target: HloComputation) -> Iterator[tuple[HloTarget, int, int]]:
    for use in references_to(module, target):
        yield HloComputation(module.computation_at(use.start)), use.start, use.end


def _callees(module: HloModule, row: int, limit: int) -> Iterator[tuple[HloTarget, int, int]]:
    starts, callees = module.references.computations_between(*module.computation_span(row))
    _, first = np.unique(callees, return_index=True)
    shown = np.isin(callees, callees[np.sort(first)[:limit]])
    for start in starts[shown].tolist():
        use = reference_at(module, start)
        if use and isinstance(use.target, HloComputation):
            yield use.target, use.start, use.end


def _producers(module: HloModule, row: int) -> Iterator[tuple[HloTarget, int, int]]:
    instruction = module.instruction(row)
    for operand in instruction.operands() if instruction else ():
        producer, _ = module.operand(operand.name)
        seen = {row}
        while producer not in seen and (source := _viewed(module, producer)) != NONE:
            seen.add(producer)
            producer = source
        if producer != NONE:
            yield HloInstruction(producer), operand.start, operand.end


def _viewed(module: HloModule, row: int) -> int:
    """The operand that an instruction is a view of, NONE if it is no view."""
    instruction = module.instruction(row) if row != NONE else None
    if instruction is None or instruction.opcode not in VIEWS:
        return NONE
    operands = instruction.operand_names()
    return module.operand(operands[0])[0] if operands else NONE


def _consumers(module: HloModule, row: int) -> list[tuple[HloTarget, int, int]]:
    found: list[tuple[HloTarget, int, int]] = []
    seen, waiting = {row}, [row]
    while waiting:
        for reader, own in groupby(_readers(module, waiting.pop()), itemgetter(0)):
            is_view = _viewed(module, reader) != NONE and any(_readers(module, reader))
            if not is_view:
                found += ((HloInstruction(reader), use.start, use.end) for _, use in own)
            elif reader not in seen:
                seen.add(reader)
                waiting.append(reader)
    return sorted(found, key=lambda flow: flow[1])


def _readers(module: HloModule, row: int) -> Iterator[tuple[int, HloMention]]:
    """The instructions that have `row` among their operands, with the operands."""
    uses = references_to(module, HloInstruction(row))
    # An instruction can have thousands of operands: read it once.
    for reader, own in groupby(uses, lambda use: module.instruction_at(use.start)):
        instruction = module.instruction(reader) if reader != NONE else None
        operands = range(instruction.operands_start, instruction.operands_end) if instruction else ()
        yield from ((reader, use) for use in own if use.start in operands)
