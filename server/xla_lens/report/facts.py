"""Where the memory of a dump set goes: the facts of `xla-lens report` and of the pages that editors show.

A report collects the model's own results and copies none of them. `report` computes the facts of the parts that were
requested, each once. The other modules of this room turn them into text, Markdown and JSON and compute nothing. To add
a part: give it a name in `Part`, add a field with its facts to `SpaceReport` or `Report` and the function that finds
them, write its sections in `sections.py`, list them in `outline.py`, and add its JSON to `report_json.py` and
`data.py`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.advice.actions import Advice
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import BytesByOp, BytesNode, LineBytes, layer_of, lines_of, ops_of
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import largest_owners, owned_bytes
from xla_lens.model.attribution.parameters import told_path
from xla_lens.model.capacity import Capacity, capacity_of, over_bytes
from xla_lens.model.hlo.stack_frames import package_of
from xla_lens.model.memory.alive import Ending, endings
from xla_lens.model.memory.allocation_history import AllocationHistory, arenas
from xla_lens.model.memory.budget import BudgetPlan, fewest, smallest_set
from xla_lens.model.memory.donation import Donation, find_donation
from xla_lens.model.memory.edits import next_peaks
from xla_lens.model.memory.needed import color_parts, not_live_parts, reserved_parts
from xla_lens.model.memory.over_time import MemorySpace, live_in_space
from xla_lens.model.memory.padding import Padding, PaddingAtStep, padding_at, padding_of
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, PrintedPeak, explain_printed_peak, first_printed_peak
from xla_lens.model.memory.reported import ReportedBuffer, ReportedSpace, reported_buffers, reported_spaces
from xla_lens.model.memory.unseen import Unseen, unseen_memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrant, Warrants
from xla_lens.report.options import Part, ReportOptions
from xla_lens.syntax.columns import NONE, Column, cells, pairs
from xla_lens.syntax.file_names import FileKind, module_name

# ---------------------------------------------------------------- a report


class LiveSet(Struct, frozen=True, eq=False):
    """The values that take bytes of a memory space at a step, biggest first: rows of `DumpSet.values`."""

    step: int
    live_bytes: int
    values: Column


class KindBytes(Struct, frozen=True):
    """The bytes of some values in allocations of one kind, a name of `KIND_NAMES`."""

    kind: str
    size_bytes: int
    count: int


class LayerBytes(Struct, frozen=True):
    """The bytes at the peak of a layer of the program, and the number of values that own them."""

    name: str | None
    size_bytes: int
    count: int


class LineReport(Struct, frozen=True):
    """The bytes at the peak by source line, and those of parameters by argument.

    `lines` are at most `top` lines and arguments and the bytes without a source, most bytes first. `count` is the
    number of all of them, and `rest_bytes` the bytes of those that `lines` leaves out. `unresolved_bytes` have a stack
    frame that only the HLO module could resolve, but it is missing or lacks the frame, perhaps because of the flag
    `left_out_by`. `arguments` are all arguments, also those that `lines` leaves out. `without_source` are the bytes
    without a source by the kind of their allocation. `library` is the package whose lines most of those have, None if
    they have no line at all. Then `layers` are all bytes at the peak by layer, most bytes first, and last those of no
    layer, with the name None; empty if no op_name has a layer. `op_name` is the one with the most bytes, for the
    answer, if no line of the program is known.
    """

    size_bytes: int
    count: int
    lines: tuple[LineBytes, ...]
    rest_bytes: int
    unresolved_bytes: int
    left_out_by: str | None
    arguments: tuple[LineBytes, ...]
    without_source: tuple[KindBytes, ...]
    library: str | None
    layers: tuple[LayerBytes, ...]
    op_name: BytesNode | None


class PeakWithout(Struct, frozen=True):
    """The peak of a memory space if one value were gone.

    `value` is a row of `DumpSet.values`. At the peak step `freed_bytes` would be free. The peak would be
    `next_peak_bytes`, first at `next_peak_step`, None if nothing else is ever live. `ending` is what frees the value.
    """

    value: int
    freed_bytes: int
    next_peak_bytes: int
    next_peak_step: int | None
    ending: Ending | None


class PaddedValue(Struct, frozen=True):
    """The padding among the bytes that a value, a row of `DumpSet.values`, owns at the peak. `padding` is that of its
    whole slice.
    """

    value: int
    padding_bytes: int
    padding: Padding | None


class BudgetReport(Struct, frozen=True, eq=False):
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


class SpaceReport(Struct, frozen=True, eq=False):
    """One memory space.

    `peak` is None if nothing is ever live in it, `live_at_printed_peak` if the dump prints no peak, and `at_step` if no
    step was requested or the dump does not have it. `reserved` are the reserved bytes by the kind of the allocation,
    `reserved_by_color` those of each color if there are several. `owned` are the values that own bytes at the peak with
    these bytes, largest first. The facts of a part are None or empty if it was not requested or the dump does not have
    them. `padding` and `not_live`, the needed bytes that are not live at the peak by the kind of the allocation, are
    also in the answer about the default memory space.
    """

    space: MemorySpace
    peak: LiveSet | None
    live_at_printed_peak: int | None
    at_step: LiveSet | None
    reserved: Mapping[str, int]
    reserved_by_color: Mapping[int, Mapping[str, int]]
    alive: Sequence[PeakWithout]
    arenas: Sequence[AllocationHistory]
    budget: BudgetReport | None
    owned: Sequence[tuple[int, int]] = ()
    lines: LineReport | None = None
    sources: BytesByOp | None = None
    padding: PaddingAtStep | None = None
    most_padded: Sequence[PaddedValue] = ()
    not_live: Mapping[str, int] | None = None

    @property
    def name(self) -> str:
        """The name of the memory space: ``HBM``."""
        return self.space.id.name

    @property
    def peak_step(self) -> int:
        """The step of the peak, 0 if there is none."""
        return self.space.peak_step or 0


class Report(Struct, frozen=True, eq=False):
    """One dump set. `files` maps what each file holds to its label.

    `origins` has the sources of the values. `warrants` say which numbers are exact, and `left_out` are the requested
    parts whose numbers would not even be bounds. `unseen` takes memory that no dump shows. `reported_spaces` and
    `reported_buffers` are those of a memory usage report without a buffer assignment. `explained_peak` is what XLA
    counts in the peak that it prints. `advice` is about the default memory space. It, `explained_peak` and `donation`
    are None if they were not requested or the dump does not have the facts.
    """

    analysis: Analysis
    files: Mapping[FileKind, str]
    options: ReportOptions
    origins: Origins
    warrants: Warrants
    left_out: tuple[Part, ...]
    unseen: tuple[Unseen, ...] = ()
    reported_spaces: Sequence[ReportedSpace] = ()
    reported_buffers: Sequence[ReportedBuffer] = ()
    spaces: tuple[SpaceReport, ...] = ()
    explained_peak: PrintedPeak | None = None
    donation: Donation | None = None
    advice: Advice | None = None

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump set."""
        return self.analysis.dump

    @property
    def hbm(self) -> SpaceReport | None:
        """The default memory space, None if nothing is in it."""
        return next((each for each in self.spaces if each.space.color == DEFAULT_COLOR), None)

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
        size_bytes = sum(each.space.reserved_bytes for each in self.spaces)
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

    def shows_padding(self, space: MemorySpace) -> bool:
        """Return whether the padding at the peak of a memory space was requested. Advice is also about it."""
        is_main = space.color == DEFAULT_COLOR and space.live_bound is Bound.EXACT
        return self.has(Part.PADDING) or (is_main and self.has(Part.ADVICE))

    def has(self, part: Part, space_report: SpaceReport | None = None) -> bool:
        """Return whether a part was requested and the dump has the facts. Most parts of a space are about its peak."""
        is_there = space_report is None or space_report.peak is not None or part in (Part.ARENAS, Part.BUDGET)
        return is_there and part in self.options.parts and part not in self.left_out


