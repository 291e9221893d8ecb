"""Which values of two dumps correspond.

The values of each dump are a sequence in the order of the schedule. They are paired from strict keys to lenient ones
(`_Level`), at each level first between the pairs found so far, so that an inserted layer shifts nothing, and then
anywhere. No level uses the numbers in the names of instructions, because each compilation numbers them anew.
"""

import zlib
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from xla_lens.model.diff.alignment import Alignment, Often, combined
from xla_lens.model.diff.traits import Traits
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows, taken
from xla_lens.syntax.columns import NONE, Column, Pairs


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


class _Level(NamedTuple):
    """What two values have in common. The traits that are `required` have to be known; pairs are searched `anywhere`,
    or only between those found so far.
    """

    confidence: Confidence
    traits: tuple[str, ...]
    required: tuple[str, ...] = ()
    often: Often = Often.ANY
    anywhere: bool = True


_SAME: Final = (
    _Level(Confidence.HIGH, ("parameter", "bare_shape", "op_name"), ("parameter",)),
    _Level(Confidence.HIGH, ("index", "opcode", "shape", "op_name")),
    _Level(Confidence.HIGH, ("index", "opcode", "bare_shape", "op_name")),
    _Level(Confidence.HIGH, ("parameter", "bare_shape"), ("parameter",)),
    _Level(Confidence.HIGH, ("parameter", "op_name"), ("parameter", "op_name")),
    _Level(Confidence.HIGH, ("parameter", "rank", "unnamed"), ("parameter", "unnamed")),
    _Level(Confidence.MEDIUM, ("index", "wrapped", "bare_shape", "path")),
    _Level(Confidence.MEDIUM, ("bare_shape", "op_name"), ("bare_shape", "op_name")),
    _Level(Confidence.MEDIUM, ("bare_shape", "path"), ("bare_shape", "path")),
)
"""What values say of themselves."""

_NEIGHBORS: Final = tuple(
    _Level(Confidence.MEDIUM, ("index", opcode, "bare_shape", *neighbor), ("bare_shape", neighbor[0]))
    for opcode in ("wrapped", "opcode")
    for neighbor in (("reader", "read_as"), ("operand", "reads_as"))
)
"""A matched value that is computed from them, or that they are computed from. Each round finds pairs next to those of
the round before.
"""

_ROUNDS: Final = 8
"""At most so many rounds of neighbors: a chain of twice as many values between two matched ones is found."""

_OTHER_SHAPES: Final = (
    _Level(Confidence.MEDIUM, ("index", "opcode", "path", "dimensions"), ("path",), Often.EQUALLY),
    _Level(Confidence.MEDIUM, ("index", "opcode", "path", "rank"), ("path",), Often.EQUALLY),
)
"""Values that an edit retyped or resized. Many operations have the same op_name, so the order is evidence only if both
dumps have equally many with the same rank.
"""

_SIMILAR: Final = (
    _Level(Confidence.LOW, ("bare_shape", "operation"), ("bare_shape", "operation"), anywhere=False),
    _Level(Confidence.LOW, ("index", "wrapped", "bare_shape"), ("bare_shape",), anywhere=False),
    _Level(Confidence.LOW, ("index", "opcode", "bare_shape"), ("bare_shape",), anywhere=False),
    _Level(Confidence.LOW, ("index", "opcode", "bare_shape", "called"), ("bare_shape", "called")),
)
"""What is between the same matched values. Computations that are called have no place in the schedule."""


def _aligned(old: Side, new: Side) -> Alignment:
    alignment = Alignment(len(old[1]["order"]), len(new[1]["order"]))
    # If only one of the releases prints transformations around nothing, they do not tell values apart.
    has_them = [bool((traits["path"] != traits["bare_path"]).any()) for _, traits in (old, new)]
    path = "path" if has_them[0] == has_them[1] else "bare_path"
    columns = old[1] | {"path": old[1][path]}, new[1] | {"path": new[1][path]}
    for level in _SAME:
        _pair(alignment, level, *columns)
    for _ in range(_ROUNDS):
        is_matched = alignment.partner != NONE
        if is_matched.all() or (alignment.old_partner != NONE).all():
            break
        new_of_old, old_of_new = _partners(alignment, *columns)
        # A matched value has the number of the old one on both sides.
        old_number = np.where(new_of_old != NONE, np.arange(len(new_of_old)), NONE)
        sides = columns[0] | _neighbors(old[0], old_number), columns[1] | _neighbors(new[0], old_of_new)
        for level in _NEIGHBORS:
            _pair(alignment, level, *sides)
        if np.array_equal(is_matched, alignment.partner != NONE):
            break
    for level in (*_OTHER_SHAPES, *_SIMILAR):
        _pair(alignment, level, *columns)
    return alignment


def _pair(alignment: Alignment, level: _Level, old: Traits, new: Traits) -> None:
    """Pair the values that have the traits of a level in common."""
    both = {name: np.concatenate((old[name], new[name])) for name in level.traits}
    keys = combined([*both.values()])
    for name in level.required:
        keys[both[name] == NONE] = NONE
    ordered = keys[: len(old["order"])][old["order"]], keys[len(old["order"]) :][new["order"]]
    alignment.align(*ordered, level.confidence, level.often)
    if level.anywhere:
        alignment.pair_anywhere(*ordered, level.confidence, level.often)


def _neighbors(dump: DumpSet, number: Column) -> Traits:
    """For each value the number of the first matched value that is computed from it, and as which operand it is read;
    and of the first one that its instruction reads. `number` has a number for each value that is matched.
    """
    first_value = first_rows(np.arange(len(dump.names)), dump.values.name, np.arange(len(dump.values)))
    value, reader = taken(dump.value_of_used_value, dump.uses.value), taken(first_value, dump.uses.name)
    uses = np.flatnonzero((value != NONE) & (reader != NONE) & (value != reader))
    value, reader, place = value[uses], reader[uses], dump.uses.operand[uses]

    def first(of: Column, neighbor: Column) -> Pairs:
        """The first matched neighbor of each value, by its place among the operands, and that place."""
        order = np.lexsort((number[neighbor], place))
        order = order[number[neighbor[order]] != NONE]
        use = first_rows(np.arange(len(number)), of[order], order)
        return taken(number[neighbor], use), taken(place, use)

    (reader_number, read_as), (operand, reads_as) = first(value, reader), first(reader, value)
    # The elements of a tuple are computed from the same operands.
    own = first_value[dump.values.name]
    return {"reader": reader_number, "read_as": read_as, "operand": operand[own], "reads_as": reads_as[own]}
