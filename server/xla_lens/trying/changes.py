"""The changes of a program that a compiler can try, from actions of the advice and flags of the compiler."""

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from xla_lens.advice.actions import Action, Advice, Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.measured import policy_name, with_policy
from xla_lens.blocks.blocks import Inlines, Name
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct
from xla_lens.syntax.columns import NONE

NEEDS_FUNCTION: Final = "needs the function itself: xla_lens.capture(function, *arguments).try_advice() in Python"
"""Why a change cannot be tried without the source of the program."""


class Checkpoint(Struct, frozen=True):
    """A function of the program, by its qualified name, whose values are computed again. `policy` is the name of one of
    `jax.checkpoint_policies`, None for none.
    """

    function: str
    policy: str | None


class Change(Struct, frozen=True, kw_only=True):
    """Changes of a program that are compiled together.

    - `donated` are the numbers of the arguments to donate, `narrowed` of those to keep in bfloat16.
    - `options` are flags of the compiler.
    - `checkpoints` and `microbatches`, the parts of the batch, change what jax traces. The batch is the dimension
      `batch_dimension` of the arguments. If it is `is_sharded`, each part has some examples of each device.
    """

    donated: tuple[int, ...] = ()
    narrowed: tuple[int, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    microbatches: int | None = None
    batch_dimension: int = 0
    is_sharded: bool = False

    def __or__(self, other: "Change") -> "Change":
        return Change(
            donated=tuple(sorted({*self.donated, *other.donated})),
            narrowed=tuple(sorted({*self.narrowed, *other.narrowed})),
            options={**self.options, **other.options},
            checkpoints=tuple(dict.fromkeys((*self.checkpoints, *other.checkpoints))),
            microbatches=self.microbatches or other.microbatches,
            batch_dimension=self.batch_dimension or other.batch_dimension,
            is_sharded=self.is_sharded or other.is_sharded,
        )

    @property
    def is_traced(self) -> bool:
        """Whether the program has to be traced again for it."""
        return bool(self.checkpoints or self.microbatches)


class Candidate(Struct, frozen=True):
    """A change to try. `action` is the row of the action that it does in `Advice.actions`, and `rule` that of the
    action; None for a `flag`, NAME=VALUE. The program is estimated to need `estimated_bytes` after it, None if nothing
    estimates it. `change` is None if the program cannot be changed so without its source; `reason` says why. `policy`
    is that of the action, None if it is taken without one.
    """

    what: Inlines
    cost: Cost
    action: int | None
    rule: Rule | None
    estimated_bytes: int | None
    change: Change | None
    reason: str = ""
    policy: str | None = None
    flag: str | None = None


def candidates(
    dump: DumpSet,
    advice: Advice | None,
    set_options: Mapping[str, str],
    budget_bytes: int | None,
    flags: Mapping[str, str] = MappingProxyType({}),
    *,
    can_trace: bool = True,
) -> Iterator[Candidate]:
    """Yield what can be tried: each action with each of its policies, then flags of the compiler that save memory in
    some programs, unless they are among the options that are set already, and those that the user wants to try.
    `can_trace` says whether the program can be traced again.
    """
    changes: dict[int, Change] = {}
    for row, action in enumerate(advice.actions if advice else ()):
        for candidate in _of_action(dump, row, action):
            # Some actions save enough only after others.
            missing = [other for other in action.others if other not in changes]
            if candidate.change is None:
                yield candidate
            elif missing:
                yield replace(candidate, change=None, reason=f"needs action {missing[0] + 1}, which cannot be tried")
            else:
                change = reduce(or_, (changes[other] for other in action.others), candidate.change)
                changes.setdefault(row, change)
                is_possible = can_trace or not change.is_traced
                yield (
                    replace(candidate, change=change)
                    if is_possible
                    else replace(candidate, change=None, reason=NEEDS_FUNCTION)
                )
    for name, value in {**dict(_flags(dump.backend, budget_bytes)), **flags}.items():
        if name in flags or name not in set_options:
            flag = f"{name}={value}"
            words = ("Compile with ", Name(flag))
            yield Candidate(words, Cost.NOTHING, None, None, None, Change(options={name: value}), flag=flag)


def _of_action(dump: DumpSet, row: int, action: Action) -> Iterator[Candidate]:
    def candidate(change: Change | None, reason: str = "") -> Candidate:
        return Candidate(action.what, action.cost, row, action.rule, action.needed_bytes, change, reason)

    call = action.call
    match action.rule:
        case Rule.DONATE:
            yield candidate(Change(donated=_parameters(dump, action)))
        case Rule.OPTIMIZER_STATE:
            yield candidate(Change(narrowed=_parameters(dump, action)))
        case Rule.MICROBATCHES:
            dimension, is_sharded = action.batch_dimension, action.is_sharded
            yield candidate(Change(microbatches=action.factor, batch_dimension=dimension, is_sharded=is_sharded))
        case Rule.REMATERIALIZE if call is None:
            yield candidate(None, "the dump does not name the function to wrap")
        case Rule.REMATERIALIZE if call is not None:
            yield candidate(Change(checkpoints=(Checkpoint(call.function, None),)))
            if action.policy:
                policy = policy_name(action.policy.code)
                needed = action.needed_bytes + action.saved_needed_bytes - action.policy.saved_needed_bytes
                words = with_policy(action.what, policy)
                change = Change(checkpoints=(Checkpoint(call.function, policy),))
                yield Candidate(words, action.cost, row, action.rule, needed, change, policy=policy)
        case _:
            yield candidate(None, "only a change of the source does it")


def _parameters(dump: DumpSet, action: Action) -> tuple[int, ...]:
    """The numbers of the parameters whose buffers an action changes."""
    allocations = dump.values.allocation[[value for value in action.edit if value != NONE]]
    numbers = dump.allocations.parameter[allocations]
    found: list[int] = distinct(numbers[numbers != NONE]).tolist()
    return tuple(found)


MEMORY_LIMIT: Final = "xla_tpu_max_hbm_size_mib"
"""The flag that limits what a TPU program may need."""

_FLAGS: Final[Mapping[Backend, tuple[tuple[str, str], ...]]] = {
    Backend.CPU: (("xla_cpu_scheduler_type", "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"),),
    Backend.GPU: (("xla_gpu_enable_latency_hiding_scheduler", "false"),),
}
"""Flags that save memory in some programs."""


def _flags(backend: Backend | None, budget_bytes: int | None) -> Iterator[tuple[str, str]]:
    if backend is not None:
        yield from _FLAGS.get(backend, ())
    if backend is Backend.TPU and budget_bytes is not None:
        yield MEMORY_LIMIT, str(budget_bytes >> 20)
