"""The part of a report about what to do: actions that lower the peak, and whether they reach a budget."""

from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.advice.actions import Action, Advice, Budget, Certainty, Cost, Sharding, Suggestion, TriedActions
from xla_lens.advice.subject import Buffers
from xla_lens.blocks.blocks import (
    Explanation,
    Inline,
    Inlines,
    InMap,
    Name,
    Role,
    Section,
    Sections,
    Table,
    Text,
    command,
    inlines,
    joined,
    linked,
    plain_text,
    table,
)
from xla_lens.blocks.entities import step_link, value_link
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Rows
from xla_lens.words.numbers import as_given, capitalized, counted, enumerated, human
from xla_lens.words.sources import frame_text

_MOST_GROUPS: Final = 3
"""Maximum number of groups of buffers shown for an action."""

_MOST_IN_MAP: Final = 1000
"""Maximum number of values of an action that the memory map shows."""

_MOST_TREES: Final = 6
"""Maximum number of argument trees shown."""


def advice_sections(dump: DumpSet, advice: Advice, top: int | None, *, has_map: bool) -> Sections:
    """What would lower the peak of a memory space, the decisive facts first, and at most `top` actions. With `has_map`,
    links to the memory map.
    """
    title = f"What would lower the {dump.space_id(advice.color).name} peak"
    blocks: list[Text | Table] = [current_need(advice), *_decisive(advice)]
    if advice.budget:
        blocks += plan(advice, advice.budget)
    if advice.tried:
        blocks += tried_sentences(advice, advice.tried)
    if any(action.certainty is Certainty.ESTIMATED for action in advice.actions):
        blocks.append(_note(advice))
    if advice.rematerialized:
        again = counted(advice.rematerialized, "instruction")
        blocks.append(f"XLA already repeats {again} to fit (`.remat`), and repeats fewer as soon as there is room.")
        if dump.backend is Backend.GPU:
            # What was measured with a limit below the need.
            blocks.append("On a GPU that can make a program bigger: it made a GPT need 1.04 times as much.")
    shown = enumerate(advice.actions[:top], 1)
    actions = (_action(dump, number, action, has_map=has_map) for number, action in shown)
    suggestions = (_suggestion(advice, suggestion) for suggestion in advice.suggestions)
    return Section(title, tuple(blocks)), *actions, *suggestions


def _note(advice: Advice) -> str:
    """How the numbers of the actions were computed."""
    others = ", or for those it names with it" if any(action.others for action in advice.actions) else ""
    which = "Each" if all(action.certainty is Certainty.ESTIMATED for action in advice.actions) else "Each estimate"
    return (
        f"{which} is recomputed from the live ranges for that action alone{others}; XLA will schedule the changed "
        "program anew."
    )


def tried_sentences(advice: Advice, tried: TriedActions) -> Iterator[Text]:
    """Yield what was measured of several actions together, and of flags; or why nothing is."""
    file = tried.file.replace("\\", "/").rpartition("/")[2]
    where = ("What was tried (", Name(file), ")")
    if tried.is_stale:
        yield (*where, " is of another compilation of this program: what it measured is left out.")
    elif tried.measured_needed_bytes != advice.needed_bytes:
        other = tried.measured_needed_bytes
        needed = f", with which the program needs {human(other)}" if other is not None else ""
        yield (*where, f" was compiled by another compiler{needed}: what it measured is left out.")
    if tried.taken_needed_bytes is not None:
        whole = "" if len(tried.taken) == 1 else ", compiled as a whole"
        yield (
            "With ",
            *joined(tried.taken, ", "),
            f", the program needs {human(tried.taken_needed_bytes)} (measured{whole}).",
        )
    for flag, needed_bytes in tried.flags:
        yield ("With ", Name(flag), f", the program needs {human(needed_bytes)} (measured).")


