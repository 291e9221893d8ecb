"""`gathered-weights`: XLA for GPUs gathers sharded weights long before they are used."""

from collections.abc import Iterator
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.tables.backend import Backend

_GATHERS: Final = (b"all-gather", b"all-gather-start", b"all-gather-done")

_FEWEST: Final = 3
"""Two gathered weights at a time are what overlapping communication with computation needs."""


def gathered_weights(facts: Facts) -> Iterator[Effect]:
    """Yield what is gathered on a GPU, live only from its first read on, if many of them are live at the peak. The
    latency-hiding scheduler starts all of them as early as it can.
    """
    if facts.dump.backend is not Backend.GPU:
        return
    gathers = [value for value in facts.candidates if facts.opcode(value) in _GATHERS and facts.is_computed(value)]
    if sum(value in facts.owned for value in gathers) < _FEWEST:
        return
    for value in gathers:
        reads = [read.step for read in facts.reads(value) if read.step > facts.start[value]]
        if reads:
            # It is gathered in the step before.
            yield Effect(value, (facts.piece(value, min(reads) - 1, facts.end[value]),))


def _what(_subject: Subject) -> Inlines:
    return ("Gather each weight when it is needed: switch off the latency-hiding scheduler, or scan over the layers",)


def _snippet(subject: Subject) -> str:
    options = "compiler_options={'xla_gpu_enable_latency_hiding_scheduler': False}"
    return f"{subject.program} = jax.jit({subject.program}, {options})"


ROW: Final = RuleRow(rule=Rule.GATHERED_WEIGHTS, find=gathered_weights, what=_what, snippet=_snippet, cost=Cost.TIME)
