"""A rule of the advice as a row: everything about it but its page, which `xla-lens explain RULE` prints."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines


class Policy(Struct, frozen=True):
    """A milder way to do what a rule says: `code` says it in the program, and `kept` in words what stays as it is:
    the values for whose effect `keeps` holds.
    """

    code: str
    kept: str
    keeps: Callable[[Facts, Effect], bool]


class RuleRow(Struct, frozen=True, kw_only=True):
    """One rule.

    - `find` yields the effect on each value: what would be left of it. It finds nothing where the rule does not apply.
    - `what` says what to do, in the terms of the program: the title of the action.
    - `snippet` is code that does it in JAX, to adapt and paste; None if that depends on the program too much.
    - `in_keras` is the same in Keras, None if there is no such code.
    - `cost` is what it costs, beside the change itself.
    - `factor` says into how many parts the rule divides the buffers, None if it does not.
    - `is_about_layers` says that the rule changes a layer: the values of each loop over layers are an action of their
      own, and the function to change is a part of the forward pass.
    - `policy` is a milder way to do it, if there is one.
    - `measured_by` is code that compiles the changed program of a name and measures what it needs, None if nothing
      does.
    """

    rule: Rule
    find: Callable[[Facts], Iterator[Effect]]
    what: Callable[[Subject], Inlines]
    snippet: Callable[[Subject], str | None]
    in_keras: Callable[[Subject], str | None] | None = None
    cost: Cost = Cost.CODE
    factor: Callable[[Subject], int] | None = None
    is_about_layers: bool = False
    policy: Policy | None = None
    measured_by: Callable[[str], str] | None = None


class SuggestionRow(Struct, frozen=True, kw_only=True):
    """A rule of a change whose saving the dump does not tell: another schedule, for example.

    - `applies` says whether the dump shows the condition under which it was measured.
    - `flag` is the flag of the compiler that does it, ``NAME=VALUE``; None if a change of the code does.
    - `snippet` is code that does it for a program of JAX: elsewhere, the change was not measured.
    - `measured` says what it saved in other programs. The others are those of `RuleRow`.
    """

    rule: Rule
    applies: Callable[[Facts], bool]
    what: str
    snippet: Callable[[Subject], str]
    flag: str | None
    measured: str
    cost: Cost