def current_need(advice: Advice) -> str:
    """Return what is needed now and what the actions save: ``Needed now: 12.05 MiB. Live at the peak: 12.00 MiB.``."""
    peak, needed = human(advice.peak_bytes), human(advice.needed_bytes)
    # Sizes that differ by the alignment of allocations look the same.
    almost = "almost " * (advice.needed_bytes != advice.peak_bytes)
    live = f". Live at the peak: {peak}." if needed != peak else f", {almost}all of it live at the peak."
    now = f"Needed now: {needed}{live}"
    if not advice.actions:
        return f"{now} None of the rules finds anything that lowers it."
    if len(advice.actions) == 1:
        return now
    saved = human(advice.all_saved_needed_bytes)
    if len(advice.together) == 1:
        return (
            f"{now} {capitalized(numbered(advice.together))} saves {saved}, and the others add almost nothing to that."
        )
    are_all = len(advice.together) == len(advice.actions)
    which = "All of the following" if are_all else capitalized(numbered(advice.together))
    return f"{now} {which} together save {saved}."


# ---------------------------------------------------------------- decisive facts


def _decisive(advice: Advice) -> Iterator[Text | Table]:
    budget = advice.budget
    if budget is None or not budget.do_arguments_exceed:
        return
    # Only other arguments help: fewer, smaller or elsewhere.
    claim = "" if budget.is_reached else " No change to the computation, such as rematerialization, can make this fit."
    yield f"{arguments_exceed(budget)}{claim}"
    rows = tuple(
        (
            human(tree.size_bytes),
            counted(tree.count, "array"),
            Name(tree.name) if tree.name else "(no name)",
            "optimizer state: nothing reads it before the backward pass" if tree.is_idle else "",
        )
        for tree in advice.arguments[:_MOST_TREES]
        if tree.size_bytes * 100 >= advice.argument_bytes
    )
    yield table("size | arrays | <arguments | <use", rows, has_text_header=False)
    factor = budget.divide_arguments_by
    devices = f"Sharded over {factor} times as many devices, they take {human(budget.divided_argument_bytes)}"
    offloaded = advice.argument_bytes_without_optimizer_state
    has_state = offloaded != advice.argument_bytes
    yield f"{devices}. " + (f"Without the optimizer state, {human(offloaded)} remain." if has_state else "")


def plan(advice: Advice, budget: Budget) -> Iterator[Text | Table]:
    """Yield how the actions and more devices reach a budget."""
    size = as_given(budget.budget_bytes)
    if advice.needed_bytes <= budget.budget_bytes:
        yield f"The program fits into {size} already."
        return
    if budget.actions:
        yield _reached(budget, size) if budget.needs[-1] <= budget.budget_bytes else _not_reached(budget, size)
    closing = [] if budget.is_reached else [*_with_more_devices(advice, budget, size)]
    yield from closing
    # If the arguments alone exceed the budget, that has been said above.
    if not budget.actions and not closing and not budget.do_arguments_exceed:
        yield _nothing_found(advice, budget, size)


def _nothing_found(advice: Advice, budget: Budget, size: str) -> str:
    """What is left to do where no action and no number of devices helps."""
    arguments, rest = human(budget.remaining_argument_bytes), human(budget.remaining_other_bytes)
    return (
        f"The program needs {human(advice.needed_bytes - budget.budget_bytes)} more than {size}: {arguments} are "
        f"arguments, {rest} outputs and temporaries. To fit, compute less at once (a smaller batch, in parts), use "
        "smaller types, or return less."
    )


def _reached(budget: Budget, size: str) -> str:
    needs, which = enumerated([*map(human, budget.needs)]), numbered(budget.actions)
    most = f"it may need up to {human(budget.most_bytes)}"
    if budget.is_reached:
        then = "The program then" if len(budget.actions) == 1 else "After each of them in turn, the program"
        return f"To fit into {size}, do {which}. {then} needs {needs} (estimated; {most})."
    in_turn = "" if len(budget.actions) == 1 else " in turn"
    return f"After {which}{in_turn}, the program needs {needs} (estimated). That is within {size}, but {most}."


