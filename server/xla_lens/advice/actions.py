"""What could be done about the peak: actions, each with the peak of the memory space after it, computed from scratch.

A rule proposes an action as an `Edit` (`model/memory/edits.py`): which values would be gone, smaller, or live for fewer
steps.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from xla_lens.advice.codes import Rule
from xla_lens.advice.subject import Buffers, Call
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.memory.edits import Edit
from xla_lens.syntax.columns import Rows


class Certainty(StrEnum):
    """How certain the peak after an action is.

    - `ESTIMATED`: XLA will schedule the changed program anew. The peak assumes the schedule of the dump.
    - `MEASURED`: the program was changed and compiled again (`Capture.try_advice`).
    """

    ESTIMATED = "estimated"
    MEASURED = "measured"


class Cost(StrEnum):
    """What an action costs, the cheapest first.

    - `NOTHING`: neither time nor accuracy.
    - `CODE`: a change of the code that computes the same in other steps.
    - `TIME`: steps that overlapped or ran at once run one after another.
    - `COMMUNICATION`: devices exchange more.
    - `COMPUTE`: what it frees is computed again: the forward pass, or a part of it.
    - `NUMBERS`: the results change slightly.
    """

    NOTHING = "nothing"
    CODE = "code"
    TIME = "time"
    COMMUNICATION = "communication"
    COMPUTE = "compute"
    NUMBERS = "numbers"


class PolicySaving(Struct, frozen=True):
    """What an action saves of what the program needs if a policy, `code` in the program, keeps some of the values, such
    as products with weights (`kept`), and how certain that is.
    """

    code: str
    kept: str
    saved_needed_bytes: int
    certainty: Certainty = Certainty.ESTIMATED


class Action(Struct, frozen=True, eq=False):
    """One thing to do.

    `what` says it in the terms of the program: a text in pieces, with their links. `snippet` is code that does it, to
    adapt and paste; None if that depends on the program too much. `measured_by` is code that compiles the changed
    program and measures what it saves, None if nothing does.

    `groups` are the buffers that it concerns, most bytes first. After this action alone the program needs
    `needed_bytes` of the memory space, `saved_needed_bytes` less than now, and the space peaks at `peak_bytes`,
    `saved_bytes` less, first at `peak_step`. Some actions save enough only where others no longer take the memory:
    `others` are the rows of these, and the numbers compare all of them with and without this one. `cost` is what the
    action costs beside the change itself.

    `outputs` are rows of the allocations that the program would no longer need. `edit` is what it changes. `factor` is
    the number of parts into which the rule divides the buffers, None if it does not. `call` is what most of the buffers
    have in common in the program, None if that is unknown. `policy` is what it saves (`policy.saved_needed_bytes`) if a
    policy keeps some of the buffers; None if none does, or if that saves nothing. `batch_dimension` is the number of
    the dimension of the arguments that is the batch, and `is_sharded` says that the program is for several devices.
    """

    rule: Rule
    certainty: Certainty
    cost: Cost
    what: Inlines
    snippet: str | None
    measured_by: str | None
    groups: tuple[Buffers, ...]
    edit: Edit
    saved_bytes: int
    saved_needed_bytes: int
    needed_bytes: int
    peak_bytes: int
    peak_step: int | None
    outputs: Rows
    factor: int | None
    call: Call | None
    policy: PolicySaving | None
    others: Rows = ()
    batch_dimension: int = 0
    is_sharded: bool = False

    @property
    def size_bytes(self) -> int:
        """The bytes of its buffers at the peak."""
        return sum(group.size_bytes for group in self.groups)


class Suggestion(Struct, frozen=True):
    """Something worth trying whose saving the dump does not tell. `measured` says what it saved in other programs;
    `what`, `snippet` and `cost` are those of an `Action`. `flag` is the flag of the compiler that does it,
    ``NAME=VALUE``, None if a change of the code does. The program then needs `needed_bytes`, None if that is unknown.
    """

    rule: Rule
    cost: Cost
    what: Inlines
    snippet: str
    measured: str
    flag: str | None
    needed_bytes: int | None = None


class TriedActions(Struct, frozen=True):
    """What was tried on the program of the dump, besides what the actions and suggestions have of it. `file` keeps it.

    If the dump is another one by now (`is_stale`), or if the compiler was another one, with which the program needs
    `measured_needed_bytes` as it is, none of it is about this dump. Otherwise the program needs `taken_needed_bytes`
    with all that is `taken`, such as ``action 1``, compiled as a whole; None if nothing helps. `flags` are other
    flags of the compiler that make a difference, with what the program needs then.
    """

    file: str
    is_stale: bool
    measured_needed_bytes: int | None
    taken: tuple[Inlines, ...] = ()
    taken_needed_bytes: int | None = None
    flags: tuple[tuple[str, int], ...] = ()


class ArgumentTree(Struct, frozen=True):
    """The arguments below one name, such as ``state[1]``. `is_idle` says that nothing reads them before the gradients
    are complete: they are optimizer state.
    """

    name: str
    count: int
    size_bytes: int
    is_idle: bool


MARGIN: Final = 1.12
"""By which factor a program may need more than estimated: what 95 % of the programs of `make prove` stay below."""

MISSED: Final = 0.12
"""Which part of what changes are to save a program may need in addition: with it, 95 % of the programs of others in
`tests/proving/others.tsv` stay below the margin, too.
"""


def most_needed(needed_bytes: int, saved_bytes: int) -> int:
    """Return what a program may need at most instead of an estimate, if changes of what it computes are to save so many
    bytes.
    """
    return int(needed_bytes * MARGIN + max(0, saved_bytes) * MISSED)


class Sharding(NamedTuple):
    """What the program needs if its arguments are sharded over `factor` times as many devices, with the same batch on
    each, and after the first `action_count` actions of a plan. It then needs `needed_bytes`: a part of the arguments,
    one gathered layer of the biggest of them, and everything else as it is. With a margin, that `fits` the budget
    or not.
    """

    factor: int
    action_count: int
    needed_bytes: int
    fits: bool


class Budget(Struct, frozen=True):
    """How the actions reach a budget.

    `actions` are rows of `Advice.actions` in the order in which to take them: those that cost nothing first. After each
    and all before it, the program needs the bytes in `needs`, and its peak is in `peaks`. After all, it needs
    `most_bytes` at most, 0 without actions. They reach the budget, with that margin, if `is_reached`. Otherwise they
    are all actions that help, and `shardings` say what the program needs with 2, 4 and 8 times as many devices: after
    as few actions as suffice, or after all. `argument_bytes` are the allocations of the program's arguments. If they
    alone exceed the budget, no change to the computation helps: they have to be divided by `divide_arguments_by`, the
    smallest power of two that makes them fit. `remaining_argument_bytes` are left of them after all `actions`, and
    `remaining_other_bytes` of everything else that the program needs.
    """

    budget_bytes: int
    actions: Rows
    needs: tuple[int, ...]
    peaks: tuple[int, ...]
    is_reached: bool
    most_bytes: int
    argument_bytes: int
    remaining_argument_bytes: int
    remaining_other_bytes: int
    shardings: tuple[Sharding, ...]

    @property
    def sharding(self) -> Sharding | None:
        """How the program fits with the fewest devices, None if not even 8 times as many suffice."""
        return next((sharding for sharding in self.shardings if sharding.fits), None)

    @property
    def do_arguments_exceed(self) -> bool:
        """Whether the arguments alone are more than the budget."""
        return self.argument_bytes > self.budget_bytes

    @property
    def divide_arguments_by(self) -> int:
        """The smallest power of two by which the arguments have to be divided to be within the budget."""
        factor = 1
        while self.argument_bytes > factor * max(self.budget_bytes, 1):
            factor *= 2
        return factor

    @property
    def divided_argument_bytes(self) -> int:
        """The bytes of the arguments, divided by `divide_arguments_by`."""
        return -(-self.argument_bytes // self.divide_arguments_by)

    @property
    def arguments_over_bytes(self) -> int:
        """By how much the arguments alone exceed the budget, 0 if they do not."""
        return max(0, self.argument_bytes - self.budget_bytes)


class Advice(Struct, frozen=True, eq=False):
    """What could be done about the peak of a memory space and what the program needs of it.

    `actions` help each on its own, those that save the most first. After those `together` that also help the others,
    the program needs `all_needed_bytes`, and the peak is `all_peak_bytes`, first at `all_peak_step`. Where several
    change the same value, what all of them leave is left. `arguments` are the arguments of the program, most bytes
    first, in allocations of `argument_bytes`. XLA repeats `rematerialized` instructions to save memory. What
    `suggestions` save is unknown unless it was tried. `tried` is None if nothing was.
    """

    color: int
    needed_bytes: int
    peak_bytes: int
    peak_step: int | None
    rematerialized: int
    actions: tuple[Action, ...]
    together: Rows
    all_needed_bytes: int
    all_peak_bytes: int
    all_peak_step: int | None
    arguments: tuple[ArgumentTree, ...]
    argument_bytes: int
    budget: Budget | None
    suggestions: tuple[Suggestion, ...]
    tried: TriedActions | None = None

    @property
    def all_saved_needed_bytes(self) -> int:
        """By how much less the program needs after those `together`."""
        return self.needed_bytes - self.all_needed_bytes

    @property
    def argument_bytes_without_optimizer_state(self) -> int:
        """The bytes of the arguments without those that are optimizer state."""
        return self.argument_bytes - sum(tree.size_bytes for tree in self.arguments if tree.is_idle)
