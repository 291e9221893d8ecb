"""Call hierarchies: the data flow between the instructions of a dump or of an HLO module, in which producers call their
consumers, and the callers and callees of the computations of a module.

An item of a dump is an instruction that defines values. The uses in a dump look through tuples, bitcasts and the like:
an instruction that defines no value, such as a `bitcast` or a `copy-done`, is an alias of other bytes, and its readers
are among the uses of those. It is neither a producer nor a consumer.

A is a producer of B if B is a consumer of A. A `tuple` reads its elements only if it is the result.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np

from xla_lens.model.hlo.dataflow import by_reader, operands, uses
from xla_lens.model.hlo.mentions import (
    HloComputation,
    HloInstruction,
    HloMention,
    HloTarget,
    computations_called,
    references_to,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Instruction, Mention, Step, Value, meaning
from xla_lens.model.places.places import Place, row_places, used_value_block
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column
from xla_lens.text.positions import decode
from xla_lens.words.numbers import counted, human


class Item(NamedTuple):
    """An item of a hierarchy. `name` identifies it in any dump set of the same program. `detail` is what stands beside
    it. `place` is its text and `selection` its name there.
    """

    target: Instruction | HloTarget
    name: bytes
    detail: str
    place: Place
    selection: Place


class Flow(NamedTuple):
    """An edge to or from an item, and the places that prove it."""

    item: Item
    places: tuple[Place, ...]


def prepare(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention) -> Item | None:
    """Return the mentioned item: that of a value is the instruction that defines it, that of a step the instruction
    that runs then. None for allocations and the printed peak, and without used values.
    """
    target = mention.target
    if isinstance(target, Step):
        entry = dump.schedule_row(target.step)
        target = (meaning(dump, dump.schedule.name.item(entry)) if entry != NONE else None) or target
    match target:
        case Value(row):
            return _item(dump, None, Instruction(dump.name_of(row)))
        case Instruction() | HloInstruction() | HloComputation():
            return _item(dump, module, target)
    return None


def find_item(dump: DumpSet, module: HloModule | None, name: bytes, *, is_computation: bool = False) -> Item | None:
    """Return the item with a name in an HLO module, or in the dump without one. None if a reload has removed it."""
    if module is None:
        return _item(dump, None, Instruction(dump.name_number(name)))
    row = module.computation_rows.row(name) if is_computation else module.row_of(name)
    return _item(dump, module, HloComputation(row) if is_computation else HloInstruction(row)) if row != NONE else None


_Found: TypeAlias = Iterable[tuple[Instruction | HloTarget, Place]]


def _flows(
    find: Callable[[DumpSet, HloModule | None, Instruction | HloTarget], _Found],
    dump: DumpSet,
    module: HloModule | None,
    item: Item,
    limit: int,
) -> list[Flow]:
    places: dict[Instruction | HloTarget, list[Place]] = {}
    for target, place in find(dump, module, item.target):
        if target in places or len(places) < limit:
            places.setdefault(target, []).append(place)
    items = ((_item(dump, module, target), tuple(own)) for target, own in places.items())
    return [Flow(item, own) for item, own in items if item]


def _incoming(dump: DumpSet, module: HloModule | None, target: Instruction | HloTarget) -> _Found:
    match target:
        case Instruction(name):
            for value, place in operands(dump, name):
                yield Instruction(dump.name_of(value)), place
        case HloComputation() if module:
            for use in references_to(module, target):
                yield HloComputation(module.computation_at(use.start)), Place(module.file, use.start, use.end)
        case HloInstruction(row) if module:
            instruction = module.instruction(row)
            for operand in instruction.operands() if instruction else ():
                producer, _ = module.operand(operand.name)
                if producer != NONE:
                    yield HloInstruction(producer), Place(module.file, operand.start, operand.end)


def _outgoing(dump: DumpSet, module: HloModule | None, target: Instruction | HloTarget) -> _Found:
    match target:
        case Instruction(name) if dump.used:
            for reader, rows in by_reader(dump, uses(dump, _values(dump, name))):
                yield from ((Instruction(reader), place) for place in row_places(dump.used, dump.uses, rows))
        case HloComputation(row) if module:
            for use in computations_called(module, row):
                yield use.target, Place(module.file, use.start, use.end)
        case HloInstruction() if module:
            # An instruction can have thousands of operands: read it once.
            for reader, own in groupby(references_to(module, target), lambda use: module.instruction_at(use.start)):
                instruction = module.instruction(reader) if reader != NONE else None
                # Control predecessors are no data flow.
                read = range(instruction.operands_start, instruction.operands_end) if instruction else ()
                spans = ((use.start, use.end) for use in own if use.start in read)
                yield from ((HloInstruction(reader), Place(module.file, *span)) for span in spans)


incoming = partial(_flows, _incoming)
"""Return at most `limit` producers that an item is computed from, in the order of its operands, or callers of a
computation, in the order of the text.
"""

outgoing = partial(_flows, _outgoing)
"""Return at most `limit` instructions that read an item, in the order of the schedule, or in a module what an item
calls or who reads it, in the order of the text.
"""


# ---------------------------------------------------------------- items


def _item(dump: DumpSet, module: HloModule | None, target: Instruction | HloTarget) -> Item | None:
    match target:
        case Instruction(name) if dump.used and len(values := _values(dump, name)):
            block = used_value_block(dump, dump.used, row := dump.values.used_value.item(values[0]))
            count = counted(len(values), "value") if len(values) > 1 else ""
            detail = " · ".join(filter(None, (count, _size(dump, name))))
            # A broken dump may have another name for the value in its allocation.
            start = dump.used.document.data.index(b" ", block.start) + 1
            end = start + len(dump.names[dump.used_values.name[row]])
            return Item(target, dump.names[name], detail, block, Place(dump.used, start, end))
        case HloComputation(row) if module:
            entry = "entry · " if module.columns.computations.is_entry[row] else ""
            detail = entry + counted(len(module.instructions_of(row)), "instruction")
            place = Place(module.file, *module.computation_span(row))
            return Item(target, module.computation_name(row), detail, place, module.computation_place(row))
        case HloInstruction(row) if module:
            own, instruction = module.name(row), module.instruction(row)
            opcode, size = decode(instruction.opcode) if instruction else "?", _size(dump, dump.name_number(own))
            parts = opcode, size, f"in {decode(module.computation_name(module.computation_of(row)))}"
            place = Place(module.file, *module.span(row))
            return Item(HloInstruction(row), own, " · ".join(filter(None, parts)), place, module.place(row))
    return None


def _values(dump: DumpSet, name: int) -> Column:
    """The values that an instruction defines and that have a header in `Used values`."""
    return np.flatnonzero((dump.values.name == name) & (dump.values.used_value != NONE) & (name != NONE))


def _size(dump: DumpSet, name: int) -> str:
    """The bytes of the values that an instruction defines, empty if they are unknown."""
    sizes = dump.values.size_bytes[(dump.values.name == name) & (dump.values.size_bytes != NONE) & (name != NONE)]
    return human(sum(sizes.tolist())) if len(sizes) else ""
