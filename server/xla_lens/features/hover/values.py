"""The hover of a value."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.features.hover.words import LONGEST_LIST, LONGEST_SHAPE, REMAT, Context, exact_bytes, missing_lines
from xla_lens.model.advice.alive import Reason, last_uses, neighbours
from xla_lens.model.advice.facts import is_backward
from xla_lens.model.advice.padding import padding_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.hlo.dataflow import index_path, uses
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.kinds import kind_text
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.command_links import CommandLinks
from xla_lens.render.markdown import code
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, counted, human, percent, shortened
from xla_lens.render.padding import padding_cause, padding_part
from xla_lens.render.sources import call_chain, source_suffix
from xla_lens.render.warrants import bounded_size
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.positions import decode

_REMAT: Final = re.compile(r"\.remat\d*(?![A-Za-z])")


def value_lines(context: Context, value: int, name: int) -> Iterator[str]:
    """Yield the size of a row of `DumpSet.values`, its source and live range, then its placement. `name` is the number
    of the hovered name, NONE for none.
    """
    analysis, links, dump = context.analysis, context.links, context.analysis.dump
    values, label = dump.values, dump.value_label(value)
    size_bytes = int(values.size_bytes[value]) if values.slice[value] != NONE else None
    origin, elements = Origins(dump, context.module).of_value(value), _elements(dump, value)
    if len(elements):
        # The bytes of the tuple itself are only pointers.
        size = f" · {human(_sum(dump, elements))} in {counted(len(elements), 'output')}"
    else:
        size = (f" · {human(size_bytes)}" if size_bytes is not None else "") + _share(analysis, value, size_bytes)
    yield f"**{code(label)}**{size}{source_suffix(origin.frames, links)}"
    yield ""
    if note := context.note(value):
        yield f"- {note}"
    yield from element_lines(dump, elements, links)
    if name not in (NONE, values.name[value]):
        yield f"- {code(dump.label(name, NONE))} is an alias of it, without bytes of its own"
    if origin.op_name:
        yield f"- op_name {code(origin.op_name)}"
    yield from _derived(dump, value, origin)
    yield from call_chain(origin.frames, links)
    yield from _live_range(dump, value, label, links)
    if _REMAT.search(label):
        yield f"- `remat`: {REMAT}"
    yield from _shape(dump, value, size_bytes)
    if values.allocation[value] != NONE:
        yield from _placement(dump, value, size_bytes, origin, links)
    instruction = dump.instruction(int(values.name[value]))
    opcode = f", defined by {code(instruction.opcode.decode())}" if instruction else ""
    yield f"- value {values.id[value]}{opcode}"
    yield from missing_lines(dump)
    yield from _sharers(dump, value, links)


def _share(analysis: Analysis, value: int, size_bytes: int | None) -> str:
    dump, color, bound = (
        analysis.dump,
        int(analysis.dump.values.color[value]),
        analysis.warrants.of(Quantity.LIVE).bound,
    )
    space = analysis.memory.space(color)
    if space is None or not space.peak_live_bytes:
        return ""
    peak = f"the {space_name(dump.space_id(color))} peak"
    if bound is not Bound.EXACT:
        return f" · {peak} is {bounded_size(space.peak_live_bytes, bound)}"
    if size_bytes is not None and live_at_peak(dump, analysis.memory, np.array([value]))[0]:
        return f" · {percent(size_bytes, space.peak_live_bytes)} of {peak}"
    return f" · not live at {peak}" if dump.values.live_range[value] != NONE else ""


def _elements(dump: DumpSet, value: int) -> Column:
    """The other values of the instruction in the order of their indices; empty if the value is one of them."""
    values = dump.values
    if values.index[value] > EMPTY_INDEX:
        return np.zeros(0, np.int64)
    rows = np.flatnonzero((values.name == values.name[value]) & (values.index > EMPTY_INDEX)).tolist()
    return np.array(sorted(rows, key=lambda row: index_path(dump, int(values.index[row]))), np.int64)


def _sum(dump: DumpSet, values: Column) -> int:
    return sum(np.maximum(dump.values.size_bytes[values], 0).tolist())


def element_lines(dump: DumpSet, elements: Column, links: CommandLinks) -> Iterator[str]:
    """Yield the bytes, places and live ranges of the values of an instruction that has several, rows of
    `DumpSet.values`.
    """
    if len(elements):
        yield f"- outputs, {_sum(dump, elements):,} B together:"
    shown = elements[:LONGEST_LIST]
    allocations = taken(dump.allocations.index, dump.values.allocation[shown])
    for value, allocation in zip(shown.tolist(), allocations.tolist(), strict=True):
        values, name = dump.values, code(dump.value_label(value))
        name = links.history(name, allocation) if allocation != NONE else name
        place = f", at offset {values.offset[value]:,} of allocation {allocation}" if allocation != NONE else ""
        is_timed = values.live_range[value] != NONE
        live = f", live {values.start_step[value]}–{values.end_step[value]}" if is_timed else ""
        yield f"  - {name} {human(int(values.size_bytes[value]))}{place}{live}"
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
    readers = set(dump.uses.name[uses(dump, np.array([value]))].tolist())
    op_names = [instruction.op_name for name in readers if (instruction := dump.instruction(name))]
    # Only the backward pass reads what a loop of the forward pass stores.
    is_for_backward = not is_backward(origin.op_name) and bool(op_names) and all(map(is_backward, op_names))
    saved = ", saved for the backward pass" if is_for_backward else ""
    yield (
        f"- {stored.count:,} × {code(stored.shape)}{saved}: {writer} computes them, {code(stored.name)} in the loop "
        "stores them (source derived from the data flow)"
    )


def _live_range(dump: DumpSet, value: int, label: str, links: CommandLinks) -> Iterator[str]:
    ending = last_uses(dump, value)
    if ending is None:
        if FileKind.LIVE_RANGE not in dump.missing:
            yield "- no live range: it counts as reserved bytes only"
        return
    start, end = int(dump.values.start_step[value]), ending.end_step
    starting, at_end = dump.instruction_at(start), code(dump.instruction_at(end) or "")
    # Most values start at the instruction that they are named after.
    at_start = f" ({code(starting)})" if starting and starting != label.partition("{")[0] else ""
    first, last = (links.live_set(f"step {step}", step) for step in (start, end))
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
    text = f"- {code(shortened(decode(shape), LONGEST_SHAPE))}"
    if padding and padding.size_bytes and size_bytes:
        logical, parts = padding.logical_bytes, padding.parts
        times = f" ({size_bytes / logical:.1f} times the size of the shape)" if logical else ""
        cause = f": {padding_cause(parts[0])}" if len(parts) == 1 else ""
        text += f", {apart(padding.size_bytes, size_bytes)} of it padding{times}{cause}"
    yield text
    if padding and len(padding.parts) > 1:
        yield from (f"  - {padding_part(part)}" for part in padding.parts)


def _placement(dump: DumpSet, value: int, size_bytes: int | None, origin: Origin, links: CommandLinks) -> Iterator[str]:
    values, allocations, row = dump.values, dump.allocations, int(dump.values.allocation[value])
    index, whole_bytes = int(allocations.index[row]), int(allocations.size_bytes[row])
    exact = exact_bytes(size_bytes or 0)
    size = f"{human(size_bytes)}{exact and f' ({exact})'}" if size_bytes is not None else "unknown size"
    kind = kind_text(Kind(max(0, int(allocations.kind[row]))))
    details = ", ".join(filter(None, (kind, space_name(dump.space_id(int(values.color[value]))))))
    part = ", all of it" if size_bytes == whole_bytes else f" of {apart(whole_bytes, size_bytes or 0)}"
    allocation = links.history(f"allocation {index}", index)
    yield f"- {size} at offset {int(values.offset[value]):,} of {allocation}{part} ({details})"
    path = parameter_path(dump, row)
    if path and path != origin.op_name:
        yield f"- in the buffer of the parameter {code(path)}"


def _sharers(dump: DumpSet, value: int, links: CommandLinks) -> Iterator[str]:
    values, others = dump.values, neighbours(dump, value)
    if not len(others):
        return
    gaps = np.maximum(
        values.start_step[others] - values.end_step[value], values.start_step[value] - values.end_step[others]
    )
    # The one with the fewest steps in between, the largest of several.
    near = int(others[np.lexsort((-values.size_bytes[others], np.maximum(gaps, 0)))[0]])
    nearest = f"{code(dump.value_label(near))} (steps {values.start_step[near]}–{values.end_step[near]})"
    if len(others) == 1:
        yield f"- shares its bytes with {nearest}"
        return
    count = links.history(
        counted(len(others), "other value"), int(dump.allocations.index[dump.values.allocation[value]])
    )
    yield f"- shares its bytes with {count}, nearest {nearest}"
