"""The data flow of a dump: which instructions read which values, from the uses that it prints.

A use looks through tuples, bitcasts and the like to the instruction that reads the value (HloValue::ComputeUses).
Instructions in between define no value, but have uses too: a `bitcast` is another view of the same bytes, a
`get-tuple-element` reads the table of the tuple.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import ordered, taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern


def uses(dump: DumpSet, values: Column) -> Column:
    """Return the rows of `DumpSet.uses` of some values, without uses by the instructions that define them."""
    rows = [np.zeros(0, np.int64)]
    for value in values[dump.values.used_value[values] != NONE].tolist():
        own = dump.uses_of(dump.values.used_value.item(value))
        rows.append(own.start + np.flatnonzero(dump.uses.name[own] != dump.values.name[value]))
    return np.concatenate(rows)


def by_reader(dump: DumpSet, rows: Column) -> list[tuple[int, Column]]:
    """Group rows of `DumpSet.uses` by the name of the reading instruction, in the order of the schedule, without those
    whose reader defines no value.
    """
    rows = rows[np.isin(dump.uses.name[rows], dump.values.name[dump.values.used_value != NONE])]
    rows = ordered(rows, dump.uses.name)
    names, first = np.unique(dump.uses.name[rows], return_index=True)
    steps = taken(dump.schedule.step, dump.schedule_row_of_name[names])
    order = np.lexsort((rows[first], steps, steps == NONE)).tolist()
    parts = np.split(rows, first[1:])
    return [(names.item(place), parts[place]) for place in order]


def operands(dump: DumpSet, name: int) -> Iterator[tuple[int, Place]]:
    """Yield the values that an instruction reads in the order of its operands, each with the row that says so."""
    uses, operand, index = dump.uses, dump.uses.operand, dump.uses.index
    rows = np.flatnonzero(uses.name == name).tolist() if dump.used else []
    for use in sorted(rows, key=lambda row: (operand.item(row), index_path(dump, index.item(row)))):
        row = uses.value.item(use)
        value = dump.value_of_used_value.item(row) if row != NONE else NONE
        if dump.used and value != NONE and dump.values.name[value] != name:
            yield value, row_place(dump.used, uses, use)


_DIGITS: Final = lazy_pattern(rb"\d+")


def index_path(dump: DumpSet, index: int) -> tuple[int, ...]:
    """Return the numbers of a shape index: (0, 1) for ``{0,1}``, () for NONE."""
    return tuple(map(integer, _DIGITS.findall(dump.indices[index]))) if index != NONE else ()
