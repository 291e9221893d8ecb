"""`encoded-batch`: the program encodes all examples at once before it compares them."""

from collections.abc import Iterator
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.encoders import encoded
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.microbatches import end_of_backward, has_too_few_images, with_sums
from xla_lens.advice.subject import Subject, across_devices, parts_of
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.memory.edits import Piece
from xla_lens.words.numbers import counted

_TIMES_AS_MUCH: Final = 3
"""How many times as much as the weights of encoders what they compute takes at least."""


def encoded_batch(facts: Facts) -> Iterator[Effect]:
    """Yield what encoders compute of each example in both passes, for a part of the examples, and the sums of the
    gradients of their weights.
    """
    found, begin = facts.kept(encoded), facts.backward_step
    parts = parts_of(found.batch.size) if found else 1
    if found is None or begin is None or parts == 1 or has_too_few_images(facts, found.batch.size, parts):
        return
    trained = [value for value in found.weights if not facts.is_returned_unchanged(value)]
    weight_bytes, owned = sum(facts.size[value] for value in trained), facts.owned
    if sum(owned.get(value, 0) for value in found.values) < _TIMES_AS_MUCH * weight_bytes:
        return
    yield from (facts.divided(value, parts) for value in found.values)
    # Each part has gradients of its own beside their sums.
    end = end_of_backward(facts, begin)
    sums = with_sums(facts, trained, begin, end)
    yield sums._replace(pieces=(*sums.pieces, Piece(begin, end, weight_bytes)))


def _what(subject: Subject) -> Inlines:
    found = subject.encoded
    if found is None:
        return ("Encode some examples at a time, in jax.checkpoint",)
    examples = counted(found.batch.size // parts_of(found.batch.size), "example")
    changes = ". This changes the numbers slightly, because other random numbers are drawn"
    return (
        f"Encode {examples}",
        " of each device" * subject.is_sharded,
        *found.batch.told,
        " at a time, in jax.checkpoint: all that is computed of each alone, before ",
        *found.where,
        " from all of them",
        changes * found.batch.is_random,
    )


def _parts(subject: Subject) -> int:
    return parts_of(subject.encoded.batch.size) if subject.encoded else 1


def _snippet(subject: Subject) -> str | None:
    is_random = subject.encoded is not None and subject.encoded.batch.is_random
    if is_random and subject.jit == "nnx.jit":
        # Its modules count the numbers that they draw, which they may not do in transformations of JAX.
        return None
    parts, joined = f"x.reshape({_parts(subject)}, -1, *x.shape[1:])", "z.reshape(-1, *z.shape[2:])"
    if subject.is_sharded:
        parts = across_devices(_parts(subject))
        joined = "z.swapaxes(0, 1).reshape(-1, *z.shape[2:])"
    notes = ["encode computes of some examples all that is of one alone", f"{joined} has all of them"]
    notes += subject.within_modules("map")
    if is_random:
        notes.append("each part with a key of its own")
    return f"z = jax.lax.map(jax.checkpoint(encode), {parts})  # {'; '.join(notes)}"


ROW: Final = RuleRow(
    rule=Rule.ENCODED_BATCH, find=encoded_batch, what=_what, snippet=_snippet, cost=Cost.COMPUTE, factor=_parts
)