def _not_reached(budget: Budget, size: str) -> str:
    needs, which, over = enumerated([*map(human, budget.needs)]), numbered(budget.actions), budget.needs[-1]
    in_turn = "" if len(budget.actions) == 1 else " in turn"
    arguments, rest = human(budget.remaining_argument_bytes), human(budget.remaining_other_bytes)
    return (
        f"After {which}{in_turn}, the program needs {needs} (estimated). That is still "
        f"{human(over - budget.budget_bytes)} more than {size}: {arguments} of arguments and {rest} of the rest remain."
    )


def _with_more_devices(advice: Advice, budget: Budget, size: str) -> Iterator[Text | Table]:
    """What closes the gap that the actions leave."""
    sharding, after_actions = budget.sharding, budget.needs[-1] if budget.needs else advice.needed_bytes
    if sharding:
        actions = budget.actions[: sharding.action_count]
        after = f" and after {numbered(actions)}" if actions else ""
        yield (
            f"With the arguments sharded over {sharding.factor} times as many devices{after}, the program needs about "
            f"{human(sharding.needed_bytes)} on each (estimated), which fits into {size}."
        )
    rows = [
        (
            f"{sharding.factor} × as many",
            human(sharding.needed_bytes),
            _left(sharding, budget.budget_bytes),
            f"after {numbered(actions)}" if (actions := budget.actions[: sharding.action_count]) else "",
        )
        for sharding in budget.shardings
    ]
    # Arguments of which each device would gather most do not become smaller.
    if any(sharding.needed_bytes < after_actions for sharding in budget.shardings):
        yield table("<devices | needed on each | <left | <", rows)


def _left(sharding: Sharding, budget_bytes: int) -> str:
    """What is left of the budget on each device: ``3.63 GiB free``."""
    left = budget_bytes - sharding.needed_bytes
    if left < 0:
        return f"{human(-left)} too much"
    return f"{human(left)} free" if sharding.fits else f"{human(left)} free, which may not suffice"


