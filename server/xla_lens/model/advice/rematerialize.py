"""Activations that the forward pass saves for the backward pass.

A value is saved if the forward pass defines it and the backward pass reads it, itself or a copy of it that is made
later. To rematerialize it is to free it after its last read in the forward pass, and to compute it again before its
first read in the backward pass.

A loop over layers (`lax.scan`) saves one array that stacks the values of all layers. After rematerialization, one layer
of it is left for as long as the loop of the backward pass reads it.

The inputs that are needed to compute a value again must stay saved. The dump does not show which ones these are. Where
actions are combined, the one that `is_layer_input` finds is left out.
"""

from collections.abc import Iterator
from typing import Final

from xla_lens.model.advice.actions import Action
from xla_lens.model.advice.edits import Piece
from xla_lens.model.advice.facts import Change, Dimensions, Facts, layers_in, without_ones
from xla_lens.syntax.columns import Kind

GATHERING: Final = (b"all-gather", b"all-gather-start", b"all-gather-done")
_NOT_COMPUTED: Final = frozenset((b"parameter", b"constant", b"iota", b"conditional", b"call", None, *GATHERING))


def rematerialize(facts: Facts) -> Iterator[Change]:
    """What the forward pass saves for the backward pass, by source line, shape and number of layers."""
    for value in facts.candidates:
        opcode = facts.opcode(value)
        if opcode in _NOT_COMPUTED or not facts.is_computed(value) or facts.is_backward(facts.name[value]):
            continue
        yield from _stacked(facts, value) if opcode == b"while" else _single(facts, value)


def _single(facts: Facts, value: int) -> Iterator[Change]:
    """A value that the backward pass reads."""
    reads, name = facts.reads(value), facts.name[value]
    late = [read.step for read in reads if facts.is_for_backward(read.name)]
    early = [read.step for read in reads if not facts.is_for_backward(read.name)]
    if late and facts.op_name(name) is not None and max(early, default=-1) < min(late):
        start, end = facts.start[value], facts.end[value]
        pieces = facts.piece(value, start, max(early, default=start)), facts.piece(value, min(late), end)
        yield Change(value, pieces, part=(facts.place(value), 1), source=name)


def _stacked(facts: Facts, value: int) -> Iterator[Change]:
    """The result of a loop of the forward pass that another loop of the backward pass reads."""
    stack, start, reads = facts.dimensions(value), facts.start[value], facts.reads(value)
    late = [read.step for read in reads if facts.is_backward(read.name) and read.step >= start]
    if stack is None or len(stack.lengths) < 2 or stack.lengths[0] < 2 or not late:
        return
    if any(start < read.step < min(late) and not facts.is_backward(read.name) for read in reads):
        return
    # The loop writes the stack in place, so the values before it on the same bytes are the same buffer.
    buffer, source = [value], facts.name[value]
    for other in reversed([other for other in facts.same_slice(value) if facts.start[other] < facts.start[value]]):
        if facts.end[other] < start - 1:
            break
        start = min(start, facts.start[other])
        buffer.append(other)
        source = _written(facts, other, stack.of_one_layer) or source
    layers = stack.lengths[0]
    part = facts.source(source), facts.shape(value), layers
    left = Piece(min(late), facts.end[value], facts.size[value] // layers)
    for other in buffer:
        yield Change(other, (left,) if other == value else (), part, source, layers)


def _written(facts: Facts, value: int, layer: Dimensions) -> int | None:
    """The instruction that computes what a loop writes into a stack, None if `value` is not such a write."""
    name = facts.name[value]
    for _ in range(_MOST_COPIES if facts.opcode(value) in (b"fusion", b"dynamic-update-slice") else 0):
        shapes = ((operand, facts.squeezed(operand)) for operand in facts.operands(name))
        written = next((operand for operand, shape in shapes if shape == without_ones(layer)), None)
        if written is None:
            return None
        name = facts.name[written]
        if facts.op_name(name) is not None:
            return name
    return None


_MOST_COPIES: Final = 4
"""Maximum number of copies between an instruction and the stack that its result is written to."""


# ---------------------------------------------------------------- layer inputs


def is_layer_input(facts: Facts, action: Action, carried: set[Dimensions]) -> bool:
    """Whether the values of an action have the dimensions of what one layer passes to the next."""
    shapes = (facts.dimensions(value) for value in action.edit)
    first = next((shape for shape in shapes if shape is not None), None)
    return first is not None and without_ones(first.of_one_layer if action.layers > 1 else first) in carried


def carried_dimensions(facts: Facts) -> set[Dimensions]:
    """Return the dimensions of what one layer of the forward pass passes to the next: what a loop carries, and what an
    instruction of one layer reads from another layer.
    """
    found: set[Dimensions] = set()
    for value in facts.candidates:
        shape = facts.squeezed(value)
        if shape is None or shape in found or facts.is_backward(facts.name[value]):
            continue
        if _is_carried(facts, value):
            found.add(shape)
    return found


def _is_carried(facts: Facts, value: int) -> bool:
    if facts.opcode(value) in (b"parameter", b"while"):
        return not facts.kind[value] & Kind.PARAMETER
    layers = layers_in(facts.op_name(facts.name[value]))
    readers = (read.name for read in facts.reads(value) if not facts.is_backward(read.name)) if layers else ()
    return any(layers_in(facts.op_name(reader)) not in ((), layers) for reader in readers)
