"""The hovers of an allocation, a step, an instruction without a value, and the printed peak."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from xla_lens.features.hover.words import LONGEST_SHAPE, exact_bytes, kind_sentence, largest, missing_lines
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.memory.over_time import LiveBytes, MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, explain_printed_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import kind_text
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.command_links import CommandLinks
from xla_lens.render.markdown import code, table
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, counted, human, percent, shortened, sparkline
from xla_lens.render.printed_peak import RULE, printed_peak_sums
from xla_lens.render.warrants import bounded, bounded_size
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.positions import decode

_FILL_PARTS: Final = 48
"""Number of parts of the schedule in the bars that show live bytes over time."""


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
        path = parameter_path(dump, allocation)
        number = f"{allocations.parameter[allocation]}{'' if element == '{}' else element}"
        yield f"- parameter {number}{f', {code(path)}' if path else ''}"
    if shape := _header_shape(dump, allocation):
        yield f"- {code(shortened(shape, LONGEST_SHAPE))}"
    if live.peak_step is not None and bound is Bound.AT_LEAST:
        peak = bounded_size(space.peak_live_bytes if space else 0, bound)
        yield f"- {bounded_size(live.peak_bytes, bound)} live at once; the {name} peak is {peak}"
    if live.peak_step is not None and bound is Bound.EXACT and space:
        yield f"- {_live_at(live, live.peak_step, space, size_bytes, links)}"
        if space.peak_step is not None and live_at_peak != live.peak_bytes:
            yield f"- {_live_at(live, space.peak_step, space, size_bytes, links)}"
        if size_bytes and len(fill := _fill(dump, live)) > 1:
            yield f"- live bytes over time `{sparkline(fill, size_bytes)}`"
    yield from _values(analysis, dump.values_of_allocation(allocation), index, size_bytes, links)


def _is_exact(analysis: Analysis) -> bool:
    return analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact


def _live_at(live: LiveBytes, step: int, space: MemorySpace, size_bytes: int, links: CommandLinks) -> str:
    """How much of an allocation is live at a step, which may be the peak of its memory space."""
    live_bytes, at = live.at(step), f"at {links.live_set(f'step {step}', step)}"
    if step == space.peak_step:
        at += f", the {space_name(space.id)} peak"
    if live_bytes in (0, size_bytes):
        return f"{'all of' if live_bytes else 'nothing in'} it is live {at}"
    most = ", the most at once" if live_bytes == live.peak_bytes else ""
    part, idle = percent(live_bytes, size_bytes), human(size_bytes - live_bytes)
    return f"{apart(live_bytes, live.peak_bytes)} ({part}{most}) are live {at}, {idle} are idle"


def _fill(dump: DumpSet, live: LiveBytes) -> list[int]:
    """The maximum of the live bytes in each of some parts of the schedule of equal length."""
    last = dump.last_step or 0
    bounds = np.linspace(0, last + 1, min(_FILL_PARTS, last + 1) + 1).astype(np.int64).tolist()
    return [live.most_between(start, end - 1) for start, end in pairwise(bounds)]


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
    first, count = int(dump.peaks.first_buffer[row]), int(dump.peaks.buffer_count[row])
    printed = sum(dump.peak_buffers.size_bytes[first : first + count].tolist())
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
    yield from table(("memory space", "needed", "real peak", "at step", "live at the printed step"), rows)
    yield ""
    is_exact = warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK).is_exact
    explained = explain_printed_peak(dump, analysis.memory, row) if is_exact else None
    sums = printed_peak_sums(explained, space_name(dump.space_id(DEFAULT_COLOR))) if explained else None
    if sums and explained and (explained.is_understated or printed != analysis.memory.spaces[0].live.at(step)):
        yield "What the printed peak counts:"
        yield ""
        yield from table(("", *sums[0]), sums[1])
        yield ""
        yield RULE


def _at_step(dump: DumpSet, step: int | None) -> str:
    return f"{step} {code(dump.instruction_at(step) or '')}" if step is not None else "-"
