"""What was tried, in the JSON that `xla-lens try` prints and keeps beside a dump, from which `make docs` generates
`docs/try.schema.json`. Sizes are in bytes.
"""

from xla_lens.advice.actions import Certainty
from xla_lens.advice.codes import Rule
from xla_lens.words.json_types import Count, JsonObject


class TriedChange(JsonObject):
    """A change of the program, alone."""

    change: str
    """What is changed, in the terms of the program."""
    rule: Rule | None
    """The rule of the advice that says it; null for a flag."""
    policy: str | None
    """The policy of `jax.checkpoint` that is taken; null for none."""
    flag: str | None
    """The flag of the compiler, `NAME=VALUE`; null if it is no flag."""
    certainty: Certainty
    """`measured`: the changed program was compiled. `estimated`: it was not, for the `reason`."""
    estimated_needed_bytes: Count | None
    """What the program was estimated to need after it; null if nothing estimates it."""
    needed_bytes: Count | None
    """What the program needs after it; null if that is not measured, as are the following."""
    saved_needed_bytes: int | None
    """By how much less that is than before; negative if it is more."""
    peak_bytes: Count | None
    """The peak after it."""
    peak_step: int | None
    """The first step of that peak; also null if nothing is live any more."""
    flops_factor: float | None
    """By which factor the operations of matrix products and convolutions grow; also null if they cannot be counted."""
    reason: str | None
    """Why it is not measured; null if it is."""


class PlannedChanges(JsonObject):
    """Changes that are taken together, those that cost nothing first."""

    changes: list[Count]
    """Their rows in `changes`, in this order."""
    needed_bytes: list[Count]
    """What the program needs after each of them and all before it, compiled as a whole."""
    flops_factor: float | None
    """By which factor the operations grow after all of them; null if they cannot be counted."""


class TriedModule(JsonObject):
    """What the compiler says about changes of a module."""

    module: str
    """The name of the module."""
    files: list[str]
    """The files of its dump."""
    dump_digest: str | None
    """The SHA-256 of the file with the buffer assignment; null if there is none. With another one, the numbers are of
    another compilation.
    """
    needed_bytes: Count
    """What the program needs in the dump."""
    measured_needed_bytes: Count | None
    """What it needs when it is compiled again without changes; null if it cannot be compiled."""
    reason: str | None
    """Why it cannot be compiled again; null if it can."""
    changes: list[TriedChange]
    """The changes in the order in which they were tried."""
    plan: PlannedChanges | None
    """The best of them together, as far as the budget asks for them; null if none saves memory."""
    budget_bytes: Count | None
    """The budget."""
    is_reached: bool | None
    """Whether the program fits into the budget with the plan; null without a budget."""
    is_interrupted: bool
    """Whether the user has interrupted the trials."""
