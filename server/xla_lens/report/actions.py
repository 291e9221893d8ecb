"""The part of a report about what to do: actions that lower the peak, and whether they reach a budget."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from xla_lens.blocks.blocks import (
    Inline,
    Inlines,
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
    table,
)
from xla_lens.blocks.entities import step_link, value_link
from xla_lens.model.advice.actions import Action, Advice, Budget, Buffers, Certainty
from xla_lens.model.advice.codes import Rule
from xla_lens.model.attribution.parameters import moment_of, told_path
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.report.facts import Report
from xla_lens.words.numbers import as_given, counted, human
from xla_lens.words.sources import frame_text

_MOST_GROUPS: Final = 3
"""Maximum number of groups of buffers shown for an action."""

_MOST_IN_MAP: Final = 1000
"""Maximum number of values of an action that the memory map shows."""

_MOST_TREES: Final = 6
"""Maximum number of argument trees shown."""


def advice_sections(report: Report) -> Sections:
    """What would lower the peak of the default memory space, the decisive facts first."""
    advice = report.advice
    if advice is None:
        return ()
    title = f"What would lower the {report.dump.space_id(advice.color).name} peak"
    blocks: list[Text | Table] = [_now(advice), *_decisive(advice)]
    if advice.budget:
        blocks += _plan(advice, advice.budget)
    if advice.actions:
        blocks.append(_NOTE)
    if advice.rematerialized:
        again = counted(advice.rematerialized, "instruction")
        blocks.append(f"XLA already repeats {again} to fit (`.remat`), and repeats fewer as soon as there is room.")
    shown = enumerate(advice.actions[: report.options.top])
    return Section(title, tuple(blocks)), *(_action(report, number + 1, action) for number, action in shown)


_NOTE: Final = (
    "Each is recomputed from the live ranges for that action alone; XLA will schedule the changed program anew."
)


def _now(advice: Advice) -> str:
    """What is needed now and what the actions save: ``Needed now: 12.05 MiB. Live at the peak: 12.00 MiB.``."""
    peak, needed = human(advice.peak_bytes), human(advice.needed_bytes)
    # Sizes that differ by the alignment of allocations look the same.
    almost = "almost " * (advice.needed_bytes != advice.peak_bytes)
    live = f". Live at the peak: {peak}." if needed != peak else f", {almost}all of it live at the peak."
    now = f"Needed now: {needed}{live}"
    if not advice.actions:
        return f"{now} None of the rules finds anything that lowers it."
    if len(advice.actions) == 1:
        return now
    which = "All of the following" if len(advice.together) == len(advice.actions) else _numbers(advice.together)
    return f"{now} {which} together saves {human(advice.needed_bytes - advice.all_needed_bytes)}."


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
    devices = f"Sharded over {factor} times as many devices, they take {human(-(-advice.argument_bytes // factor))}"
    idle = sum(tree.size_bytes for tree in advice.arguments if tree.is_idle)
    offloaded = human(advice.argument_bytes - idle)
    yield f"{devices}. " + (f"Without the optimizer state, {offloaded} remain." if idle else "")


def _plan(advice: Advice, budget: Budget) -> Iterator[Text]:
    size = as_given(budget.budget_bytes)
    if advice.needed_bytes <= budget.budget_bytes:
        yield f"The program fits into {size} already."
    if not budget.actions or (budget.do_arguments_exceed and not budget.is_reached):
        return
    needs = ", ".join(map(human, budget.needs))
    if budget.is_reached:
        yield f"To fit into {size}, do {_numbers(budget.actions)}. Needed after each, recomputed: {needs}."
    else:
        over = human(budget.needs[-1] - budget.budget_bytes)
        rows = _numbers(budget.actions)
        yield f"Needed after each of {rows}, recomputed: {needs}. That is still {over} more than {size}."


def _numbers(rows: Sequence[int]) -> str:
    """Return the numbers of some actions: ``1–4, 6``."""
    runs: list[list[int]] = []
    for row in sorted(rows):
        if runs and runs[-1][1] == row:
            runs[-1][1] = row + 1
        else:
            runs.append([row + 1, row + 1])
    return ", ".join(f"{first}" if first == last else f"{first}–{last}" for first, last in runs)


# ---------------------------------------------------------------- actions


def _action(report: Report, number: int, action: Action) -> Section:
    """An action: what to do, what it saves and how certain that is, then the code, the numbers, and the buffers."""
    title = (
        f"{number}. ",
        *what_to_do(report.dump, action),
        f": saves {human(action.saved_needed_bytes)} ({action.certainty})",
    )
    needed = f"{human(action.needed_bytes)} needed then, at most {human(action.peak_bytes)} live at once, at step "
    values = tuple(value for group in action.groups for value in group.values)[:_MOST_IN_MAP]
    explanation = command(f"xla-lens explain {action.rule}", action.rule)
    in_map: list[Inline] = [". ", linked("Show in the memory map", values)] if values and report.options.has_map else []
    numbers = (needed, *inlines(step_link(action.peak_step)), ". When this helps: ", explanation, *in_map)
    snippet = snippet_of(report.dump, action)
    rows = [tuple(_group(report.dump, group)) for group in action.groups[:_MOST_GROUPS]]
    more = action.groups[_MOST_GROUPS:]
    if more:
        count = sum(group.count for group in more)
        rows.append((human(sum(group.size_bytes for group in more)), f"{count:,} × other shapes", "", ""))
    buffers = [table("size | <buffers | <source | <values", rows, has_text_header=False)] if rows else []
    code = [command(snippet)] if snippet else []
    if action.rule is Rule.DONATE and action.certainty is Certainty.ESTIMATED:
        numbers = (*numbers, ". To measure it: ", command("xla_lens.capture(step, *arguments).try_donation()"))
    if action.with_products_bytes:
        kept = f", which keeps products with weights: saves {human(action.with_products_bytes)}"
        numbers = (*numbers, ". With ", command(_POLICY), kept)
    return Section(title, (*code, numbers, *buffers), level=1)


_POLICY: Final = "policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable"


def what_to_do(dump: DumpSet, action: Action) -> Inlines:
    """Return what to do, in the terms of the program."""
    match action.rule:
        case Rule.DONATE:
            return ("Donate ", *_joined(_names(dump, action, _root_of) or ("arguments",)))
        case Rule.REMATERIALIZE:
            return ("Wrap ", *(_function(action) or ("the layers",)), f" in {_checkpoint(action)}")
        case Rule.OPTIMIZER_STATE:
            return (
                "Keep ",
                *_joined(_names(dump, action, moment_of)),
                ", the first moment of the optimizer, in bfloat16",
            )
        case Rule.ATTENTION_SCORES:
            return ("Compute attention in blocks of queries", *_in(action))
        case Rule.LOGITS:
            return (f"Compute logits and loss in {action.factor} chunks", *_in(action))
        case Rule.MICROBATCHES:
            return (f"Split the batch into {action.factor} microbatches and add up their gradients",)


def snippet_of(dump: DumpSet, action: Action) -> str | None:
    """Return code that does it, to adapt and paste; None if it depends on the program too much."""
    match action.rule:
        case Rule.DONATE:
            names = _names(dump, action, _root_of)
            if _EQUINOX in names:
                return 'step = equinox.filter_jit(step, donate="all")'
            return f"step = jax.jit(step, donate_argnames={names!r})" if names else None
        case Rule.REMATERIALIZE:
            name = action.call.name if action.call else "layer"
            return f"{name} = {_checkpoint(action)}({name})"
        case Rule.OPTIMIZER_STATE:
            return "optimizer = optax.adamw(learning_rate, mu_dtype=jnp.bfloat16)"
        case Rule.ATTENTION_SCORES:
            return "attended = jax.lax.map(jax.checkpoint(attend), blocks_of_queries)"
        case Rule.LOGITS:
            return "loss = jax.lax.map(jax.checkpoint(loss_of), chunks).sum()"
        case Rule.MICROBATCHES:
            return "gradients = jax.lax.scan(add_gradients, zeros_like_params, microbatches)[0]"


_EQUINOX: Final = "dynamic_nodonate"
"""The name that Equinox gives to all arguments that are not donated."""


def _names(dump: DumpSet, action: Action, name_of: Callable[[str], str]) -> tuple[str, ...]:
    """The names, by their paths, of the arguments whose buffers an action concerns, most bytes first; empty if they are
    unknown.
    """
    names = (dump.values.name[value] for group in action.groups for value in group.values)
    paths = (told_path(instruction.op_name) for name in names if (instruction := dump.instruction(int(name))))
    return tuple(dict.fromkeys(name_of(path) for path in paths if path is not None))


def _root_of(path: str) -> str:
    """The name of the whole argument of a path, which is donated as one."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _joined(names: Sequence[str]) -> Inlines:
    """The first of some names as words: ``params, state[0] and 2 more``."""
    shown, more = names[:_MOST_NAMES], len(names) - _MOST_NAMES
    if more > 0:
        return (*joined(map(Name, shown), ", "), f" and {more:,} more")
    return (*joined(map(Name, shown[:-1]), ", "), *([" and "] if len(shown) > 1 else []), Name(shown[-1]))


_MOST_NAMES: Final = 3


def _checkpoint(action: Action) -> str:
    return action.call.checkpoint if action.call else "jax.checkpoint"


def _function(action: Action) -> Inlines:
    """The function that most of the buffers come from, and the line that calls it, empty if it is unknown."""
    call = action.call
    if call is None:
        return ()
    name = Name(call.name)
    if call.frame is None:
        return (name,)
    return name, " (called at ", Name(frame_text(call.frame), call.frame, Role.SOURCE), ")"


def _in(action: Action) -> Inlines:
    function = _function(action)
    return (" in ", *function) if function else ()


def arguments_exceed(budget: Budget) -> str:
    """Return by how much the arguments alone exceed the budget."""
    over, size = human(budget.argument_bytes - budget.budget_bytes), as_given(budget.budget_bytes)
    return f"The arguments alone take {human(budget.argument_bytes)}, {over} more than {size}."


def largest_saving(dump: DumpSet, action: Action) -> Inlines:
    """Return what to do and what it saves: ``Wrap layer in jax.checkpoint: saves 13.56 GiB (estimated).``."""
    return (*what_to_do(dump, action), f": saves {human(action.saved_needed_bytes)} ({action.certainty}).")


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
