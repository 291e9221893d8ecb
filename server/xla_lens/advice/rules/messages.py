"""`messages`: a net of graphs computes the messages of all edges at once."""

from collections.abc import Iterator
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.messages import messages as messages_of
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.microbatches import end_of_backward
from xla_lens.advice.subject import Subject, parts_of
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.memory.edits import Piece
from xla_lens.syntax.columns import NONE
from xla_lens.words.numbers import counted

_CARRIED: Final = 2
"""How many arrays like the sums of messages the loops carry: these, and the gradients of the nodes."""


def messages(facts: Facts) -> Iterator[Effect]:
    """Yield what is computed of each edge in both passes, for a part of the edges. What the edges pass on stays whole,
    and so does its gradient.
    """
    found, begin = facts.kept(messages_of), facts.backward_step
    parts = parts_of(found.batch.size) if found else 1
    if found is None or begin is None or parts == 1:
        return
    yield from (facts.divided(value, parts) for value in found.values)
    state, total = (max(map(facts.size.__getitem__, values), default=0) for values in (found.states, found.sums))
    yield Effect(NONE, (Piece(begin, end_of_backward(facts, begin), state + _CARRIED * total),))


def _what(subject: Subject) -> Inlines:
    found = subject.messages
    if found is None:
        return ("Sum the messages of some edges at a time, in jax.checkpoint",)
    edges = counted(found.batch.size // parts_of(found.batch.size), "edge")
    return (f"Sum the messages of {edges}", *found.batch.told, " at a time, in jax.checkpoint", *subject.in_function)


def _parts(subject: Subject) -> int:
    return parts_of(subject.messages.batch.size) if subject.messages else 1


def _snippet(subject: Subject) -> str:
    notes = [
        "add_messages gathers what some edges read of the nodes, and adds jax.ops.segment_sum of their messages",
        f"parts: x.reshape({_parts(subject)}, -1, *x.shape[1:]) of each array of edges",
    ]
    passed = "_"
    if subject.messages and subject.messages.states:
        passed = "passed"
        notes.append("passed is what the edges have for later, such as their state for the next layer")
    if subject.messages and subject.messages.has_extremes:
        notes.append("the maximum of a softmax over the edges of a node comes from all of them, before")
    notes += subject.within_modules("scan")
    return f"sums, {passed} = jax.lax.scan(jax.checkpoint(add_messages), zeros, parts)  # {'; '.join(notes)}"


ROW: Final = RuleRow(rule=Rule.MESSAGES, find=messages, what=_what, snippet=_snippet, cost=Cost.COMPUTE, factor=_parts)
