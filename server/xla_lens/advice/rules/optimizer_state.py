"""`optimizer-state`: the optimizer keeps its state in f32."""

from collections.abc import Iterator
from typing import Final

from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject, listed
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.parameters import moment_of, told_path


def optimizer_state(facts: Facts) -> Iterator[Effect]:
    """Yield the first moment of the optimizer in bfloat16: the first of several trees of optimizer state, or the only
    one.
    """
    state = [value for value in facts.idle_arguments if (shape := facts.dimensions(value)) and shape.type == "f32"]
    trees: dict[str, list[int]] = {}
    for value in sorted(state):
        trees.setdefault(moment_of(told_path(facts.op_name(facts.name[value])) or ""), []).append(value)
    names = sorted(name for name in trees if name)
    for value in trees[names[0]] if names else ():
        for other in facts.dump.values_of_allocation(facts.dump.values.allocation.item(value)).tolist():
            yield facts.divided(other, 2)


def _what(subject: Subject) -> Inlines:
    names = subject.argument_names(moment_of)
    if not names:
        return ("Keep the first moment of the optimizer in bfloat16",)
    return ("Keep ", *listed(names), ", the first moment of the optimizer, in bfloat16")


def _snippet(_subject: Subject) -> str:
    return "optimizer = optax.adamw(learning_rate, mu_dtype=jnp.bfloat16)"


ROW: Final = RuleRow(rule=Rule.OPTIMIZER_STATE, find=optimizer_state, what=_what, snippet=_snippet)
