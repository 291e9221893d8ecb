"""Padding: values whose layout takes more bytes than their elements. One draft for each shape with its layout."""

from collections.abc import Iterator

from xla_lens.model.advice.actions import Certainty, Piece
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.padding import padding_of
from xla_lens.model.advice.rules.facts import Draft, Facts


def padding(facts: Facts) -> Iterator[Draft]:
    """Find shapes with padding. Without it, each value has the bytes of its elements."""
    found: dict[bytes | None, dict[int, tuple[Piece, ...]]] = {}
    for value in facts.candidates:
        padded = padding_of(facts.dump, value)
        if padded and padded.size_bytes and padded.logical_bytes and padded.parts:
            piece = Piece(facts.start(value), facts.end(value), padded.logical_bytes)
            found.setdefault(facts.dump.shape(value), {})[value] = (piece,)
    for edit in found.values():
        yield Draft(Rule.PADDING, Certainty.POSSIBLE, edit)
