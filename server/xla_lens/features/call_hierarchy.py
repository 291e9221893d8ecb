"""The data flow between values, as a call hierarchy: producers call their consumers.

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

from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.hlo.dataflow import (
    by_reader,
    defined_values,
    first_uses,
    is_by_defining,
    operands,
    shown_values,
    uses,
)
from xla_lens.model.places.mentions import Instruction, Mention, Role, Step, Value, meaning
from xla_lens.model.places.places import Place, row_places, use_places, used_value_block
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column, Kind

ItemTarget: TypeAlias = Value | Instruction
"""A value, or an instruction that defines several values or none."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the hierarchy. `name` and `index` identify it in any dump set of the same program, see `find_item`;
    `index` is None for an instruction and for a value without an index.

    `value_count` is the number of its values: 0 for an instruction that defines none. `size_bytes` is their sum,
    `live_range` the first and the last step of any of them, `allocation` the index of the allocation that holds all of
    them, and `kind` the kind of that. They are None where they do not exist.

    `place` is the block of the value, or of the first of several, in the used values; `selection` is the name in it.
    For an instruction without a value both are the first use that names it.
    """

    target: ItemTarget
    label: str
    name: bytes
    index: bytes | None
    value_count: int
    size_bytes: int | None
    allocation: int | None
    kind: Kind | None
    live_range: tuple[int, int] | None
    place: Place
    selection: Place


@dataclass(frozen=True, slots=True)
class Flow:
    """An edge to or from an item. `places` are the uses that prove it, or the positions in a tuple that is not the
    result. They are always in the block of the producer.
    """

    item: Item
    places: tuple[Place, ...]


def prepare(dump: DumpSet, mention: Mention) -> list[Item]:
    """Return the mentioned item. Empty for anything but values, instructions and steps, and without used values.

    The bare name of an instruction stands for all of its values, a step for the instruction that runs then.
    """
    item = None
    match mention.target:
        case Value(row):
            is_bare = mention.role in _BARE and mention.name == dump.values.name[row]
            item = _instruction_item(dump, mention.name) if is_bare else _value_item(dump, row)
        case Instruction(name):
            item = _instruction_item(dump, name)
        case Step(step) if (entry := dump.schedule_row(step)) != NONE:
            name = int(dump.schedule.name[entry])
            target = meaning(dump, name)
            return prepare(dump, Mention(target, Role.SCHEDULE, mention.start, mention.end, name)) if target else []
    return [item] if item else []


_BARE: Final = (Role.SCHEDULE, Role.USER, Role.INSTRUCTION_TEXT)
"""Where an instruction's name stands without an index."""


def find_item(dump: DumpSet, name: bytes, index: bytes | None) -> Item | None:
    """Return the item with a name and an index, also after a reload; None if it no longer exists."""
    number = dump.name_number(name)
    if index is None:
        return _instruction_item(dump, number)
    values = _values_of(dump, number)
    values = values[dump.values.index[values] == dump.index_number(index)]
    return _value_item(dump, int(values[0])) if len(values) else None


def producers(dump: DumpSet, target: ItemTarget, limit: int) -> list[Flow]:
    """Return at most `limit` values that an item is computed from, in the order of its operands."""
    read: dict[int, list[Place]] = {}
    for value, place in operands(dump, _name(dump, target)):
        read.setdefault(value, []).append(place)
    items = ((_value_item(dump, value), places) for value, places in read.items())
    return list(islice((Flow(item, tuple(places)) for item, places in items if item), limit))


def consumers(dump: DumpSet, target: ItemTarget, limit: int) -> list[Flow]:
    """Return at most `limit` instructions that read an item, in the order of the schedule."""
    if dump.used is None:
        return []
    name = _name(dump, target)
    values = np.array([target.row]) if isinstance(target, Value) else _values_of(dump, name)
    rows = uses(dump, values if len(values) else shown_values(dump, name))
    is_defining = is_by_defining(dump, rows)
    if is_defining.any() or not len(values):
        rows = rows[is_defining]
    found = by_reader(dump, rows)[:limit]
    items = _instruction_items(dump, dump.used, [reader for reader, _ in found])
    places = (tuple(row_places(dump.used, dump.uses, rows)) for _, rows in found)
    return [Flow(item, said) for item, said in zip(items, places, strict=True) if item]


def _name(dump: DumpSet, target: ItemTarget) -> int:
    """The number of the name of the instruction that an item is or that defines it."""
    return target.name if isinstance(target, Instruction) else int(dump.values.name[target.row])


def _values_of(dump: DumpSet, name: int) -> Column:
    return defined_values(dump, np.array([name]))[0] if name != NONE else np.zeros(0, np.int64)


def _value_item(dump: DumpSet, value: int) -> Item | None:
    if dump.used is None or dump.values.used_value[value] == NONE:
        return None
    return _item(dump, dump.used, np.array([value]))


def _instruction_item(dump: DumpSet, name: int) -> Item | None:
    if dump.used is None or name == NONE:
        return None
    return _instruction_items(dump, dump.used, [name])[0]


def _instruction_items(dump: DumpSet, used: DumpFile, names: list[int]) -> list[Item | None]:
    """For each name one item for the values that the instruction defines, or for the instruction itself if it defines
    none; None if no use names it.
    """
    column = np.array(names, np.int64)
    defined, first = defined_values(dump, column), first_uses(dump, column).tolist()
    return [
        _item(dump, used, values) if len(values) else _silent_item(dump, used, use) if use != NONE else None
        for values, use in zip(defined, first, strict=True)
    ]


def _item(dump: DumpSet, used: DumpFile, rows: Column) -> Item:
    """The item of one value, or of several values of one instruction."""
    values, first = dump.values, int(rows[0])
    name, index = int(values.name[first]), int(values.index[first]) if len(rows) == 1 else NONE
    sizes = [size for size in values.size_bytes[rows].tolist() if size != NONE]
    steps = [step for column in (values.start_step, values.end_step) for step in column[rows].tolist() if step != NONE]
    allocation, *others = set(values.allocation[rows].tolist())
    has_allocation = not others and allocation != NONE and dump.allocations.index[allocation] != NONE
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
        name=dump.names[name],
        index=dump.indices[index] if index != NONE else None,
        value_count=len(rows),
        size_bytes=sum(sizes) if sizes else None,
        allocation=int(dump.allocations.index[allocation]) if has_allocation else None,
        kind=Kind(int(dump.allocations.kind[allocation])) if has_allocation else None,
        live_range=(min(steps), max(steps)) if steps else None,
        place=block,
        selection=Place(used, name_start, name_end),
    )


def _silent_item(dump: DumpSet, used: DumpFile, use: int) -> Item:
    """An instruction that defines no value, by the first row of `DumpSet.uses` that names it."""
    name = int(dump.uses.name[use])
    ((place, name_end),) = use_places(dump, used, range(use, use + 1))
    selection = Place(used, place.start, name_end)
    label = dump.label(name, NONE)
    return Item(Instruction(name), label, dump.names[name], None, 0, None, None, None, None, place, selection)
