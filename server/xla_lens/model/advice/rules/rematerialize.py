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
from dataclasses import dataclass
from typing import Final

from xla_lens.model.advice.actions import Action, Certainty, Piece
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.rules.facts import Dimensions, Draft, Facts, layers_in, without_ones
from xla_lens.syntax.columns import Kind

_NOT_COMPUTED: Final = frozenset((b"parameter", b"constant", b"iota", b"while", b"conditional", b"call"))
_FIXED: Final = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT)
_GATHERING: Final = frozenset((b"all-gather", b"all-gather-start", b"all-gather-done"))


@dataclass(frozen=True, slots=True)
class Saved:
    """Values that hold what the forward pass saved, with what is left of each. `layers` is the number of layers that
    they stack, `source` the instruction to blame.
    """

    value: int
    edit: dict[int, tuple[Piece, ...]]
    layers: int
    source: int


def rematerialize(facts: Facts) -> Iterator[Draft]:
    """Find saved activations, one draft for each source line, shape and number of layers."""
    groups: dict[object, list[Saved]] = {}
    saved = list(saved_values(facts))
    sources = facts.sources({one.value: one.source for one in saved})
    for one in saved:
        key = (sources[one.value], facts.shape(one.value), one.layers)
        groups.setdefault(key, []).append(one)
    for members in groups.values():
        edit: dict[int, tuple[Piece, ...]] = {}
        blamed: dict[int, int] = {}
        for one in members:
            edit |= one.edit
            blamed |= dict.fromkeys(one.edit, one.source)
        yield Draft(Rule.REMATERIALIZE, Certainty.ESTIMATED, edit, members[0].layers, sources=blamed)


def saved_values(facts: Facts) -> Iterator[Saved]:
    """Find the values that the forward pass saves for the backward pass."""
    for value in facts.candidates:
        opcode = facts.opcode(facts.name(value))
        if opcode is None or facts.has_kind(value, _FIXED):
            continue
        if opcode == b"while":
            yield from _stacked(facts, value)
        elif opcode not in _NOT_COMPUTED | _GATHERING and not facts.is_backward(facts.name(value)):
            yield from _single(facts, value)


def _single(facts: Facts, value: int) -> Iterator[Saved]:
    """A value that the backward pass reads."""
    reads = facts.reads(value)
    late = [read for read in reads if facts.is_for_backward(read.name)]
    early = [read for read in reads if not facts.is_for_backward(read.name)]
    if not late or facts.op_name(facts.name(value)) is None:
        return
    first = min(read.step for read in late)
    if any(read.step >= first for read in early):
        return
    yield Saved(value, {value: _around(facts, value, [read.step for read in early], first)}, 1, facts.name(value))


def _around(facts: Facts, value: int, early: list[int], first: int) -> tuple[Piece, ...]:
    """A value from its definition to its last read in the forward pass, and for the backward pass from `first` on."""
    last = max(early, default=facts.start(value))
    start, end = facts.start(value), facts.end(value)
    return facts.piece(value, start, last), facts.piece(value, first, end)


# ---------------------------------------------------------------- loops


def _stacked(facts: Facts, value: int) -> Iterator[Saved]:
    """The result of a loop of the forward pass that another loop of the backward pass reads."""
    dimensions = facts.dimensions(value)
    reads = facts.reads(value)
    late = [read.step for read in reads if facts.is_backward(read.name) and read.step >= facts.start(value)]
    is_stack = dimensions is not None and len(dimensions.lengths) > 1 and dimensions.lengths[0] > 1
    if dimensions is None or not is_stack or not late or facts.is_backward(facts.name(value)):
        return
    layers = dimensions.lengths[0]
    if any(facts.start(value) < read.step < min(late) and not facts.is_backward(read.name) for read in reads):
        return
    # The loop writes the stack in place, so the values before it on the same bytes are the same buffer.
    edit: dict[int, tuple[Piece, ...]] = {value: (Piece(min(late), facts.end(value), facts.size(value) // layers),)}
    start, source = facts.start(value), facts.name(value)
    for other in reversed([other for other in facts.same_slice(value) if facts.start(other) < facts.start(value)]):
        if facts.end(other) < start - 1:
            break
        start = min(start, facts.start(other))
        edit[other] = ()
        source = _written(facts, other, Dimensions(dimensions.type, dimensions.lengths[1:])) or source
    yield Saved(value, edit, layers, source)


def _written(facts: Facts, value: int, layer: Dimensions) -> int | None:
    """The instruction that computes what a loop writes into a stack, None if `value` is not such a write."""
    if facts.opcode(facts.name(value)) not in (b"fusion", b"dynamic-update-slice"):
        return None
    name = facts.name(value)
    for _ in range(_MOST_COPIES):
        shapes = ((operand, facts.squeezed(operand)) for operand in facts.operands(name))
        written = next((operand for operand, shape in shapes if shape == without_ones(layer)), None)
        if written is None:
            return None
        name = facts.name(written)
        if facts.op_name(name) is not None:
            return name
    return None


_MOST_COPIES: Final = 4
"""Maximum number of copies between an instruction and the stack that its result is written to."""


# ---------------------------------------------------------------- layer inputs


def is_layer_input(facts: Facts, action: Action, carried: set[Dimensions]) -> bool:
    """Whether the values of an action have the dimensions of what one layer passes to the next."""
    for value in action.edit:
        dimensions = facts.dimensions(value)
        if dimensions is not None:
            layer = Dimensions(dimensions.type, dimensions.lengths[1:]) if action.layers > 1 else dimensions
            return without_ones(layer) in carried
    return False


def carried_dimensions(facts: Facts) -> set[Dimensions]:
    """Return the dimensions of what one layer of the forward pass passes to the next: what a loop carries, and what an
    instruction of one layer reads from another layer.
    """
    found: set[Dimensions] = set()
    for value in facts.candidates:
        dimensions = facts.squeezed(value)
        if dimensions is None or dimensions in found or facts.is_backward(facts.name(value)):
            continue
        if _is_carried(facts, value):
            found.add(dimensions)
    return found


def _is_carried(facts: Facts, value: int) -> bool:
    name = facts.name(value)
    if facts.opcode(name) in (b"parameter", b"while"):
        return not facts.has_kind(value, Kind.PARAMETER)
    layers = layers_in(facts.op_name(name))
    readers = (read.name for read in facts.reads(value) if not facts.is_backward(read.name)) if layers else ()
    return any(layers_in(facts.op_name(reader)) not in ((), layers) for reader in readers)
