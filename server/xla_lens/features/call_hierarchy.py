"""Who makes what a value is computed from, and who reads it: the flow of data, shown as an editor shows calls. A
producer calls its consumers.

Uses look through tuples, bitcasts and the like. An instruction that defines no value, such as a `bitcast`, a
`get-tuple-element` or a `copy-done`, only shows bytes of others, and whoever reads those is among their uses. So

- producers are values, each with the bytes that are read; those of a tuple are its elements;
- a consumer is an instruction: its value if it defines one, all of them as one if it defines several, since no dump
  tells which of them depends on what is read;
- an instruction that defines no value is seen through. It is a consumer only of what nothing else reads, such as the
  `copy-done` of a copy's flag or the `bitcast` that is the result. Its own consumers are those of what it shows.

If B is a consumer of A, then A, or a value that A stands for or shows, is a producer of B. The reverse holds but where
B is a tuple or defines no value, and is seen through.
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
"""A value; or an instruction, if it stands for several values or defines none."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that takes part. `name` and `index` tell it in any set of the same program, see `find_item`; `index` is
    None where there is none, and of an instruction.

    `value_count` is the number of values that it stands for: 0 for an instruction that defines none. `size_bytes` is
    what they take together, `live_range` from the first step of any to the last of any, `allocation` the index of the
    one that holds all of them, and `kind` what that is for. They are None where there is no such thing.

    `place` is all that the dump says below the header of the value, or of the first of several; `selection` is the name
    in it. An instruction without a value has the first use that names it.
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
    """Data that flows to or from an item. `places` are the uses that say so, or in a tuple that is no result the
    positions: they stand below the header of the producer, whichever of the two the item is.
    """

    item: Item
    places: tuple[Place, ...]


def prepare(dump: DumpSet, mention: Mention) -> list[Item]:
    """The item that is mentioned: none for what is no value and no instruction, and in a set without used values. The
    bare name of an instruction means all of its values, a step the instruction that runs then.
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
    """The item that had a name and an index, perhaps before the set was loaded again; None if it has gone."""
    number = dump.name_number(name)
    if index is None:
        return _instruction_item(dump, number)
    values = _values_of(dump, number)
    values = values[dump.values.index[values] == dump.index_number(index)]
    return _value_item(dump, int(values[0])) if len(values) else None


def producers(dump: DumpSet, target: ItemTarget, limit: int) -> list[Flow]:
    """What an item is computed from, in the order of its operands: at most `limit` values."""
    read: dict[int, list[Place]] = {}
    for value, place in operands(dump, _name(dump, target)):
        read.setdefault(value, []).append(place)
    items = ((_value_item(dump, value), places) for value, places in read.items())
    return list(islice((Flow(item, tuple(places)) for item, places in items if item), limit))


def consumers(dump: DumpSet, target: ItemTarget, limit: int) -> list[Flow]:
    """What reads an item, in the order of the schedule: at most `limit` instructions."""
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
    """The number of the name of the instruction that an item is, or that makes it."""
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
    """For each of some names the values that the instruction defines, as one item; if it defines none, the instruction
    itself, None if no use names it.
    """
    column = np.array(names, np.int64)
    defined, first = defined_values(dump, column), first_uses(dump, column).tolist()
    return [
        _item(dump, used, values) if len(values) else _silent_item(dump, used, use) if use != NONE else None
        for values, use in zip(defined, first, strict=True)
    ]


def _item(dump: DumpSet, used: DumpFile, rows: Column) -> Item:
    """One value, or several of one instruction."""
    values, first = dump.values, int(rows[0])
    name, index = int(values.name[first]), int(values.index[first]) if len(rows) == 1 else NONE
    sizes = [size for size in values.size_bytes[rows].tolist() if size != NONE]
    steps = [step for column in (values.start_step, values.end_step) for step in column[rows].tolist() if step != NONE]
    allocation, *others = set(values.allocation[rows].tolist())
    has_allocation = not others and allocation != NONE and dump.allocations.index[allocation] != NONE
    row = int(values.used_value[first])
    block = used_value_block(dump, used, row)
    # A broken dump may call the value otherwise in its allocation.
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
