"""The hovers of an allocation, a step, an instruction without a value, and the printed peak."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from xla_lens.features.hover.words import LONGEST_SHAPE, exact_bytes, kind_sentence, largest, missing_lines
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.memory.allocation_history import arena
from xla_lens.model.memory.over_time import LiveBytes, MemorySpace, live_values
from xla_lens.model.memory.printed_peak import counted_bytes
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.kinds import kind_text
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.command_links import CommandLinks
from xla_lens.render.markdown import code, table
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, counted, human, percent, shortened
from xla_lens.render.warrants import bounded, bounded_size
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.positions import decode

_MAX_INTERVALS: Final = 4
_FILL_PARTS: Final = 48
"""Number of parts of the schedule in the bars that show live bytes over time."""
_BARS: Final = " ▁▂▃▄▅▆▇█"


# ---------------------------------------------------------------- allocations


def allocation_lines(analysis: Analysis, allocation: int, links: CommandLinks) -> Iterator[str]:
    """Yield the size and kind of a row of `DumpSet.allocations`, how full it gets, and its largest values."""
    dump, allocations = analysis.dump, analysis.dump.allocations
    index, size_bytes = int(allocations.index[allocation]), int(allocations.size_bytes[allocation])
    kind = Kind(max(0, int(allocations.kind[allocation])))
    live, space = analysis.memory.allocation(allocation), analysis.memory.space(int(allocations.color[allocation]))
    name = space_name(dump.space_id(int(allocations.color[allocation])))
    live_at_peak = live.at(space.peak_step) if space and space.peak_step is not None else 0
    bound, is_exact = analysis.warrants.of(Quantity.LIVE).bound, _is_exact(analysis)
    is_part = space is not None and space.peak_live_bytes and is_exact
    share = f" · {percent(live_at_peak, space.peak_live_bytes)} of the {name} peak" if space and is_part else ""
    yield f"**allocation {index}** · {human(size_bytes)}{share}"
    yield ""
    exact, meaning = exact_bytes(size_bytes), kind_sentence(kind)
    words = f"{kind_text(kind) or 'no kind'} in {name}{exact and f', {exact}'}"
    yield f"- {words}{f': {meaning}' if meaning else ''}"
    if allocations.parameter[allocation] != NONE:
        element = decode(dump.indices[allocations.parameter_index[allocation]])
        path = parameter_path(dump, None, allocation)
        number = f"{allocations.parameter[allocation]}{'' if element == '{}' else element}"
        yield f"- parameter {number}{f', {code(path)}' if path else ''}"
    if shape := _header_shape(dump, allocation):
        yield f"- {code(shortened(shape, LONGEST_SHAPE))}"
    if live.peak_step is not None and bound is Bound.AT_LEAST:
        peak = bounded_size(space.peak_live_bytes if space else 0, bound)
        yield f"- {bounded_size(live.peak_bytes, bound)} live at once; the {name} peak is {peak}"
    if live.peak_step is not None and bound is Bound.EXACT and space:
        yield f"- {_fullest(live, live.peak_step, space, size_bytes, links)}"
        if space.peak_step is not None and live_at_peak != live.peak_bytes:
            yield f"- {_at_space_peak(live, space.peak_step, name, size_bytes, links)}"
        if size_bytes and len(fill := _fill(dump, live)) > 1:
            # Only 0 has no height.
            bars = (_BARS[min(len(_BARS) - 1, -(-part * (len(_BARS) - 1) // size_bytes))] for part in fill)
            yield f"- live bytes over time `{''.join(bars)}`"
    if is_exact and Kind.PREALLOCATED_TEMP in kind:
        yield from _full_size_steps(analysis, allocation)
    yield from _values(analysis, dump.values_of_allocation(allocation), index, size_bytes, links)


def _is_exact(analysis: Analysis) -> bool:
    return analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact


def _fullest(live: LiveBytes, step: int, space: MemorySpace, size_bytes: int, links: CommandLinks) -> str:
    """When most bytes of an allocation are live, and whether that is the peak of its memory space."""
    name, first = space_name(space.id), links.live_set(f"step {step}", step)
    if step == space.peak_step:
        first += f", the {name} peak"
    elif space.peak_step is not None and live.at(space.peak_step) == live.peak_bytes:
        first += f" and at the {name} peak, {links.live_set(f'step {space.peak_step}', space.peak_step)}"
    if live.peak_bytes == size_bytes:
        return f"all of it is live at {first}"
    part, idle = percent(live.peak_bytes, size_bytes), human(size_bytes - live.peak_bytes)
    return f"most is live at {first}: {human(live.peak_bytes)} ({part}), {idle} are idle"


def _at_space_peak(live: LiveBytes, step: int, name: str, size_bytes: int, links: CommandLinks) -> str:
    """How much of an allocation is live when its memory space peaks."""
    at, live_bytes = f"at {links.live_set(f'step {step}', step)}, the {name} peak", live.at(step)
    if not live_bytes:
        return f"nothing in it is live {at}"
    if live_bytes == size_bytes:
        return f"all of it is live {at}"
    return f"{apart(live_bytes, live.peak_bytes)} are live {at}, {human(size_bytes - live_bytes)} are idle"


def _fill(dump: DumpSet, live: LiveBytes) -> list[int]:
    """The maximum of the live bytes in each of some parts of the schedule of equal length."""
    last = dump.last_step or 0
    bounds = np.linspace(0, last + 1, min(_FILL_PARTS, last + 1) + 1).astype(np.int64).tolist()
    return [live.most_between(start, end - 1) for start, end in pairwise(bounds)]


def _full_size_steps(analysis: Analysis, allocation: int) -> Iterator[str]:
    """When a preallocated temp needs its full size."""
    steps = arena(analysis.dump, analysis.memory, allocation).full_size_steps
    intervals = list(zip(steps.start.tolist(), (steps.end - 1).tolist(), strict=True))
    shown = [
        f"step {first}" if first == last else f"steps {first}–{last}" for first, last in intervals[:_MAX_INTERVALS]
    ]
    if shown:
        more = ", …" if len(intervals) > _MAX_INTERVALS else ""
        yield f"- the values that end at its last byte set its size; they are live at {', '.join(shown)}{more}"


def _values(analysis: Analysis, values: Column, index: int, size_bytes: int, links: CommandLinks) -> Iterator[str]:
    dump, shown = analysis.dump, largest(analysis.dump, values)
    if len(values) == 1 and dump.values.size_bytes[values[0]] == size_bytes:
        yield f"- holds {code(dump.value_label(int(values[0])))} alone"
        return
    count = bounded(counted(len(values), "value"), analysis.warrants.of(Quantity.RESERVED).bound)
    more = ", the largest" if len(values) > len(shown) else ""
    yield f"- {links.history(count, index)}{more}{':' if shown else ''}"
    yield from (f"  - {value}" for value in shown)


def _header_shape(dump: DumpSet, allocation: int) -> str | None:
    table = dump.allocations
    for start, end in (
        (table.output_shape_start[allocation], table.output_shape_end[allocation]),
        (table.parameter_shape_start[allocation], table.parameter_shape_end[allocation]),
    ):
        if dump.assignment and start != NONE:
            return decode(dump.assignment.document.data[start:end])
    return None


# ---------------------------------------------------------------- steps


def scheduled_lines(dump: DumpSet, name: int) -> Iterator[str]:
    """Yield when an instruction without a value runs, by the number of its name."""
    yield f"{code(dump.label(name, NONE))} runs at step {dump.schedule.step[dump.schedule_row_of_name[name]]}."
    yield ""
    yield from missing_lines(dump) if dump.missing else ("It has no buffer of its own.",)


def step_lines(analysis: Analysis, step: int, links: CommandLinks) -> Iterator[str]:
    """Yield the live bytes of each memory space before, at and after a step, and the largest values whose live ranges
    start or end there.
    """
    dump, values, bound = analysis.dump, analysis.dump.values, analysis.warrants.of(Quantity.LIVE).bound
    instruction = dump.instruction_at(step)
    runs = code(instruction) if instruction else "the end of the program"
    yield f"**{links.live_set(f'step {step}', step)}** · {runs}"
    yield ""
    for space in analysis.memory.spaces:
        before, at, after = (space.live.at(step + shift) for shift in (-1, 0, 1))
        if not (before or at or after):
            continue
        if bound is Bound.UNKNOWN:
            yield f"- {space_name(space.id)}: unknown bytes live"
            continue
        around = f"before: {bounded_size(before, bound)}, after: {bounded_size(after, bound)}"
        yield f"- {space_name(space.id)}: {bounded_size(at, bound)} live ({around})"
    if FileKind.BUFFER_ASSIGNMENT in dump.missing:
        yield from missing_lines(dump)
        return
    is_placed = (values.slice != NONE) & (values.live_range != NONE)
    for title, steps in (("first live here", values.start_step), ("last live here", values.end_step)):
        rows = np.flatnonzero(is_placed & (steps == step))
        shown = largest(dump, rows)
        more = f" and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
        nothing = "nothing" if bound is Bound.EXACT else "nothing that the dump shows"
        yield f"- {title}: {', '.join(shown) + more if shown else nothing}"


# ---------------------------------------------------------------- the printed peak


def peak_lines(analysis: Analysis, row: int) -> Iterator[str]:
    """Yield the printed peak, a row of `DumpSet.peaks`, beside the real one, and why they differ."""
    dump, warrants, step = analysis.dump, analysis.warrants, int(analysis.dump.peaks.step[row])
    live, reserved = warrants.of(Quantity.LIVE).bound, warrants.of(Quantity.RESERVED).bound
    printed = sum(dump.peak_buffers.size_bytes[_printed(dump, row)].tolist())
    yield f"**Printed peak** · {bounded_size(printed, warrants.of(Quantity.PRINTED_PEAK).bound)} at step {step}"
    yield ""
    if not analysis.memory.spaces:
        yield from missing_lines(dump)
        return
    rows = [
        (
            space_name(space.id),
            bounded_size(space.needed_bytes, reserved),
            bounded_size(space.peak_live_bytes, live),
            _at_step(dump, space.peak_step),
            bounded(apart(space.live.at(step), space.peak_live_bytes), live),
        )
        for space in analysis.memory.spaces
    ]
    yield from table(("memory space", "needed", "real peak", "at step", "live at the printed step"), rows, (0,))
    yield ""
    is_exact = warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK).is_exact
    if is_exact and (differences := list(_differences(analysis, row, analysis.memory.spaces[0]))):
        yield "Why the numbers differ:"
        yield from differences


def _at_step(dump: DumpSet, step: int | None) -> str:
    return f"{step} {code(dump.instruction_at(step) or '')}" if step is not None else "-"


def _printed(dump: DumpSet, row: int) -> slice:
    """The rows of `DumpSet.peak_buffers` that a printed peak lists."""
    first = int(dump.peaks.first_buffer[row])
    return slice(first, first + int(dump.peaks.buffer_count[row]))


def _differences(analysis: Analysis, row: int, first: MemorySpace) -> Iterator[str]:
    """Why a printed peak is not that of the first memory space."""
    dump, values, step = analysis.dump, analysis.dump.values, int(analysis.dump.peaks.step[row])
    listed = _printed(dump, row)
    printed, printed_values = dump.peak_buffers.size_bytes[listed], dump.value_of_peak_buffer[listed]
    printed_bytes, live_bytes = sum(printed.tolist()), first.live.at(step)
    if first.peak_step is not None and first.peak_step != step and live_bytes < first.peak_live_bytes:
        yield from _sums_of_xla(dump, step, first.peak_step)
    if printed_bytes == live_bytes:
        return
    live = live_values(dump, step)
    assigned_bytes = sum(values.size_bytes[live[values.slice[live] != NONE]].tolist())
    if shared_bytes := assigned_bytes - sum(space.live.at(step) for space in analysis.memory.spaces):
        yield f"- The printed list counts {human(shared_bytes)} twice: one value takes over the bytes of another."
    is_element = taken(values.index, printed_values) > EMPTY_INDEX
    if np.any(is_element & (dump.peak_buffers.index[listed] == NONE)):
        yield "- This XLA release prints a tuple element with the size of the tuple's whole pointer table."
    if other_bytes := sum(printed[taken(values.color, printed_values) > 0].tolist()):
        yield f"- The printed list includes {human(other_bytes)} outside of {space_name(first.id)}."
    if assigned_bytes > printed_bytes:
        more = human(assigned_bytes - printed_bytes)
        yield f"- The printed list leaves out padding: its values occupy {more} more."


def _sums_of_xla(dump: DumpSet, step: int, peak_step: int) -> Iterator[str]:
    here, there = counted_bytes(dump, step), counted_bytes(dump, peak_step)
    if here is None or there is None or here < there:
        return
    values = dump.values
    is_ended = (values.end_step == step - 1) & (values.slice != NONE) & (values.live_range != NONE)
    ended_bytes = sum(values.size_bytes[is_ended].tolist())
    ended = f" ({human(ended_bytes)} here)" if ended_bytes else ""
    yield (
        f"- XLA selects the step by sums of its own: {human(here)} at step {step}, {apart(there, here)} at step "
        f"{peak_step}. In these sums a tuple element counts as the tuple's whole pointer table, each value counts for "
        f"one more step{ended}, and all memory spaces are added up."
    )
