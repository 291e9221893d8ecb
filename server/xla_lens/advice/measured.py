"""Advice with what a compiler has measured of it: `xla-lens try` keeps that beside the dump."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce

from msgspec.structs import replace

from xla_lens.advice.actions import Action, Advice, Certainty, Suggestion, TriedActions
from xla_lens.blocks.blocks import Inlines, Name, plain_text
from xla_lens.model.tried import Tried, TriedChange
from xla_lens.words.numbers import capitalized


def with_measured(advice: Advice, tried: Tried | None) -> Advice:
    """Return advice with what was measured of its actions and suggestions. What an action saves after others stays
    estimated, and so does everything if the dump, or the compiler, is another one than that of the trials.
    """
    if tried is None:
        return advice
    if not tried.is_of_dump:
        found = TriedActions(tried.file, is_stale=tried.is_stale, measured_needed_bytes=tried.measured_needed_bytes)
        return replace(advice, tried=found)
    changes = list(tried.changes)
    names: dict[int, Inlines] = {}
    actions = []
    for number, action in enumerate(advice.actions, 1):
        rows = [*_of_action(changes, action, names)]
        names |= {row: (f"action {number}", *_policy(changes[row])) for row in rows}
        actions.append(reduce(partial(_measured, advice), (changes[row] for row in rows), action))
    flags = {change.flag: change for change in changes if change.flag}
    suggestions = [_suggested(suggestion, flags) for suggestion in advice.suggestions]
    return replace(
        advice,
        actions=tuple(actions),
        suggestions=tuple(suggestions),
        tried=_together(tried, names, {suggestion.flag for suggestion in suggestions}),
    )


def change_text(what: Inlines) -> str:
    """Return what is changed as the file beside the dump has it, which is how a change is known again."""
    return capitalized(plain_text(what))


def policy_name(code: str) -> str:
    """Return the name of a policy in code such as ``policy=jax.checkpoint_policies.dots_saveable``."""
    return code.rpartition(".")[2]


def with_policy(what: Inlines, policy: str) -> Inlines:
    """Return in words an action that is taken with a policy."""
    return (*what, " with ", Name(policy))


def _of_action(changes: Sequence[TriedChange], action: Action, known: dict[int, Inlines]) -> Iterator[int]:
    """The rows of the changes that do an action: as it is, and with its policy."""
    texts: dict[str | None, str] = {None: change_text(action.what)}
    if action.policy:
        name = policy_name(action.policy.code)
        texts[name] = change_text(with_policy(action.what, name))
    for policy, text in texts.items():
        # Two actions may have the same words.
        yield from [
            row
            for row, change in enumerate(changes)
            if (change.rule, change.policy, change.change) == (action.rule, policy, text) and row not in known
        ][:1]


def _measured(advice: Advice, action: Action, change: TriedChange) -> Action:
    if change.needed_bytes is None or change.peak_bytes is None:
        return action
    saved_bytes = advice.needed_bytes - change.needed_bytes
    if change.policy:
        assert action.policy is not None, "only an action with a policy has such a change"
        policy = replace(action.policy, saved_needed_bytes=saved_bytes, certainty=Certainty.MEASURED)
        return replace(action, policy=policy)
    if action.others:
        return action
    return replace(
        action,
        certainty=Certainty.MEASURED,
        saved_bytes=advice.peak_bytes - change.peak_bytes,
        saved_needed_bytes=saved_bytes,
        needed_bytes=change.needed_bytes,
        peak_bytes=change.peak_bytes,
        peak_step=change.peak_step,
    )


def _suggested(suggestion: Suggestion, flags: Mapping[str, TriedChange]) -> Suggestion:
    change = flags.get(suggestion.flag) if suggestion.flag else None
    return replace(suggestion, needed_bytes=change.needed_bytes) if change else suggestion


def _policy(change: TriedChange) -> Inlines:
    return (" with ", Name(change.policy)) if change.policy else ()


def _together(tried: Tried, names: dict[int, Inlines], suggested: set[str | None]) -> TriedActions:
    """The bytes needed with the changes that are taken together, and with flags that nothing suggests."""

    def name(row: int) -> Inlines | None:
        flag = tried.changes[row].flag if row < len(tried.changes) else None
        return (Name(flag),) if flag else names.get(row)

    found: list[Inlines | None] = [name(row) for row in tried.plan.changes] if tried.plan else []
    taken = [words for words in found if words]
    flags = [
        (change.flag, change.needed_bytes)
        for change in tried.changes
        if change.flag and change.flag not in suggested
        # Most flags change nothing.
        if change.needed_bytes is not None and change.needed_bytes != tried.needed_bytes
    ]
    is_whole = tried.plan is not None and len(taken) == len(found) > 0 and len(tried.plan.needed_bytes) == len(found)
    return TriedActions(
        tried.file,
        is_stale=False,
        measured_needed_bytes=tried.measured_needed_bytes,
        taken=tuple(taken) if is_whole else (),
        taken_needed_bytes=tried.plan.needed_bytes[-1] if tried.plan and is_whole else None,
        flags=tuple(flags),
    )
