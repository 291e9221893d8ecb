"""Where the memory of a dump set goes: the facts of `xla-lens report` and of the pages that editors show.

A report collects the model's own results and copies none of them. `render/report` turns it into text, Markdown and
JSON. To add a part: give it a name in `Part`, write a function here that finds its facts, write its sections in
`render/report`, list them in `render/report/outline.py`, and add its JSON to `render/report/data.py` and
`docs/report.schema.json`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.model.advice.actions import Advice
from xla_lens.model.advice.advise import advice_from
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import LineBytes, lines_at
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes, owners
from xla_lens.model.capacity import Capacity, capacity_of, over_bytes
from xla_lens.model.memory.alive import Ending, endings
from xla_lens.model.memory.allocation_history import AllocationHistory, arenas
from xla_lens.model.memory.budget import BudgetPlan, fewest, smallest_set
from xla_lens.model.memory.donation import Donation, find_donation
from xla_lens.model.memory.edits import next_peaks
from xla_lens.model.memory.over_time import MemorySpace, live_in_space
from xla_lens.model.memory.padding import PaddingAtStep, padding_at
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, PrintedPeak, explain_printed_peak, first_printed_peak
from xla_lens.model.memory.unseen import Unseen, unseen_memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrant, Warrants
from xla_lens.syntax.columns import NONE, Column, cells, pairs
from xla_lens.syntax.file_names import FileKind, module_name

# ---------------------------------------------------------------- a report


@dataclass(frozen=True, slots=True, eq=False)
class LiveSet:
    """The values that take bytes of a memory space at a step, biggest first: rows of `DumpSet.values`."""

    step: int
    live_bytes: int
    values: Column


@dataclass(frozen=True, slots=True)
class KindBytes:
    """The bytes of some values in allocations of one kind, a name of `KIND_NAMES`."""

    kind: str
    size_bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class LineReport:
    """The bytes at the peak by source line, and those of parameters by argument.

    `lines` are at most `top` lines and arguments and the bytes without a source, most bytes first. `count` is the
    number of all of them, and `rest_bytes` the bytes of those that `lines` leaves out. `unresolved_bytes` have a stack
    frame that only the HLO module could resolve, but it is missing or lacks the frame, perhaps because of the flag
    `left_out_by`. `arguments` are all arguments,
    also those that `lines` leaves out. `without_source` are the bytes without a source by the kind of their allocation.
    """

    size_bytes: int
    count: int
    lines: tuple[LineBytes, ...]
    rest_bytes: int
    unresolved_bytes: int
    left_out_by: str | None
    arguments: tuple[LineBytes, ...]
    without_source: tuple[KindBytes, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SpaceReport:
    """One memory space.

    `peak` is None if nothing is ever live in it, `live_at_printed_peak` if the dump prints no peak, `at_step` if no
    step was requested or the dump does not have it, and `lines` if they were not requested or there is no peak.
    """

    space: MemorySpace
    peak: LiveSet | None
    live_at_printed_peak: int | None
    at_step: LiveSet | None
    lines: LineReport | None

    @property
    def name(self) -> str:
        """The name of the memory space: ``HBM``."""
        return self.space.id.name

    @property
    def peak_step(self) -> int:
        """The step of the peak, 0 if there is none."""
        return self.space.peak_step or 0


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """One dump set. `files` maps what each file holds to its label.

    `origins` has the sources of the values. `warrants` say which numbers are exact, and `left_out` are the requested
    parts whose numbers would not even be bounds. `unseen` takes memory that no dump shows. `advice`, which is about the
    default memory space, is None if it was not requested or the dump does not have the facts.
    """

    analysis: Analysis
    files: Mapping[FileKind, str]
    options: ReportOptions
    origins: Origins
    warrants: Warrants
    left_out: tuple[Part, ...]
    unseen: tuple[Unseen, ...] = ()
    spaces: tuple[SpaceReport, ...] = ()
    advice: Advice | None = None

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump set."""
        return self.analysis.dump

    @property
    def hbm(self) -> SpaceReport | None:
        """The default memory space, None if nothing is in it."""
        return next((one for one in self.spaces if one.space.color == DEFAULT_COLOR), None)

    @property
    def capacity(self) -> Capacity | None:
        """The capacity of the device for the default memory space, None if it is unknown."""
        return capacity_of(self.hbm.space, self.analysis.capacity) if self.hbm else None

    @property
    def limit_bytes(self) -> int | None:
        """The budget, or else the capacity of the device; None if neither is known."""
        if self.options.budget_bytes is not None:
            return self.options.budget_bytes
        return self.capacity.size_bytes if self.capacity else None

    @property
    def live(self) -> Warrant:
        """Which numbers are exact that depend on what is live."""
        return self.warrants.live

    @property
    def sourced(self) -> Warrant:
        """Which numbers are exact that depend on what is live and on its sources."""
        return self.warrants.of(Quantity.LIVE, Quantity.SOURCES)

    @property
    def module(self) -> str | None:
        """The name of the HLO module, None if it is unknown."""
        return next((name for label in self.files.values() if (name := module_name(label))), self.analysis.name)

    @property
    def instruction_count(self) -> int | None:
        """The length of the schedule, None if no file has a schedule."""
        dump = self.dump
        # Dumps before XLA printed live ranges are one file without a schedule. They are complete: the length is 0.
        is_scheduled = dump.live or (dump.used and dump.used is dump.assignment)
        return len(dump.schedule) if is_scheduled else None

    @property
    def value_count(self) -> int | None:
        """The number of values, None if no file lists values."""
        return len(self.dump.values) if self.dump.assignment or self.dump.used else None

    @property
    def reserved(self) -> tuple[int, int] | None:
        """The number of allocations in all memory spaces and their bytes, None without a buffer assignment."""
        size_bytes = sum(one.space.reserved_bytes for one in self.spaces)
        return (len(self.dump.allocations), size_bytes) if self.dump.assignment else None

    @property
    def printed(self) -> tuple[int, int] | None:
        """The step and the bytes of the peak that the dump prints, None if it prints none."""
        printed = first_printed_peak(self.dump)
        return (printed[0], printed[1] or 0) if printed else None

    @property
    def has_live_ranges(self) -> bool:
        """Whether the dump has live ranges; without them there is no peak."""
        return len(self.dump.live_ranges) > 0

    @property
    def end_step(self) -> int | None:
        """The step after the last instruction, where the program ends. None without a schedule."""
        last = self.dump.last_step
        return last + 1 if last is not None else None

    @property
    def has_step(self) -> bool:
        """Whether the dump has the requested step, and true if none was requested."""
        step, end = self.options.at_step, self.end_step
        return step is None or (end is not None and 0 <= step <= end)

    def has(self, part: Part, one: SpaceReport | None = None) -> bool:
        """Return whether a part was requested and the dump has the facts. Most parts of a space are about its peak."""
        is_there = one is None or one.peak is not None or part in (Part.ARENAS, Part.BUDGET)
        return is_there and part in self.options.parts and part not in self.left_out