def report(analysis: Analysis, files: Mapping[FileKind, str], options: ReportOptions) -> Report:
    """Return the report of a dump set whose files have the labels `files`.

    `needs_module` says which reports use the HLO module. Since jaxlib 0.8.2 the source lines are in the module; without
    it most bytes have no source.
    """
    dump, module = analysis.dump, analysis.module
    warrants = analysis.warrants.with_gaps([_module_gap(Cause.CUT_OFF)] if module and module.is_cut_off else [])
    found = Report(
        analysis=analysis,
        files=files,
        options=options,
        origins=Origins(dump, module, through_loops=options.through_loops),
        warrants=warrants,
        left_out=tuple(part for part in Part if part in options.parts and not _is_warranted(part, warrants)),
        unseen=unseen_memory(dump, module),
        reported_spaces=reported_spaces(dump),
        reported_buffers=reported_buffers(dump),
    )
    spaces = tuple(_space(found, space) for space in analysis.memory.spaces)
    if module is None and any(space.lines and space.lines.unresolved_bytes for space in spaces):
        # The stack frames of some values are only in the HLO module.
        warrants = warrants.with_gaps([_module_gap(Cause.MISSING)])
    found = replace(found, warrants=warrants, spaces=spaces)
    return replace(found, explained_peak=_explained_peak(found), donation=_donation(found), advice=_advice(found))


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


