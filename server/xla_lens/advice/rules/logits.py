"""`logits`: the logits of all positions are live together."""

from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from math import prod
from operator import and_
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.arrays import Array
from xla_lens.advice.codes import Rule
from xla_lens.advice.dimensions import MARKS, length_of, total
from xla_lens.advice.facts import FLOATS, Dimensions, Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE

_CHUNKS: Final = 8
"""The number of chunks in which to compute the loss."""


def logits(facts: Facts) -> Iterator[Effect]:
    """Yield the logits and what has their shape: arrays with an element for each token and each entry of the
    vocabulary. A program without a backward pass that returns some of that needs it.
    """
    words, tokens = _vocabulary(facts), _token_counts(facts)
    if not words:
        return
    weights = {tuple(sorted(shape.lengths)) for value in facts.arguments if (shape := facts.squeezed(value))}
    shapes = {value: shape for value in facts.candidates if (shape := facts.squeezed(value)) and len(shape.lengths) > 1}
    found = [
        value
        for value, shape in shapes.items()
        if shape.type in FLOATS and facts.is_computed(value) and tuple(sorted(shape.lengths)) not in weights
        for length in [length for length in shape.lengths if length in words][:1]
        if any(count % (prod(shape.lengths) // length) == 0 for count in tokens) or _has_tokens(facts, value, length)
        if not (_may_be_hidden(facts, value, shape, length) or _are_averaged(facts, shape, length))
    ]
    found = _with_tokens(facts, found)
    if not any(_is_of_tokens(facts, value) for value in found):
        return
    if _are_mixed(facts, found):
        return
    counts = {prod(shapes[value].lengths) for value in found}
    # The features of the nodes of a graph are no product with a table, though edges look rows of them up.
    if facts.axes and counts.isdisjoint(facts.axes.exponentials | facts.axes.products | facts.axes.pairs.keys()):
        return
    if facts.backward_step is None and _are_returned(facts, counts):
        return
    like = {tuple(sorted(shapes[value].lengths)) for value in found}
    # XLA for TPUs may scatter into the elements of all dimensions as one.
    found += [value for value, shape in facts.computed.items() if shape.type in FLOATS and {*shape.lengths} <= counts]
    # What is not of floating-point numbers are masks of them, or their places in what is sorted.
    found += [
        value
        for value, shape in shapes.items()
        if shape.type not in FLOATS and facts.is_computed(value) and tuple(sorted(shape.lengths)) in like
    ]
    for value in found:
        yield facts.divided(value, _CHUNKS)
    if facts.dump.backend is Backend.CPU and facts.backward_step is not None:
        # The loop adds up the gradient of the table: in f32, from products in the type of the activations.
        arguments = ((facts.size[value], facts.squeezed(value)) for value in facts.arguments)
        tables = (size for size, shape in arguments if shape and len(shape.lengths) == 2 and {*shape.lengths} & words)
        size = max(tables, default=0) * len({shape.type for shape in shapes.values()} & {*FLOATS})
        start, end = min(facts.start[value] for value in found), max(facts.end[value] for value in found)
        yield Effect(NONE, (Piece(start, end, size),))


def _are_mixed(facts: Facts, found: Iterable[int]) -> bool:
    """Whether the forward pass computes some of the logits from others of several tokens, as where it divides them by
    the deviation of all. Attention and the like mix tokens before all of them.
    """
    arrays = [array for value in found if (array := facts.array(value)) and _is_forward(array)]
    # A loss has the places of its labels in the sequence, the logits behind a recurrent net may have lost theirs.
    axes = reduce(and_, (array.axes for array in arrays), ~0)
    return len({(array.added | array.joined) & axes for array in arrays}) > 1


def _is_forward(array: Array) -> bool:
    return array.is_data and array.is_trained and not array.is_from_backward


def _with_tokens(facts: Facts, found: list[int]) -> list[int]:
    """Leave out tables and their gradients, which are as large as logits where there are as many tokens as a layer is
    wide: of what depends on weights, other values have an axis of the tokens.
    """
    axes = {value: array.axes & ~MARKS for value in found if (array := _written(facts, value)) and array.is_trained}
    return [value for value in found if axes.get(value, True)] if any(axes.values()) else found


def _written(facts: Facts, value: int) -> Array | None:
    """What is known of an array, or of what is written into it, such as a gradient that begins with zeros."""
    array = facts.array(value)
    if array is None or array.is_trained or array.is_data:
        return array
    after = [made for read in facts.reads(value) for made in facts.defined_by(read.name)]
    return next((facts.array(made) for made in after if facts.size[made] == facts.size[value]), array)


def _may_be_hidden(facts: Facts, value: int, shape: Dimensions, length: int) -> bool:
    """Whether a value with the dimensions of logits may be that of a layer as wide as the vocabulary is long: the
    forward pass multiplies such layers with weights again, in the function that makes the value, or exponentiates no
    array of that size.
    """
    axes, writers = facts.axes, facts.origins.writers
    products = axes.with_weights.get(length) if axes else None
    if not products or axes is None or writers is None:
        return False
    lines = (writers.read(writers.module.row_of(name)).line for name in products)
    functions = {line and line.function for line in lines}
    line = facts.origins.of_value(value).line
    is_of_layer = (line and line.function) in functions
    return is_of_layer or prod(shape.lengths) not in axes.exponentials


def _are_averaged(facts: Facts, shape: Dimensions, length: int) -> bool:
    """Whether the forward pass averages something of the logits over positions, as for the entropy of the mean of all
    predictions: a loss of parts is another one.
    """
    return facts.axes is not None and length in facts.axes.left.get(prod(shape.lengths), ())


def _are_returned(facts: Facts, counts: Collection[int]) -> bool:
    """Whether the program returns as many elements as logits have, or nothing tells what it returns."""
    return facts.axes is None or any(total(result.dimensions) in counts for result in facts.axes.results)


def _token_counts(facts: Facts) -> set[int]:
    """The numbers of tokens that may go through the model at once."""
    # Each sequence may be one token longer than what the program computes: the first token has no prediction, and after
    # the last one none is needed. Time may be the first dimension.
    counts = {prod(lengths) for lengths in facts.tokens}
    counts |= {
        prod(lengths) // length * (length - 1) for lengths in facts.tokens for length in (lengths[0], lengths[-1])
    }
    # Several batches may go through it together, such as chosen and rejected answers.
    return {count * batches for count in counts for batches in range(1, len(facts.tokens) + 1)} - {0, 1}


def _has_tokens(facts: Facts, value: int, words: int) -> bool:
    """Whether the dimensions of an array are those of the tokens or of some of these, and one of a number of words."""
    array = facts.array(value)
    if array is None:
        return False
    rows = [dimension for dimension in array.dimensions if length_of(dimension) not in (1, words)]
    return len(rows) > 0 and all(axes & facts.axes_of_tokens for dimension in rows for axes, _ in dimension)


def _is_of_tokens(facts: Facts, value: int) -> bool:
    """Whether an array of the size of logits may have any. The gradient that each sequence has of a table may be as
    large, but the forward pass computes nothing like it, and it has sequences, but no tokens.
    """
    shape = facts.squeezed(value)
    if shape is None or not facts.axes or not facts.is_backward(facts.origins.of_value(value).op_name):
        return True
    count = prod(shape.lengths)
    axes, words = facts.axes.of_count[count] & ~MARKS, max(shape.lengths)
    return not axes or facts.axis_elements(axes) * len(facts.tokens) * words >= count


def _vocabulary(facts: Facts) -> set[int]:
    """The lengths that may be that of the vocabulary: the longer ones of tables, which no other argument has."""
    longer, others = set[int](), set[int]()
    for value in facts.arguments if facts.tokens else ():
        shape = facts.squeezed(value)
        # The logits may have a bias.
        if shape and shape.type in FLOATS and len(shape.lengths) > 1:
            is_table = len(shape.lengths) == 2
            longer.update([max(shape.lengths)] if is_table else [])
            others.update([min(shape.lengths)] if is_table else shape.lengths)
    # Tables of positions and inputs that are no tokens have the lengths of batches and of sequences.
    for lengths in facts.tokens:
        others.update((*lengths, lengths[0] - 1, lengths[-1] - 1, prod(lengths)))
    found = longer - others
    # Tokens or labels select elements of what has the length of the vocabulary.
    return found & facts.axes.looked_up if found and facts.axes else set()


def _what(subject: Subject) -> Inlines:
    what = "loss" if subject.is_training else "what needs them"
    return (f"Compute logits and {what} in {_CHUNKS} chunks", *subject.in_function)


def _snippet(subject: Subject) -> str:
    # Devices may share the sequences, and would all compute a chunk of them.
    of = "positions" if subject.is_sharded else "sequences, or of positions if no loss needs others"
    if not subject.is_training:
        return f"results = jax.lax.map(results_of, chunks)  # of {of}; then put them together or add them up"
    notes = (f"of {of}", "what needs all losses, such as a sum, comes after", *subject.within_modules("map"))
    return f"losses = jax.lax.map(jax.checkpoint(loss_of), chunks)  # {'; '.join(notes)}"


ROW: Final = RuleRow(
    rule=Rule.LOGITS, find=logits, what=_what, snippet=_snippet, cost=Cost.COMPUTE, factor=lambda _: _CHUNKS
)
