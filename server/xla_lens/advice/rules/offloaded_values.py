"""`offloaded-values`: what a TPU program offloads to the host passes through HBM on its way."""

from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Facts
from xla_lens.advice.rule_row import SuggestionRow
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet

_LEAST_PART: Final = 32
"""What is offloaded has at least as many bytes as the peak divided by this."""


def offloaded_values(facts: Facts) -> bool:
    """Return whether a program for a TPU keeps values that it has computed in host memory for its backward pass."""
    begin = facts.backward_step
    if facts.dump.backend is not Backend.TPU or begin is None:
        return False
    kept = (
        facts.size[value]
        for value in _on_host(facts.dump)
        if facts.is_computed(value) and facts.start[value] < begin <= facts.end[value]
    )
    return sum(kept) * _LEAST_PART >= facts.space.peak_live_bytes


def _on_host(dump: DumpSet) -> list[int]:
    """The values in host memory."""
    spaces = dump.values.space
    colors = [color for color in set(spaces.tolist()) if dump.space_id(color).is_host]
    return [value for color in colors for value in (spaces == color).nonzero()[0].tolist()]


ROW: Final = SuggestionRow(
    rule=Rule.OFFLOADED_VALUES,
    applies=offloaded_values,
    what="Compute again what the program keeps on the host for its backward pass",
    snippet=lambda _: "layer = jax.checkpoint(layer, policy=jax.checkpoint_policies.nothing_saveable)",
    flag=None,
    measured=(
        "The dump does not tell what it saves. Of a program that was measured on a TPU, 0.18 was left with products on "
        "the host, and 0.16 where everything was computed again: copies on their way stay in HBM."
    ),
    cost=Cost.COMPUTE,
)
