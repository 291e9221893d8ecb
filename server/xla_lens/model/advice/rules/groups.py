"""Divide what a rule found by source line and shape, so that each action is about one place in the program."""

from collections.abc import Iterator

from xla_lens.model.advice.actions import Certainty, Edit, Piece
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.rules.facts import Draft, Facts


def by_source(facts: Facts, rule: Rule, certainty: Certainty, edit: Edit, factor: int | None = None) -> Iterator[Draft]:
    """Yield one draft for each source line, op_name without layer numbers, and shape."""
    found: dict[tuple[object, str], dict[int, tuple[Piece, ...]]] = {}
    for value, key in facts.sources({value: facts.name(value) for value in edit}).items():
        found.setdefault((key, facts.shape(value)), {})[value] = edit[value]
    for part in found.values():
        yield Draft(rule, certainty, part, factor=factor)
