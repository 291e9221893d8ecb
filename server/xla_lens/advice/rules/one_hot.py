"""`one-hot`: products with large one-hot arrays move rows to other places."""

from collections.abc import Iterator
from math import prod
from typing import Final

from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.rematerialize import stacked
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines, Name, Role


def one_hot(facts: Facts) -> Iterator[Effect]:
    """Yield the arrays that have an element for each token, each expert and each place of the expert: the one-hot
    arrays that send tokens to experts by a product, and what is computed from them element by element. A scatter and a
    gather need none.
    """
    module = facts.origins.module
    axes = facts.axes if module and _COUNTING in module.data else None
    if axes is None:
        return
    factors = {count for count in axes.one_hot_factors if axes.one_hot.get(count, 0) >= _NUMBERS}
    if not factors:
        return
    # A factor may be the sum of a larger array, which has an axis for each expert that a token goes to.
    sources = {count for count, numbers in axes.one_hot.items() if numbers >= _NUMBERS and count > min(factors)}
    # A TPU may compute it from one-hot vectors of places that it saves; those of experts are small.
    smallest = min(factors)
    vectors = max((count for count in axes.one_hot if count < smallest and smallest % count == 0), default=smallest)
    counts = (factors | sources | {vectors}) - axes.products
    # A loop over layers stacks those of each.
    stacks = stacked(facts)
    for value, shape in facts.computed.items():
        of_layer = facts.of_layer(value, is_stacked=value in stacks)
        if counts & {prod(shape.lengths), prod(of_layer.lengths) if of_layer else 0}:
            yield Effect(value)


_COUNTING: Final = b" iota("
"""How a module counts. One-hot arrays compare such numbers with others."""

_NUMBERS: Final = 2
"""The number of an expert and that of a place in it. One-hot vectors alone are small, or labels."""


def _what(subject: Subject) -> Inlines:
    shape = Name(subject.groups[0].shape, role=Role.SHAPE)
    return ("Scatter tokens to experts and gather the results instead of products with ", shape, *subject.in_function)


def _snippet(_subject: Subject) -> str:
    return (
        'inside = jnp.zeros((experts, places, width)).at[expert, place].set(tokens, mode="drop")'
        '  # back: outside.at[expert, place].get(mode="fill", fill_value=0)'
    )


ROW: Final = RuleRow(rule=Rule.ONE_HOT, find=one_hot, what=_what, snippet=_snippet)
