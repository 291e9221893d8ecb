"""A report as text and as Markdown."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import Part, Report, SpaceReport
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.subjects import Subject, SubjectKind
from xla_lens.render.numbers import counted, human, percent, space_name
from xla_lens.render.report import blocks
from xla_lens.render.report.blocks import Command, Linked, Name, Outline, Section, Table, Words
from xla_lens.render.report.lines import MAX_STACKS, line_part
from xla_lens.render.report.markdown import markdown_lines
from xla_lens.render.report.parts import (
    alive_part,
    arenas_part,
    curve_part,
    explained_part,
    live_set_part,
    padding_part,
    source_part,
)
from xla_lens.render.report.plain import Room, plain_lines
from xla_lens.render.report.savings import budget_part, donation_part
from xla_lens.render.report.words import step_link

_WORTH_MORE: Final = 1 << 16
"""Of memory spaces of which less is ever live, only that is told. JSON has it all."""


def report_text(one: Report, width: int) -> Iterator[str]:
    """The lines of a report, cut to a width."""
    return (line.text for line in plain_lines(report_outline(one), Room(width, stretch=1)))


def report_markdown(one: Report) -> Iterator[str]:
    """The lines of a report as Markdown."""
    return markdown_lines(report_outline(one))


def report_outline(one: Report) -> Outline:
    """What a report says."""
    name = next(iter(one.files.values())).rpartition("/")[2]
    parts = (*_whole(one), *_over_time(one), *_rest(one))
    return Outline(Name(one.module or name, widest=None), tuple(_head(one)), tuple(part for part in parts if part))


def _head(one: Report) -> Iterator[tuple[str, Words]]:
    first = next(iter(one.files.values()))
    yield "files", (f"{', '.join(one.files)} in ", Name(first.rpartition("/")[0] or ".", widest=None))
    if one.reserved_bytes is not None and one.allocations is not None:
        yield "reserved", f"{human(one.reserved_bytes)} in {counted(one.allocations, 'allocation')}"
    counts = ((one.values, "value"), (one.instructions, "scheduled instruction"))
    told = ", ".join(counted(count, what) for count, what in counts if count is not None)
    if told:
        yield "holds", told
    if one.allocations is None:
        yield "missing", "the buffer assignment: nothing is known of allocations, sizes and offsets"
    if not one.has_live_ranges:
        yield "missing", "the live ranges: nothing is known of the peak"
    if one.total_bytes is None:
        yield "missing", "the values: nothing is known of the total, positions, uses and instructions"
    if one.findings:
        yield "findings", (f"{one.findings:,}: run ", Command(f"xla-lens check {first}"))


def _whole(one: Report) -> Iterator[blocks.Part]:
    if one.spaces and Part.TOTALS in one.parts:
        yield _totals(one)


def _over_time(one: Report) -> Iterator[blocks.Part]:
    if not one.has_live_ranges:
        return
    if Part.PEAK in one.parts:
        yield _peaks(one)
        if one.explained:
            yield explained_part(one.explained)
    for space in one.spaces:
        yield from _space_parts(space, one)


def _space_parts(space: SpaceReport, one: Report) -> Iterator[blocks.Part]:
    name = space_name(space.color)
    if space.peak and space.curve:
        yield curve_part(space.curve, space.peak, name, one.last_step or 0)
    if space.peak and Part.LIVE in one.parts:
        yield live_set_part(space.peak, f"Live at the peak of {name}")
    if space.at_step:
        yield live_set_part(space.at_step, f"Live at the step in {name}")
    if space.color != DEFAULT_COLOR and (not space.peak or space.peak.live_bytes < _WORTH_MORE):
        return
    if space.peak and space.lines:
        yield line_part(space.lines, name, MAX_STACKS if Part.STACKS in one.parts else 0)
    if space.peak and space.sources:
        yield source_part(space.sources, name)
    if space.peak and space.alive:
        yield alive_part(space.alive, space.peak, name)
    if space.padding:
        yield padding_part(space.padding, name)
    if space.arenas:
        yield arenas_part(space.arenas, space.peak, name)
    if space.budget:
        yield budget_part(space.budget, space.peak, name)


def _rest(one: Report) -> Iterator[blocks.Part]:
    if one.donation and Part.DONATION in one.parts:
        yield donation_part(one.donation)
    if one.lacks_step:
        end = "nothing is known of steps" if one.last_step is None else f"the steps are 0 to {one.last_step}"
        yield (Section(f"There is no step {one.asked_step}: {end}."),)


def _totals(one: Report) -> blocks.Part:
    kinds = list(dict.fromkeys(kind.kind for space in one.spaces for kind in space.kinds))
    rows = []
    for space in one.spaces:
        sizes = {kind.kind: human(kind.size_bytes) for kind in space.kinds}
        rows.append((_space(space), human(space.reserved_bytes), *(sizes.get(kind, "") for kind in kinds)))
    return (Section("Memory space", (Table(("", "reserved", *kinds), tuple(rows), left=(0,)),)),)


def _peaks(one: Report) -> blocks.Part:
    told: list[Words | Table] = []
    if one.spaces:
        header = ("", "true", "of reserved", "at step", "instruction", "live at the printed peak")
        told.append(Table(header, tuple(map(_peak, one.spaces)), left=(0, 4)))
    if one.printed_peak_step is not None and one.printed_peak_bytes is not None:
        printed = f"XLA prints a peak of {human(one.printed_peak_bytes)} at step {one.printed_peak_step}"
        told.append((Linked(printed, Subject(SubjectKind.PRINTED_PEAK, 0)), "."))
    return (Section("Peak", tuple(told)),) if told else ()


def _peak(space: SpaceReport) -> tuple[Words, ...]:
    peak, printed = space.peak, space.live_at_printed_peak
    return (
        _space(space),
        human(peak.live_bytes if peak else 0),
        percent(peak.live_bytes if peak else 0, space.reserved_bytes),
        step_link(peak.step) if peak else "",
        Name(peak.instruction or "") if peak else "",
        human(printed) if printed is not None else "",
    )


def _space(space: SpaceReport) -> str:
    return f"{space.color} {space_name(space.color)}"
