"""The rules that find actions: one function each, which yields what would be left of each value, and a row in `RULES`.

Saved activations, which take the most words, are in `model/advice/rematerialize.py`.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from xla_lens.model.advice.actions import Certainty
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.donation import Fit
from xla_lens.model.advice.edits import Piece
from xla_lens.model.advice.facts import FLOATS, Change, Facts
from xla_lens.model.advice.padding import padding_of
from xla_lens.model.advice.rematerialize import GATHERING, rematerialize

SHORTEST_SEQUENCE: Final = 128
"""Attention scores of shorter sequences are no problem."""

CHUNKS: Final = 8
"""The number of chunks in which to compute the loss."""


# ---------------------------------------------------------------- arguments


def donate(facts: Facts, fit: Fit) -> Iterator[Change]:
    """Arguments that the caller does not donate although an output could use their buffers. After donation an argument
    is live only until it is read for the last time.
    """
    color, allocation = facts.dump.values.color, facts.dump.values.allocation
    for row in facts.missed_donations:
        value, output = row.parameter, row.output
        if row.fit is fit and color[value] == facts.space.color:
            # At the step that writes in place, both share the bytes.
            last = min(row.birth - 1, row.birth - 1 if row.last_read is None else row.last_read)
            unneeded = (int(allocation[output]),) if color[output] == facts.space.color else ()
            yield Change(value, (facts.piece(value, facts.start[value], last),), outputs=unneeded)


def optimizer_state(facts: Facts) -> Iterator[Change]:
    """Optimizer state in host memory: only what the update reads is left, while it reads it."""
    for value in sorted(facts.idle_arguments):
        steps = [read.step for read in facts.reads(value)]
        yield Change(value, (facts.piece(value, min(steps), max(steps)),))
        for other in facts.dump.values_of_allocation(int(facts.dump.values.allocation[value])).tolist():
            if other != value and facts.start[other] >= 0:
                yield _at_its_start(facts, other)


def _at_its_start(facts: Facts, value: int) -> Change:
    return Change(value, (facts.piece(value, facts.start[value], facts.start[value]),))


def _divided(facts: Facts, value: int, parts: int) -> Change:
    return Change(value, (Piece(facts.start[value], facts.end[value], facts.size[value] // parts),))


# ---------------------------------------------------------------- parts of a model


def gradients(facts: Facts) -> Iterator[Change]:
    """Gradients that wait for the update while the optimizer state is live."""
    lengths = {shape.lengths for value in facts.idle_arguments if (shape := facts.squeezed(value))}
    for value in facts.candidates if lengths else ():
        shape = facts.squeezed(value)
        if shape is None or shape.lengths not in lengths or not facts.is_computed(value):
            continue
        if len(shape.lengths) > 1 and _is_collected(facts, value):
            yield _divided(facts, value, shape.lengths[0])
        elif facts.is_backward(facts.name[value]):
            yield _at_its_start(facts, value)


def _is_collected(facts: Facts, value: int) -> bool:
    """Whether a loop of the backward pass collects the gradients of all layers in the bytes of a value."""
    values = (value, *facts.same_slice(value))
    is_in_loop = any(facts.opcode(other) in (b"while", b"parameter") for other in values)
    return is_in_loop and any(facts.is_backward(facts.name[other]) for other in values)


def attention_scores(facts: Facts) -> Iterator[Change]:
    """Values of attention that have a row and a column for each position of a sequence; not those of kernels."""
    for value in facts.candidates:
        shape, op_name = facts.dimensions(value), facts.op_name(facts.name[value]) or ""
        long = [length for length in shape.lengths if length >= SHORTEST_SEQUENCE] if shape else []
        is_square = shape is not None and shape.type in FLOATS and len(long) > len({*long})
        if is_square and facts.is_computed(value) and _ATTENTION.search(op_name) and not _KERNEL.search(op_name):
            yield Change(value)


_ATTENTION: Final = re.compile(r"attention|attn|softmax", re.IGNORECASE)
_KERNEL: Final = re.compile(r"pallas_call|flash|splash", re.IGNORECASE)


def logits(facts: Facts) -> Iterator[Change]:
    """The logits and what has their shape: the largest arrays from which the loss is computed."""
    shapes = {value: shape for value in facts.candidates if (shape := facts.squeezed(value)) and len(shape.lengths) > 1}
    lengths = {
        tuple(sorted(shape.lengths))
        for value, shape in shapes.items()
        if _LOSS.search(facts.op_name(facts.name[value]) or "")
    }
    largest = max(map(max, lengths), default=0)
    for value, shape in shapes.items():
        is_like = tuple(sorted(shape.lengths)) in lengths and largest in shape.lengths
        if is_like and shape.type in FLOATS and facts.is_computed(value):
            yield _divided(facts, value, CHUNKS)


_LOSS: Final = re.compile(r"log_softmax|logsumexp|xent|cross_entropy|take_along_axis|one_hot", re.IGNORECASE)


def gathered(facts: Facts) -> Iterator[Change]:
    """Results of all-gathers that wait to be read: before their first read, or between the forward and the backward
    pass. Gathering again costs communication instead of memory.
    """
    for value in facts.candidates:
        if facts.opcode(value) in GATHERING and facts.is_computed(value):
            reads = [read for read in facts.reads(value) if read.step >= facts.start[value]]
            passes = ([read.step for read in reads if facts.is_backward(read.name) is late] for late in (False, True))
            pieces = tuple(facts.piece(value, min(steps) - 1, max(steps)) for steps in passes if steps)
            if pieces:
                yield Change(value, pieces, part=facts.place(value))


# ---------------------------------------------------------------- the same data twice


def wide_copy(facts: Facts) -> Iterator[Change]:
    """Values converted to a wider type while the narrow value stays live."""
    for value, original in _copies(facts, b"convert", _CONVERTING):
        before, after = facts.dimensions(original), facts.dimensions(value)
        if before and after and after.type in _WIDER.get(before.type, ()):
            yield Change(value, part=facts.place(value))


def two_layouts(facts: Facts) -> Iterator[Change]:
    """Copies in another layout while the original stays live."""
    for value, original in _copies(facts, b"copy", _MOVING):
        before, after = facts.dimensions(original), facts.dimensions(value)
        is_moved = before != after or facts.layout(original) != facts.layout(value)
        if before and after and before.type == after.type and is_moved:
            yield Change(value)


def _copies(facts: Facts, opcode: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield copies, and the first operand of as many elements that each may be a copy of, both live at the peak."""
    for value in facts.candidates:
        name = facts.name[value]
        if value not in facts.owned or not pattern.match(facts.dump.names[name]):
            continue
        if facts.opcode(value) in (opcode, b"fusion", b"transpose"):
            operands = (other for other in facts.operands(name) if other in facts.owned and other != value)
            original = next(operands, None)
            if original is not None and _lengths(facts, original) == _lengths(facts, value):
                yield value, original


