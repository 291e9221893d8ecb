"""The words of hovers, as Markdown. The facts come from `xla_lens.features.hover`, one function here for each type.

A hover leads with name, size, share of the peak and source line, then op_name, calls and live range, then placement.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from xla_lens.features.hover.facts import (
    AllocationFacts,
    AllocationName,
    Elements,
    End,
    Hover,
    InstructionFacts,
    LiveRangeFacts,
    PeakFacts,
    StepFacts,
    ValueFacts,
    ValueName,
)
from xla_lens.model.attribution.frames import Derived
from xla_lens.model.warrants import COMPLETE, Bound, Cause, Quantity, Warrant, Warrants
from xla_lens.render.command_links import NO_LINKS, CommandLinks
from xla_lens.render.glossary import kind_sentence, remat_sentence
from xla_lens.render.markdown import code, table
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, counted, human, percent, shortened
from xla_lens.render.padding import padding_cause, padding_part
from xla_lens.render.sources import call_chain, source_suffix
from xla_lens.render.warrants import bounded, bounded_size, reasons
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.file_names import FileKind

_MAX_INTERVALS: Final = 4
_MAX_SHAPE: Final = 160
_BARS: Final = " ▁▂▃▄▅▆▇█"
_MISSING: Final = {
    FileKind.BUFFER_ASSIGNMENT: "buffer assignment (`-buffer-assignment.txt`): size and placement are unknown",
    FileKind.VALUES: "values (`-buffer-assignment-values.txt`): positions, uses and instructions are unknown",
    FileKind.LIVE_RANGE: "live ranges (`-live-range.txt` since 2026): lifetimes are unknown",
}


def hover_markdown(facts: Hover, warrants: Warrants = COMPLETE, links: CommandLinks = NO_LINKS) -> str:
    """Return a hover as Markdown, with the bounds of the numbers that are not exact and the reasons. Text from the dump
    is escaped as code, so that it cannot become a link or markup.
    """
    match facts:
        case ValueFacts():
            lines = _value_lines(facts, warrants, links)
        case AllocationFacts():
            lines = _allocation_lines(facts, warrants, links)
        case StepFacts():
            lines = _step_lines(facts, warrants, links)
        case InstructionFacts():
            lines = _instruction_lines(facts)
        case PeakFacts():
            lines = _peak_lines(facts, warrants)
    return "\n".join((*lines, *_why(warrants.of(*_RELIES_ON.get(type(facts), ())))))


_RELIES_ON: Final[Mapping[type, tuple[Quantity, ...]]] = {
    ValueFacts: (Quantity.LIVE, Quantity.SOURCES, Quantity.USES),
    AllocationFacts: (Quantity.LIVE, Quantity.RESERVED),
    StepFacts: (Quantity.LIVE,),
    PeakFacts: (Quantity.LIVE, Quantity.RESERVED, Quantity.PRINTED_PEAK),
}


def _why(warrant: Warrant) -> Iterator[str]:
    found = "; ".join(reasons(gap for gap in warrant.gaps if gap.cause is not Cause.MISSING))
    if found:
        yield f"- incomplete: {found}"


def kind_text(kind: Kind) -> str:
    """Return the kinds of an allocation in the words of its header: ``parameter, maybe-live-out``."""
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


def _value_lines(facts: ValueFacts, warrants: Warrants, links: CommandLinks) -> Iterator[str]:
    size = f" · {human(facts.size_bytes)}" if facts.size_bytes is not None else ""
    share = _share(facts, warrants.of(Quantity.LIVE).bound)
    if facts.elements:
        # The bytes of the tuple itself are only pointers.
        size, share = f" · {human(facts.elements.size_bytes)} in {counted(facts.elements.count, 'output')}", ""
    yield f"**{code(facts.label)}**{size}{share}{source_suffix(facts.frames, links)}"
    yield ""
    if facts.elements:
        yield from _elements(facts.elements, links)
    if facts.alias:
        yield f"- {code(facts.alias)} is an alias of it, without bytes of its own"
    if facts.op_name:
        yield f"- op_name {code(facts.op_name)}"
    if facts.derived:
        yield f"- {_derived(facts.derived, is_for_backward=facts.is_for_backward)}"
    yield from call_chain(facts.frames, links)
    if facts.live_range:
        yield f"- {_live_range(facts.live_range, facts.label, links)}"
    elif FileKind.LIVE_RANGE not in facts.missing:
        yield "- no live range: it counts as reserved bytes only"
    if _REMAT.search(facts.label):
        yield f"- `remat`: {remat_sentence()}"
    if facts.shape is not None:
        yield f"- {code(shortened(facts.shape, _MAX_SHAPE))}{_padding(facts)}"
        if facts.padding and len(facts.padding.parts) > 1:
            yield from (f"  - {padding_part(part)}" for part in facts.padding.parts)
    if facts.allocation:
        yield f"- {_placement(facts, facts.allocation, links)}"
        if facts.allocation.path and facts.allocation.path != facts.op_name:
            yield f"- in the buffer of the parameter {code(facts.allocation.path)}"
    yield f"- value {facts.id}" + (f", defined by {code(facts.opcode)}" if facts.opcode else "")
    yield from _missing(facts.missing)
    yield from _sharers(facts, links)


def _derived(derived: Derived, *, is_for_backward: bool) -> str:
    writer, stored = code(derived.writer), derived.stored
    if stored is None:
        return f"source derived from the data flow: {writer} computes its content"
    saved = ", saved for the backward pass" if is_for_backward else ""
    return (
        f"{stored.count:,} × {code(stored.shape)}{saved}: {writer} computes them, {code(stored.name)} in the loop "
        "stores them (source derived from the data flow)"
    )


_REMAT: Final = re.compile(r"\.remat\d*(?![A-Za-z])")


def _elements(elements: Elements, links: CommandLinks) -> Iterator[str]:
    yield f"- outputs, {elements.size_bytes:,} B together:"
    for value, allocation in elements.shown:
        name = code(value.label)
        yield f"  - {links.history(name, allocation) if allocation != NONE else name} {human(value.size_bytes)}"
    if elements.count > len(elements.shown):
        yield f"  - and {elements.count - len(elements.shown):,} more"


def _exact_bytes(size_bytes: int) -> str:
    """A size with its bytes: ``2.0 KiB (2,048 B)``."""
    return human(size_bytes) + (f" ({size_bytes:,} B)" if size_bytes >= 1024 else "")


def _placement(facts: ValueFacts, allocation: AllocationName, links: CommandLinks) -> str:
    is_whole = facts.size_bytes == allocation.size_bytes
    size = _exact_bytes(facts.size_bytes) if facts.size_bytes is not None else "unknown size"
    details = ", ".join(filter(None, (kind_text(allocation.kind), space_name(facts.space))))
    name = links.history(f"allocation {allocation.index}", allocation.index)
    part = ", all of it" if is_whole else f" of {apart(allocation.size_bytes, facts.size_bytes or 0)}"
    return f"{size} at offset {facts.offset:,} of {name}{part} ({details})"


def _share(facts: ValueFacts, bound: Bound) -> str:
    peak = f"the {space_name(facts.space)} peak"
    if bound is not Bound.EXACT:
        return f" · {peak} is {bounded_size(facts.peak_bytes, bound)}" if facts.peak_bytes else ""
    if facts.live_at_peak and facts.size_bytes is not None:
        return f" · {percent(facts.size_bytes, facts.peak_bytes)} of {peak}"
    return f" · not live at {peak}" if facts.live_range and facts.peak_bytes else ""


def _missing(kinds: tuple[FileKind, ...]) -> Iterator[str]:
    for kind in kinds:
        yield f"- the dump set lacks the {_MISSING[kind]}"


def _padding(facts: ValueFacts) -> str:
    padding = facts.padding.size_bytes if facts.padding else None
    if not facts.padding or not padding or not facts.size_bytes:
        return ""
    logical = facts.padding.logical_bytes
    times = f" ({facts.size_bytes / logical:.1f} times the size of the shape)" if logical else ""
    parts = facts.padding.parts
    cause = f": {padding_cause(parts[0])}" if len(parts) == 1 else ""
    return f", {apart(padding, facts.size_bytes)} of it padding{times}{cause}"


def _live_range(facts: LiveRangeFacts, label: str, links: CommandLinks) -> str:
    # Most values start at the instruction that they are named after.
    is_own = facts.start_instruction == label.partition("{")[0]
    start = f" ({code(facts.start_instruction)})" if facts.start_instruction and not is_own else ""
    first, last = (links.live_set(f"step {step}", step) for step in (facts.start_step, facts.end_step))
    return f"live from {first}{start} to {last}{_end(facts)}"


def _end(facts: LiveRangeFacts) -> str:
    at_end = code(facts.end_instruction) if facts.end_instruction else ""
    match facts.end:
        case End.CALLER:
            return ", the end (a parameter: its bytes belong to the caller)"
        case End.OUTPUT:
            return ", the end (may be part of the output)"
        case End.LAST_USE:
            return f" (last read by {at_end}{f', inside {code(facts.by)}' if facts.by else ''})"
        case End.PASSED_ON:
            return f" ({code(facts.by or '')} takes over its bytes)"
        case End.LAST_ALIAS:
            return f" (last alias: {at_end})" if at_end else " (last alias)"
        case End.COMPUTATION_END:
            return " (the end of its computation)"
        case End.UNKNOWN:
            return f" ({at_end})" if at_end else ""


def _sharers(facts: ValueFacts, links: CommandLinks) -> Iterator[str]:
    other = facts.nearest
    if other is None:
        return
    nearest = f"{code(other.label)} (steps {other.start_step}–{other.end_step})"
    if facts.sharer_count == 1:
        yield f"- shares its bytes with {nearest}"
        return
    count = counted(facts.sharer_count, "other value")
    shared = links.history(count, facts.allocation.index) if facts.allocation else count
    yield f"- shares its bytes with {shared}, nearest {nearest}"


def _value_name(facts: ValueName) -> str:
    return f"{code(facts.label)} {human(facts.size_bytes)}"


# ---------------------------------------------------------------- allocations


def _allocation_lines(facts: AllocationFacts, warrants: Warrants, links: CommandLinks) -> Iterator[str]:
    size_bytes, space = facts.name.size_bytes, space_name(facts.space)
    warrant = warrants.of(Quantity.LIVE, Quantity.RESERVED)
    bound = warrants.of(Quantity.LIVE).bound
    peak = f" · {percent(facts.live_at_space_peak, facts.space_peak_bytes)} of the {space} peak"
    is_shared = facts.space_peak_bytes and warrant.is_exact
    yield f"**allocation {facts.name.index}** · {human(size_bytes)}{peak if is_shared else ''}"
    yield ""
    meaning = kind_sentence(facts.name.kind)
    words = kind_text(facts.name.kind) or "no kind"
    exact = f", {size_bytes:,} B" if size_bytes >= 1024 else ""
    yield f"- {words} in {space}{exact}{f': {meaning}' if meaning else ''}"
    if facts.parameter is not None:
        yield f"- parameter {facts.parameter}{f', {code(facts.name.path)}' if facts.name.path else ''}"
    if facts.shape is not None:
        yield f"- {code(shortened(facts.shape, _MAX_SHAPE))}"
    if facts.peak_step is not None and bound is Bound.AT_LEAST:
        yield f"- {bounded_size(facts.peak_bytes, bound)} live at once; the {space} peak is " + (
            bounded_size(facts.space_peak_bytes, bound)
        )
    if facts.peak_step is not None and bound is Bound.EXACT:
        yield f"- {_fullest(facts, facts.peak_step, links)}"
        if facts.space_peak_step is not None and facts.live_at_space_peak != facts.peak_bytes:
            yield f"- {_at_space_peak(facts, facts.space_peak_step, links)}"
        if len(facts.fill) > 1 and size_bytes:
            yield f"- live bytes over time `{''.join(_bar(part, size_bytes) for part in facts.fill)}`"
    if facts.full_size_steps and warrant.is_exact:
        steps = ", ".join(_steps(first, last) for first, last in facts.full_size_steps[:_MAX_INTERVALS])
        more = ", …" if len(facts.full_size_steps) > _MAX_INTERVALS else ""
        yield f"- the values that end at its last byte set its size; they are live at {steps}{more}"
    largest = ", the largest" if facts.values > len(facts.largest) else ""
    values = bounded(counted(facts.values, "value"), warrants.of(Quantity.RESERVED).bound)
    if facts.values == 1 and len(facts.largest) == 1 and facts.largest[0].size_bytes == size_bytes:
        yield f"- holds {code(facts.largest[0].label)} alone"
        return
    yield f"- {links.history(values, facts.name.index)}{largest}{':' if facts.largest else ''}"
    for value in facts.largest:
        yield f"  - {_value_name(value)}"


def _fullest(facts: AllocationFacts, step: int, links: CommandLinks) -> str:
    """When most bytes of an allocation are live, and whether that is the peak of its memory space."""
    size_bytes, peak_bytes, space = facts.name.size_bytes, facts.peak_bytes, space_name(facts.space)
    first = links.live_set(f"step {step}", step)
    if step == facts.space_peak_step:
        first += f", the {space} peak"
    elif facts.live_at_space_peak == peak_bytes and facts.space_peak_step is not None:
        peak = links.live_set(f"step {facts.space_peak_step}", facts.space_peak_step)
        first += f" and at the {space} peak, {peak}"
    if peak_bytes == size_bytes:
        return f"all of it is live at {first}"
    idle = f"{human(peak_bytes)} ({percent(peak_bytes, size_bytes)}), {human(size_bytes - peak_bytes)} are idle"
    return f"most is live at {first}: {idle}"


def _at_space_peak(facts: AllocationFacts, step: int, links: CommandLinks) -> str:
    """How much of an allocation is live when its memory space peaks."""
    at = f"at {links.live_set(f'step {step}', step)}, the {space_name(facts.space)} peak"
    live_bytes = facts.live_at_space_peak
    if not live_bytes:
        return f"nothing in it is live {at}"
    if live_bytes == facts.name.size_bytes:
        return f"all of it is live {at}"
    idle = human(facts.name.size_bytes - live_bytes)
    return f"{apart(live_bytes, facts.peak_bytes)} are live {at}, {idle} are idle"


def _steps(first: int, last: int) -> str:
    return f"step {first}" if first == last else f"steps {first}–{last}"


def _bar(part: int, whole: int) -> str:
    """A part as the height of a bar. Only 0 has no height."""
    return _BARS[min(len(_BARS) - 1, -(-part * (len(_BARS) - 1) // whole))]


# ---------------------------------------------------------------- steps and the peak


def _instruction_lines(facts: InstructionFacts) -> Iterator[str]:
    yield f"{code(facts.name)} runs at step {facts.step}."
    yield ""
    if facts.missing:
        yield from _missing(facts.missing)
    else:
        yield "It has no buffer of its own."


def _step_lines(facts: StepFacts, warrants: Warrants, links: CommandLinks) -> Iterator[str]:
    bound = warrants.of(Quantity.LIVE).bound
    name = f" · {code(facts.instruction)}" if facts.instruction else " · the end of the program"
    yield f"**{links.live_set(f'step {facts.step}', facts.step)}**{name}"
    yield ""
    for space, before, at, after in facts.live:
        if bound is Bound.UNKNOWN:
            yield f"- {space_name(space)}: unknown bytes live"
            continue
        sizes = [bounded_size(size_bytes, bound) for size_bytes in (before, at, after)]
        yield f"- {space_name(space)}: {sizes[1]} live (before: {sizes[0]}, after: {sizes[2]})"
    if FileKind.BUFFER_ASSIGNMENT in facts.missing:
        yield from _missing(facts.missing)
        return
    for title, values, count in (
        ("first live here", facts.born, facts.born_count),
        ("last live here", facts.dying, facts.dying_count),
    ):
        names = ", ".join(_value_name(value) for value in values)
        rest = f" and {count - len(values):,} more" if count > len(values) else ""
        nothing = "nothing" if bound is Bound.EXACT else "nothing that the dump shows"
        yield f"- {title}: {names + rest if count else nothing}"


def _peak_lines(facts: PeakFacts, warrants: Warrants) -> Iterator[str]:
    live, reserved = warrants.of(Quantity.LIVE).bound, warrants.of(Quantity.RESERVED).bound
    printed = bounded_size(facts.printed_bytes, warrants.of(Quantity.PRINTED_PEAK).bound)
    yield f"**Printed peak** · {printed} at step {facts.step}"
    yield ""
    if not facts.spaces:
        yield from _missing(facts.missing)
        return
    rows = [
        (
            space_name(space.space),
            bounded_size(space.needed_bytes, reserved),
            bounded_size(space.peak_bytes, live),
            f"{space.peak_step} {code(space.peak_instruction or '')}" if space.peak_step is not None else "-",
            bounded(apart(space.live_at_printed, space.peak_bytes), live),
        )
        for space in facts.spaces
    ]
    yield from table(("memory space", "needed", "real peak", "at step", "live at the printed step"), rows, (0,))
    yield ""
    differences = list(_differences(facts)) if warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK).is_exact else []
    if differences:
        yield "Why the numbers differ:"
        yield from differences


def _differences(facts: PeakFacts) -> Iterator[str]:
    first = facts.spaces[0] if facts.spaces else None
    if first is None:
        return
    if facts.counted and facts.counted[0] >= facts.counted[1] and first.live_at_printed < first.peak_bytes:
        here, there = human(facts.counted[0]), apart(facts.counted[1], facts.counted[0])
        ended = f" ({human(facts.died_before_bytes)} here)" if facts.died_before_bytes else ""
        yield (
            f"- XLA selects the step by sums of its own: {here} at step {facts.step}, {there} at step "
            f"{first.peak_step}. In these sums a tuple element counts as the tuple's whole pointer table, each value "
            f"counts for one more step{ended}, and all memory spaces are added up."
        )
    if facts.printed_bytes == first.live_at_printed:
        return
    if facts.shared_bytes:
        yield f"- The printed list counts {human(facts.shared_bytes)} twice: one value takes over the bytes of another."
    if facts.is_whole_tuples:
        yield "- This XLA release prints a tuple element with the size of the tuple's whole pointer table."
    if facts.other_space_bytes:
        yield f"- The printed list includes {human(facts.other_space_bytes)} outside of {space_name(first.space)}."
    if facts.assigned_bytes > facts.printed_bytes:
        more = facts.assigned_bytes - facts.printed_bytes
        yield f"- The printed list leaves out padding: its values occupy {human(more)} more."