_ABOUT_OWNED: Final = frozenset({Part.LIVE, Part.LINE, Part.SOURCE, Part.PADDING})
"""The parts about the bytes that values own at the peak."""


def _space(found: Report, space: MemorySpace) -> SpaceReport:
    dump, options = found.dump, found.options
    is_known = space.live_bound is not Bound.UNKNOWN
    peak = _live_set(found, space, space.peak_step)
    facts = SpaceReport(
        space=space,
        peak=peak,
        live_at_printed_peak=space.live.at(found.printed[0]) if found.printed and is_known else None,
        at_step=_live_set(found, space, options.at_step if found.has_step else None),
        reserved=dict(reserved_parts(dump, space.color)),
        reserved_by_color=_reserved_by_color(dump, space) if Part.TOTALS in options.parts else {},
        alive=tuple(_alive(found, space)) if peak and found.has(Part.ALIVE) else (),
        arenas=_arenas(found, space),
        budget=_budget(found, space),
        not_live=_not_live(found, space),
    )
    is_in_answer = options.has_answer and space.color == DEFAULT_COLOR and space.live_bound is Bound.EXACT
    has_padding = is_in_answer or found.shows_padding(space)
    if peak is None or not (has_padding or _ABOUT_OWNED & options.parts):
        return facts
    values, owned_sizes = owned_bytes(dump, peak.step, space.color)
    owned = largest_owners(values, owned_sizes)
    padding = padding_at(dump, values, owned_sizes) if has_padding else None
    return replace(
        facts,
        owned=owned,
        lines=_lines(found, owned, with_op_name=is_in_answer) if found.has(Part.LINE) else None,
        sources=ops_of(found.origins, owned) if found.has(Part.SOURCE) else None,
        padding=padding,
        most_padded=_most_padded(found, padding) if padding and found.shows_padding(space) else (),
    )


def _not_live(found: Report, space: MemorySpace) -> dict[str, int] | None:
    is_exact = space.live_bound is Bound.EXACT and space.reserved_bound is Bound.EXACT
    if space.color != DEFAULT_COLOR or not is_exact:
        return None
    return dict(not_live_parts(found.dump, found.analysis.memory, space))


def _reserved_by_color(dump: DumpSet, space: MemorySpace) -> dict[int, dict[str, int]]:
    colors = space.colors if space.is_mixed else ()
    return {part.color: dict(color_parts(dump, part.color)) for part in colors}


def _live_set(found: Report, space: MemorySpace, step: int | None) -> LiveSet | None:
    if step is None or space.live_bound is Bound.UNKNOWN:
        return None
    return LiveSet(step, space.live.at(step), live_in_space(found.dump, step, space.color))


def _lines(found: Report, owned: Sequence[tuple[int, int]], *, with_op_name: bool) -> LineReport:
    by_line, top = lines_of(found.origins, owned), found.options.top
    lines, unknown = ([line for line in by_line.lines if line.is_known is wanted] for wanted in (True, False))
    shown = tuple(sorted((*lines[:top], *unknown), key=lambda line: -line.size_bytes))
    library = _library(found.origins, [value for line in unknown for value in line.values], dict(owned))
    has_no_line = with_op_name and library is not None and not any(line.frame for line in lines)
    return LineReport(
        size_bytes=sum(line.size_bytes for line in by_line.lines),
        count=len(by_line.lines),
        lines=shown,
        rest_bytes=sum(line.size_bytes for line in lines[top:]) if top is not None else 0,
        unresolved_bytes=by_line.unresolved_bytes,
        left_out_by=found.analysis.left_out.get(FileKind.HLO) if by_line.unresolved_bytes else None,
        arguments=tuple(line for line in lines if line.argument is not None),
        without_source=_by_kind(found.dump, owned, {value for line in unknown for value in line.values}),
        library=library,
        layers=_layers(found.origins, owned) if library else (),
        op_name=_largest_op_name(found.origins, owned) if has_no_line else None,
    )


def _by_kind(dump: DumpSet, owned: Sequence[tuple[int, int]], values: set[int]) -> tuple[KindBytes, ...]:
    kinds, sizes = allocation_kinds(dump), defaultdict[int, list[int]](list)
    for value, size_bytes in owned if values else ():
        if value in values:
            sizes[kinds.item(dump.values.allocation[value])].append(size_bytes)
    found = (KindBytes(KIND_NAMES[kind], sum(sizes[kind]), len(sizes[kind])) for kind in sorted(sizes))
    return tuple(sorted(found, key=lambda kind: -kind.size_bytes))


