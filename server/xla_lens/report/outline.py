"""Reports as text and as Markdown: which parts they have, in which order."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from xla_lens.blocks.blocks import Name, Outline, Role, Sections, Text, command, section
from xla_lens.blocks.entities import steps_text
from xla_lens.blocks.markdown import markdown_text
from xla_lens.blocks.text import text_lines
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import Quantity
from xla_lens.report.answer import MOST_OF_A_NAME, answer
from xla_lens.report.facts import Report, SpaceReport
from xla_lens.report.notes import measured_note, thread_local_note, unseen_scratch
from xla_lens.report.options import Part
from xla_lens.report.sections import (
    alive_sections,
    arenas_sections,
    budget_sections,
    curve_sections,
    donation_sections,
    line_sections,
    live_at_peak_sections,
    live_at_step_sections,
    padding_sections,
    peak_sections,
    printed_peak_sections,
    sections_of_advice,
    source_sections,
    totals_sections,
)
from xla_lens.report.usage_report import usage_report_sections
from xla_lens.words.capacity import device_text
from xla_lens.words.numbers import counted, shortened
from xla_lens.words.warrants import bounded, bounded_size, gap_lines

_SpacePart: TypeAlias = tuple[Part | None, Callable[[Report, SpaceReport], Sections]]

_USER_PARTS: Final[tuple[_SpacePart, ...]] = (
    (Part.LINE, line_sections),
    (Part.LIVE, live_at_peak_sections),
    (None, live_at_step_sections),
    (Part.BUDGET, budget_sections),
    (Part.SOURCE, source_sections),
    (Part.ALIVE, alive_sections),
    (Part.PADDING, padding_sections),
)
"""What is shown of a memory space about the user's program, in order."""

_SMALL_SPACE_PARTS: Final = _USER_PARTS[1:3]

_ACCOUNTING_PARTS: Final[tuple[_SpacePart, ...]] = ((Part.CURVE, curve_sections), (Part.ARENAS, arenas_sections))
"""What is shown of a memory space about XLA's own accounting, after what is about the user's program."""

_REPORT_PARTS: Final[tuple[Callable[[Report], Sections], ...]] = (
    totals_sections,
    usage_report_sections,
    peak_sections,
    printed_peak_sections,
)

BIG_BYTES: Final = 1 << 16
"""Memory spaces other than the default one need this many live bytes at their peak to have all parts, and this many
reserved bytes to be named at the top. JSON has all parts of every memory space.
"""


def report_text(report: Report, width: int) -> Iterator[str]:
    """Yield the lines of a report as text, truncated to a width in characters."""
    return (line.text for line in text_lines(report_outline(report), width))


def report_markdown(report: Report) -> Iterator[str]:
    """Yield the lines of a report as Markdown."""
    return markdown_text(report_outline(report))


def report_outline(report: Report) -> Outline:
    """Return a report as blocks."""
    file = next(iter(report.files.values())).rpartition("/")[2]
    parts = tuple(sections for sections in _parts(report) if sections)
    return Outline(Name(report.module or file), tuple(_head(report)), parts, answer(report))


def measured(report: Report) -> Iterator[str]:
    """Yield what the process of a module used at most, beside what the module needs."""
    if report.hbm:
        module = shortened(report.module or "the module", MOST_OF_A_NAME)
        memory = report.analysis.measured
        yield from measured_note(memory, module, report.dump, report.hbm.space, report.unseen)


def missing_step(report: Report, step: int) -> str:
    """Return the message that a dump has no such step, with the steps it has."""
    has = "its schedule is missing" if report.end_step is None else f"the steps are {steps_text(0, report.end_step)}"
    return f"The dump has no step {step}: {has}."


def _parts(report: Report) -> Iterator[Sections]:
    spaces = report.spaces if report.has_live_ranges else ()
    big = [each for each in spaces if _is_big(each, each.space.peak_live_bytes)]

    def shown(space_report: SpaceReport, parts: Iterable[_SpacePart]) -> Iterator[Sections]:
        return (
            sections(report, space_report) for part, sections in parts if part is None or report.has(part, space_report)
        )

    if report.hbm and report.has_live_ranges:
        yield from shown(report.hbm, _USER_PARTS)
    yield donation_sections(report)
    yield sections_of_advice(report)
    for space_report in spaces:
        if space_report is not report.hbm:
            yield from shown(space_report, _USER_PARTS if space_report in big else _SMALL_SPACE_PARTS)
    for space_report in big:
        yield from shown(space_report, _ACCOUNTING_PARTS)
    yield from (part(report) for part in _REPORT_PARTS)
    if not report.has_step and report.options.at_step is not None:
        yield section(missing_step(report, report.options.at_step))


def _is_big(space_report: SpaceReport, size_bytes: int) -> bool:
    return space_report.space.color == DEFAULT_COLOR or size_bytes >= BIG_BYTES


def _head(report: Report) -> Iterator[tuple[str, Text]]:
    first, bound = next(iter(report.files.values())), report.warrants.of(Quantity.RESERVED).bound
    yield "files", (f"{', '.join(report.files)} in ", Name(first.rpartition("/")[0] or ".", role=Role.PATH))
    if report.reserved:
        allocations = bounded(counted(report.reserved[0], "allocation"), bound)
        sizes = [(each, each.space.reserved_bytes) for each in report.spaces]
        small = sum(not _is_big(*each) for each in sizes)
        parts = [f"{bounded_size(size, bound)} of {each.name}" for each, size in sizes if size and _is_big(each, size)]
        more = f" and {counted(small, 'small memory space')}" if small else ""
        by_space = f": {', '.join(parts)}{more}" if len(parts) + small > 1 else ""
        yield "reserved", f"{bounded_size(report.reserved[1], bound)} in {allocations}{by_space}"
        for line in thread_local_note(each.space for each in report.spaces):
            yield "not needed", line
    if report.hbm and (scratch := unseen_scratch(report.unseen, report.hbm.space)):
        yield "unseen", f"{scratch}: no dump shows it"
    if report.capacity and report.hbm:
        yield "device", device_text(report.dump, report.hbm.space, report.capacity)
    elif report.analysis.chip:
        yield "device", f"{report.analysis.chip}, of unknown capacity"
    if report.options.has_measured:
        for line in measured(report):
            yield "measured", line
    counts = (
        (report.value_count, "value", report.warrants.of(Quantity.VALUES)),
        (report.instruction_count, "scheduled instruction", report.warrants.of(Quantity.SCHEDULE)),
    )
    contents = [
        bounded(counted(count, noun), warrant.bound)
        for count, noun, warrant in counts
        if count is not None and warrant.is_known
    ]
    if contents:
        yield "contains", ", ".join(contents)
    for line in gap_lines(report.warrants.gaps):
        yield "incomplete", line
    if report.left_out:
        yield "left out", f"{', '.join(report.left_out)}: without the missing facts, their numbers would be wrong"
    if count := sum(finding.severity.is_alarm for finding in report.analysis.findings):
        yield "findings", (f"{count:,}: run ", command(f"xla-lens check {first}"))
