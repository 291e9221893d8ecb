"""Call hierarchies: the data flow between the values of a dump or between the instructions of an HLO module, in which
producers call their consumers, and the callers and callees of the computations of a module.

The uses in a dump look through tuples, bitcasts and the like. An instruction that defines no value, such as a
`bitcast`, a `get-tuple-element` or a `copy-done`, is an alias of other bytes, and its readers are among the uses of
those. Therefore:

- producers are values, each with the bytes that are read; the producers of a tuple are its elements;
- a consumer is an instruction: its value if it defines one, one item for all of them if it defines several, because
  no dump says which of them depends on the value read;
- an instruction that defines no value is skipped. It is a consumer only of values that nothing else reads, such as the
  flag that a `copy-done` reads, or the input of the `bitcast` that is the result. Its consumers are those of its input.

If B is a consumer of A, then A, or a value that A stands for, is a producer of B. The reverse holds unless B is a tuple
or defines no value.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

import numpy as np

from xla_lens.model.hlo.dataflow import (
    by_reader,
    defined_values,
    is_by_defining,
    operands,
    shown_values,
    uses,
)
from xla_lens.model.hlo.mentions import (
    HloComputation,
    HloInstruction,
    HloMention,
    HloTarget,
    computations_called,
    references_to,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Instruction, Mention, Role, Step, Value, meaning
from xla_lens.model.places.places import Place, row_places, use_places, used_value_block
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import kind_text
from xla_lens.render.numbers import counted, human
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.text.positions import decode


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a hierarchy. `name` and `index` identify it in any dump set of the same program; `index` is None for
    an instruction, a computation and a value without an index. In a dump, an `Instruction` defines several values or
    none. `detail` is what stands beside the label. `place` is its text and `selection` its name there.
    """

    target: Value | Instruction | HloTarget
    label: str
    detail: str
    name: bytes
    index: bytes | None
    place: Place
    selection: Place


@dataclass(frozen=True, slots=True)
class Flow:
    """An edge to or from an item, and the places that prove it."""

    item: Item
    places: tuple[Place, ...]


# ---------------------------------------------------------------- dump files


def prepare(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention) -> Item | None:
    """Return the mentioned item. None for anything but values, instructions, steps and computations, and without used
    values.

    The bare name of an instruction stands for all of its values, a step for the instruction that runs then.
    """
    if isinstance(mention, HloMention):
        return _module_item(dump, module, mention.target) if module else None
    match mention.target:
        case Value(row):
            is_bare = mention.role in _BARE and mention.name == dump.values.name[row]
            return _instruction_item(dump, mention.name) if is_bare else _value_item(dump, row)
        case Instruction(name):
            return _instruction_item(dump, name)
        case Step(step) if (entry := dump.schedule_row(step)) != NONE:
            name = int(dump.schedule.name[entry])
            target = meaning(dump, name)
            return prepare(dump, module, Mention(target, Role.SCHEDULE, 0, 0, name)) if target else None
    return None


_BARE: Final = (Role.SCHEDULE, Role.USER, Role.INSTRUCTION_TEXT)
"""Where an instruction's name stands without an index."""


def find_item(
    dump: DumpSet, module: HloModule | None, name: bytes, index: bytes | None, *, is_computation: bool = False
) -> Item | None:
    """Return the item with a name and an index, also after a reload: that of an HLO module, or of the dump without one.
    None if it no longer exists.
    """
    if module:
        row = module.computation_rows.row(name) if is_computation else module.row_of(name)
        target = HloComputation(row) if is_computation else HloInstruction(row)
        return _module_item(dump, module, target) if row != NONE else None
    number = dump.name_number(name)
    if index is None:
        return _instruction_item(dump, number)
    values = defined_values(dump, number)
    values = values[dump.values.index[values] == dump.index_number(index)]
    return _value_item(dump, int(values[0])) if len(values) else None


def incoming(dump: DumpSet, module: HloModule | None, item: Item, limit: int) -> list[Flow]:
    """Return at most `limit` producers that an item is computed from, in the order of its operands, or callers of a
    computation, in the order of the text.
    """
    if module and isinstance(item.target, HloComputation | HloInstruction):
        return _flows(dump, module, _module_incoming(module, item.target), limit)
    read: dict[int, list[Place]] = {}
    for value, place in operands(dump, dump.name_number(item.name)):
        read.setdefault(value, []).append(place)
    items = ((_value_item(dump, value), places) for value, places in read.items())
    return list(islice((Flow(made, tuple(places)) for made, places in items if made), limit))


def outgoing(dump: DumpSet, module: HloModule | None, item: Item, limit: int) -> list[Flow]:
    """Return at most `limit` instructions that read an item, in the order of the schedule, or in a module what an
    item calls or who reads it, in the order of the text.
    """
    if module and isinstance(item.target, HloComputation | HloInstruction):
        return _flows(dump, module, _module_outgoing(module, item.target), limit)
    if dump.used is None:
        return []
    name = dump.name_number(item.name)
    values = np.array([item.target.row]) if isinstance(item.target, Value) else defined_values(dump, name)
    rows = uses(dump, values if len(values) else shown_values(dump, name))
    is_defining = is_by_defining(dump, rows)
    if is_defining.any() or not len(values):
        rows = rows[is_defining]
    found = by_reader(dump, rows)[:limit]
    items = ((_instruction_item(dump, reader), row_places(dump.used, dump.uses, rows)) for reader, rows in found)
    return [Flow(reader, tuple(places)) for reader, places in items if reader]


