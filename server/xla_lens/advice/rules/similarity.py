"""`similarity`: a program compares all examples with all others at once."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial, reduce
from math import prod
from operator import or_
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.axes import Axes, Pairs
from xla_lens.advice.codes import Rule
from xla_lens.advice.dimensions import FIRST_AXIS, Lengths
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines, Name, Role

_CHUNKS: Final = 8
"""The number of chunks of rows."""

_MOST_COORDINATES: Final = 8
_FEWEST_PARTICLES: Final = 128
"""The pairs of fewer particles are no problem. The axes of a module take long to follow."""


def similarity(facts: Facts) -> Iterator[Effect]:
    """Yield what has elements for each pair of two examples, for a part of the rows."""
    if facts.mapped:
        return
    # On several devices, rows are compared with those of all.
    counts = _leading_lengths(facts, facts.inputs)
    found = [*_compared(facts, counts, lambda: facts.axes, reduce(or_, map(facts.axis_of_examples, counts), 0))]
    yield from found
    # A step of a simulation returns the particles that it compares. Weights that are trained are no examples.
    for count in _leading_lengths(facts, facts.all_arguments) if not found else ():
        if count >= _FEWEST_PARTICLES and (facts.backward_step is None or _are_particles(facts, count)):
            yield from _compared(facts, {count}, partial(facts.axes_of_leading, count), FIRST_AXIS)


def _are_particles(facts: Facts, count: int) -> bool:
    """Whether all arrays that a program gets have a row of few numbers for each particle: it differentiates an energy
    by their places.
    """
    shapes = [shape.lengths for shape in facts.shapes_of_arguments.values() if len(shape.lengths) > 1]
    return bool(shapes) and all(lengths[0] == count and lengths[-1] <= _MOST_COORDINATES for lengths in shapes)


def _leading_lengths(facts: Facts, arguments: Iterable[int]) -> set[int]:
    shapes = filter(None, map(facts.dimensions, arguments))
    return {shape.lengths[0] for shape in shapes if shape.lengths} - {1}


def _compared(
    facts: Facts, counts: Collection[int], axes_of: Callable[[], Axes | None], examples: int
) -> Iterator[Effect]:
    """Yield what compares examples, of which there are so many, by the axes of these."""
    weights = {_sorted(shape.lengths) for value in facts.arguments if (shape := facts.squeezed(value))}
    computed = {value: shape for value in facts.computed if (shape := facts.squeezed(value))}
    # Many values have one of few shapes.
    likely = {
        shape
        for shape in {*computed.values()}
        if _sorted(shape.lengths) not in weights
        if sum(any(length % count == 0 for count in counts) for length in shape.lengths) > 1
    }
    shapes = {value: shape for value, shape in computed.items() if shape in likely}
    # The axes of a module take long to follow.
    axes = axes_of() if shapes else None
    if axes is None:
        return
    # The words of a frozen model are looked up, and are no examples.
    words = axes.looked_up - {lengths[0] for lengths in facts.tokens}
    found = {_sorted(pairs.lengths) for pairs in _pairs(axes, examples) if words.isdisjoint(pairs.of_examples)}
    for value, shape in shapes.items():
        if _sorted(shape.lengths) in found:
            array = facts.array(value)
            # A layer may be as wide as the batch.
            if prod(shape.lengths) not in axes.products or (array and array.is_of_pairs):
                yield facts.divided(value, _CHUNKS)


def _pairs(axes: Axes, examples: int) -> Iterator[Pairs]:
    """The arrays whose rows can be computed one by one: nothing but reductions reads them, or the other arrays of the
    same pairs. `examples` are their axes.
    """
    returned = {lengths for result in axes.results if len(lengths := result.lengths) > 1}
    mixed = {
        pairs.of_examples
        for count, pairs in axes.pairs.items()
        if pairs.axes & ~examples
        or axes.summed[count] & pairs.axes
        or pairs.lengths in returned
        or count in axes.others | axes.centred
    }
    for pairs in axes.pairs.values():
        # Both sides of a product of positions may be of one length, and their numbers that of the examples.
        if pairs.axes and pairs.of_examples not in mixed:
            yield pairs


def _sorted(lengths: Lengths) -> Lengths:
    return tuple(sorted(length for length in lengths if length > 1))


def _what(subject: Subject) -> Inlines:
    shape = Name(subject.groups[0].shape, role=Role.SHAPE)
    return ("Compare the examples in ", shape, f" in {_CHUNKS} chunks of rows", *subject.in_function)


def _snippet(subject: Subject) -> str:
    if subject.is_training:
        code = (
            "sums = jax.lax.map(jax.checkpoint(sums_of_rows), chunks)  # add them up; what needs all rows comes after"
        )
    else:
        code = "found = jax.lax.map(of_rows, chunks)  # of each row; add up what is summed over rows"
    code += "; again for the columns, if these are compared"
    return f"{code}; each chunk with some rows of each device" if subject.is_sharded else code


ROW: Final = RuleRow(
    rule=Rule.SIMILARITY, find=similarity, what=_what, snippet=_snippet, cost=Cost.COMPUTE, factor=lambda _: _CHUNKS
)
