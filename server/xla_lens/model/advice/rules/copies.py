"""The same data twice: a copy in a wider type, and a copy in another layout, while what it was copied from is live as
well.
"""

import re
from collections.abc import Iterator
from typing import Final

from xla_lens.model.advice.actions import Certainty, Edit
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.rules.facts import Draft, Facts
from xla_lens.model.advice.rules.groups import by_source

_WIDER: Final = {"bf16": ("f32", "f64"), "f16": ("f32", "f64"), "f32": ("f64",)}
_CONVERTING: Final = re.compile(rb"(?:wrapped_)?convert(?:_bitcast)?(?:_fusion)?(?:\.|$)")
_MOVING: Final = re.compile(rb"(?:wrapped_)?(?:transpose|copy)(?:_bitcast)?(?:_(?:copy|transpose|fusion))*(?:\.|$)")
"""Names of instructions that only convert or only move. XLA names a fusion after the instructions in it."""


def wide_copy(facts: Facts) -> Iterator[Draft]:
    """Find values converted to a wider type while the narrow value stays live."""
    edit: Edit = {
        value: () for value, original in _copies(facts, b"convert", _CONVERTING) if _is_wider(facts, original, value)
    }
    yield from by_source(facts, Rule.WIDE_COPY, Certainty.POSSIBLE, edit)


def two_layouts(facts: Facts) -> Iterator[Draft]:
    """Find copies in another layout while the original stays live."""
    edit: Edit = {
        value: () for value, original in _copies(facts, b"copy", _MOVING) if _is_moved(facts, original, value)
    }
    if edit:
        yield Draft(Rule.TWO_LAYOUTS, Certainty.POSSIBLE, edit)


def _copies(facts: Facts, opcode: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield copies, and what each was copied from, that are both live at the peak."""
    for value in facts.candidates:
        if value not in facts.owned or not pattern.match(facts.dump.names[facts.name(value)]):
            continue
        if facts.opcode(facts.name(value)) not in (opcode, b"fusion", b"transpose"):
            continue
        for original in facts.operands(facts.name(value)):
            if original in facts.owned and original != value:
                yield value, original
                break


def _is_wider(facts: Facts, narrow: int, wide: int) -> bool:
    before, after = facts.dimensions(narrow), facts.dimensions(wide)
    is_same = before is not None and after is not None and sorted(before.lengths) == sorted(after.lengths)
    return is_same and before is not None and after is not None and after.type in _WIDER.get(before.type, ())


def _is_moved(facts: Facts, one: int, other: int) -> bool:
    before, after = facts.dimensions(one), facts.dimensions(other)
    if before is None or after is None or before.type != after.type:
        return False
    is_same = sorted(before.lengths) == sorted(after.lengths)
    return is_same and (before.lengths != after.lengths or facts.layout(one) != facts.layout(other))
