"""A report as text."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import LiveSet, Part, Report, SpaceReport
from xla_lens.model.printed_peak import DEFAULT_COLOR
from xla_lens.render.numbers import counted, human, percent, shortened, space_name
from xla_lens.render.report.parts import (
    alive_text,
    arenas_text,
    budget_text,
    curve_text,
    donation_text,
    explained_text,
    padding_text,
    source_text,
)
from xla_lens.render.report.tables import WIDEST_NAME, WIDEST_SHAPE, cut, table

_WORTH_MORE: Final = 1 << 16
"""Of memory spaces of which less is ever live, only that is told. JSON has it all."""


def report_text(one: Report, width: int) -> Iterator[str]:
    """The lines of a report, cut to a width."""
    first = next(iter(one.files.values()))
    folder, _, name = first.rpartition("/")
    yield one.module or name
    yield f"  files      {', '.join(one.files)} in {folder or '.'}"
    if one.reserved_bytes is not None and one.allocations is not None:
        yield f"  reserved   {human(one.reserved_bytes)} in {counted(one.allocations, 'allocation')}"
    counts = ((one.values, "value"), (one.instructions, "scheduled instruction"))
    told = ", ".join(counted(count, what) for count, what in counts if count is not None)
    if told:
        yield f"  holds      {told}"
    yield from _missing(one)
    if one.findings:
        yield f"  findings   {one.findings:,}: run `xla-lens check {first}`"
    if one.spaces and Part.TOTALS in one.parts:
        yield ""
        yield from _totals(one)
    if one.has_live_ranges:
        yield from _over_time(one, width)
    if one.donation and Part.DONATION in one.parts:
        yield ""
        yield from cut(donation_text(one.donation), width)
    if one.lacks_step:
        end = "nothing is known of steps" if one.last_step is None else f"the steps are 0 to {one.last_step}"
        yield ""
        yield f"There is no step {one.asked_step}: {end}."


def _over_time(one: Report, width: int) -> Iterator[str]:
    if Part.PEAK in one.parts:
        yield ""
        yield from _peaks(one)
        if one.explained:
            yield ""
            yield from cut(explained_text(one.explained), width)
    for space in one.spaces:
        for part in _parts(space, one):
            lines = list(cut(part, width))
            if lines:
                yield ""
                yield from lines


def _parts(space: SpaceReport, one: Report) -> Iterator[Iterator[str]]:
    """The parts of a memory space, each as lines."""
    name = space_name(space.color)
    if space.peak and space.curve:
        yield curve_text(space.curve, space.peak, name, one.last_step or 0)
    if space.peak and Part.LIVE in one.parts:
        yield _live_set(space.peak, f"Live at the peak of {name}")
    if space.at_step:
        yield _live_set(space.at_step, f"Live at the step in {name}")
    if space.color != DEFAULT_COLOR and (not space.peak or space.peak.live_bytes < _WORTH_MORE):
        return
    if space.peak and space.sources:
        yield source_text(space.sources, name)
    if space.peak and space.alive:
        yield alive_text(space.alive, space.peak, name)
    if space.padding:
        yield padding_text(space.padding, name)
    if space.arenas:
        yield arenas_text(space.arenas, space.peak, name)
    if space.budget:
        yield budget_text(space.budget, space.peak, name)


def _missing(one: Report) -> Iterator[str]:
    if one.allocations is None:
        yield "  missing    the buffer assignment: nothing is known of allocations, sizes and offsets"
    if not one.has_live_ranges:
        yield "  missing    the live ranges: nothing is known of the peak"
    if one.total_bytes is None:
        yield "  missing    the values: nothing is known of the total, positions, uses and instructions"


def _totals(one: Report) -> Iterator[str]:
    kinds = list(dict.fromkeys(kind.kind for space in one.spaces for kind in space.kinds))
    rows = [["Memory space", "reserved", *kinds]]
    for space in one.spaces:
        sizes = {kind.kind: human(kind.size_bytes) for kind in space.kinds}
        rows.append([_space(space), human(space.reserved_bytes), *(sizes.get(kind, "") for kind in kinds)])
    yield from table(rows, left=(0,))


def _peaks(one: Report) -> Iterator[str]:
    rows = [["Peak", "true", "of reserved", "at step", "instruction", "live at the printed peak"]]
    for space in one.spaces:
        peak, printed = space.peak, space.live_at_printed_peak
        rows.append(
            [
                _space(space),
                human(peak.live_bytes if peak else 0),
                percent(peak.live_bytes if peak else 0, space.reserved_bytes),
                f"{peak.step}" if peak else "",
                shortened(peak.instruction or "", WIDEST_NAME) if peak else "",
                human(printed) if printed is not None else "",
            ]
        )
    if one.spaces:
        yield from table(rows, left=(0, 4))
    if one.printed_peak_step is not None and one.printed_peak_bytes is not None:
        yield f"  XLA prints a peak of {human(one.printed_peak_bytes)} at step {one.printed_peak_step}."


def _live_set(live: LiveSet, title: str) -> Iterator[str]:
    instruction = f" ({live.instruction})" if live.instruction else ""
    yield f"{title}: {human(live.live_bytes)} in {counted(live.count, 'value')} at step {live.step}{instruction}"
    header = ["  size", "share", "value", "shape", "live", "op_name"]
    rows = [
        [
            f"  {human(value.size_bytes)}",
            percent(value.size_bytes, live.live_bytes),
            shortened(value.name + (value.index or ""), WIDEST_NAME),
            shortened(value.shape, WIDEST_SHAPE),
            f"{value.start_step}-{value.end_step}",
            value.op_name or "",
        ]
        for value in live.values
    ]
    yield from table([header, *rows], left=(2, 3, 4, 5))
    if live.count > len(live.values):
        yield f"  ... and {counted(live.count - len(live.values), 'smaller value')}"


def _space(space: SpaceReport) -> str:
    return f"  {space.color} {space_name(space.color)}"
