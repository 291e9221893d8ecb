"""`associative-scan`: an associative scan over all positions holds its levels at once."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import FLOATS, Dimensions, Effect, Facts, dimensions_of
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.rematerialize import stacked
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.hlo.stack_frames import StackFrame

_CHUNKS: Final = 16
"""The number of chunks of positions."""

_FEWEST_LEVELS: Final = 4
"""How many halvings in a row tell an associative scan from other slices."""

_SHORTEST: Final = 256
"""Chunks of shorter sequences would have hardly any levels."""

_INTERLEAVES: Final = "pad"

_ENDS: Final = tuple(f"/{name}" for name in (_INTERLEAVES, "slice", "concatenate"))
"""The ends of the op_names of what takes an associative scan apart and puts it together again."""


def associative_scan(facts: Facts) -> Iterator[Effect]:
    """Yield the levels of an associative scan and what it scans, for a chunk of the positions.

    On one line of the program, it slices, pads and concatenates arrays that differ in one length: half, a quarter, an
    eighth and so on of the number of positions.
    """
    shapes = {value: shape for value, shape in facts.computed.items() if shape.type in FLOATS}
    if not any(_levels({*shapes.values()})):
        return
    of_line = defaultdict[StackFrame, set[Dimensions]](set)
    interleaved = set[StackFrame]()
    for op_name, line, shape in _moved(facts, shapes):
        of_line[line].add(shape)
        is_interleaved = op_name.endswith(f"/{_INTERLEAVES}") and not facts.is_backward(op_name)
        interleaved.update([line] if is_interleaved else [])
    # A pyramid, such as wavelets, only slices: its backward pass pads.
    levels = {_in_any_order(level) for line in interleaved for level in _levels(of_line[line])}
    # A loop over layers stacks the levels of each.
    stacks = stacked(facts)
    for value, shape in shapes.items():
        of_layer = shape.without(facts.stacked_dimension(value)) if value in stacks else shape
        if levels & {_in_any_order(shape), _in_any_order(of_layer)}:
            yield facts.divided(value, _CHUNKS)


def _in_any_order(shape: Dimensions) -> Dimensions:
    """What arrays have in common whose dimensions differ in their order alone, as those of a GPU may."""
    return Dimensions(shape.type, tuple(sorted(shape.lengths)))


def _moved(facts: Facts, shapes: Mapping[int, Dimensions]) -> Iterator[tuple[str, StackFrame, Dimensions]]:
    """Yield the op_names, the lines and the results of what takes arrays apart and puts them together, also within the
    fusions of a GPU; without an HLO module, of values with known shapes.
    """
    writers = facts.origins.writers
    if writers is None:
        for value, shape in shapes.items():
            origin = facts.origins.of_value(value)
            if origin.line and (origin.op_name or "").endswith(_ENDS):
                yield origin.op_name or "", origin.line, shape
        return
    sources = writers.module.sources
    moves = [number for number, op_name in enumerate(sources.op_names) if op_name.endswith(_ENDS)]
    for row in np.isin(sources.op_name, moves).nonzero()[0].tolist():
        read = writers.read(row)
        moved = dimensions_of(read.own.shape)
        if read.line and moved:
            yield sources.op_names[sources.op_name.item(row)], read.line, moved


def _levels(moved: set[Dimensions]) -> Iterator[Dimensions]:
    """The shapes of an associative scan among those that a line moves: those of all levels, and of what is scanned."""
    for whole in moved:
        for axis, length in enumerate(whole.lengths):
            halves = [_with_length(whole, axis, length >> level) for level in range(length.bit_length())]
            # XLA computes the first halves of what is scanned where it is needed.
            doubled = _with_length(whole, axis, 2 * length)
            if 2 * length >= _SHORTEST and {*halves[:_FEWEST_LEVELS]} <= moved:
                yield from (doubled, *halves)
                # What lies between the first and the last position of a level has one less.
                yield from (_with_length(whole, axis, (2 * length >> level) - 1) for level in range(len(halves)))


def _with_length(shape: Dimensions, axis: int, length: int) -> Dimensions:
    return Dimensions(shape.type, (*shape.lengths[:axis], length, *shape.lengths[axis + 1 :]))


def _what(subject: Subject) -> Inlines:
    beside = ", each with what it scans and what reads the states"
    return (f"Compute the associative scan in {_CHUNKS} chunks", *subject.in_function, beside)


def _snippet(_subject: Subject) -> str:
    reversed_scan = "both scans with reverse=True, and the first state of a chunk instead of the last, if it has that"
    return f"state, ys = jax.lax.scan(jax.checkpoint(chunk), state, chunks)  # {reversed_scan}"


ROW: Final = RuleRow(
    rule=Rule.ASSOCIATIVE_SCAN,
    find=associative_scan,
    what=_what,
    snippet=_snippet,
    cost=Cost.COMPUTE,
    factor=lambda _: _CHUNKS,
)
