"""`attention-scores`: attention stores a score for each pair of positions."""

from collections.abc import Iterator, Mapping
from functools import reduce
from math import prod
from operator import or_
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.arrays import Array
from xla_lens.advice.codes import Rule
from xla_lens.advice.dimensions import MARKS, OF_FACTORS, OF_LEFT, OF_RIGHT, axes_of
from xla_lens.advice.facts import FLOATS, Dimensions, Effect, Facts
from xla_lens.advice.op_names import is_random
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.rematerialize import saved
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.parameters import told_path

_SHORTEST_SEQUENCE: Final = 128
"""Attention scores of shorter sequences are no problem."""

_BLOCKS: Final = 8
"""The number of blocks of queries."""


def attention_scores(facts: Facts) -> Iterator[Effect]:
    """Yield the values of attention that have a row and a column for each position of sequences, computed for some rows
    at a time; not those of kernels. What the forward pass saves of them is gone.
    """
    stored = {effect.value: effect for effect in facts.found(saved)}
    shapes = {
        value: shape
        for value in dict.fromkeys((*facts.candidates, *stored))
        if facts.is_computed(value)
        and (shape := facts.of_layer(value, is_stacked=value in stored and stored[value].layers > 1))
    }
    of_attention = [value for value, shape in shapes.items() if _is_attention(facts, value, shape)]
    for value in _as_large_as_scores(facts, shapes) if of_attention else ():
        del shapes[value]
    told = {shapes[value].lengths for value in of_attention if value in shapes}
    # The results of attention may be square, too, but they are smaller.
    scores = {lengths for lengths in told if 4 * prod(lengths) > max(map(prod, told))}
    for value in (value for value, shape in shapes.items() if shape.lengths in scores):
        # Each block draws the random bits and the mask of its own dropout. Other masks may be made once for all.
        if shapes[value].type not in FLOATS and not is_random(facts.origins.of_value(value).op_name):
            continue
        whole = Effect(value, (facts.piece(value, facts.start[value], facts.end[value]),))
        effect = stored.get(value, whole)
        pieces = (piece._replace(size_bytes=piece.size_bytes // _BLOCKS) for piece in effect.pieces)
        yield effect._replace(pieces=tuple(pieces))


def _as_large_as_scores(facts: Facts, shapes: Mapping[int, Dimensions]) -> list[int]:
    """The values that have as many elements as products of two positions, but are none, such as a layer four times as
    wide as the 8 heads of 256 positions.
    """
    if facts.axes is None:
        return []
    alike = [value for value, shape in shapes.items() if prod(shape.lengths) in facts.axes.scores]
    arrays = {value: array for value in alike if (array := facts.array(value))}
    counts = {prod(shapes[value].lengths) for value, array in arrays.items() if array.is_of_pairs}
    return [
        value
        for value, array in arrays.items()
        if not array.axes & OF_FACTORS and prod(shapes[value].lengths) in counts
        # Random numbers depend on a key alone, and masks on no argument.
        if (array.is_data and array.is_trained) or told_path(facts.origins.of_value(value).op_name)
    ]


def _is_attention(facts: Facts, value: int, shape: Dimensions) -> bool:
    """Whether the program computes products of two positions of as many elements, exponentiates them, and averages
    other values over the positions with what comes out. The positions are those of one sequence, perhaps with others
    before it, such as a learned prefix, of two, or of one and of learned queries.
    """
    long, count = [length for length in shape.lengths if length >= _SHORTEST_SEQUENCE], prod(shape.lengths)
    # To follow axes takes long, and no attention is without exponentials.
    if shape.type not in FLOATS or len(long) < 2 or not facts.has_opcode(b"exponential") or facts.axes is None:
        return False
    axes = facts.axes
    if count not in axes.exponentials & axes.weights:
        return False
    # A softmax over the queries, as over the slots of slot attention, needs the scores of all queries at once.
    if axes.averaged[count] not in (OF_LEFT, OF_RIGHT) or axes.compared[count] & ~axes.averaged[count]:
        return False
    # Scores of relative positions get a column more, and are moved from row to row.
    if any(count <= other <= count + count // _SHORTEST_SEQUENCE for other in axes.interleaved):
        return False
    is_cross = len({lengths[-1] for lengths in facts.tokens}.intersection(long)) > 1
    is_square = len(long) > len({*long}) or is_cross or _has_axis_twice(facts.array(value))
    return (is_square and count in axes.scores) or tuple(sorted(shape.lengths)) in axes.learned_scores


def _has_axis_twice(array: Array | None) -> bool:
    """Whether the positions of both factors of a product have an axis in common."""
    dimensions = array.dimensions if array else ()
    left, right = (
        reduce(or_, (axes for axes in map(axes_of, dimensions) if axes & mark), 0) for mark in (OF_LEFT, OF_RIGHT)
    )
    return bool(left & right & ~MARKS)


def _what(subject: Subject) -> Inlines:
    what: Inlines = ("Compute attention in blocks of queries", *subject.in_function)
    if not subject.is_random:
        return what
    return (*what, ". This changes the numbers slightly, because other random numbers are drawn")


def _snippet(subject: Subject) -> str:
    attend = "jax.checkpoint(attend)" if subject.is_training else "attend"
    return f"attended = jax.lax.map({attend}, blocks_of_queries)  # about {_BLOCKS} blocks"


ROW: Final = RuleRow(
    rule=Rule.ATTENTION_SCORES,
    find=attention_scores,
    what=_what,
    snippet=_snippet,
    cost=Cost.COMPUTE,
    factor=lambda _: _BLOCKS,
)
