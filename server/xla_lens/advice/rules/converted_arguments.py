"""`converted-arguments`: the program only reads some arguments in a narrower type than they have."""

from collections.abc import Iterator
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.conversions import conversions
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject, listed
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.parameters import root_of
from xla_lens.model.tables.backend import Backend

_PARTS: Final = 2
"""How many arrays in bfloat16 take the bytes of one in float32."""


def converted_arguments(facts: Facts) -> Iterator[Effect]:
    """Yield half of what has the content of arguments that are only converted to bfloat16. What they are converted to
    is then the argument itself.
    """
    found = facts.kept(conversions)
    for argument, conversion in found.found.items() if found else ():
        # XLA for CPUs computes in float32: of weights of layers in bfloat16, it keeps those of all in that.
        if facts.dump.backend is Backend.CPU and any(_is_loop(facts, read.name) for read in facts.reads(argument)):
            continue
        yield from (facts.divided(value, _PARTS) for value in conversion.values)
        yield from (Effect(value) for value in conversion.converted if facts.is_computed(value))


def _is_loop(facts: Facts, name: int) -> bool:
    return facts.dump.opcode(name) == b"while"


def _what(subject: Subject) -> Inlines:
    names = subject.argument_names(root_of)
    if not names:
        return ("Pass those arguments in bfloat16 that the program only reads in that type",)
    if subject.unconverted:
        return ("Pass those arrays of ", *listed(names), " in bfloat16 that the program only reads in that type")
    each = "it" if len(names) == 1 else "them"
    return ("Pass ", *listed(names), f" in bfloat16, the only type in which the program reads {each}")


def _snippet(subject: Subject) -> str | None:
    names, rest = subject.argument_names(root_of), subject.unconverted
    if not names or subject.jit != "jax.jit":
        return None
    notes = ["before the call, unless something else needs the numbers in float32"]
    half = "x.astype(jnp.bfloat16)"
    if rest and rest.rank is not None:
        half += f" if x.ndim >= {rest.rank} else x"
    elif rest:
        others = " and ".join([*rest.paths[:_MOST_NAMES], *["others"][: len(rest.paths) - _MOST_NAMES]])
        notes.append(f"{others} stay in float32" if others else "what the program reads in float32 stays so")
    passed = ", ".join(names)
    value = f"({passed})" if len(names) > 1 else passed
    return f"{passed} = jax.tree.map(lambda x: {half}, {value})  # {'; '.join(notes)}"


_MOST_NAMES: Final = 2
"""How many of the arrays that stay in float32 the code names."""

ROW: Final = RuleRow(
    rule=Rule.CONVERTED_ARGUMENTS,
    find=converted_arguments,
    what=_what,
    snippet=_snippet,
    cost=Cost.NOTHING,
    factor=lambda _: _PARTS,
)
