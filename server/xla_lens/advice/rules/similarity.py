"""`similarity`: a loss compares all examples of a batch with all others at once."""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.axes import Axes
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Dimensions, Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines, Name, Role

_CHUNKS: Final = 8
"""The number of chunks of rows."""

_MOST_REDUCTIONS: Final = 6
"""A softmax over rows and one over columns reduce four times, and a loss may have their means. Rows and columns that
are normalized in turn need more.
"""


def similarity(facts: Facts) -> Iterator[Effect]:
    """Yield what has an element for each pair of two examples, for a part of the rows."""
    if facts.backward_step is None:
        return
    inputs = filter(None, map(facts.dimensions, facts.inputs))
    # On several devices, rows are compared with those of all.
    counts = {shape.lengths[0] for shape in inputs if shape.lengths} - {1}
    shapes = {
        value: shape
        for value in facts.computed
        if (shape := facts.squeezed(value)) and len(shape.lengths) > 1
        if all(any(length % count == 0 for count in counts) for length in shape.lengths)
    }
    axes = facts.axes if shapes else None
    if axes is None:
        return
    weights = {_sorted(shape) for value in facts.arguments if (shape := facts.squeezed(value))}
    found = {_sorted(shape) for shape in _pairs(facts, axes, counts)} - weights
    for value, shape in shapes.items():
        if _sorted(shape) in found:
            yield facts.divided(value, _CHUNKS)


def _pairs(facts: Facts, axes: Axes, counts: Iterable[int]) -> Iterator[Dimensions]:
    """The dimensions of similarities whose rows can be computed one by one: nothing but reductions reads them. `counts`
    are the numbers of examples of the inputs.
    """
    examples = reduce(or_, map(facts.axis, counts), 0)
    returned = {lengths for result in axes.results if len(lengths := result.lengths) > 1}
    for count, (lengths, own) in axes.pairs.items():
        is_mixed = axes.summed[count] & own or axes.reductions[count] > _MOST_REDUCTIONS
        others = axes.products | axes.others | axes.centred
        if not (own & ~examples or is_mixed or lengths in returned or count in others):
            yield Dimensions("f32", lengths)


def _sorted(shape: Dimensions) -> tuple[int, ...]:
    return tuple(sorted(shape.lengths))


def _what(subject: Subject) -> Inlines:
    shape = Name(subject.groups[0].shape, role=Role.SHAPE)
    return ("Compare the examples in ", shape, f" in {_CHUNKS} chunks of rows", *subject.in_function)


def _snippet(subject: Subject) -> str:
    code = "sums = jax.lax.map(jax.checkpoint(sums_of_rows), chunks)  # add them up, then compute the loss of all rows"
    code += "; again for the columns, if these are compared"
    return f"{code}; each chunk with some rows of each device" if subject.is_sharded else code


ROW: Final = RuleRow(
    rule=Rule.SIMILARITY, find=similarity, what=_what, snippet=_snippet, cost=Cost.COMPUTE, factor=lambda _: _CHUNKS
)
