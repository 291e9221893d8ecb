"""Where the memory of a dump set goes: the facts of `xla-lens report` and of the pages that editors show.

A report collects the model's own results and copies none of them. `render/report` turns it into text, Markdown and
JSON. To add a part: give it a name in `Part` and a field in `Report` or `SpaceReport`, write its sections in
`render/report`, list them in `render/report/outline.py`, and add its JSON to `render/report/data.py` and
`docs/report.schema.json`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.model.advice.actions import Advice
from xla_lens.model.advice.advise import advise
from xla_lens.model.advice.alive import Ending, last_uses
from xla_lens.model.advice.budget import BudgetPlan, fewest, smallest_set
from xla_lens.model.advice.donation import Donation, find_donation
from xla_lens.model.advice.edits import next_peaks
from xla_lens.model.advice.padding import PaddingAtStep, padding_at
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import BytesByOp, LineBytes, lines_at, ops_at
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.capacity import Capacity, capacity_of, over_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.allocation_history import AllocationHistory, arenas
from xla_lens.model.memory.over_time import MemorySpace, live_in_space
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, PrintedPeak, explain_printed_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrant, Warrants
from xla_lens.render.memory_spaces import space_name
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import FileKind, module_name

# ---------------------------------------------------------------- facts


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
    frame that only the HLO module could resolve, but it is missing or lacks the frame. `arguments` are all arguments,
    also those that `lines` leaves out. `without_source` are the bytes without a source by the kind of their allocation.
    """

    size_bytes: int
    count: int
    lines: tuple[LineBytes, ...]
    rest_bytes: int
    unresolved_bytes: int
    arguments: tuple[LineBytes, ...]
    without_source: tuple[KindBytes, ...]


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


@dataclass(frozen=True, slots=True, eq=False)
class PaddingReport:
    """The padding among the bytes at the peak. `biggest` are rows of `at_peak`, at most `top`, most padding first."""

    at_peak: PaddingAtStep
    biggest: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BudgetReport:
    """Values to remove so that what a program needs of a memory space is within a budget.

    `idle_bytes` are needed but not live at the peak. They are assumed to stay, so `plan` brings the live bytes down to
    the budget minus these. If that is impossible, `is_reached` is false, and `plan` brings them down to the budget.
    Fewer than `at_least` values cannot suffice; 0 if that is unknown.
    """

    budget_bytes: int
    plan: BudgetPlan
    idle_bytes: int
    is_reached: bool
    at_least: int

    @property
    def needed_bytes(self) -> int:
        """What the program needs without the values."""
        return self.plan.peak_bytes + self.idle_bytes

    @property
    def is_proven_smallest(self) -> bool:
        """Whether no smaller set suffices."""
        return self.is_reached and len(self.plan.values) == self.at_least


@dataclass(frozen=True, slots=True, eq=False)
class SpaceReport:
    """One memory space.

    `peak` is None if nothing is ever live in it, `live_at_printed_peak` if the dump prints no peak, `at_step` if no
    step was requested or the dump does not have it. Parts that were not requested, and parts about the peak where
    there is none, are None or empty. `budget` is about the default memory space only.
    """

    space: MemorySpace
    peak: LiveSet | None
    live_at_printed_peak: int | None
    at_step: LiveSet | None
    lines: LineReport | None
    sources: BytesByOp | None
    alive: tuple[PeakWithout, ...]
    padding: PaddingReport | None
    arenas: tuple[AllocationHistory, ...]
    budget: BudgetReport | None

    @property
    def name(self) -> str:
        """The name of the memory space: ``HBM``."""
        return space_name(self.space.id)


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """One dump set. `files` maps what each file holds to its label.

    `origins` has the sources of the values. `warrants` say which numbers are exact, and `left_out` are the requested
    parts whose numbers would not even be bounds. `printed_peak`, `donation` and `advice`, which is about the default
    memory space, are None if they were not requested or the dump does not have the facts.
    """

    analysis: Analysis
    files: Mapping[FileKind, str]
    options: ReportOptions
    origins: Origins
    warrants: Warrants
    left_out: tuple[Part, ...]
    printed_peak: PrintedPeak | None
    donation: Donation | None
    advice: Advice | None
    spaces: tuple[SpaceReport, ...]

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
    def sourced(self) -> Warrant:
        """Which numbers are exact that depend on what is live and on its sources."""
        return self.warrants.of(Quantity.LIVE, Quantity.SOURCES)

    @property
    def module(self) -> str | None:
        """The name of the HLO module from the names of the files, None if they do not contain it."""
        return next((name for label in self.files.values() if (name := module_name(label))), None)

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
    def allocation_count(self) -> int | None:
        """The number of allocations, None without a buffer assignment."""
        return len(self.dump.allocations) if self.dump.assignment else None

    @property
    def reserved_bytes(self) -> int | None:
        """The bytes of all allocations in all memory spaces, None without a buffer assignment."""
        return sum(one.space.reserved_bytes for one in self.spaces) if self.dump.assignment else None

    @property
    def printed(self) -> tuple[int, int] | None:
        """The step and the bytes of the peak that the dump prints, None if it prints none."""
        dump = self.dump
        return (int(dump.peaks.step[0]), sum(dump.peak_buffers.size_bytes.tolist())) if len(dump.peaks) else None

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
        return self.options.at_step is None or (
            self.end_step is not None and 0 <= self.options.at_step <= self.end_step
        )


