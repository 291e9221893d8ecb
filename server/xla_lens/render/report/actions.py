"""The part of a report about what to do: actions that lower the peak, and whether they reach a budget."""

from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.features.report.facts import Report
from xla_lens.model.advice.actions import Action, Advice, Budget, Buffers, Certainty
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.padding import padding_of
from xla_lens.render.numbers import apart, as_given, capitalized, counted, human
from xla_lens.render.padding import padding_part
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_SHAPE,
    Command,
    Name,
    Role,
    Section,
    Sections,
    Table,
    Text,
    headers,
)
from xla_lens.render.report.values import space_of, step_link, value_link
from xla_lens.render.sources import frame_text

_MOST_GROUPS: Final = 3
"""Maximum number of groups of buffers shown for an action."""

_MOST_TREES: Final = 6
"""Maximum number of argument trees shown."""


def advice_sections(report: Report) -> Sections:
    """What would lower the peak of the default memory space, the decisive facts first."""
    advice = report.advice
    if advice is None:
        return ()
    space = space_of(report, advice.color)
    now = f"now {human(advice.peak_bytes)}, needed {apart(advice.needed_bytes, advice.peak_bytes)}"
    if not advice.actions:
        title = f"What would lower the {space} peak ({now}): none of the rules finds anything"
    elif len(advice.together) == 1:
        title = f"What would lower the {space} peak ({now})"
    else:
        together = _numbers(advice.together)
        saved = human(advice.needed_bytes - advice.all_needed_bytes)
        title = f"What would lower the {space} peak ({now}; {together} together save {saved})"
    blocks: list[Text | Table] = [*_decisive(advice)]
    if advice.budget:
        blocks += _plan(advice, advice.budget)
    if advice.actions:
        blocks += [_table(report, advice), *_footnotes(advice)]
    return (Section(title, tuple(blocks)),)


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
    yield Table(
        headers("size", "arrays", "arguments", "use", text=("arguments", "use")), rows, has_text_header=False, indent=4
    )
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


def _table(report: Report, advice: Advice) -> Table:
    titles = ("#", "saves", "needed then", "peak then", "at step", "certainty", "what to do")
    shown = advice.actions[: report.options.top]
    rows = (row for number, action in enumerate(shown) for row in _rows(report, number + 1, action))
    return Table(headers(*titles, text=("certainty", "what to do")), tuple(rows))


def _rows(report: Report, number: int, action: Action) -> Iterator[tuple[Text, ...]]:
    yield (
        f"{number}.",
        human(action.saved_needed_bytes),
        human(action.needed_bytes),
        human(action.peak_bytes),
        step_link(action.peak_step),
        action.certainty.value,
        (capitalized(_WHAT[action.rule].format(factor=action.factor)), f" ({action.rule})"),
    )
    for group in action.groups[:_MOST_GROUPS]:
        yield "", "", "", "", "", "", ("  ", *_group(report, action, group))
    more = action.groups[_MOST_GROUPS:]
    if more:
        size = human(sum(group.size_bytes for group in more))
        count = sum(group.count for group in more)
        yield "", "", "", "", "", "", f"  {size}  {count:,} × other shapes"


_WHAT: Final = {
    Rule.DONATE: "donate these arguments: the caller keeps them, so outputs of the same shape need other memory",
    Rule.REMATERIALIZE: "rematerialize what the forward pass saves here for the backward pass",
    Rule.OPTIMIZER_STATE: "keep the first moment of the optimizer in bfloat16",
    Rule.ATTENTION_SCORES: "compute attention in blocks (flash attention), so that it never stores these scores",
    Rule.LOGITS: "compute logits and loss in {factor} chunks",
    Rule.PADDING: "avoid padding: fold or transpose dimensions",
}


def arguments_exceed(budget: Budget) -> str:
    """Return by how much the arguments alone exceed the budget."""
    over, size = human(budget.argument_bytes - budget.budget_bytes), as_given(budget.budget_bytes)
    return f"The arguments alone take {human(budget.argument_bytes)}, {over} more than {size}."


def largest_saving(action: Action) -> str:
    """Return what an action saves in a sentence: ``Rematerializing activations could save 13.56 GiB (estimated).``."""
    saves = "would save" if action.certainty is Certainty.PROVEN else "could save"
    return f"{_DOING[action.rule]} {saves} {human(action.saved_needed_bytes)} ({action.certainty})."


_DOING: Final = {
    Rule.DONATE: "Donating arguments",
    Rule.REMATERIALIZE: "Rematerializing activations",
    Rule.OPTIMIZER_STATE: "Keeping the first moment of the optimizer in bfloat16",
    Rule.ATTENTION_SCORES: "Computing attention in blocks",
    Rule.LOGITS: "Computing logits and loss in chunks",
    Rule.PADDING: "Avoiding padding",
}


def _group(report: Report, action: Action, group: Buffers) -> Iterator[str | Name]:
    """A group in a line: ``7.00 GiB  32 × bf16[4,2048]  model.py:31 in llama_layer  while.60{6}``."""
    dump, value = report.dump, group.values[0]
    yield f"{human(group.size_bytes)}  {group.count:,} × "
    yield Name(group.shape, widest=WIDEST_SHAPE, role=Role.SHAPE)
    if group.line is not None:
        yield "  "
        yield Name(frame_text(group.line), widest=LONGEST_NAME, role=Role.SOURCE, frame=group.line)
        if group.line.function:
            yield " in "
            yield Name(group.line.function)
    elif group.op_name:
        yield "  "
        yield Name(group.op_name, widest=LONGEST_NAME, role=Role.PATH)
    if action.rule is Rule.PADDING:
        padding = padding_of(dump, value)
        causes = "; ".join(map(padding_part, padding.parts)) if padding else ""
        yield f"  {causes} each" if causes else ""
    more = len(group.values) - 1
    yield "  "
    yield value_link(dump, value)
    yield f" and {more:,} more" if more else ""


def _footnotes(advice: Advice) -> Iterator[Text]:
    left_out = [row for row in range(len(advice.actions)) if row not in advice.together]
    if left_out:
        row = _numbers(left_out)
        yield f"Not together with the others: {row}. A layer can be rematerialized only if its input stays saved."
    command = Command(f"xla-lens explain {advice.actions[0].rule}")
    yield (
        "Each row is recomputed from the live ranges for that action alone. What is needed but not live at the peak is "
        "taken to stay, except for outputs that donation saves. ",
        command,
        " explains the first.",
    )
