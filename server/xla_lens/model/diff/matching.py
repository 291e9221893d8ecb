"""Which values of two dumps correspond.

The values of each dump are a sequence in the order of the schedule. They are paired from strict keys to lenient ones
(`LEVELS`), at each level first between the pairs found so far, so that an inserted layer shifts nothing, and then
anywhere. No level uses the numbers in the names of instructions, because each compilation numbers them anew.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np

from xla_lens.model.diff.alignment import Alignment, combined
from xla_lens.model.diff.moved_lines import moved_lines
from xla_lens.model.diff.traits import Numbering, Traits, read_traits
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, first_rows, taken
from xla_lens.syntax.columns import NONE, Column


class Level(IntEnum):
    """What two values have in common, from strict to lenient. Most levels include the index in a tuple."""

    SAME = 0
    """Name without numbers, opcode, shape with layout, op_name and source line."""
    OPERATION = 1
    """Opcode, shape with layout, and op_name."""
    LAYOUT = 2
    """Opcode, shape without layout, and op_name."""
    PARAMETER = 3
    """The same parameter of the program, by its number."""
    SHAPE = 4
    """Opcode and op_name; the shapes differ."""
    OPCODE = 5
    """Op_name and shape; the opcodes or the indices in a tuple differ."""
    NEIGHBORS = 6
    """Opcode, shape, and a matched value that it reads or is read for."""
    FOLDED = 7
    """Opcode, shape, and op_name without numbers."""
    SIMILAR = 8
    """Shape, and opcode or the last part of the op_name, between the same matched values."""


class Confidence(IntEnum):
    """How likely two matched values are the same value of the program."""

    HIGH = 2
    MEDIUM = 1
    LOW = 0


def confidence(level: Level) -> Confidence:
    """Return how much a level is worth."""
    if level <= Level.PARAMETER:
        return Confidence.HIGH
    return Confidence.MEDIUM if level <= Level.NEIGHBORS else Confidence.LOW


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """The pairs of corresponding values.

    - `new_of_old`, `old_of_new`: for each value of one dump its partner in the other, NONE without one.
    - `level`: for each old value the `Level` of its pair, NONE without a partner.
    - `old_steps`, `new_steps`: the aligned steps of both schedules, ascending.
    - `moved_lines`: the new place of source lines that an edit of the program moved, as ``train.py:31``.
    """

    new_of_old: Column
    old_of_new: Column
    level: Column
    old_steps: Column
    new_steps: Column
    moved_lines: Mapping[str, str]


def match_values(old: DumpSet, old_module: HloModule | None, new: DumpSet, new_module: HloModule | None) -> Matching:
    """Match the values of two dumps. Swapping the dumps swaps the pairs and changes nothing else."""
    numbering = Numbering()
    old_traits, new_traits = read_traits(old, old_module, numbering), read_traits(new, new_module, numbering)
    # Where two pairings are equally good, the choice depends on the order of the dumps, so that order is fixed here.
    if _signature(old, old_traits) > _signature(new, new_traits):
        found = _swapped(_matching(_Pair(new, new_traits), _Pair(old, old_traits)))
    else:
        found = _matching(_Pair(old, old_traits), _Pair(new, new_traits))
    return replace(found, moved_lines=_moved_lines(old_traits, new_traits, found, numbering.texts()))


def _moved_lines(old: Traits, new: Traits, matching: Matching, texts: list[Any]) -> dict[str, str]:
    """The lines that an edit moved, by the votes of values that are matched by more than a guess."""
    old_source, new_source = _by_value(old, old.source), _by_value(new, new.source)
    first = np.flatnonzero((matching.level != NONE) & (matching.level <= Level.SHAPE))
    pairs = np.stack((old_source[first], new_source[matching.new_of_old[first]]))
    pairs = pairs[:, (pairs != NONE).all(axis=0)]
    if (pairs[0] == pairs[1]).all():
        return {}
    lines, counts = np.unique(pairs, axis=1, return_counts=True)
    votes = {
        (texts[before], texts[after]): count
        for before, after, count in zip(*lines.tolist(), counts.tolist(), strict=True)
    }
    return moved_lines(votes, (texts[number] for number in distinct(old_source[old_source != NONE]).tolist()))


def _by_value(traits: Traits, column: Column) -> Column:
    found = np.empty(len(traits), np.int64)
    found[traits.value] = column
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    dump: DumpSet
    traits: Traits


def _signature(dump: DumpSet, traits: Traits) -> tuple[int, ...]:
    values = dump.values
    columns = (values.size_bytes, values.start_step, values.end_step, traits.step, values.offset)
    return len(values), *(zlib.crc32(column.tobytes()) for column in columns)


_LEVELS: Final = (
    (Level.SAME, ("stem", "index", "opcode", "shape", "op_name", "source"), ()),
    (Level.OPERATION, ("index", "opcode", "shape", "op_name"), ()),
    (Level.LAYOUT, ("index", "opcode", "bare_shape", "op_name"), ()),
    (Level.PARAMETER, ("parameter",), ("parameter",)),
    (Level.SHAPE, ("index", "opcode", "op_name"), ("op_name",)),
    (Level.OPCODE, ("index", "bare_shape", "op_name"), ("op_name", "bare_shape")),
    (Level.OPCODE, ("bare_shape", "op_name"), ("op_name", "bare_shape")),
)
"""The traits that pair values at each level, and those of them that have to be known."""

_LENIENT_LEVELS: Final = (
    (Level.FOLDED, ("index", "opcode", "bare_shape", "folded_op_name"), ("folded_op_name",)),
    (Level.FOLDED, ("index", "opcode", "folded_op_name"), ("folded_op_name",)),
    (Level.SIMILAR, ("bare_shape", "operation"), ("bare_shape", "operation")),
    (Level.SIMILAR, ("index", "opcode", "bare_shape"), ("bare_shape",)),
)
"""The levels that pair values only between those that are already matched."""


def _matching(old: _Pair, new: _Pair) -> Matching:
    alignment = Alignment(len(old.traits), len(new.traits))
    for level, names, required in _LEVELS:
        keys = _keys(old.traits, new.traits, names, required)
        alignment.align(*keys, level)
        alignment.pair_anywhere(*keys, level)
    for _ in range(_ROUNDS_OF_NEIGHBORS):
        before = int((alignment.partner != NONE).sum())
        for keys in _neighbor_keys(old, new, alignment):
            alignment.pair_anywhere(*keys, Level.NEIGHBORS, is_unique=True)
        if before == int((alignment.partner != NONE).sum()):
            break
    for level, names, required in _LENIENT_LEVELS:
        alignment.align(*_keys(old.traits, new.traits, names, required), level)
    return _result(old.traits, new.traits, alignment)


_ROUNDS_OF_NEIGHBORS: Final = 4


def _keys(old: Traits, new: Traits, names: tuple[str, ...], required: tuple[str, ...]) -> tuple[Column, Column]:
    columns = {name: np.concatenate((getattr(old, name), getattr(new, name))) for name in (*names, *required)}
    keys = combined([columns[name] for name in names], [columns[name] for name in required])
    return keys[: len(old)], keys[len(old) :]


def _neighbor_keys(old: _Pair, new: _Pair, alignment: Alignment) -> list[tuple[Column, Column]]:
    """Keys of the values that are not matched: their opcode and shape, and a matched value that reads them, or that
    they read.
    """
    # A matched value counts as the row of the old one, on both sides.
    old_row = np.where(alignment.partner != NONE, np.arange(len(old.traits)), NONE)
    if (alignment.partner != NONE).all() or (alignment.old_partner != NONE).all():
        return []
    old_rows, new_rows = _neighbors(old, old_row), _neighbors(new, alignment.old_partner)
    found = []
    for one, other in zip(old_rows, new_rows, strict=True):
        columns = [np.concatenate(pair) for pair in zip(one, other, strict=True)]
        traits = [
            np.concatenate((getattr(old.traits, name), getattr(new.traits, name)))
            for name in ("index", "opcode", "bare_shape")
        ]
        keys = combined([*columns, *traits], [columns[0], traits[2]])
        found.append((keys[: len(old.traits)], keys[len(old.traits) :]))
    return found


def _neighbors(pair: _Pair, matched: Column) -> tuple[tuple[Column, Column], tuple[Column, Column]]:
    """For each value the first matched value that reads it and the operand, and the first matched value that its
    instruction reads and the operand. `matched` has a number for each value that is matched.
    """
    dump, traits = pair.dump, pair.traits
    row_of_value = np.empty(len(traits), np.int64)
    row_of_value[traits.value] = np.arange(len(traits))
    number = matched[row_of_value]
    first_value = first_rows(np.arange(len(dump.names)), dump.values.name, np.arange(len(dump.values)))
    value = taken(dump.value_of_used_value, dump.uses.value)
    reader = taken(first_value, dump.uses.name)
    is_known = (value != NONE) & (reader != NONE) & (value != reader)
    value, reader, operand = value[is_known], reader[is_known], dump.uses.operand[is_known].astype(np.int64)

    width = int(number.max(initial=0)) + 1

    def first(of: Column, neighbor: Column) -> tuple[Column, Column]:
        neighbors = number[neighbor]
        rows = np.flatnonzero(neighbors != NONE)
        nothing = np.iinfo(np.int64).max
        least = np.full(len(dump.values), nothing)
        np.minimum.at(least, of[rows], operand[rows] * width + neighbors[rows])
        least = least[traits.value]
        is_found = least != nothing
        return np.where(is_found, least % width, NONE), np.where(is_found, least // width, NONE)

    # The other elements of a tuple have the readers of the first one's instruction.
    producer_of_first = first(reader, value)
    own_first = row_of_value[first_value[dump.values.name[traits.value]]]
    return first(value, reader), (producer_of_first[0][own_first], producer_of_first[1][own_first])


def _result(old: Traits, new: Traits, alignment: Alignment) -> Matching:
    new_of_old, level = np.full((2, len(old)), NONE)
    old_of_new = np.full(len(new), NONE)
    paired = np.flatnonzero(alignment.partner != NONE)
    partner = alignment.partner[paired]
    new_of_old[old.value[paired]] = new.value[partner]
    old_of_new[new.value[partner]] = old.value[paired]
    level[old.value[paired]] = alignment.level[paired]
    old_anchors, new_anchors = alignment.anchors()
    steps = np.stack((old.step[old_anchors], new.step[new_anchors]))
    steps = steps[:, (steps != NONE).all(axis=0)]
    # An instruction may define several values, which may have partners in several instructions.
    for side in (0, 1):
        steps = steps[:, np.append(True, np.diff(steps[side]) > 0)[: steps.shape[1]]]
    return Matching(new_of_old, old_of_new, level, steps[0], steps[1], {})


def _swapped(matching: Matching) -> Matching:
    level = np.full(len(matching.old_of_new), NONE)
    paired = np.flatnonzero(matching.old_of_new != NONE)
    level[paired] = matching.level[matching.old_of_new[paired]]
    return Matching(matching.old_of_new, matching.new_of_old, level, matching.new_steps, matching.old_steps, {})