def _value_item(dump: DumpSet, value: int) -> Item | None:
    if dump.used is None or dump.values.used_value[value] == NONE:
        return None
    return _item(dump, dump.used, np.array([value]))


def _instruction_item(dump: DumpSet, name: int) -> Item | None:
    """One item for the values that an instruction defines, or for the instruction itself if it defines none; None if no
    use names it.
    """
    values, used = defined_values(dump, name), np.flatnonzero(dump.uses.name == name)
    if dump.used is None or name == NONE or not (len(values) or len(used)):
        return None
    return _item(dump, dump.used, values) if len(values) else _silent_item(dump, dump.used, int(used[0]))


def _item(dump: DumpSet, used: DumpFile, rows: Column) -> Item:
    """The item of one value, or of several values of one instruction: the block of the first among the used values."""
    values, first = dump.values, int(rows[0])
    name, index = int(values.name[first]), int(values.index[first]) if len(rows) == 1 else NONE
    row = int(values.used_value[first])
    block = used_value_block(dump, used, row)
    # A broken dump may have another name for the value in its allocation.
    header_index = int(dump.used_values.index[row]) if len(rows) == 1 else NONE
    name_start = used.document.data.index(b" ", block.start) + 1
    name_end = name_start + len(dump.names[dump.used_values.name[row]])
    name_end += len(dump.indices[header_index]) if header_index != NONE else 0
    return Item(
        target=Value(first) if len(rows) == 1 else Instruction(name),
        label=dump.label(name, index),
        detail=" · ".join(_details(dump, rows)),
        name=dump.names[name],
        index=dump.indices[index] if index != NONE else None,
        place=block,
        selection=Place(used, name_start, name_end),
    )


def _details(dump: DumpSet, rows: Column) -> Iterator[str]:
    """The number of several values, their bytes, the allocation of all of them, and the first and the last step of any:
    ``4.0 KiB``, ``allocation 2, preallocated-temp``, ``live 4–5``.
    """
    values, allocations = dump.values, dump.allocations
    if len(rows) > 1:
        yield counted(len(rows), "value")
    sizes = [size for size in values.size_bytes[rows].tolist() if size != NONE]
    if sizes:
        yield human(sum(sizes))
    allocation, *others = set(values.allocation[rows].tolist())
    if not others and allocation != NONE and allocations.index[allocation] != NONE:
        kind = kind_text(Kind(max(0, int(allocations.kind[allocation]))))
        yield f"allocation {allocations.index[allocation]}" + (f", {kind}" if kind else "")
    steps = [step for column in (values.start_step, values.end_step) for step in column[rows].tolist() if step != NONE]
    if steps:
        yield f"live {min(steps)}–{max(steps)}"


def _silent_item(dump: DumpSet, used: DumpFile, use: int) -> Item:
    """An instruction that defines no value, by the first row of `DumpSet.uses` that names it."""
    name = int(dump.uses.name[use])
    ((place, name_end),) = use_places(dump, used, range(use, use + 1))
    label, selection = dump.label(name, NONE), Place(used, place.start, name_end)
    return Item(Instruction(name), label, "no value", dump.names[name], None, place, selection)


# ---------------------------------------------------------------- HLO modules


def _module_item(dump: DumpSet, module: HloModule, target: HloTarget) -> Item:
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


def _flows(dump: DumpSet, module: HloModule, found: Iterable[tuple[HloTarget, int, int]], limit: int) -> list[Flow]:
    places: dict[HloTarget, list[Place]] = {}
    for target, start, end in found:
        if target in places or len(places) < limit:
            places.setdefault(target, []).append(Place(module.file, start, end))
    return [Flow(_module_item(dump, module, target), tuple(found_places)) for target, found_places in places.items()]


def _module_incoming(module: HloModule, target: HloTarget) -> Iterator[tuple[HloTarget, int, int]]:
    if isinstance(target, HloComputation):
        for use in references_to(module, target):
            yield HloComputation(module.computation_at(use.start)), use.start, use.end
        return
    instruction = module.instruction(target.row)
    for operand in instruction.operands() if instruction else ():
        producer, _ = module.operand(operand.name)
        if producer != NONE:
            yield HloInstruction(producer), operand.start, operand.end


def _module_outgoing(module: HloModule, target: HloTarget) -> Iterator[tuple[HloTarget, int, int]]:
    if isinstance(target, HloComputation):
        yield from ((use.target, use.start, use.end) for use in computations_called(module, target.row))
        return
    # An instruction can have thousands of operands: read it once.
    for reader, own in groupby(references_to(module, target), lambda use: module.instruction_at(use.start)):
        instruction = module.instruction(reader) if reader != NONE else None
        # Control predecessors are no data flow.
        read = range(instruction.operands_start, instruction.operands_end) if instruction else ()
        yield from ((HloInstruction(reader), use.start, use.end) for use in own if use.start in read)