def report(analysis: Analysis, files: Mapping[FileKind, str], options: ReportOptions) -> Report:
    """Return the report of a dump set whose files have the labels `files`.

    `needs_module` says which reports use the HLO module. Since jaxlib 0.8.2 the source lines are in the module; without
    it most bytes have no source.
    """
    module = analysis.module
    warrants = analysis.warrants.with_gaps([_module_gap(Cause.CUT_OFF)] if module and module.is_cut_off else [])
    one = Report(
        analysis=analysis,
        files=files,
        options=options,
        origins=Origins(analysis.dump, module, through_loops=options.through_loops),
        warrants=warrants,
        left_out=tuple(part for part in Part if part in options.parts and not _is_warranted(part, warrants)),
        unseen=unseen_memory(analysis.dump, module),
    )
    spaces = tuple(_space(one, space) for space in analysis.memory.spaces)
    if module is None and any(space.lines and space.lines.unresolved_bytes for space in spaces):
        # The stack frames of some values are only in the HLO module.
        warrants = warrants.with_gaps([_module_gap(Cause.MISSING)])
    one = replace(one, warrants=warrants, spaces=spaces)
    if not one.has(Part.ADVICE):
        return one
    limit_bytes = one.limit_bytes
    is_tight = options.budget_bytes or (one.hbm and limit_bytes and over_bytes(one.hbm.space, limit_bytes))
    # Advice is about what loops compute in any case.
    origins = one.origins if options.through_loops else Origins(analysis.dump, module)
    return replace(one, advice=advice_from(origins, analysis, DEFAULT_COLOR, limit_bytes if is_tight else None))