def _library(origins: Origins, values: Iterable[int], sizes: Mapping[int, int]) -> str | None:
    """The package with the most bytes among values that only calls within libraries made, None without such values."""
    by_package: defaultdict[str, int] = defaultdict(int)
    for value in values:
        frames = origins.of_value(value).frames
        if frames and (package := package_of(frames[0].file)):
            by_package[package] += sizes[value]
    return max(by_package, key=by_package.__getitem__, default=None)


def _layers(origins: Origins, owned: Sequence[tuple[int, int]]) -> tuple[LayerBytes, ...]:
    sizes = defaultdict[str | None, list[int]](list)
    for value, size_bytes in owned:
        sizes[layer_of(origins.of_value(value).op_name)].append(size_bytes)
    found = [LayerBytes(name, sum(some), len(some)) for name, some in sizes.items()]
    return tuple(sorted(found, key=lambda layer: (layer.name is None, -layer.size_bytes))) if len(found) > 1 else ()


def _largest_op_name(origins: Origins, owned: Sequence[tuple[int, int]]) -> BytesNode | None:
    nodes = ops_of(origins, owned).by_op_name.children
    return next((node for node in nodes if node.name and told_path(node.name)), None)


def _alive(found: Report, space: MemorySpace) -> Iterator[PeakWithout]:
    """The peak without each of the values that are live there; those that would lower it most come first."""
    dump, top = found.dump, found.options.top
    peaks = next_peaks(dump, found.analysis.memory, space.color, top=len(dump.values) if top is None else top)
    columns = peaks.value, peaks.freed_bytes, peaks.next_peak_bytes, peaks.next_peak_step
    for row, ending in zip(cells(*columns), endings(dump, peaks.value), strict=True):
        value, freed, next_bytes, step = row
        yield PeakWithout(value, freed, next_bytes, step if step != NONE else None, ending)


def _most_padded(found: Report, padding: PaddingAtStep) -> tuple[PaddedValue, ...]:
    """The values with the most padding, largest first."""
    values, padding_bytes = padding.values, padding.padding_bytes
    order = np.lexsort((values, -padding_bytes))
    largest = order[padding_bytes[order] > 0][: found.options.top]
    rows = pairs(values[largest], padding_bytes[largest])
    return tuple(PaddedValue(value, size_bytes, padding_of(found.dump, value)) for value, size_bytes in rows)


def _arenas(found: Report, space: MemorySpace) -> tuple[AllocationHistory, ...]:
    """The preallocated temps of a memory space."""
    spaces, dump = found.dump.allocation_spaces, found.dump
    histories = arenas(dump, found.analysis.memory) if found.has(Part.ARENAS) else ()
    return tuple(history for history in histories if spaces[history.allocation] == space.color)


def _budget(found: Report, space: MemorySpace) -> BudgetReport | None:
    """The values to remove from the default memory space, None for others, or if they cannot be known."""
    budget_bytes, dump, memory = found.options.budget_bytes, found.dump, found.analysis.memory
    if budget_bytes is None or not found.has(Part.BUDGET):
        return None
    if space.color != DEFAULT_COLOR or space.reserved_bound is not Bound.EXACT:
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


# ---------------------------------------------------------------- facts of a program


def _explained_peak(found: Report) -> PrintedPeak | None:
    is_exact = found.warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK).is_exact
    is_explained = is_exact and found.has(Part.PEAK)
    return explain_printed_peak(found.dump, found.analysis.memory) if is_explained else None


def _donation(found: Report) -> Donation | None:
    if not found.has(Part.DONATION):
        return None
    # What follows arguments takes 10 ms to import, for which the first answers of an editor would wait.
    from xla_lens.advice.provenance import updated_arguments

    donation = find_donation(found.dump, updated_arguments(found.origins))
    return donation if donation.is_known else None


def _advice(found: Report) -> Advice | None:
    if not found.has(Part.ADVICE):
        return None
    analysis, limit_bytes = found.analysis, found.limit_bytes
    is_over = bool(found.hbm and limit_bytes and over_bytes(found.hbm.space, limit_bytes))
    is_tight = found.options.budget_bytes or is_over
    # Advice is about what loops compute in any case.
    origins = found.origins if found.options.through_loops else Origins(analysis.dump, analysis.module)
    # The rules take 30 ms to import, for which the first answers of an editor would wait.
    from xla_lens.advice.advise import advice_from

    return advice_from(origins, analysis, DEFAULT_COLOR, limit_bytes if is_tight else None)