def _lengths(facts: Facts, value: int) -> list[int] | None:
    shape = facts.dimensions(value)
    return sorted(shape.lengths) if shape else None


_WIDER: Final = {"bf16": ("f32", "f64"), "f16": ("f32", "f64"), "f32": ("f64",)}
_CONVERTING: Final = re.compile(rb"(?:wrapped_)?convert(?:_bitcast)?(?:_fusion)?(?:\.|$)")
_MOVING: Final = re.compile(rb"(?:wrapped_)?(?:transpose|copy)(?:_bitcast)?(?:_(?:copy|transpose|fusion))*(?:\.|$)")
"""Names of instructions that only convert or only move. XLA names a fusion after the instructions in it."""


def padding(facts: Facts) -> Iterator[Change]:
    """Shapes with padding. Without it, each value has the bytes of its elements."""
    for value in facts.candidates:
        padded = padding_of(facts.dump, value)
        if padded and padded.size_bytes and padded.logical_bytes and padded.parts:
            piece = Piece(facts.start[value], facts.end[value], padded.logical_bytes)
            yield Change(value, (piece,), part=facts.dump.shape(value))


# ---------------------------------------------------------------- the table


class RuleRow(NamedTuple):
    """A rule: how certain its savings are, what it finds, and the number of parts into which it divides buffers, None
    if it does not.
    """

    rule: Rule
    certainty: Certainty
    find: Callable[[Facts], Iterator[Change]]
    factor: int | None = None


RULES: Final = (
    RuleRow(Rule.DONATE, Certainty.PROVEN, partial(donate, fit=Fit.FREE)),
    RuleRow(Rule.DONATE, Certainty.ESTIMATED, partial(donate, fit=Fit.IN_PLACE)),
    RuleRow(Rule.DONATE, Certainty.POSSIBLE, partial(donate, fit=Fit.SHARED)),
    RuleRow(Rule.REMATERIALIZE, Certainty.ESTIMATED, rematerialize),
    RuleRow(Rule.OPTIMIZER_STATE, Certainty.ESTIMATED, optimizer_state),
    RuleRow(Rule.GRADIENTS, Certainty.POSSIBLE, gradients),
    RuleRow(Rule.ATTENTION_SCORES, Certainty.ESTIMATED, attention_scores),
    RuleRow(Rule.LOGITS, Certainty.ESTIMATED, logits, CHUNKS),
    RuleRow(Rule.GATHERED, Certainty.ESTIMATED, gathered),
    RuleRow(Rule.WIDE_COPY, Certainty.POSSIBLE, wide_copy),
    RuleRow(Rule.TWO_LAYOUTS, Certainty.POSSIBLE, two_layouts),
    RuleRow(Rule.PADDING, Certainty.POSSIBLE, padding),
)