_EXACT: Final = {
    Part.ALIVE: (Quantity.LIVE, Quantity.USES),
    Part.PADDING: (Quantity.LIVE,),
    Part.ARENAS: (Quantity.LIVE, Quantity.RESERVED),
    Part.DONATION: (Quantity.LIVE, Quantity.RESERVED, Quantity.USES),
    Part.BUDGET: (Quantity.LIVE,),
    Part.ADVICE: (Quantity.LIVE, Quantity.USES),
}
"""The parts whose numbers are no bounds unless these quantities are exact."""

_KNOWN: Final = {
    Part.TOTALS: (Quantity.RESERVED,),
    Part.CURVE: (Quantity.LIVE,),
    Part.LIVE: (Quantity.LIVE,),
    Part.LINE: (Quantity.LIVE, Quantity.SOURCES),
    Part.STACKS: (Quantity.LIVE, Quantity.SOURCES),
    Part.SOURCE: (Quantity.LIVE, Quantity.SOURCES),
}
"""The parts whose numbers are bounds if these quantities are."""


def _is_warranted(part: Part, warrants: Warrants) -> bool:
    """Whether the numbers of a part are exact, or bounds that may be shown as such."""
    return warrants.of(*_EXACT.get(part, ())).is_exact and warrants.of(*_KNOWN.get(part, ())).is_known


def _module_gap(cause: Cause) -> Gap:
    return Gap(Quantity.SOURCES, Bound.AT_LEAST, cause, FileKind.HLO)


def _space(one: Report, space: MemorySpace) -> SpaceReport:
    is_known = space.live_bound is not Bound.UNKNOWN
    peak = _live_set(one, space, space.peak_step)
    return SpaceReport(
        space=space,
        peak=peak,
        live_at_printed_peak=space.live.at(one.printed[0]) if one.printed and is_known else None,
        at_step=_live_set(one, space, one.options.at_step if one.has_step else None),
        lines=_lines(one, space, peak.step) if peak and one.has(Part.LINE) else None,
    )


def _live_set(one: Report, space: MemorySpace, step: int | None) -> LiveSet | None:
    if step is None or space.live_bound is Bound.UNKNOWN:
        return None
    return LiveSet(step, space.live.at(step), live_in_space(one.dump, step, space.color))


def _lines(one: Report, space: MemorySpace, step: int) -> LineReport:
    found, top = lines_at(one.origins, step, space.color), one.options.top
    lines, unknown = ([line for line in found.lines if line.is_known is wanted] for wanted in (True, False))
    return LineReport(
        size_bytes=sum(line.size_bytes for line in found.lines),
        count=len(found.lines),
        lines=tuple(sorted((*lines[:top], *unknown), key=lambda line: -line.size_bytes)),
        rest_bytes=sum(line.size_bytes for line in lines[top:]) if top is not None else 0,
        unresolved_bytes=found.unresolved_bytes,
        left_out_by=one.analysis.left_out.get(FileKind.HLO) if found.unresolved_bytes else None,
        arguments=tuple(line for line in lines if line.argument is not None),
        without_source=_by_kind(one.dump, {value for line in unknown for value in line.values}, step, space.color),
    )


def _by_kind(dump: DumpSet, values: set[int], step: int, color: int) -> tuple[KindBytes, ...]:
    kinds, sizes = allocation_kinds(dump), defaultdict[int, list[int]](list)
    for value, size_bytes in owners(dump, step, color) if values else ():
        if value in values:
            sizes[kinds.item(dump.values.allocation[value])].append(size_bytes)
    found = (KindBytes(KIND_NAMES[kind], sum(sizes[kind]), len(sizes[kind])) for kind in sorted(sizes))
    return tuple(sorted(found, key=lambda kind: -kind.size_bytes))


# ---------------------------------------------------------------- parts of a report


