"""Hovers as Markdown: what a dump set knows about what a place mentions.

A hover leads with name, size, share of the peak and source line, then op_name, calls and live range, then placement.
Text from the dump is escaped as code, so that it cannot become a link or markup.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from xla_lens.advice.op_names import is_backward
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.hlo.dataflow import index_path, uses
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, meaning_of, references_to, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.alive import Reason, last_uses, neighbours
from xla_lens.model.memory.over_time import LiveBytes, MemorySpace, is_live_at_peak
from xla_lens.model.memory.padding import padding_of
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, explain_printed_peak
from xla_lens.model.memory.unseen import unseen_by
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, PeakHeader, Step, Target, Value
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.kinds import kind_of, kind_text
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Cause, Quantity
from xla_lens.syntax.columns import NONE, Column, cells
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import decode
from xla_lens.words.command_links import NO_LINKS, CommandLinks
from xla_lens.words.explained import RULE, padding_cause, padding_part, printed_peak_sums, unseen_words
from xla_lens.words.markdown import code, table
from xla_lens.words.numbers import apart, counted, human, percent, shortened
from xla_lens.words.sources import call_chain, source_suffix
from xla_lens.words.terms import REMAT, kind_sentence, place_name
from xla_lens.words.warrants import bounded, bounded_size, reasons

_LONGEST_LIST: Final = 8
"""Maximum number of values or callers in a list."""

_LONGEST_SHAPE: Final = 160
"""Maximum number of characters of a shape."""


class _Context(NamedTuple):
    """The set that a hover is about, the links that the editor follows, and a function that returns one
    more line about a value, a row of `DumpSet.values`, for below the title.
    """

    analysis: Analysis
    links: CommandLinks
    note: Callable[[int], str | None]

    @property
    def dump(self) -> DumpSet:
        """The dump set."""
        return self.analysis.dump

    def bound(self, *quantities: Quantity) -> Bound:
        """Return how a number that depends on some quantities relates to the true one."""
        return self.analysis.warrants.of(*quantities).bound


def hover(
    analysis: Analysis,
    mention: Mention | HloMention,
    links: CommandLinks = NO_LINKS,
    note: Callable[[int], str | None] = lambda _: None,
) -> str:
    """Return the hover of what a dump file or its HLO module mentions. `links` are those that the editor follows.
    `note` returns one more line about a value, a row of `DumpSet.values`.
    """
    context, target, name = _Context(analysis, links, note), mention.target, NONE
    module = analysis.module
    if isinstance(mention, Mention):
        name = mention.name
    if module and isinstance(target, HloComputation):
        return "\n".join(_computation_lines(module, target.row))
    if module and isinstance(target, HloInstruction):
        own = module.name(target.row)
        meaning = meaning_of(analysis.dump, own, target.index)
        values = [] if target.index or isinstance(meaning, Value) else values_of(analysis.dump, own)
        if meaning is None or len(values) > 1:
            values = values if len(values) > 1 else []
            lines = _instruction_lines(context, module, target)
            return "\n".join((*lines, *_element_lines(context, np.array(values, np.int64))))
        target = meaning
    if isinstance(target, HloInstruction | HloComputation):
        return ""
    return "\n".join(_dump_lines(context, target, name))


def _dump_lines(context: _Context, target: Target, name: int) -> Iterator[str]:
    relies_on: tuple[Quantity, ...] = (Quantity.LIVE,)
    match target:
        case Value(row):
            relies_on = (Quantity.LIVE, Quantity.SOURCES, Quantity.USES)
            yield from _value_lines(context, row, name)
        case Allocation(row):
            relies_on = (Quantity.LIVE, Quantity.RESERVED)
            yield from _allocation_lines(context, row)
        case Step(step):
            yield from _step_lines(context, step)
        case Instruction(row):
            relies_on, dump = (), context.dump
            step = dump.schedule.step[dump.schedule_row_of_name[row]]
            yield f"{code(dump.label(row, NONE))} runs at step {step}."
            yield ""
            yield from _missing_lines(dump) if dump.missing else ("It has no buffer of its own.",)
        case PeakHeader(row):
            relies_on = (Quantity.LIVE, Quantity.RESERVED, Quantity.PRINTED_PEAK)
            yield from _peak_lines(context, row)
    gaps = context.analysis.warrants.of(*relies_on).gaps
    if found := reasons(gap for gap in gaps if gap.cause is not Cause.MISSING):
        yield f"- incomplete: {found}"


_MISSING: Final = {
    FileKind.BUFFER_ASSIGNMENT: "buffer assignment (`-buffer-assignment.txt`): size and placement are unknown",
    FileKind.VALUES: "values (`-buffer-assignment-values.txt`): positions, uses and instructions are unknown",
    FileKind.LIVE_RANGE: "live ranges (`-live-range.txt` since 2026): lifetimes are unknown",
}


def _missing_lines(dump: DumpSet) -> Iterator[str]:
    yield from (f"- the dump set lacks the {_MISSING[kind]}" for kind in dump.missing)


def _largest(dump: DumpSet, values: Column) -> list[str]:
    """The names and sizes of the largest of some values, largest first."""
    sizes = dump.values.size_bytes
    shown = values[np.argsort(-sizes[values], kind="stable")[:_LONGEST_LIST]].tolist()
    return [f"{code(dump.value_label(value))} {human(sizes.item(value))}" for value in shown]


def _exact_bytes(size_bytes: int, form: str) -> str:
    """The bytes of a size that is shown in another unit: ``2,048 B``. Empty if the unit is bytes."""
    return form.format(f"{size_bytes:,} B") if size_bytes >= 1024 else ""


# ---------------------------------------------------------------- values

_REMAT: Final = lazy_pattern(r"\.remat\d*(?![A-Za-z])")


def _value_lines(context: _Context, value: int, name: int) -> Iterator[str]:
    """The size, source, live range and placement of a value. `name` is the number of the hovered name or NONE."""
    dump, values, label = context.dump, context.dump.values, context.dump.value_label(value)
    size_bytes = values.size_bytes.item(value) if values.slice[value] != NONE else None
    origin, elements = Origins(dump, context.analysis.module).of_value(value), _elements(dump, value)
    size = f" · {human(size_bytes)}" if size_bytes is not None else ""
    if len(elements):
        # The bytes of the tuple itself are only pointers.
        size = f" · {human(_sum(dump, elements))} in {counted(len(elements), 'output')}"
    else:
        size += _share(context, value, size_bytes)
    yield f"**{code(label)}**{size}{source_suffix(origin.frames, context.links)}"
    yield ""
    if note := context.note(value):
        yield f"- {note}"
    yield from _element_lines(context, elements)
    if name not in (NONE, values.name[value]):
        yield f"- {code(dump.label(name, NONE))} is an alias of it, without bytes of its own"
    if origin.op_name:
        yield f"- op_name {code(origin.op_name)}"
    yield from _derived(dump, value, origin)
    yield from call_chain(origin.frames, context.links)
    yield from _live_range(context, value, label)
    if _REMAT.search(label):
        yield f"- `remat`: {REMAT}"
    yield from _shape(dump, value, size_bytes)
    if values.allocation[value] != NONE:
        yield from _placement(context, value, size_bytes, origin)
    instruction = dump.instruction(values.name.item(value))
    if instruction and dump.backend is Backend.CPU and (unseen := unseen_by(instruction, context.analysis.module)):
        yield f"- also takes memory that no dump shows: {unseen_words(unseen)}"
    opcode = f", defined by {code(instruction.opcode.decode())}" if instruction else ""
    yield f"- value {values.id[value]}{opcode}"
    yield from _missing_lines(dump)
    yield from _sharers(context, value)


def _share(context: _Context, value: int, size_bytes: int | None) -> str:
    dump, memory, bound = context.dump, context.analysis.memory, context.bound(Quantity.LIVE)
    space = memory.space(dump.values.space.item(value))
    if space is None or not space.peak_live_bytes:
        return ""
    peak = f"the {space.id.name} peak"
    if bound is not Bound.EXACT:
        return f" · {peak} is {bounded_size(space.peak_live_bytes, bound)}"
    if size_bytes is not None and is_live_at_peak(dump, memory, value):
        return f" · {percent(size_bytes, space.peak_live_bytes)} of {peak}"
    return f" · not live at {peak}" if dump.values.live_range[value] != NONE else ""


def _elements(dump: DumpSet, value: int) -> Column:
    """The other values of the instruction in the order of their indices; empty if the value is one of them."""
    index, name = dump.values.index, dump.values.name
    rows = np.flatnonzero((name == name[value]) & (index > EMPTY_INDEX) & (index[value] <= EMPTY_INDEX))
    return np.array(sorted(rows.tolist(), key=lambda row: index_path(dump, index.item(row))), np.int64)


def _sum(dump: DumpSet, values: Column) -> int:
    return sum(np.maximum(dump.values.size_bytes[values], 0).tolist())


def _element_lines(context: _Context, elements: Column) -> Iterator[str]:
    """The bytes, places and live ranges of the values of an instruction that has several."""
    dump, values, shown = context.dump, context.dump.values, elements[:_LONGEST_LIST]
    if len(elements):
        yield f"- outputs, {_sum(dump, elements):,} B together:"
    allocations = taken(dump.allocations.index, values.allocation[shown])
    for value, allocation in cells(shown, allocations):
        name, place, live = code(dump.value_label(value)), "", ""
        if allocation != NONE:
            name = context.links.history(name, allocation)
            place = f", at offset {values.offset[value]:,} of allocation {allocation}"
        if values.live_range[value] != NONE:
            live = f", live {values.start_step[value]}–{values.end_step[value]}"
        yield f"  - {name} {human(values.size_bytes.item(value))}{place}{live}"
    if len(elements) > len(shown):
        yield f"  - and {len(elements) - len(shown):,} more"


def _derived(dump: DumpSet, value: int, origin: Origin) -> Iterator[str]:
    """From what the source line is derived, where the value itself has none."""
    if origin.derived is None:
        return
    writer, stored = code(origin.derived.name), origin.derived.stored
    if stored is None:
        yield f"- source derived from the data flow: {writer} computes its content"
        return
    readers = map(dump.instruction, set(dump.uses.name[uses(dump, np.array([value]))].tolist()))
    op_names = [instruction.op_name for instruction in readers if instruction]
    # Only the backward pass reads what a loop of the forward pass stores.
    is_for_backward = not is_backward(origin.op_name) and bool(op_names) and all(map(is_backward, op_names))
    saved = ", saved for the backward pass" if is_for_backward else ""
    yield (
        f"- {stored.count:,} × {code(stored.shape)}{saved}: {writer} computes them, {code(stored.name)} in the loop "
        "stores them (source derived from the data flow)"
    )


def _live_range(context: _Context, value: int, label: str) -> Iterator[str]:
    dump = context.dump
    ending = last_uses(dump, value)
    if ending is None:
        if FileKind.LIVE_RANGE not in dump.missing:
            yield "- no live range: it counts as reserved bytes only"
        return
    start, end = dump.values.start_step.item(value), ending.end_step
    starting, at_end = dump.instruction_at(start), code(dump.instruction_at(end) or "")
    # Most values start at the instruction that they are named after.
    at_start = f" ({code(starting)})" if starting and starting != label.partition("{")[0] else ""
    first, last = (context.links.live_set(f"step {step}", step) for step in (start, end))
    match ending.reason:
        case Reason.PARAMETER:
            why = ", the end (a parameter: its bytes belong to the caller)"
        case Reason.LIVE_OUT:
            why = ", the end (may be part of the output)"
        case Reason.READ:
            caller = dump.instruction_at(ending.later_step) if ending.later_step is not None else None
            why = f" (last read by {at_end}{f', inside {code(caller)}' if caller else ''})"
        case Reason.CALLED | Reason.REPLACED if ending.successor != NONE:
            why = f" ({code(dump.value_label(ending.successor))} takes over its bytes)"
        case Reason.PASSED_ON | Reason.UNUSED:
            why = f" (last alias: {at_end})" if at_end else " (last alias)"
        case Reason.UNKNOWN:
            why = f" ({at_end})" if at_end else ""
        case _:
            why = " (the end of its computation)"
    yield f"- live from {first}{at_start} to {last}{why}"


def _shape(dump: DumpSet, value: int, size_bytes: int | None) -> Iterator[str]:
    shape, padding = dump.shape(value), padding_of(dump, value)
    if shape is None:
        return
    text, parts = f"- {code(shortened(decode(shape), _LONGEST_SHAPE))}", padding.parts if padding else ()
    if padding and padding.size_bytes and size_bytes:
        logical = padding.logical_bytes
        times = f" ({size_bytes / logical:.1f} times the size of the shape)" if logical else ""
        cause = f": {padding_cause(parts[0])}" if len(parts) == 1 else ""
        text += f", {apart(padding.size_bytes, size_bytes)} of it padding{times}{cause}"
    yield text
    yield from (f"  - {padding_part(part)}" for part in parts if len(parts) > 1)


def _placement(context: _Context, value: int, size_bytes: int | None, origin: Origin) -> Iterator[str]:
    dump, row = context.dump, context.dump.values.allocation.item(value)
    index, whole_bytes = dump.allocations.index.item(row), dump.allocations.size_bytes.item(row)
    size = "unknown size" if size_bytes is None else human(size_bytes) + _exact_bytes(size_bytes, " ({})")
    space = place_name(dump.space_id(dump.values.color.item(value)))
    details = ", ".join(filter(None, (kind_text(kind_of(dump, row)), space)))
    part = ", all of it" if size_bytes == whole_bytes else f" of {apart(whole_bytes, size_bytes or 0)}"
    allocation = context.links.history(f"allocation {index}", index)
    yield f"- {size} at offset {dump.values.offset.item(value):,} of {allocation}{part} ({details})"
    path = parameter_path(dump, row)
    if path and path != origin.op_name:
        yield f"- in the buffer of the parameter {code(path)}"


def _sharers(context: _Context, value: int) -> Iterator[str]:
    dump, others = context.dump, neighbours(context.dump, value)
    if not len(others):
        return
    starts, ends = dump.values.start_step, dump.values.end_step
    gaps = np.maximum(starts[others] - ends[value], starts[value] - ends[others])
    # The one with the fewest steps in between, the largest of several.
    near = others.item(np.lexsort((-dump.values.size_bytes[others], np.maximum(gaps, 0)))[0])
    index = dump.allocations.index.item(dump.values.allocation[value])
    count = f"{context.links.history(counted(len(others), 'other value'), index)}, nearest "
    name = f"{code(dump.value_label(near))} (steps {starts[near]}–{ends[near]})"
    yield f"- shares its bytes with {count if len(others) > 1 else ''}{name}"


# ---------------------------------------------------------------- allocations


def _allocation_lines(context: _Context, allocation: int) -> Iterator[str]:
    """The size and kind of an allocation, how full it gets, and its largest values."""
    dump, allocations, memory = context.dump, context.dump.allocations, context.analysis.memory
    index, size_bytes = allocations.index.item(allocation), allocations.size_bytes.item(allocation)
    live, space = memory.allocation(allocation), memory.space(dump.allocation_spaces.item(allocation))
    if space is None:
        return
    kind, peak = kind_of(dump, allocation), f"the {space.id.name} peak"
    live_at_peak = live.at(space.peak_step) if space.peak_step is not None else 0
    bound, is_exact = context.bound(Quantity.LIVE), context.bound(Quantity.LIVE, Quantity.RESERVED) is Bound.EXACT
    is_part = space.peak_live_bytes and is_exact
    share = f" · {percent(live_at_peak, space.peak_live_bytes)} of {peak}" if is_part else ""
    yield f"**allocation {index}** · {human(size_bytes)}{share}"
    yield ""
    meaning = f": {sentence}" if (sentence := kind_sentence(kind)) else ""
    place = place_name(dump.space_id(allocations.color.item(allocation)))
    words = f"{kind_text(kind) or 'no kind'} in {place}"
    yield f"- {words}{_exact_bytes(size_bytes, ', {}')}{meaning}"
    if allocations.parameter[allocation] != NONE:
        element, path = decode(dump.indices[allocations.parameter_index[allocation]]), parameter_path(dump, allocation)
        number = f"{allocations.parameter[allocation]}{'' if element == '{}' else element}"
        yield f"- parameter {number}{f', {code(path)}' if path else ''}"
    shapes = (
        (allocations.output_shape_start[allocation], allocations.output_shape_end[allocation]),
        (allocations.parameter_shape_start[allocation], allocations.parameter_shape_end[allocation]),
    )
    for start, end in [span for span in shapes if dump.assignment and span[0] != NONE][:1]:
        shape = decode(dump.assignment.document.data[start:end]) if dump.assignment else ""
        yield f"- {code(shortened(shape, _LONGEST_SHAPE))}"
    if live.peak_step is not None and bound is Bound.AT_LEAST:
        most, of_space = (bounded_size(number, bound) for number in (live.peak_bytes, space.peak_live_bytes))
        yield f"- {most} live at once; {peak} is {of_space}"
    if live.peak_step is not None and bound is Bound.EXACT:
        yield f"- {_live_at(context, live, live.peak_step, space, size_bytes)}"
        if space.peak_step is not None and live_at_peak != live.peak_bytes:
            yield f"- {_live_at(context, live, space.peak_step, space, size_bytes)}"
    values = dump.values_of_allocation(allocation)
    if len(values) == 1 and dump.values.size_bytes[values[0]] == size_bytes:
        yield f"- holds {code(dump.value_label(values.item(0)))} alone"
        return
    shown, count = _largest(dump, values), bounded(counted(len(values), "value"), context.bound(Quantity.RESERVED))
    more = ", the largest" if len(values) > len(shown) else ""
    yield f"- {context.links.history(count, index)}{more}{':' if shown else ''}"
    yield from (f"  - {value}" for value in shown)


def _live_at(context: _Context, live: LiveBytes, step: int, space: MemorySpace, size_bytes: int) -> str:
    """How much of an allocation is live at a step, which may be the peak of its memory space."""
    live_bytes, at = live.at(step), f"at {context.links.live_set(f'step {step}', step)}"
    if step == space.peak_step:
        at += f", the {space.id.name} peak"
    if live_bytes in (0, size_bytes):
        return f"{'all of' if live_bytes else 'nothing in'} it is live {at}"
    most = ", the most at once" if live_bytes == live.peak_bytes else ""
    part, idle = percent(live_bytes, size_bytes), human(size_bytes - live_bytes)
    return f"{apart(live_bytes, live.peak_bytes)} ({part}{most}) are live {at}, {idle} are idle"


# ---------------------------------------------------------------- steps


def _step_lines(context: _Context, step: int) -> Iterator[str]:
    """The live bytes of each memory space before, at and after a step, and the largest values whose live ranges start
    or end there.
    """
    dump, values, bound = context.dump, context.dump.values, context.bound(Quantity.LIVE)
    instruction = dump.instruction_at(step)
    runs = code(instruction) if instruction else "the end of the program"
    row = dump.schedule_row(step)
    name = dump.schedule.name.item(row) if row != NONE else NONE
    frames = Origins(dump, context.analysis.module).of_name(name).frames if name != NONE else ()
    yield f"**{context.links.live_set(f'step {step}', step)}** · {runs}{source_suffix(frames, context.links)}"
    yield ""
    for space in context.analysis.memory.spaces:
        live = [space.live.at(step + shift) for shift in (-1, 0, 1)]
        before, at, after = (bounded_size(number, bound) for number in live)
        if any(live):
            around = f"{at} live (before: {before}, after: {after})"
            yield f"- {space.id.name}: {around if bound is not Bound.UNKNOWN else 'unknown bytes live'}"
    if FileKind.BUFFER_ASSIGNMENT in dump.missing:
        yield from _missing_lines(dump)
        return
    is_placed = (values.slice != NONE) & (values.live_range != NONE)
    for title, steps in (("first live here", values.start_step), ("last live here", values.end_step)):
        rows = np.flatnonzero(is_placed & (steps == step))
        shown = _largest(dump, rows)
        more = f" and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
        nothing = "nothing" if bound is Bound.EXACT else "nothing that the dump shows"
        yield f"- {title}: {', '.join(shown) + more if shown else nothing}"


# ---------------------------------------------------------------- the printed peak


def _peak_lines(context: _Context, row: int) -> Iterator[str]:
    """The printed peak beside the real one, and why they differ."""
    dump, memory, step = context.dump, context.analysis.memory, context.dump.peaks.step.item(row)
    live, reserved = context.bound(Quantity.LIVE), context.bound(Quantity.RESERVED)
    printed = sum(dump.peak_buffers.size_bytes[dump.buffers_of(row)].tolist())
    yield f"**Printed peak** · {bounded_size(printed, context.bound(Quantity.PRINTED_PEAK))} at step {step}"
    yield ""
    if not memory.spaces:
        yield from _missing_lines(dump)
        return
    rows = [
        (
            space.id.name,
            bounded_size(space.needed_bytes, reserved),
            bounded_size(space.peak_live_bytes, live),
            "-" if space.peak_step is None else f"{space.peak_step} {code(dump.instruction_at(space.peak_step) or '')}",
            bounded(apart(space.live.at(step), space.peak_live_bytes), live),
        )
        for space in memory.spaces
    ]
    yield from table(("memory space", "needed", "real peak", "at step", "live at the printed step"), rows)
    yield ""
    is_exact = context.bound(Quantity.LIVE, Quantity.PRINTED_PEAK) is Bound.EXACT
    explained = explain_printed_peak(dump, memory, row) if is_exact else None
    sums = printed_peak_sums(explained, dump.space_id(DEFAULT_COLOR).name)
    if sums and explained and (explained.is_understated or printed != memory.spaces[0].live.at(step)):
        yield "What the printed peak counts:"
        yield ""
        yield from table(sums[0], sums[1:])
        yield ""
        yield RULE


# ---------------------------------------------------------------- HLO modules


def _instruction_lines(context: _Context, module: HloModule, target: HloInstruction) -> Iterator[str]:
    """What an instruction is, without anything that the dump knows of it."""
    dump, name, instruction = context.dump, module.name(target.row), module.instruction(target.row)
    metadata = instruction.metadata() if instruction else {}
    frames, opcode = module.frames(metadata), decode(instruction.opcode) if instruction else "?"
    computation = code(decode(module.computation_name(module.computation_of(target.row))))
    suffix = source_suffix(frames, context.links)
    yield f"{code(decode(name + target.index))}, {code(opcode)} in {computation}{suffix}"
    yield ""
    if instruction:
        yield f"- shape {code(shortened(decode(instruction.shape), _LONGEST_SHAPE))}"
    if dump.files and (target.index or len(values_of(dump, name)) < 2):
        yield "- has no buffer of its own"
    if op_name := metadata.get("op_name"):
        yield f"- op_name {code(op_name)}"
    yield from call_chain(frames, context.links)


def _computation_lines(module: HloModule, row: int) -> Iterator[str]:
    """The size of a computation, its root and its callers."""
    kind = "entry computation" if module.columns.computations.is_entry[row] else "computation"
    count = counted(len(module.instructions_of(row)), "instruction")
    yield f"{code(decode(module.computation_name(row)))}, {kind} of {count}"
    yield ""
    if (root := module.root(row)) != NONE:
        yield f"- root {code(decode(module.name(root)))}"
    callers = {module.instruction_at(use.start): None for use in references_to(module, HloComputation(row))}
    if callers:
        names = ", ".join(code(decode(module.name(caller))) for caller in islice(callers, _LONGEST_LIST))
        more = len(callers) - _LONGEST_LIST
        yield f"- called by {names}{f' and {more:,} more' if more > 0 else ''}"
