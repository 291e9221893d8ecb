"""Reports as JSON, in the objects of `report_json.py`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from xla_lens.advice.actions import Action, Advice, Budget, PolicySaving, Sharding, TriedActions
from xla_lens.advice.subject import Buffers
from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.entities import reader_names, shape_text
from xla_lens.model.attribution.breakdowns import BytesNode, LineBytes, StackBytes
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.alive import Reason
from xla_lens.model.memory.allocation_history import AllocationHistory
from xla_lens.model.memory.donation import Fit
from xla_lens.model.memory.needed import program_bytes, thread_local_bytes
from xla_lens.model.memory.over_time import ColorPart, MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, CountedBytes
from xla_lens.model.memory.reported import Interval
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Gap, Quantity
from xla_lens.report import report_json
from xla_lens.report.facts import PaddedValue, PeakWithout, Report, SpaceReport
from xla_lens.report.options import Part
from xla_lens.report.outline import measured
from xla_lens.report.ranking import CompiledAgain, RankedModule
from xla_lens.report.ranking_table import compiled_again_text
from xla_lens.syntax.columns import Column, Rows, pairs
from xla_lens.words.finding_json import finding_data
from xla_lens.words.json_types import Value, bounds, identity

_T = TypeVar("_T")
_Missing = TypeVar("_Missing")


def _known(bound: Bound, number: int | None) -> int | None:
    """A number, None if it is not even a bound."""
    return None if bound is Bound.UNKNOWN else number


def _ids(dump: DumpSet, values: Rows) -> list[int]:
    found: list[int] = dump.values.id[list(values)].tolist()
    return found


# ---------------------------------------------------------------- a report


def report_data(report: Report) -> report_json.Report:
    """Return a report as JSON. Parts that were not requested are absent. Numbers that are not even bounds are null, and
    parts that would be made of them are null or empty.
    """
    parts = report.options.parts
    schedule, values, reserved = (
        report.warrants.of(quantity).bound for quantity in (Quantity.SCHEDULE, Quantity.VALUES, Quantity.RESERVED)
    )
    allocations, reserved_bytes = report.reserved or (None, None)
    return report_json.Report(
        module=report.module,
        files=report.files,
        complete=report.warrants.is_complete,
        incomplete=[_gap(gap) for gap in report.warrants.gaps],
        left_out=[*report.left_out],
        unseen=[
            report_json.Unseen(kind=taken.kind, instruction=taken.instruction, size_bytes=taken.size_bytes)
            for taken in report.unseen
        ],
        findings=[finding_data(finding) for finding in report.analysis.findings],
        instructions=_known(schedule, report.instruction_count),
        values=_known(values, report.value_count),
        allocations=_known(reserved, allocations),
        reserved_bytes=_known(reserved, reserved_bytes),
        thread_local_bytes=thread_local_bytes(each.space for each in report.spaces),
        bounds=bounds(instructions=schedule, values=values, allocations=reserved, reserved_bytes=reserved),
        printed=_printed(report),
        device=_device(report),
        usage_report=_usage_report(report),
        measured=_measured(report),
        donation=_donation(report) if Part.DONATION in parts else UNSET,
        advice=_advice(report) if Part.ADVICE in parts else UNSET,
        memory_spaces=[space_data(report, each) for each in report.spaces],
    )


def ranked_data(
    data: report_json.Report, module: RankedModule, rank: int, again: CompiledAgain | None
) -> report_json.Report:
    """Return the report of one of several modules with its rank, and why it was compiled more than once, if it was."""
    reserved = module.warrants.of(Quantity.RESERVED).bound
    return replace(
        data,
        rank=rank,
        number=module.number,
        compiled_again=_compiled_again(again) if again else None,
        temp_bytes=_known(reserved, module.temp_bytes),
    )


def _compiled_again(again: CompiledAgain) -> report_json.CompiledAgain:
    return report_json.CompiledAgain(
        numbers=[module.number for module in again.modules if module.number is not None],
        argument=again.argument,
        shapes=again.shapes,
        argument_counts=[None if module.arguments is None else len(module.arguments) for module in again.modules[:2]],
        words=plain_text(compiled_again_text(again)),
    )


def _gap(gap: Gap) -> report_json.Gap:
    return report_json.Gap(
        quantity=gap.quantity,
        bound=gap.bound,
        cause=gap.cause,
        file=gap.kind,
        finding=gap.code,
        flag=gap.flag,
    )


def _printed(report: Report) -> report_json.Printed:
    total, peak = (report.warrants.of(quantity).bound for quantity in (Quantity.TOTAL, Quantity.PRINTED_PEAK))
    step, size_bytes = report.printed or (None, None)
    return report_json.Printed(
        peak_step=step,
        total_bytes=_known(total, next(iter(report.dump.totals.size_bytes.tolist()), None)),
        peak_bytes=_known(peak, size_bytes),
        bounds=bounds(total_bytes=total, peak_bytes=peak),
        explained=_explained(report) if Part.PEAK in report.options.parts else UNSET,
    )


def _explained(report: Report) -> report_json.Explained | None:
    printed = report.explained_peak
    if printed is None:
        return None
    return report_json.Explained(
        listed=_sum(printed.listed),
        counted_at_printed=_sum(printed.counted_at_printed),
        counted_at_peak=_sum(printed.counted_at_peak),
    )


def _sum(counted: CountedBytes | None) -> report_json.Sum | None:
    if counted is None:
        return None
    return report_json.Sum(
        step=counted.step,
        color=counted.color,
        total_bytes=counted.total_bytes,
        live_bytes=counted.live_bytes,
        died_bytes=counted.died_bytes,
        tuple_bytes=counted.tuple_bytes,
        other_space_bytes=counted.other_space_bytes,
        shared_bytes=counted.shared_bytes,
        padding_bytes=counted.padding_bytes,
        unplaced_bytes=counted.unplaced_bytes,
    )


def _device(report: Report) -> report_json.Device | None:
    """The device, its capacity, and what takes it."""
    chip, capacity = report.analysis.chip, report.capacity
    if report.hbm is None or (chip is None and capacity is None):
        return None
    space = report.hbm.space
    is_known = space.reserved_bound is not Bound.UNKNOWN
    reserved = report.hbm.reserved if is_known else {}
    return report_json.Device(
        chip=chip,
        size_bytes=int(capacity.size_bytes) if capacity else None,
        source=capacity.source if capacity else None,
        file=capacity.file if capacity else None,
        over_bytes=over_bytes(space, capacity.size_bytes) if capacity else None,
        reserved=_kind_sizes(reserved),
        bounds=bounds(over_bytes=space.reserved_bound, reserved=space.reserved_bound),
    )


def _measured(report: Report) -> report_json.Measured | None:
    """What the process of the module measured, with the sentence of the text."""
    memory = report.analysis.measured
    if memory is None:
        return None
    programs = memory.programs
    return report_json.Measured(
        resident_bytes=memory.resident_bytes,
        devices=[
            report_json.MeasuredDevice(
                name=device.name,
                peak_bytes=device.peak_bytes,
                limit_bytes=device.limit_bytes,
                largest_free_bytes=device.largest_free_bytes,
            )
            for device in memory.devices
        ],
        arrays=[
            report_json.LiveArrays(shape=alike.shape, count=alike.count, size_bytes=alike.size_bytes)
            for alike in memory.arrays
        ],
        programs=report_json.LoadedPrograms(
            count=programs.count,
            temporary_bytes=programs.temporary_bytes,
            largest_temporary_bytes=programs.largest_temporary_bytes,
            code_bytes=programs.code_bytes,
        )
        if programs
        else None,
        is_running=memory.is_running,
        words=next(measured(report), None),
    )


def _usage_report(report: Report) -> report_json.UsageReport | None:
    """What the memory usage report tells, None if the dump has a buffer assignment or no such report."""
    if not report.reported_spaces:
        return None
    return report_json.UsageReport(
        memory_spaces=[
            report_json.UsageReportSpace(
                color=space.color,
                reserved=_interval(space.reserved),
                needed=_interval(space.needed),
                kinds=[
                    report_json.KindInterval(size.least, size.most, kind=kind)
                    for kind, size in (space.kinds or {}).items()
                ],
            )
            for space in report.reported_spaces
        ],
        buffers=[
            report_json.UsageReportBuffer(
                buffer.size_bytes.least,
                buffer.size_bytes.most,
                color=buffer.color,
                kind=buffer.kind,
                size=buffer.size,
                values=buffer.values,
                shapes=buffer.shapes,
            )
            for buffer in report.reported_buffers[: report.options.top]
        ],
    )


def _interval(size: Interval) -> report_json.Interval:
    return report_json.Interval(least_bytes=size.least, most_bytes=size.most)


# ---------------------------------------------------------------- memory spaces


def space_data(report: Report, space_report: SpaceReport) -> report_json.MemorySpace:
    """Return a memory space as JSON, with the parts that were requested."""
    dump, space, options = report.dump, space_report.space, report.options
    limit_bytes = report.limit_bytes if space.color == DEFAULT_COLOR else None
    over = over_bytes(space, limit_bytes) if limit_bytes is not None else None
    reserved, live = space.reserved_bound, space.live_bound
    # A memory usage report has the parts only as rounded sizes, if at all.
    by_part = reserved if dump.assignment else Bound.UNKNOWN
    program = program_bytes(dump, space.color)
    has_exact_peak = report.has_live_ranges and reserved is live is Bound.EXACT

    def part(wanted: Part, make: Callable[[Report, SpaceReport], _T], missing: _Missing) -> _T | _Missing | UnsetType:
        """A part if it was requested, `missing` if the dump lacks the facts."""
        if wanted not in options.parts:
            return UNSET
        return make(report, space_report) if report.has(wanted, space_report) else missing

    return report_json.MemorySpace(
        color=space.color,
        name=space_report.name,
        is_device=space.id.is_device,
        colors=[_color(report, space_report, each) for each in space.colors],
        fits=None if over is None else not over,
        limit_bytes=None if limit_bytes is None else int(limit_bytes),
        over_bytes=None if over is None else int(over),
        free_bytes=int(limit_bytes - space.needed_bytes) if limit_bytes is not None and over == 0 else None,
        peak_step=space_report.peak.step if space_report.peak else None,
        peak_instruction=dump.instruction_at(space_report.peak.step) if space_report.peak else None,
        reserved_bytes=_known(reserved, space.reserved_bytes),
        needed_bytes=_known(reserved, space.needed_bytes),
        parameter_bytes=_known(by_part, program.argument_bytes),
        output_bytes=_known(by_part, program.output_bytes),
        temporary_bytes=_known(by_part, program.temporary_bytes),
        aliased_bytes=_known(by_part, program.aliased_bytes),
        peak_live_bytes=_known(live, space.peak_live_bytes if report.has_live_ranges else None),
        live_bytes_at_printed_peak=_known(live, space_report.live_at_printed_peak),
        not_live_bytes=space.needed_bytes - space.peak_live_bytes if has_exact_peak else None,
        not_live=None
        if space_report.not_live is None
        else [report_json.KindBalance(kind=kind, size_bytes=size) for kind, size in space_report.not_live.items()],
        bounds=bounds(
            reserved_bytes=reserved,
            needed_bytes=reserved,
            parameter_bytes=by_part,
            output_bytes=by_part,
            temporary_bytes=by_part,
            aliased_bytes=by_part,
            peak_live_bytes=live,
            live_bytes_at_printed_peak=live,
            # If the needed bytes are an upper bound, the excess comes from a lower one.
            over_bytes=Bound.AT_LEAST if over and reserved is not Bound.EXACT else Bound.EXACT,
            free_bytes=Bound.AT_LEAST if over == 0 and reserved is not Bound.EXACT else Bound.EXACT,
        ),
        reserved_by_kind=_reserved_by_kind(report, space, space_report.reserved),
        at_step=_at_step(report, space_report) if options.at_step is not None else UNSET,
        live_at_peak=part(Part.LIVE, _live_at_peak, []),
        curve=part(Part.CURVE, _curve, []),
        lines=part(Part.LINE, _lines, None),
        sources=part(Part.SOURCE, _sources, None),
        alive_at_peak=part(Part.ALIVE, _alive, []),
        padding=_padding(report, space_report) if report.shows_padding(space) else part(Part.PADDING, _padding, None),
        arenas=part(Part.ARENAS, _arenas, []),
        budget=part(Part.BUDGET, _budget, None),
    )


def _color(report: Report, space_report: SpaceReport, part: ColorPart) -> report_json.Color:
    """The numbers of one color of a memory space, whose bounds hold for them too."""
    reserved, live = space_report.space.reserved_bound, space_report.space.live_bound
    is_known = report.has_live_ranges and live is not Bound.UNKNOWN
    return report_json.Color(
        color=part.color,
        name=part.id.name,
        peak_step=part.live.peak_step if is_known else None,
        reserved_bytes=_known(reserved, part.reserved_bytes),
        needed_bytes=_known(reserved, part.needed_bytes),
        peak_live_bytes=part.live.peak_bytes if is_known else None,
        live_bytes_at_printed_peak=part.live.at(report.printed[0]) if report.printed and is_known else None,
        bounds=bounds(
            reserved_bytes=reserved,
            needed_bytes=reserved,
            peak_live_bytes=live,
            live_bytes_at_printed_peak=live,
        ),
        reserved_by_kind=_reserved_by_kind(report, space_report.space, space_report.reserved_by_color[part.color])
        if part.color in space_report.reserved_by_color
        else UNSET,
    )


def _reserved_by_kind(
    report: Report, space: MemorySpace, reserved: Mapping[str, int]
) -> list[report_json.KindSize] | UnsetType | None:
    if Part.TOTALS not in report.options.parts:
        return UNSET
    if space.reserved_bound is Bound.UNKNOWN or not report.dump.assignment:
        return None
    return _kind_sizes(reserved)


def _kind_sizes(reserved: Mapping[str, int]) -> list[report_json.KindSize]:
    return [report_json.KindSize(kind=kind, size_bytes=size_bytes) for kind, size_bytes in reserved.items()]


# ---------------------------------------------------------------- live values


def _at_step(report: Report, space_report: SpaceReport) -> report_json.LiveSet | None:
    live = space_report.at_step
    if live is None:
        return None
    return report_json.LiveSet(
        step=live.step,
        instruction=report.dump.instruction_at(live.step),
        live_bytes=live.live_bytes,
        bounds=bounds(live_bytes=report.live.bound),
        live=[_live_value(report, value) for value in _first(report, live.values)],
    )


def _first(report: Report, values: Column) -> list[int]:
    """The first of some values, as many as were requested."""
    found: list[int] = values[: report.options.top].tolist()
    return found


def _live_value(report: Report, value: int, owned_bytes: int | UnsetType = UNSET) -> report_json.LiveValue:
    dump, values, origin = report.dump, report.dump.values, report.origins.of_value(value)
    return report_json.LiveValue(
        *identity(dump, value),
        offset=values.offset.item(value),
        size_bytes=values.size_bytes.item(value),
        start_step=values.start_step.item(value),
        end_step=values.end_step.item(value),
        allocation=dump.allocations.index.item(values.allocation[value]),
        shape=shape_text(dump, value),
        op_name=origin.op_name,
        derived_from=origin.derived.name if origin.derived else None,
        owned_bytes=owned_bytes,
    )


def _live_at_peak(report: Report, space_report: SpaceReport) -> list[report_json.LiveValue]:
    if space_report.peak is None:
        return []
    owned = dict(space_report.owned)
    return [_live_value(report, value, owned.get(value, 0)) for value in _first(report, space_report.peak.values)]


def _curve(_: Report, space_report: SpaceReport) -> list[tuple[int, int]]:
    return pairs(space_report.space.live.steps, space_report.space.live.live_bytes)


# ---------------------------------------------------------------- sources


def _lines(report: Report, space_report: SpaceReport) -> report_json.Lines | None:
    lines = space_report.lines
    if lines is None:
        return None
    return report_json.Lines(
        size_bytes=lines.size_bytes,
        count=lines.count,
        rest_bytes=lines.rest_bytes,
        unresolved_bytes=lines.unresolved_bytes,
        left_out_by=lines.left_out_by,
        lines=[*_with_stacks(report.dump, lines.lines)],
        without_source=[
            report_json.KindBytes(kind=kind.kind, size_bytes=kind.size_bytes, count=kind.count)
            for kind in lines.without_source
        ],
        library=lines.library,
        layers=[
            report_json.LayerBytes(name=layer.name, size_bytes=layer.size_bytes, count=layer.count)
            for layer in lines.layers
        ],
        bounds=bounds(size_bytes=space_report.space.live_bound, lines=report.sourced.bound),
    )


_MOST_CALLS: Final = 100_000
"""The most calls in the stacks of all lines together. Without a limit, a file with N deep stacks has tens of times as
many bytes as the dump.
"""


def _with_stacks(dump: DumpSet, lines: Iterable[LineBytes]) -> Iterator[report_json.Line]:
    calls = 0
    for line in lines:
        shown: list[StackBytes] = []
        for stack in line.stacks:
            calls += len(stack.frames)
            if calls <= _MOST_CALLS:
                shown.append(stack)
        frame = line.frame
        yield report_json.Line(
            file=frame.file if frame else None,
            line=frame.line if frame else None,
            function=frame.function if frame else None,
            argument=line.argument,
            size_bytes=line.size_bytes,
            derived_bytes=line.derived_bytes,
            values=_ids(dump, line.values),
            stacks=[_stack(stack) for stack in shown],
        )


def _stack(stack: StackBytes) -> report_json.Stack:
    frames = [
        report_json.Frame(file=frame.file, line=frame.line, column=frame.column, function=frame.function)
        for frame in stack.frames
    ]
    return report_json.Stack(frames=frames, size_bytes=stack.size_bytes)


def _sources(report: Report, space_report: SpaceReport) -> report_json.Sources | None:
    dump, trees, bound = report.dump, space_report.sources, report.sourced.bound
    if trees is None:
        return None
    return report_json.Sources(
        bounds=bounds(by_op_name=bound, by_opcode=bound, by_kind=bound, by_parameter=bound),
        by_op_name=_node(dump, trees.by_op_name),
        by_opcode=_node(dump, trees.by_opcode),
        by_kind=_node(dump, trees.by_kind),
        by_parameter=_node(dump, trees.by_parameter),
    )


def _node(dump: DumpSet, node: BytesNode) -> report_json.Node:
    return report_json.Node(
        name=node.name,
        size_bytes=node.size_bytes,
        own_bytes=node.own_bytes,
        count=node.count,
        values=_ids(dump, node.values),
        children=[_node(dump, child) for child in node.children],
    )


# ---------------------------------------------------------------- parts of a memory space


def _alive(report: Report, space_report: SpaceReport) -> list[report_json.AliveValue]:
    return [_alive_value(report.dump, without, space_report.space.peak_live_bytes) for without in space_report.alive]


def _alive_value(dump: DumpSet, without: PeakWithout, peak_bytes: int) -> report_json.AliveValue:
    value, ending = without.value, without.ending
    return report_json.AliveValue(
        *identity(dump, value),
        size_bytes=dump.values.size_bytes.item(value),
        end_step=dump.values.end_step.item(value),
        freed_bytes=without.freed_bytes,
        next_peak_bytes=without.next_peak_bytes,
        saved_bytes=peak_bytes - without.next_peak_bytes,
        next_peak_step=without.next_peak_step,
        reason=ending.reason if ending else Reason.UNKNOWN,
        ended_by=[*reader_names(dump, ending)] if ending else [],
    )


def _padding(report: Report, space_report: SpaceReport) -> report_json.Padding | None:
    if space_report.padding is None:
        return None
    return report_json.Padding(
        padding_bytes=space_report.padding.total_bytes,
        unknown_bytes=space_report.padding.unknown_bytes,
        values=[_padded_value(report.dump, padded) for padded in space_report.most_padded],
    )


def _padded_value(dump: DumpSet, padded: PaddedValue) -> report_json.PaddedValue:
    value, padding = padded.value, padded.padding
    return report_json.PaddedValue(
        *identity(dump, value),
        size_bytes=dump.values.size_bytes.item(value),
        shape=shape_text(dump, value),
        logical_bytes=padding.logical_bytes if padding else None,
        padding_bytes=padded.padding_bytes,
        causes=[
            report_json.PaddingCause(
                cause=part.cause,
                size_bytes=part.size_bytes,
                dimension=part.dimension,
                length=part.length,
                padded_length=part.padded_length,
            )
            for part in (padding.parts if padding else ())
        ],
        unexplained=padding.unexplained if padding else None,
    )


def _arenas(report: Report, space_report: SpaceReport) -> list[report_json.Arena]:
    return [_arena(report, arena) for arena in space_report.arenas]


def _arena(report: Report, arena: AllocationHistory) -> report_json.Arena:
    dump, steps = report.dump, arena.full_size_steps
    holes = arena.free_at(arena.space_peak_step)
    return report_json.Arena(
        allocation=dump.allocations.index.item(arena.allocation),
        size_bytes=arena.size_bytes,
        peak_step=arena.peak_step,
        peak_bytes=arena.peak_bytes,
        fragmentation=arena.fragmentation,
        never_used_bytes=arena.never_used.total,
        free_bytes=holes.total if holes is not None else None,
        holes=pairs(holes.start, holes.end) if holes is not None else [],
        full_size_steps=pairs(steps.start, steps.end - 1),
        reaching=[Value(*identity(dump, value)) for value in _first(report, arena.reaching)],
    )


def _budget(report: Report, space_report: SpaceReport) -> report_json.Budget | None:
    budget = space_report.budget
    if budget is None:
        return None
    plan = budget.plan
    return report_json.Budget(
        budget_bytes=int(plan.budget_bytes),
        is_reached=plan.is_reached,
        is_proven_smallest=plan.is_proven_smallest,
        at_least=plan.at_least,
        needed_bytes=budget.needed_bytes,
        peak_bytes=plan.peak_bytes,
        peak_step=plan.peak_step,
        count=len(plan.values),
        values=[_live_value(report, value) for value in _first(report, plan.values)],
    )


# ---------------------------------------------------------------- donation and advice


def _donation(report: Report) -> report_json.Donation | None:
    donation, dump, top = report.donation, report.dump, report.options.top
    if donation is None:
        return None
    return report_json.Donation(
        donated_count=len(donation.donated),
        donated_bytes=donation.donated_bytes,
        donated=[
            report_json.Donated(
                parameter=Value(*identity(dump, donated.parameter)),
                reused_by=[Value(*identity(dump, value)) for value in donated.reused_by],
                size_bytes=donated.size_bytes,
            )
            for donated in donation.donated[:top]
        ],
        missed_count=len(donation.missed),
        missed_bytes={fit: donation.missed_bytes(fit) for fit in Fit},
        missed=[
            report_json.Missed(
                parameter=Value(*identity(dump, missed.parameter)),
                output=Value(*identity(dump, missed.output)),
                last_read=missed.last_read,
                birth=missed.birth,
                fit=missed.fit,
                size_bytes=missed.size_bytes,
            )
            for missed in donation.missed[:top]
        ],
        copies_count=len(donation.kept_apart),
        copies_bytes=donation.kept_apart_bytes,
        copies=[
            report_json.Copy(
                copy=Value(*identity(dump, kept.copy)),
                parameter=Value(*identity(dump, kept.parameter)),
                is_output=kept.is_output,
                size_bytes=kept.size_bytes,
            )
            for kept in donation.kept_apart[:top]
        ],
    )


def _advice(report: Report) -> report_json.Advice | None:
    advice, dump, top = report.advice, report.dump, report.options.top
    if advice is None:
        return None
    return report_json.Advice(
        color=advice.color,
        peak_bytes=advice.peak_bytes,
        peak_step=advice.peak_step,
        needed_bytes=advice.needed_bytes,
        argument_bytes=advice.argument_bytes,
        argument_bytes_without_optimizer_state=advice.argument_bytes_without_optimizer_state,
        rematerialized=advice.rematerialized,
        actions=[_action(dump, action) for action in advice.actions[:top]],
        together=[*advice.together],
        together_saved_needed_bytes=advice.all_saved_needed_bytes,
        together_needed_bytes=advice.all_needed_bytes,
        together_peak_bytes=advice.all_peak_bytes,
        together_peak_step=advice.all_peak_step,
        arguments=[
            report_json.ArgumentTree(
                name=tree.name,
                count=tree.count,
                size_bytes=tree.size_bytes,
                is_optimizer_state=tree.is_idle,
            )
            for tree in advice.arguments[:top]
        ],
        budget=_advice_budget(advice, advice.budget) if advice.budget else None,
        suggestions=[
            report_json.Suggestion(
                rule=suggestion.rule,
                what=plain_text(suggestion.what),
                snippet=suggestion.snippet,
                measured=suggestion.measured,
                cost=suggestion.cost,
                needed_bytes=suggestion.needed_bytes,
            )
            for suggestion in advice.suggestions
        ],
        tried=_tried(advice.tried) if advice.tried else None,
    )


def _tried(tried: TriedActions) -> report_json.TriedActions:
    return report_json.TriedActions(
        file=tried.file,
        is_stale=tried.is_stale,
        measured_needed_bytes=tried.measured_needed_bytes,
        taken=[plain_text(words) for words in tried.taken],
        taken_needed_bytes=tried.taken_needed_bytes,
        flags=dict(tried.flags),
    )


def _action(dump: DumpSet, action: Action) -> report_json.Action:
    return report_json.Action(
        rule=action.rule,
        what=plain_text(action.what),
        snippet=action.snippet,
        certainty=action.certainty,
        cost=action.cost,
        others=[*action.others],
        size_bytes=action.size_bytes,
        saved_bytes=action.saved_bytes,
        saved_needed_bytes=action.saved_needed_bytes,
        policy=_policy(action.policy) if action.policy else None,
        needed_bytes=action.needed_bytes,
        peak_bytes=action.peak_bytes,
        peak_step=action.peak_step,
        factor=action.factor,
        buffers=[_buffer_group(dump, group) for group in action.groups],
    )


def _policy(policy: PolicySaving) -> report_json.Policy:
    return report_json.Policy(
        code=policy.code,
        kept=policy.kept,
        saved_needed_bytes=policy.saved_needed_bytes,
        certainty=policy.certainty,
    )


def _buffer_group(dump: DumpSet, group: Buffers) -> report_json.BufferGroup:
    line = group.line
    return report_json.BufferGroup(
        count=group.count,
        shape=group.shape,
        size_bytes=group.size_bytes,
        op_name=group.op_name,
        values=_ids(dump, group.values),
        file=line.file if line else None,
        line=line.line if line else None,
        function=line.function if line else None,
    )


def _sharding(budget: Budget, sharding: Sharding) -> report_json.Sharding:
    return report_json.Sharding(
        factor=sharding.factor,
        actions=[*budget.actions[: sharding.action_count]],
        needed_bytes=sharding.needed_bytes,
        left_bytes=int(budget.budget_bytes - sharding.needed_bytes),
        fits=sharding.fits,
    )


def _advice_budget(advice: Advice, budget: Budget) -> report_json.AdviceBudget:
    needed_bytes = budget.needs[-1] if budget.needs else advice.needed_bytes
    return report_json.AdviceBudget(
        is_reached=budget.is_reached,
        actions=[*budget.actions],
        divide_arguments_by=budget.divide_arguments_by,
        divided_argument_bytes=budget.divided_argument_bytes,
        size_bytes=int(budget.budget_bytes),
        over_bytes=max(0, int(needed_bytes - budget.budget_bytes)),
        arguments_over_bytes=int(budget.arguments_over_bytes),
        needed_bytes=[*budget.needs],
        at_most_bytes=budget.most_bytes,
        peak_bytes=[*budget.peaks],
        remaining_argument_bytes=budget.remaining_argument_bytes,
        remaining_other_bytes=budget.remaining_other_bytes,
        sharding=_sharding(budget, budget.sharding) if budget.sharding else None,
        shardings=[_sharding(budget, sharding) for sharding in budget.shardings],
        arguments_exceed=budget.do_arguments_exceed,
    )