# ---------------------------------------------------------------- how they are found


def report(
    analysis: Analysis, files: Mapping[FileKind, str], options: ReportOptions, module: HloModule | None = None
) -> Report:
    """Return the report of a dump set whose files have the labels `files`.

    `needs_module` says which reports use the HLO module. Since jaxlib 0.8.2 the source lines are in the module; without
    it most bytes have no source.
    """
    warrants = analysis.warrants.with_gaps(_module_gaps(module))
    left_out = tuple(part for part in Part if part in options.parts and not is_warranted(part, warrants))
    one = Report(
        analysis=analysis,
        files=files,
        options=options,
        origins=Origins(analysis.dump, module, through_loops=options.through_loops),
        warrants=warrants,
        left_out=left_out,
        printed_peak=None,
        donation=None,
        advice=None,
        spaces=(),
    )
    parts = options.parts - {*left_out}
    budget_bytes = options.budget_bytes or _exceeded(analysis)
    is_explained = Part.PEAK in parts and warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK).is_exact
    at_step = options.at_step if one.has_step else None
    spaces = tuple(_space(one, parts, space, at_step) for space in analysis.memory.spaces)
    return replace(
        one,
        warrants=warrants.with_gaps(_missing_module(spaces) if module is None else ()),
        printed_peak=explain_printed_peak(analysis.dump, analysis.memory) if is_explained else None,
        donation=_donation(analysis.dump) if Part.DONATION in parts else None,
        advice=advise(analysis, module, DEFAULT_COLOR, budget_bytes) if Part.ADVICE in parts else None,
        spaces=spaces,
    )


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


def is_warranted(part: Part, warrants: Warrants) -> bool:
    """Return whether the numbers of a part are exact, or bounds that may be shown as such."""
    return warrants.of(*_EXACT.get(part, ())).is_exact and warrants.of(*_KNOWN.get(part, ())).is_known


def _module_gaps(module: HloModule | None) -> Iterator[Gap]:
    if module is not None and module.is_cut_off:
        yield Gap(Quantity.SOURCES, Bound.AT_LEAST, Cause.CUT_OFF, FileKind.HLO)


def _missing_module(spaces: tuple[SpaceReport, ...]) -> Iterator[Gap]:
    """A gap if the stack frames of some values are only in the HLO module, which the set lacks."""
    if any(one.lines is not None and one.lines.unresolved_bytes for one in spaces):
        yield Gap(Quantity.SOURCES, Bound.AT_LEAST, Cause.MISSING, FileKind.HLO)


def _space(one: Report, parts: frozenset[Part], space: MemorySpace, at_step: int | None) -> SpaceReport:
    analysis, dump, options = one.analysis, one.dump, one.options
    is_known = space.live_bound is not Bound.UNKNOWN
    is_peak = space.peak_step is not None and is_known
    at_peak = parts if is_peak else frozenset[Part]()
    step = space.peak_step or 0
    return SpaceReport(
        space=space,
        peak=_live_set(one, space, step) if is_peak else None,
        live_at_printed_peak=space.live.at(one.printed[0]) if one.printed and is_known else None,
        at_step=_live_set(one, space, at_step) if at_step is not None and is_known else None,
        lines=_lines(one.origins, space, step, options.top) if Part.LINE in at_peak else None,
        sources=ops_at(one.origins, step, space.color) if Part.SOURCE in at_peak else None,
        alive=_alive(analysis, space, options.top) if Part.ALIVE in at_peak else (),
        padding=_padding(dump, space, step, options.top) if Part.PADDING in at_peak else None,
        arenas=_arenas(analysis, space) if Part.ARENAS in parts else (),
        budget=_budget(analysis, space, options.budget_bytes) if Part.BUDGET in parts else None,
    )


