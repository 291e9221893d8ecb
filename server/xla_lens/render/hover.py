"""Hovers as Markdown."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.hover.facts import (
    AllocationFacts,
    AllocationName,
    End,
    Hover,
    InstructionFacts,
    LiveRangeFacts,
    PeakFacts,
    StepFacts,
    ValueFacts,
    ValueName,
)
from xla_lens.render.markdown import code, table
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, exact, human, percent, shortened
from xla_lens.render.padding import padding_part
from xla_lens.render.sources import stack_lines
from xla_lens.syntax.columns import Kind
from xla_lens.syntax.file_names import FileKind

_MOST_INTERVALS: Final = 4
_LONGEST_SHAPE: Final = 160
_BARS: Final = " ▁▂▃▄▅▆▇█"
_MISSING: Final = {
    FileKind.BUFFER_ASSIGNMENT: "buffer assignment (`-buffer-assignment.txt`): size and place are not known",
    FileKind.VALUES: "values (`-buffer-assignment-values.txt`): positions, uses and instructions are not known",
    FileKind.LIVE_RANGE: "live ranges (`-live-range.txt` since 2026): when it is live is not known",
}


def hover_markdown(facts: Hover) -> str:
    """A hover. Everything that comes from the dump is quoted or escaped, so that it cannot become a link or markup."""
    match facts:
        case ValueFacts():
            lines = _value(facts)
        case AllocationFacts():
            lines = _allocation(facts)
        case StepFacts():
            lines = _step(facts)
        case InstructionFacts():
            lines = _instruction(facts)
        case PeakFacts():
            lines = _peak(facts)
    return "\n".join(lines)


def kind_text(kind: Kind) -> str:
    """What an allocation is for, in the words of its header."""
    words = {
        Kind.PARAMETER: "parameter",
        Kind.OUTPUT: "output",
        Kind.CONSTANT: "constant",
        Kind.THREAD_LOCAL: "thread-local",
        Kind.MAYBE_LIVE_OUT: "maybe-live-out",
        Kind.PREALLOCATED_TEMP: "preallocated-temp",
    }
    return ", ".join(word for flag, word in words.items() if flag in kind)


# ---------------------------------------------------------------- values


def _value(facts: ValueFacts) -> Iterator[str]:
    size = f" · **{human(facts.size_bytes)}**" if facts.size_bytes is not None else ""
    yield f"{code(facts.label)} (value {facts.id}){size}"
    yield ""
    if facts.alias:
        yield f"- {code(facts.alias)} shows its bytes and has none of its own"
    if facts.shape is not None:
        yield f"- shape {code(shortened(facts.shape, _LONGEST_SHAPE))}"
    if facts.size_bytes is not None:
        yield f"- size {exact(facts.size_bytes)}{_padding(facts)}"
        for part in facts.padding.parts if facts.padding else ():
            yield f"  - {padding_part(part)}"
    if facts.allocation:
        allocation = _allocation_name(facts.allocation)
        yield f"- at offset {facts.offset:,} of {allocation}, {space_name(facts.space)}"
    if facts.live_range:
        yield from _live_range(facts.live_range)
    elif FileKind.LIVE_RANGE not in facts.missing:
        yield "- no live range: it takes part in the reserved bytes only"
    if facts.live_at_peak and facts.size_bytes is not None:
        share = percent(facts.size_bytes, facts.peak_bytes)
        yield f"- **live at the peak** of {space_name(facts.space)}: {share} of {human(facts.peak_bytes)}"
    elif facts.live_range and facts.peak_bytes:
        yield f"- not live at the peak of {space_name(facts.space)} ({human(facts.peak_bytes)})"
    if facts.neighbour_count:
        yield from _neighbours(facts)
    if facts.opcode:
        yield f"- made by {code(facts.opcode)}"
    if facts.op_name:
        yield f"- op_name {code(facts.op_name)}"
    yield from stack_lines(facts.frames)
    yield from _missing(facts.missing)


def _missing(kinds: tuple[FileKind, ...]) -> Iterator[str]:
    for kind in kinds:
        yield f"- the set has no {_MISSING[kind]}"


def _padding(facts: ValueFacts) -> str:
    padding = facts.padding.size_bytes if facts.padding else None
    if not facts.padding or not padding or not facts.size_bytes:
        return ""
    logical = facts.padding.logical_bytes
    times = f", {facts.size_bytes / logical:.1f} times the shape" if logical else ""
    return f", of which {human(padding)} are padding{times}"


def _live_range(facts: LiveRangeFacts) -> Iterator[str]:
    start = f" ({code(facts.start_instruction)})" if facts.start_instruction else ""
    end = f" ({code(facts.end_instruction)})" if facts.end_instruction else ""
    yield f"- live from step {facts.start_step}{start} to {facts.end_step}{end}{_end(facts)}"


def _end(facts: LiveRangeFacts) -> str:
    match facts.end:
        case End.CALLER:
            return ": a parameter, whose bytes belong to the caller to the end"
        case End.OUTPUT:
            return ": it may be part of the result, so it is kept to the end"
        case End.LAST_USE:
            around = f", within {code(facts.by)}" if facts.by else ""
            return f": there it is read for the last time{around}"
        case End.PASSED_ON:
            return f": there {code(facts.by or '')} takes over its bytes"
        case End.LAST_ALIAS:
            return ": there its bytes are seen under another name for the last time"
        case End.COMPUTATION_END:
            return ": the end of its computation"
        case End.UNKNOWN:
            return ""


def _neighbours(facts: ValueFacts) -> Iterator[str]:
    left_out = facts.neighbour_count - len(facts.neighbours)
    rest = f", the nearest {len(facts.neighbours)}" if left_out else ""
    yield f"- {counted(facts.neighbour_count, 'other value')} on the same bytes{rest}:"
    for other in facts.neighbours:
        yield f"  - {_value_name(other)}, steps {other.start_step} to {other.end_step}"


def _value_name(facts: ValueName) -> str:
    return f"{code(facts.label)} {human(facts.size_bytes)}"


# ---------------------------------------------------------------- allocations


def _allocation_name(facts: AllocationName) -> str:
    kind = kind_text(facts.kind)
    return f"allocation {facts.index} ({kind + ', ' if kind else ''}{human(facts.size_bytes)})"


def _allocation(facts: AllocationFacts) -> Iterator[str]:
    yield f"**allocation {facts.name.index}** · **{human(facts.name.size_bytes)}** · {kind_text(facts.name.kind)}"
    yield ""
    yield f"- size {exact(facts.name.size_bytes)} in {space_name(facts.space)}"
    if facts.parameter is not None:
        yield f"- parameter {facts.parameter}"
    if facts.shape is not None:
        yield f"- shape {code(shortened(facts.shape, _LONGEST_SHAPE))}"
    if facts.peak_step is not None:
        size = facts.name.size_bytes
        yield (
            f"- at most {human(facts.peak_bytes)} of it are live at once ({percent(facts.peak_bytes, size)}), "
            f"first at step {facts.peak_step}; {human(size - facts.peak_bytes)} are never used at the same time"
        )
        yield (
            f"- at the peak of {space_name(facts.space)}, step {facts.space_peak_step}: "
            f"{human(facts.live_at_space_peak)} live, {human(size - facts.live_at_space_peak)} idle"
        )
        if len(facts.fill) > 1 and size:
            yield f"- fill over time `{''.join(_bar(part, size) for part in facts.fill)}`"
    if facts.full_size_steps:
        steps = ", ".join(f"{first} to {last}" for first, last in facts.full_size_steps[:_MOST_INTERVALS])
        more = " ..." if len(facts.full_size_steps) > _MOST_INTERVALS else ""
        yield f"- its full size is needed at steps {steps}{more}"
    rest = ", the biggest" if facts.values > len(facts.largest) else ""
    yield f"- {counted(facts.values, 'value')}{rest}{':' if facts.largest else ''}"
    for value in facts.largest:
        yield f"  - {_value_name(value)}"


def _bar(part: int, whole: int) -> str:
    """A part as the height of a bar; nothing is only shown as nothing."""
    return _BARS[min(len(_BARS) - 1, -(-part * (len(_BARS) - 1) // whole))]


# ---------------------------------------------------------------- steps and the peak


def _instruction(facts: InstructionFacts) -> Iterator[str]:
    yield f"{code(facts.name)} runs at step {facts.step}."
    yield ""
    if facts.missing:
        yield from _missing(facts.missing)
    else:
        yield "It holds no value of its own."


def _step(facts: StepFacts) -> Iterator[str]:
    name = f" · {code(facts.instruction)}" if facts.instruction else " · the end of the program"
    yield f"**step {facts.step}**{name}"
    yield ""
    for space, before, at, after in facts.live:
        yield f"- {space_name(space)}: {human(at)} live; before {human(before)}, after {human(after)}"
    if FileKind.BUFFER_ASSIGNMENT in facts.missing:
        yield from _missing(facts.missing)
        return
    for verb, values, count in (
        ("born", facts.born, facts.born_count),
        ("dies after it", facts.dying, facts.dying_count),
    ):
        names = ", ".join(_value_name(value) for value in values)
        rest = f" and {count - len(values):,} more" if count > len(values) else ""
        yield f"- {verb}: {names + rest if count else 'nothing'}"


def _peak(facts: PeakFacts) -> Iterator[str]:
    yield f"**Printed peak**: {human(facts.printed_bytes)} at step {facts.step}"
    yield ""
    if not facts.spaces:
        yield from _missing(facts.missing)
        return
    rows = [
        (
            space_name(space.space),
            human(space.peak_bytes),
            f"{space.peak_step} {code(space.peak_instruction or '')}" if space.peak_step is not None else "-",
            human(space.live_at_printed),
            human(space.reserved_bytes),
        )
        for space in facts.spaces
    ]
    yield from table(("memory space", "true peak", "at step", "live at the printed step", "reserved"), rows, (0,))
    yield ""
    reasons = list(_reasons(facts))
    if reasons:
        yield "Why the numbers differ:"
        yield from reasons


def _reasons(facts: PeakFacts) -> Iterator[str]:
    default = facts.spaces[0] if facts.spaces else None
    if default is None:
        return
    if facts.counted and facts.counted[0] >= facts.counted[1] and default.live_at_printed < default.peak_bytes:
        here, there = map(human, facts.counted)
        if here == there:
            here, there = (f"{counted:,} bytes" for counted in facts.counted)
        died = f" (here {human(facts.died_before_bytes)})" if facts.died_before_bytes else ""
        yield (
            f"- XLA looks for the step with sums of its own: {here} at step {facts.step}, {there} at step "
            f"{default.peak_step}. There an element of a tuple counts as the tuple's whole table of pointers, each "
            f"value counts for one step more{died}, and all memory spaces count together."
        )
    if facts.printed_bytes == default.live_at_printed:
        return
    if facts.shared_bytes:
        yield (
            f"- Its list has values twice on the same bytes, where one hands them over to the next: "
            f"{human(facts.shared_bytes)} as assigned."
        )
    if facts.is_whole_tuples:
        yield "- This release of XLA prints an element of a tuple with the size of the whole tuple's table of pointers."
    if facts.other_space_bytes:
        other = human(facts.other_space_bytes)
        yield f"- Its list mixes memory spaces: {other} of it are not in {space_name(default.space)}."
    if facts.assigned_bytes > facts.printed_bytes:
        more = facts.assigned_bytes - facts.printed_bytes
        yield f"- It adds up shapes without padding; what it lists was given {human(more)} more."
