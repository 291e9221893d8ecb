"""`segments`: the backward pass of a long scan needs what every step saves."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.functions import Functions
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.rematerialize import saved
from xla_lens.advice.stacks import carried_anew, row_of
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.memory.edits import Piece
from xla_lens.syntax.columns import NONE

_FEWEST_STEPS: Final = 16
"""With fewer steps, what the segments begin with takes about as much as they save."""

_MOST_LAYERS: Final = 127
"""Longer loops are over no layers."""


def segments(facts: Facts) -> Iterator[Effect]:
    """Yield what the longest of the loops with the most bytes saves: that of one segment is left while the backward
    pass reads it, and what the loop carries at the start of each.
    """
    layers, functions = _layers(facts), facts.kept(Functions)
    stacks = [
        each
        for each in facts.found(saved)
        if each.layers >= _FEWEST_STEPS and each.layers not in layers and not functions.is_of_library(each.source_value)
    ]
    sizes = Counter[int]()
    for effect in stacks:
        sizes[effect.layers] += facts.size[effect.value]
    steps = max(sizes, key=sizes.__getitem__, default=0)
    count = _segment_count(steps)
    if count == 1:
        return
    ours = [effect for effect in stacks if effect.layers == steps]
    for effect in ours:
        pieces = (piece._replace(size_bytes=facts.size[effect.value] // count) for piece in effect.pieces)
        yield effect._replace(pieces=tuple(pieces))
    biggest = max(ours, key=lambda effect: facts.size[effect.value])
    start, end = facts.start[biggest.value], facts.end[biggest.value]
    yield Effect(NONE, (Piece(start, end, count * _carried_bytes(facts, biggest)),), steps)


def _carried_bytes(facts: Facts, biggest: Effect) -> int:
    """The bytes that an iteration of a loop begins with, by the biggest of the stacks that it makes: at least those of
    a step of that.
    """
    writers, loop = facts.origins.writers, biggest.source_value
    carried = carried_anew(facts, writers, row_of(facts, writers, loop)) if writers else ()
    own = sum(facts.size[value] for value in carried) if facts.opcode(loop) == b"while" else 0
    return max(facts.size[biggest.value] // biggest.layers, own)


def _layers(facts: Facts) -> set[int]:
    """The numbers of layers whose weights the program may have stacked. `rematerialize` is for loops over these."""
    trained = {*facts.updated.values(), *facts.donated}
    shapes = (shape for value in trained if (shape := facts.dimensions(value)) and shape.lengths)
    return {shape.lengths[0] for shape in shapes if shape.lengths[0] <= _MOST_LAYERS}


def _segment_count(steps: int) -> int:
    """The divisor nearest to the square root, with which segments and their number save the most; 1 if none is near."""
    root = steps**0.5
    divisors = (count for count in range(1, steps + 1) if steps % count == 0)
    nearest = min(divisors, key=lambda count: abs(count - root), default=1)
    return nearest if root <= nearest * _NEAR and nearest <= root * _NEAR else 1


_NEAR: Final = 4


def _steps(subject: Subject) -> int:
    return max((group.count // len(group.values) for group in subject.groups), default=0)


def _what(subject: Subject) -> Inlines:
    steps = _steps(subject)
    count = _segment_count(steps)
    if count == 1:
        return ("Scan in segments", *subject.in_function, ", each in jax.checkpoint")
    return (f"Scan the {steps:,} steps", *subject.of_loop, f" in {count} segments, each in jax.checkpoint")


def _snippet(subject: Subject) -> str:
    code = "carry, ys = jax.lax.scan(jax.checkpoint(lambda carry, xs: jax.lax.scan(step, carry, xs)), carry, segments)"
    notes = (*subject.within_modules("scan"), "both with reverse=True if the scan has it")
    return f"{code}  # {'; '.join(notes)}"


ROW: Final = RuleRow(rule=Rule.SEGMENTS, find=segments, what=_what, snippet=_snippet, cost=Cost.COMPUTE)