def _live_set(one: Report, space: MemorySpace, step: int) -> LiveSet:
    return LiveSet(step, space.live.at(step), live_in_space(one.dump, step, space.color))


def _lines(origins: Origins, space: MemorySpace, step: int, top: int | None) -> LineReport:
    found = lines_at(origins, step, space.color)
    lines, unknown = ([line for line in found.lines if line.is_known is wanted] for wanted in (True, False))
    return LineReport(
        size_bytes=sum(line.size_bytes for line in found.lines),
        count=len(found.lines),
        lines=tuple(sorted((*lines[:top], *unknown), key=lambda line: -line.size_bytes)),
        rest_bytes=sum(line.size_bytes for line in lines[top:]) if top is not None else 0,
        unresolved_bytes=found.unresolved_bytes,
        arguments=tuple(line for line in lines if line.argument is not None),
        without_source=_without_source(origins.dump, found.lines, step, space.color),
    )


def _without_source(dump: DumpSet, lines: Iterable[LineBytes], step: int, color: int) -> tuple[KindBytes, ...]:
    values = [value for line in lines if not line.is_known for value in line.values]
    if not values:
        return ()
    owners, owned = owned_bytes(dump, step, color)
    is_here = np.isin(owners, values)
    kinds = taken(allocation_kinds(dump), dump.values.allocation[owners[is_here]])
    found = (
        KindBytes(KIND_NAMES[kind], int(owned[is_here][kinds == kind].sum()), int((kinds == kind).sum()))
        for kind in np.unique(kinds).tolist()
    )
    return tuple(sorted(found, key=lambda kind: -kind.size_bytes))


def _alive(analysis: Analysis, space: MemorySpace, top: int | None) -> tuple[PeakWithout, ...]:
    """Values live at the peak; those that would lower it most come first."""
    peaks = next_peaks(analysis.dump, analysis.memory, space.color, top=top)
    order = np.lexsort((peaks.value, -peaks.freed_bytes, peaks.next_peak_bytes))[:top]
    columns = (peaks.value, peaks.freed_bytes, peaks.next_peak_bytes, peaks.next_peak_step)
    return tuple(
        PeakWithout(value, freed, next_bytes, step if step != NONE else None, last_uses(analysis.dump, value))
        for value, freed, next_bytes, step in zip(*(column[order].tolist() for column in columns), strict=True)
    )


def _padding(dump: DumpSet, space: MemorySpace, step: int, top: int | None) -> PaddingReport:
    values, owned = owned_bytes(dump, step, space.color)
    padding = padding_at(dump, values, owned)
    order = np.lexsort((values, -padding.padding_bytes))
    return PaddingReport(padding, tuple(order[padding.padding_bytes[order] > 0][:top].tolist()))


def _arenas(analysis: Analysis, space: MemorySpace) -> tuple[AllocationHistory, ...]:
    color, found = analysis.dump.allocations.color, arenas(analysis.dump, analysis.memory)
    return tuple(history for history in found if color[history.allocation] == space.color)


def _budget(analysis: Analysis, space: MemorySpace, budget_bytes: int | None) -> BudgetReport | None:
    if budget_bytes is None or space.color != DEFAULT_COLOR or space.reserved_bound is not Bound.EXACT:
        return None
    idle_bytes = space.needed_bytes - space.peak_live_bytes
    live_budget = budget_bytes - idle_bytes if space.needed_bytes > budget_bytes else space.peak_live_bytes
    plan = smallest_set(analysis.dump, analysis.memory, space.color, live_budget)
    if plan is None:
        return None
    if not plan.is_reached:
        # What is live can still be brought within the budget.
        plan = smallest_set(analysis.dump, analysis.memory, space.color, budget_bytes) or plan
    # What is live must be within the budget in any case, except for thread-local buffers, which are not needed.
    is_reached = plan.is_reached and plan.peak_bytes + idle_bytes <= budget_bytes
    is_bound = is_reached and idle_bytes >= 0
    at_least = fewest(analysis.dump, analysis.memory, space.color, budget_bytes) if is_bound else 0
    return BudgetReport(budget_bytes, plan, idle_bytes, is_reached, at_least)


def _donation(dump: DumpSet) -> Donation | None:
    donation = find_donation(dump)
    return donation if donation.is_known else None


def _exceeded(analysis: Analysis) -> int | None:
    """The capacity of a device that the program does not fit, None if it fits or either is unknown."""
    space = analysis.memory.space(DEFAULT_COLOR)
    capacity = capacity_of(space, analysis.capacity) if space else None
    return capacity.size_bytes if space and capacity and over_bytes(space, capacity.size_bytes) else None