def numbered(rows: Sequence[int]) -> str:
    """Return some actions by their numbers in their order: ``action 1``, ``actions 1–4 and 6``."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and runs[-1][1] == row:
            runs[-1][1] = row + 1
        else:
            runs.append([row + 1, row + 1])
    numbers = [f"{first}" if first == last else f"{first}–{last}" for first, last in runs]
    return f"action{'s' if len(rows) > 1 else ''} {enumerated(numbers)}"


# ---------------------------------------------------------------- actions


def _action(dump: DumpSet, number: int, action: Action, *, has_map: bool) -> Section:
    """An action: what to do, what it saves and how certain that is, then the code, the numbers, and the buffers."""
    title = (f"{number}. ", *_saving(action))
    needed, peak = human(action.needed_bytes), human(action.peak_bytes)
    then = f"{_COSTS[action.cost]} The program then needs {needed}; at most {peak} are live at once, at step "
    values = tuple(value for group in action.groups for value in group.values)[:_MOST_IN_MAP]
    explanation = command(f"xla-lens explain {action.rule}", Explanation(action.rule))
    shown: list[Inline] = [". ", linked("Show in the memory map", in_map(action, values))] if values and has_map else []
    numbers = (then, *inlines(step_link(action.peak_step)), ". When this helps: ", explanation, *shown)
    rows = [tuple(_group(dump, group)) for group in action.groups[:_MOST_GROUPS]]
    more = action.groups[_MOST_GROUPS:]
    if len(more) == 1:
        # A row that says what it is takes as much space as one that sums up.
        rows.append(tuple(_group(dump, more[0])))
    elif more:
        count = sum(group.count for group in more)
        rows.append((human(sum(group.size_bytes for group in more)), f"{count:,} × other shapes", "", ""))
    buffers = [table("size | <buffers | <source | <values", rows, has_text_header=False)] if rows else []
    code = [command(action.snippet)] if action.snippet else []
    if action.measured_by and action.certainty is Certainty.ESTIMATED:
        numbers = (*numbers, ". To measure it: ", command(action.measured_by))
    if action.policy:
        kept = f", which keeps {action.policy.kept}: {_saved(action.policy.saved_needed_bytes)}"
        kept += " (measured)" * (action.policy.certainty is Certainty.MEASURED)
        numbers = (*numbers, ". With ", command(action.policy.code), kept)
    return Section(title, (*code, numbers, *buffers), level=1)


_COSTS: Final = {
    Cost.NOTHING: "It costs nothing.",
    Cost.CODE: "It costs a change of the code.",
    Cost.TIME: "It costs time: what ran at once runs one after another.",
    Cost.COMMUNICATION: "It costs time: devices gather the weights of each layer before they use them.",
    Cost.COMPUTE: "It costs time: this part of the forward pass is computed again.",
    Cost.NUMBERS: "It changes the results slightly.",
}


def _suggestion(advice: Advice, suggestion: Suggestion) -> Section:
    """What is worth trying: the code, and what it saved in other programs, or in this one if it was tried."""
    measured = suggestion.measured
    if suggestion.needed_bytes is not None:
        measured = f"The program then needs {human(suggestion.needed_bytes)}."
    explanation = command(f"xla-lens explain {suggestion.rule}", Explanation(suggestion.rule))
    words = (f"{measured} {_COSTS[suggestion.cost]} When this helps: ", explanation)
    return Section(suggested(advice, suggestion), (command(suggestion.snippet), words), level=1)


def suggested(advice: Advice, suggestion: Suggestion) -> Inlines:
    """Return what is worth a try, or what it saves if it was tried."""
    if suggestion.needed_bytes is None:
        return ("Worth a try: ", *suggestion.what)
    saved = _saved(advice.needed_bytes - suggestion.needed_bytes)
    return (*suggestion.what, f": {saved} ({Certainty.MEASURED})")


def arguments_exceed(budget: Budget) -> str:
    """Return by how much the arguments alone exceed the budget."""
    over, size = human(budget.arguments_over_bytes), as_given(budget.budget_bytes)
    return f"The arguments alone take {human(budget.argument_bytes)}, {over} more than {size}."


def in_map(action: Action, values: Rows) -> InMap:
    """Return what shows the buffers of an action in the memory map, which says what it saves."""
    return InMap(values, plain_text(_saving(action)))


def largest_saving(action: Action) -> Inlines:
    """Return what to do and what it saves: ``Wrap layer in jax.checkpoint: saves 13.56 GiB (estimated).``."""
    return (*_saving(action), ".")


def _saving(action: Action) -> Inlines:
    others = f" more after {numbered(action.others)}" if action.others else ""
    return (*action.what, f": {_saved(action.saved_needed_bytes)}{others} ({action.certainty})")


def _saved(size_bytes: int) -> str:
    if size_bytes == 0:
        return "saves nothing"
    return f"saves {human(size_bytes)}" if size_bytes > 0 else f"costs {human(-size_bytes)}"


def _group(dump: DumpSet, group: Buffers) -> Iterator[Text]:
    """A group in a row: ``7.00 GiB  32 × bf16[4,2048]  model.py:31 in llama_layer  while.60{6}``."""
    yield human(group.size_bytes)
    yield (f"{group.count:,} × ", Name(group.shape, role=Role.SHAPE))
    source: list[Inline] = []
    if group.line is not None:
        source.append(Name(frame_text(group.line), role=Role.SOURCE, target=group.line))
        source += [" in ", Name(group.line.function)] if group.line.function else []
    elif group.op_name:
        source.append(Name(group.op_name, role=Role.PATH))
    yield tuple(source)
    more = len(group.values) - 1
    yield (*inlines(value_link(dump, group.values[0])), f" and {more:,} more" if more else "")
