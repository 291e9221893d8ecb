"""The rules that find actions: one function each, which yields what would be left of each value, and a row in `RULES`.

Saved activations, which take the most words, are in `model/advice/rematerialize.py`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Final, NamedTuple

from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.facts import FLOATS, Change, Dimensions, Facts
from xla_lens.model.advice.rematerialize import rematerialize, saved
from xla_lens.model.attribution.parameters import moment_of, told_path
from xla_lens.model.memory.donation import Fit, missed_donations
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE

SHORTEST_SEQUENCE: Final = 128
"""Attention scores of shorter sequences are no problem."""

CHUNKS: Final = 8
"""The number of chunks in which to compute the loss."""

MICROBATCHES: Final = 4
"""The number of parts of a batch."""


# ---------------------------------------------------------------- arguments


def donate(facts: Facts) -> Iterator[Change]:
    """Arguments that the caller does not donate although an output could use their buffers. After donation an argument
    is live only until it is read for the last time.
    """
    dump, color = facts.dump, facts.space.color
    rows = [row for row in missed_donations(dump) if dump.values.space[row.parameter] == color]
    copies = {facts.name[row.first] for row in rows if facts.opcode(row.first) == b"copy"}
    # What reads an argument while it writes the output, but not in place, reads a copy then.
    copied = [row for row in rows if row.fit is Fit.READ_LATER and row.last_read == row.birth]
    yield Change(NONE, tuple(facts.piece(row.parameter, row.birth, row.birth) for row in copied))
    for row in rows:
        value, last = row.parameter, row.birth - 1
        # At the step that writes in place, both share the bytes.
        end = min(last, last if row.last_read is None else row.last_read)
        # Where the buffers of loops have the same initial value, XLA on a CPU leaves the first of them where it is.
        is_left = dump.backend is not Backend.TPU and any(read.name in copies for read in facts.reads(row.first))
        is_unneeded = dump.values.space[row.output] == color and not is_left
        outputs = (dump.values.allocation.item(row.output),) if is_unneeded else ()
        yield Change(value, (facts.piece(value, facts.start[value], end),), outputs=outputs)


def optimizer_state(facts: Facts) -> Iterator[Change]:
    """The first moment of the optimizer in bfloat16: the first of several trees of optimizer state, or the only one."""
    state = [value for value in facts.idle_arguments if (shape := facts.dimensions(value)) and shape.type == "f32"]
    trees: dict[str, list[int]] = {}
    for value in sorted(state):
        trees.setdefault(moment_of(told_path(facts.op_name(facts.name[value])) or ""), []).append(value)
    names = sorted(name for name in trees if name)
    for value in trees[names[0]] if names else ():
        for other in facts.dump.values_of_allocation(facts.dump.values.allocation.item(value)).tolist():
            yield _divided(facts, other, 2)


def _divided(facts: Facts, value: int, parts: int) -> Change:
    return Change(value, (Piece(facts.start[value], facts.end[value], facts.size[value] // parts),))


# ---------------------------------------------------------------- parts of a model


def layers(facts: Facts) -> Iterator[Change]:
    """What the layers save for the backward pass. The logits are not of a layer."""
    yield from rematerialize(facts, {change.value for change in facts.found(logits)})


def attention_scores(facts: Facts) -> Iterator[Change]:
    """Values of attention that have a row and a column for each position of sequences, computed for some rows at a
    time; not those of kernels. What the forward pass saves of them is gone.
    """
    stored = {change.value: change for change in facts.found(saved)}
    shapes = {
        value: shape
        for value in dict.fromkeys((*facts.candidates, *stored))
        if facts.is_computed(value)
        and (shape := facts.of_layer(value, is_stacked=value in stored and stored[value].layers > 1))
    }
    squares = ((value, shape) for value, shape in shapes.items() if _is_square(facts, shape))
    told = {shape.lengths for value, shape in squares if _is_attention(facts, value, shape)}
    # The results of attention may be square, too, but they are smaller.
    scores = {lengths for lengths in told if 4 * prod(lengths) > max(map(prod, told))}
    for value in (value for value, shape in shapes.items() if shape.lengths in scores):
        whole = Change(value, (facts.piece(value, facts.start[value], facts.end[value]),))
        change = stored.get(value, whole)
        pieces = (piece._replace(size_bytes=piece.size_bytes // CHUNKS) for piece in change.pieces)
        yield change._replace(pieces=tuple(pieces))


def _is_square(facts: Facts, shape: Dimensions) -> bool:
    long = [length for length in shape.lengths if length >= SHORTEST_SEQUENCE]
    is_cross = len({lengths[-1] for lengths in facts.tokens}.intersection(long)) > 1
    return shape.type in FLOATS and (len(long) > len({*long}) or is_cross)


def _is_attention(facts: Facts, value: int, shape: Dimensions) -> bool:
    origin = facts.origins.of_value(value)
    text = f"{origin.op_name} {origin.line.function if origin.line else None}"
    is_told = _ATTENTION.search(text) or (len(shape.lengths) > 2 and _SOFTMAX.search(origin.op_name or ""))
    return bool(is_told) and not _KERNEL.search(text)


_ATTENTION: Final = re.compile(r"attention|attn|softmax|attend", re.IGNORECASE)
_SOFTMAX: Final = re.compile(r"/(?:exp|reduce_max)$")
_KERNEL: Final = re.compile(r"pallas_call|flash|splash", re.IGNORECASE)


def logits(facts: Facts) -> Iterator[Change]:
    """The logits of training and what has their shape: arrays with an element for each token and each entry of the
    vocabulary.
    """
    if facts.backward_step is None:
        return
    # Each sequence may be one token longer than what the program computes: the first token has no prediction, and after
    # the last one none is needed.
    counts = {prod((*lengths[:-1], last)) for lengths in facts.tokens for last in (lengths[-1], lengths[-1] - 1)}
    words, tokens = _vocabulary(facts), counts - {0, 1}
    weights = {tuple(sorted(shape.lengths)) for value in facts.arguments if (shape := facts.squeezed(value))}
    shapes = {value: shape for value in facts.candidates if (shape := facts.squeezed(value)) and len(shape.lengths) > 1}
    found = [
        value
        for value, shape in shapes.items()
        if shape.type in FLOATS and facts.is_computed(value) and tuple(sorted(shape.lengths)) not in weights
        for length in [length for length in shape.lengths if length in words][:1]
        if any(total % (prod(shape.lengths) // length) == 0 for total in tokens)
    ]
    for value in found:
        yield _divided(facts, value, CHUNKS)
    if found and facts.dump.backend is Backend.CPU:
        # The loop adds up the gradient of the table: in f32, from products in the type of the activations.
        arguments = ((facts.size[value], facts.squeezed(value)) for value in facts.arguments)
        tables = (size for size, shape in arguments if shape and len(shape.lengths) == 2 and {*shape.lengths} & words)
        size = max(tables, default=0) * len({shape.type for shape in shapes.values()} & {*FLOATS})
        start, end = min(facts.start[value] for value in found), max(facts.end[value] for value in found)
        yield Change(NONE, (Piece(start, end, size),))


def _vocabulary(facts: Facts) -> set[int]:
    """The lengths that may be that of the vocabulary: the longer ones of few tables, which no other argument has."""
    longer, others = Counter[int](), set[int]()
    for value in facts.arguments:
        shape = facts.squeezed(value)
        # The logits may have a bias.
        if shape and shape.type in FLOATS and len(shape.lengths) > 1:
            is_table = len(shape.lengths) == 2
            longer.update([max(shape.lengths)] if is_table else [])
            others.update([min(shape.lengths)] if is_table else shape.lengths)
    # Tables of positions and inputs that are no tokens have the lengths of batches and of sequences.
    others |= {length for lengths in facts.tokens for length in (*lengths, lengths[-1] - 1, prod(lengths))}
    return {length for length, count in longer.items() if count <= _MOST_TABLES} - others


_MOST_TABLES: Final = 6
"""The embedding and what computes the logits, each with two moments."""


_LOSS: Final = re.compile(r"log_softmax|logsumexp|xent|cross_entropy|take_along_axis|one_hot", re.IGNORECASE)


def microbatches(facts: Facts) -> Iterator[Change]:
    """The batch in parts, one after another: whatever the program computes from it takes a part of its bytes, and the
    gradients of the parts are added up in buffers of their own until the backward pass is done.
    """
    returned = facts.returned
    arguments = {value: shape for value in facts.all_arguments if (shape := facts.dimensions(value))}
    counts = Counter(arguments.values())
    inputs = [value for value, shape in arguments.items() if counts[shape] > returned[shape] and len(shape.lengths) > 1]
    largest = max(inputs, key=lambda value: (arguments[value].type not in FLOATS, facts.size[value]), default=None)
    begin, batch = facts.backward_step, largest is not None and arguments[largest].lengths[0]
    if begin is None or not batch or batch % MICROBATCHES:
        return
    weights = [shape.lengths for shape in arguments.values() if shape in returned or shape.lengths[0] != batch]
    weights += [lengths[1:] for lengths in weights]
    alike, sizes = set(map(_sorted, weights)), set(map(prod, weights))
    shapes = {value: shape for value in facts.candidates if (shape := facts.dimensions(value))}
    computed = {value: shape for value, shape in shapes.items() if facts.is_computed(value)}
    of_pairs = (value for value, shape in computed.items() if shape.lengths == (batch, batch))
    if any(_LOSS.search(facts.op_name(facts.name[value]) or "") for value in of_pairs):
        # A contrastive loss compares each example with all others of the batch.
        return
    kept = [value for value, shape in arguments.items() if shape in returned]
    names = {facts.op_name(facts.name[value]) for value in kept}
    for value, shape in computed.items():
        op_name = facts.op_name(facts.name[value]) or facts.origins.of_value(value).op_name or ""
        # A batch may have the dimensions of a weight.
        is_gradient = facts.is_backward(op_name) or op_name.endswith("convert_element_type")
        is_forward = shape.lengths[0] == batch and not is_gradient
        is_weight = _sorted(shape.lengths) in alike or (prod(shape.lengths) in sizes and batch not in shape.lengths)
        # XLA gives copies of a weight its name, such as one with padding.
        if op_name not in names and (is_forward or not is_weight):
            yield _divided(facts, value, MICROBATCHES)
    trained = (value for value in kept if any(0 <= read.step < begin for read in facts.reads(value)))
    backward = (value for value in facts.candidates if facts.is_backward(facts.op_name(facts.name[value])))
    end = max((facts.start[value] for value in backward), default=begin)
    yield Change(NONE, (Piece(0, end, sum(facts.size[value] for value in trained)),))


def _sorted(lengths: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(length for length in lengths if length > 1))


# ---------------------------------------------------------------- the table


class RuleRow(NamedTuple):
    """A rule: what it finds, and the number of parts into which it divides buffers, None if it does not."""

    rule: Rule
    find: Callable[[Facts], Iterator[Change]]
    factor: int | None = None


RULES: Final = (
    RuleRow(Rule.DONATE, donate),
    RuleRow(Rule.REMATERIALIZE, layers),
    RuleRow(Rule.OPTIMIZER_STATE, optimizer_state),
    RuleRow(Rule.ATTENTION_SCORES, attention_scores),
    RuleRow(Rule.LOGITS, logits, CHUNKS),
    RuleRow(Rule.MICROBATCHES, microbatches, MICROBATCHES),
)