@dataclass(frozen=True, slots=True)
class PeakWithout:
    """The peak of a memory space if one value were gone.

    `value` is a row of `DumpSet.values`. At the peak step `freed_bytes` would be free. The peak would be
    `next_peak_bytes`, first at `next_peak_step`, None if nothing else is ever live. `ending` is what frees the value.
    """

    value: int
    freed_bytes: int
    next_peak_bytes: int
    next_peak_step: int | None
    ending: Ending | None


def peaks_without(report: Report, space: MemorySpace) -> Iterator[PeakWithout]:
    """Yield the peak without each of the values that are live there; those that would lower it most come first."""
    dump, top = report.dump, report.options.top
    peaks = next_peaks(dump, report.analysis.memory, space.color, top=len(dump.values) if top is None else top)
    columns = peaks.value, peaks.freed_bytes, peaks.next_peak_bytes, peaks.next_peak_step
    for row, ending in zip(cells(*columns), endings(dump, peaks.value), strict=True):
        value, freed, next_bytes, step = row
        yield PeakWithout(value, freed, next_bytes, step if step != NONE else None, ending)


def padding_at_peak(report: Report, one: SpaceReport) -> tuple[PaddingAtStep, list[tuple[int, int]]]:
    """Return the padding among the bytes at the peak, and the values with the most padding: rows and bytes."""
    values, owned = owned_bytes(report.dump, one.peak_step, one.space.color)
    found = padding_at(report.dump, values, owned)
    order = np.lexsort((values, -found.padding_bytes))
    biggest = order[found.padding_bytes[order] > 0][: report.options.top]
    return found, pairs(values[biggest], found.padding_bytes[biggest])


def arenas_in(report: Report, space: MemorySpace) -> Iterator[AllocationHistory]:
    """Yield the preallocated temps of a memory space."""
    spaces, found = report.dump.allocation_spaces, arenas(report.dump, report.analysis.memory)
    return (history for history in found if spaces[history.allocation] == space.color)


def known_donation(report: Report) -> Donation | None:
    """Return the donation of parameters, None if it was not requested or the dump does not have the facts."""
    donation = find_donation(report.dump) if report.has(Part.DONATION) else None
    return donation if donation and donation.is_known else None


def explained_peak(report: Report) -> PrintedPeak | None:
    """Return what XLA counts in the peak that it prints, None if that was not requested or is unknown."""
    is_exact = report.warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK).is_exact
    is_explained = is_exact and report.has(Part.PEAK)
    return explain_printed_peak(report.dump, report.analysis.memory) if is_explained else None


@dataclass(frozen=True, slots=True, eq=False)
class BudgetReport:
    """Values to remove so that what a program needs of a memory space is within a budget.

    `idle_bytes` are needed but not live at the peak. They are assumed to stay, so `plan` brings the live bytes down to
    the budget minus these. If that is impossible, the plan is not reached, and it brings them down to the budget.
    """

    plan: BudgetPlan
    idle_bytes: int

    @property
    def needed_bytes(self) -> int:
        """What the program needs without the values."""
        return self.plan.peak_bytes + self.idle_bytes


def budget_report(report: Report, space: MemorySpace) -> BudgetReport | None:
    """Return the values to remove from the default memory space, None for others, or if they cannot be known."""
    budget_bytes, dump, memory = report.options.budget_bytes, report.dump, report.analysis.memory
    if budget_bytes is None or space.color != DEFAULT_COLOR or space.reserved_bound is not Bound.EXACT:
        return None
    idle_bytes = space.needed_bytes - space.peak_live_bytes
    live_budget = budget_bytes - idle_bytes if space.needed_bytes > budget_bytes else space.peak_live_bytes
    plan = smallest_set(dump, memory, space.color, live_budget)
    if plan is None:
        return None
    if not plan.is_reached:
        # What is live can still be brought within the budget.
        plan = smallest_set(dump, memory, space.color, budget_bytes) or plan
    # What is live must be within the budget in any case, except for thread-local buffers, which are not needed.
    is_reached = plan.is_reached and plan.peak_bytes + idle_bytes <= budget_bytes
    is_bound = is_reached and idle_bytes >= 0
    at_least = fewest(dump, memory, space.color, budget_bytes) if is_bound else 0
    plan = replace(plan, budget_bytes=budget_bytes, is_reached=is_reached, at_least=at_least)
    return BudgetReport(plan, idle_bytes)
