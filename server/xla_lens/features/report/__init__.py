"""Where the memory of one dump set goes: the facts of `xla-lens report`."""

from collections.abc import Iterator
from dataclasses import replace

from xla_lens.features.report.facts import ArenaReport, KindTotal, Part, Report, ReportOptions, SpaceReport
from xla_lens.features.report.parts import (
    alive_values,
    arena_reports,
    budget_report,
    donation_report,
    line_report,
    padding_report,
    source_report,
)
from xla_lens.features.report.values import end_step, live_set
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.findings import Severity
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import explain_printed_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.syntax.file_names import FileKind, module_name


def report(
    analysis: Analysis, files: dict[FileKind, str], options: ReportOptions, module: HloModule | None = None
) -> Report:
    """The report of a dump set whose files have the labels `files`; without its HLO module, which only `Part.LINE` is
    made with, fewer lines are told.
    """
    dump = analysis.dump
    printed = len(dump.peaks) > 0
    # One file with all but live ranges is a release that prints none; it is whole.
    is_scheduled = dump.live or (dump.used and dump.used is dump.assignment)
    last_step = end_step(dump)
    asked_step = options.at_step
    lacks_step = asked_step is not None and (last_step is None or asked_step > last_step)
    if lacks_step:
        options = replace(options, at_step=None)
    return Report(
        module=next((name for label in files.values() if (name := module_name(label))), None),
        files=files,
        parts=options.parts,
        instructions=len(dump.schedule) if is_scheduled else None,
        values=len(dump.values) if dump.assignment or dump.used else None,
        allocations=len(dump.allocations) if dump.assignment else None,
        reserved_bytes=sum(space.reserved_bytes for space in analysis.memory.spaces) if dump.assignment else None,
        has_live_ranges=len(dump.live_ranges) > 0,
        last_step=last_step,
        asked_step=asked_step,
        lacks_step=lacks_step,
        total_bytes=int(dump.totals.size_bytes[0]) if len(dump.totals) else None,
        printed_peak_step=int(dump.peaks.step[0]) if printed else None,
        printed_peak_bytes=sum(dump.peak_buffers.size_bytes.tolist()) if printed else None,
        explained=explain_printed_peak(dump, analysis.memory) if Part.PEAK in options.parts else None,
        donation=donation_report(dump, options.top) if Part.DONATION in options.parts else None,
        spaces=tuple(_space(analysis, module, space, options) for space in analysis.memory.spaces),
        findings=sum(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in analysis.findings),
    )


def _space(analysis: Analysis, module: HloModule | None, space: MemorySpace, options: ReportOptions) -> SpaceReport:
    dump, step, top, parts = analysis.dump, space.peak_step, options.top, options.parts
    is_over = space.color == 0 and options.budget_bytes is not None and Part.BUDGET in parts
    return SpaceReport(
        color=space.color,
        reserved_bytes=space.reserved_bytes,
        kinds=tuple(_kinds(dump, space.color)),
        peak=live_set(dump, space, step, top) if step is not None else None,
        live_at_printed_peak=space.live.at(int(dump.peaks.step[0])) if len(dump.peaks) else None,
        at_step=live_set(dump, space, options.at_step, top) if options.at_step is not None else None,
        curve=_curve(space) if Part.CURVE in parts else None,
        lines=line_report(dump, module, space, step, top) if step is not None and Part.LINE in parts else None,
        sources=source_report(dump, space, step) if step is not None and Part.SOURCE in parts else None,
        alive=alive_values(analysis, space, top) if step is not None and Part.ALIVE in parts else None,
        padding=padding_report(dump, space, step, top) if step is not None and Part.PADDING in parts else None,
        arenas=tuple(_arenas(analysis, space, options)) if Part.ARENAS in parts or Part.BIOGRAPHY in parts else None,
        budget=budget_report(analysis, space, options.budget_bytes or 0) if is_over else None,
    )


def _curve(space: MemorySpace) -> tuple[tuple[int, int], ...]:
    return tuple(zip(space.live.steps.tolist(), space.live.live_bytes.tolist(), strict=True))


def _arenas(analysis: Analysis, space: MemorySpace, options: ReportOptions) -> Iterator[ArenaReport]:
    all_slots = len(analysis.dump.values) if options.top is None else options.top
    slots = all_slots if Part.BIOGRAPHY in options.parts else None
    yield from arena_reports(analysis, space.color, options.top, slots)


def _kinds(dump: DumpSet, color: int) -> Iterator[KindTotal]:
    kinds, here = allocation_kinds(dump), dump.allocations.color == color
    for number, name in enumerate(KIND_NAMES):
        sizes = dump.allocations.size_bytes[here & (kinds == number)]
        if len(sizes):
            yield KindTotal(name, len(sizes), sum(sizes.tolist()))
