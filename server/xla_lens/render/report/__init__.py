"""Reports as text and as Markdown: which parts they have, in which order."""

from collections.abc import Callable, Iterator
from typing import Final

from xla_lens.features.report.facts import Report, SpaceReport
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.render.numbers import counted, human
from xla_lens.render.report.advice import alive_sections, budget_sections, donation_sections, padding_sections
from xla_lens.render.report.allocations import arenas_sections
from xla_lens.render.report.blocks import Command, Name, Outline, Section, Sections, Text
from xla_lens.render.report.markdown import markdown_lines
from xla_lens.render.report.peak import (
    curve_sections,
    live_at_peak_sections,
    live_at_step_sections,
    peak_sections,
    printed_peak_sections,
    totals_sections,
)
from xla_lens.render.report.sources import line_sections, source_sections
from xla_lens.render.report.text import Layout, text_lines
from xla_lens.render.report.values import steps_text

_REPORT_PARTS: Final[tuple[Callable[[Report], Sections], ...]] = (totals_sections, peak_sections, printed_peak_sections)

_SPACE_PARTS: Final[tuple[Callable[[Report, SpaceReport], Sections], ...]] = (
    curve_sections,
    live_at_peak_sections,
    live_at_step_sections,
)

_BIG_SPACE_PARTS: Final[tuple[Callable[[Report, SpaceReport], Sections], ...]] = (
    line_sections,
    source_sections,
    alive_sections,
    padding_sections,
    arenas_sections,
    budget_sections,
)
"""What is shown of a memory space, in order. Each function returns no sections if its part was not requested."""

_BIG_BYTES: Final = 1 << 16
"""Memory spaces other than the default one need this many live bytes at their peak to have all parts. JSON has all
parts of every memory space.
"""


def report_text(report: Report, width: int) -> Iterator[str]:
    """Yield the lines of a report as text, truncated to a width in characters."""
    return (line.text for line in text_lines(report_outline(report), Layout(width, stretch=1)))


def report_markdown(report: Report) -> Iterator[str]:
    """Yield the lines of a report as Markdown."""
    return markdown_lines(report_outline(report))


def report_outline(report: Report) -> Outline:
    """Return a report as blocks."""
    file = next(iter(report.files.values())).rpartition("/")[2]
    parts = tuple(sections for sections in _parts(report) if sections)
    return Outline(Name(report.module or file, widest=None), tuple(_head(report)), parts)


def missing_step(report: Report, step: int) -> str:
    """Return the message that a dump has no such step, with the steps it has."""
    has = "its schedule is missing" if report.end_step is None else f"the steps are {steps_text(0, report.end_step)}"
    return f"The dump has no step {step}: {has}."


def _parts(report: Report) -> Iterator[Sections]:
    step = report.options.at_step
    for part in _REPORT_PARTS:
        yield part(report)
    for space in report.spaces if report.has_live_ranges else ():
        is_big = space.space.color == DEFAULT_COLOR or space.space.peak_live_bytes >= _BIG_BYTES
        for part_of_space in (*_SPACE_PARTS, *(_BIG_SPACE_PARTS if is_big else ())):
            yield part_of_space(report, space)
    yield donation_sections(report)
    if step is not None and not report.has_step:
        yield (Section(missing_step(report, step)),)


def _head(report: Report) -> Iterator[tuple[str, Text]]:
    first = next(iter(report.files.values()))
    yield "files", (f"{', '.join(report.files)} in ", Name(first.rpartition("/")[0] or ".", widest=None))
    if report.reserved_bytes is not None and report.allocation_count is not None:
        yield "reserved", f"{human(report.reserved_bytes)} in {counted(report.allocation_count, 'allocation')}"
    counts = ((report.value_count, "value"), (report.instruction_count, "scheduled instruction"))
    contents = ", ".join(counted(count, noun) for count, noun in counts if count is not None)
    if contents:
        yield "contains", contents
    if report.allocation_count is None:
        yield "missing", "buffer assignment: allocations, sizes and offsets are unknown"
    if not report.has_live_ranges:
        yield "missing", "live ranges: the peak is unknown"
    if report.total_bytes is None:
        yield "missing", "values: the total, positions, uses and instructions are unknown"
    if report.finding_count:
        yield "findings", (f"{report.finding_count:,}: run ", Command(f"xla-lens check {first}"))
