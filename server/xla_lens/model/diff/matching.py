"""Which values of two dumps correspond.

The values of each dump are a sequence in the order of the schedule. They are paired from strict keys to lenient ones
(`_LEVELS`), at each level first between the pairs found so far, so that an inserted layer shifts nothing, and then
anywhere. No level uses the numbers in the names of instructions, because each compilation numbers them anew.
"""

import zlib
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from xla_lens.model.diff.alignment import Alignment, combined
from xla_lens.model.diff.traits import Traits
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows, taken
from xla_lens.syntax.columns import NONE, Column


class Confidence(IntEnum):
    """How likely two matched values are the same value of the program."""

    HIGH = 2
    MEDIUM = 1
    LOW = 0


class Matching(NamedTuple):
    """The pairs of corresponding values.

    - `new_of_old`, `old_of_new`: for each value of one dump its partner in the other, NONE without one.
    - `confidence`: for each old value the `Confidence` in its pair, NONE without a partner.
    - `old_steps`, `new_steps`: the aligned steps of both schedules, ascending.
    """

    new_of_old: Column
    old_of_new: Column
    confidence: Column
    old_steps: Column
    new_steps: Column


Side: TypeAlias = tuple[DumpSet, Traits]
"""A dump and what its values are matched by."""


def match_values(old: Side, new: Side) -> Matching:
    """Match the values of two dumps. Swapping the dumps swaps the pairs and changes nothing else."""
    # Where two pairings are equally good, the choice depends on the order of the dumps, so that order is fixed here.
    if _signature(*new) < _signature(*old):
        found = match_values(new, old)
        confidence = taken(found.confidence, found.old_of_new)
        return Matching(found.old_of_new, found.new_of_old, confidence, found.new_steps, found.old_steps)
    alignment, traits = _aligned(old, new), (old[1], new[1])
    anchors = zip(traits, alignment.anchors(), strict=True)
    steps = np.stack([of_side["step"][of_side["order"][rows]] for of_side, rows in anchors])
    steps = steps[:, (steps != NONE).all(axis=0)]
    # An instruction may define several values, which may have partners in several instructions.
    for side in (0, 1):
        steps = steps[:, np.append(True, np.diff(steps[side]) > 0)[: steps.shape[1]]]
    return Matching(*_partners(alignment, *traits), alignment.level[old[1]["place"]], *steps)


def _signature(dump: DumpSet, traits: Traits) -> tuple[int, ...]:
    values = dump.values
    columns = (values.size_bytes, values.start_step, values.end_step, traits["step"][traits["order"]], values.offset)
    return len(values), *(zlib.crc32(column.tobytes()) for column in columns)


def _partners(alignment: Alignment, old: Traits, new: Traits) -> tuple[Column, Column]:
    """The partner of each value of both dumps."""
    return (
        taken(new["order"], alignment.partner)[old["place"]],
        taken(old["order"], alignment.old_partner)[new["place"]],
    )


_LEVELS: Final = (
    (Confidence.HIGH, ("index", "opcode", "shape", "op_name"), ()),
    (Confidence.HIGH, ("index", "opcode", "bare_shape", "op_name"), ()),
    (Confidence.HIGH, ("parameter",), ("parameter",)),
    (Confidence.MEDIUM, ("bare_shape", "op_name"), ("bare_shape", "op_name")),
    (Confidence.MEDIUM, ("index", "opcode", "op_name"), ("op_name",)),
    (Confidence.MEDIUM, ("index", "opcode", "bare_shape", "operand", "reader"), ("bare_shape", "reader")),
    (Confidence.LOW, ("bare_shape", "operation"), ("bare_shape", "operation")),
    (Confidence.LOW, ("index", "opcode", "bare_shape"), ("bare_shape",)),
)
"""The traits that pair values at each level, and those of them that have to be known. What they have in common is
little at a level of low confidence, so it pairs values only between others that are matched.
"""


def _aligned(old: Side, new: Side) -> Alignment:
    old_order, new_order = old[1]["order"], new[1]["order"]
    alignment = Alignment(len(old_order), len(new_order))
    for level, names, required in _LEVELS:
        columns = [old[1], new[1]]
        if "reader" in names:
            new_of_old, old_of_new = _partners(alignment, *columns)
            # A matched value has the number of the old one on both sides.
            numbers = np.where(new_of_old != NONE, np.arange(len(new_of_old)), NONE), old_of_new
            columns = [traits | _readers(dump, of) for (dump, traits), of in zip((old, new), numbers, strict=True)]
        both = {name: np.concatenate([of_side[name] for of_side in columns]) for name in names}
        keys = combined([*both.values()])
        for name in required:
            keys[both[name] == NONE] = NONE
        ordered = keys[: len(old_order)][old_order], keys[len(old_order) :][new_order]
        alignment.align(*ordered, level)
        if level is not Confidence.LOW:
            alignment.pair_anywhere(*ordered, level)
    return alignment


def _readers(dump: DumpSet, number: Column) -> Traits:
    """For each value the number of the first matched value whose instruction reads it, and as which operand. `number`
    has a number for each value that is matched.
    """
    first_value = first_rows(np.arange(len(dump.names)), dump.values.name, np.arange(len(dump.values)))
    value, reader = taken(dump.value_of_used_value, dump.uses.value), taken(first_value, dump.uses.name)
    reader_number = taken(number, reader)
    uses = np.flatnonzero((value != NONE) & (reader_number != NONE) & (value != reader))
    first_use = first_rows(np.arange(len(number)), value[uses], uses)
    return {"reader": taken(reader_number, first_use), "operand": taken(dump.uses.operand, first_use)}
