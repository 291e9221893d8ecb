"""Reports as JSON. The format is described in `docs/report.schema.json`, which the tests validate.

Modules that only one part needs are imported there, so that no report waits for the others.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xla_lens.features.report.facts import ArenaReport, BudgetReport, LiveSet, PeakWithout, Report, SpaceReport
from xla_lens.features.report.options import Part
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.needed import program_bytes, reserved_parts
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, PrintedPeak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Gap, Quantity
from xla_lens.syntax.columns import NONE, Column

if TYPE_CHECKING:
    from xla_lens.model.advice.actions import Action, Advice, Buffers
    from xla_lens.model.advice.donation import Donation
    from xla_lens.model.attribution.bytes_by_line import LineBytes
    from xla_lens.model.attribution.bytes_by_op import BytesNode
    from xla_lens.model.attribution.frames import Origin
    from xla_lens.model.memory.allocation_history import AllocationHistory, Intervals


def report_data(report: Report) -> dict[str, Any]:
    """Return a report as a JSON object. Parts that were not requested are left out. Numbers that are not even bounds
    are null, and parts that would be made of them are null or empty.
    """
    warrants = report.warrants
    parts = report.options.parts
    step, size_bytes = report.printed or (None, None)
    printed: dict[str, Any] = {
        "total_bytes": _known(report.total_bytes, warrants.of(Quantity.TOTAL).bound),
        "peak_step": step,
        "peak_bytes": _known(size_bytes, warrants.of(Quantity.PRINTED_PEAK).bound),
        "bounds": _bounds(
            total_bytes=warrants.of(Quantity.TOTAL).bound, peak_bytes=warrants.of(Quantity.PRINTED_PEAK).bound
        ),
    }
    if Part.PEAK in parts:
        printed["explained"] = report.printed_peak and _printed_peak(report.printed_peak)
    known: dict[str, Any] = {
        "module": report.module,
        "files": {kind.value: path for kind, path in report.files.items()},
        "complete": warrants.is_complete,
        "incomplete": [_gap(gap) for gap in warrants.gaps],
        "left_out": [part.value for part in report.left_out],
        "findings": _findings(report),
        "instructions": _known(report.instruction_count, warrants.of(Quantity.SCHEDULE).bound),
        "values": _known(report.value_count, warrants.of(Quantity.VALUES).bound),
        "allocations": _known(report.allocation_count, warrants.of(Quantity.RESERVED).bound),
        "reserved_bytes": _known(report.reserved_bytes, warrants.of(Quantity.RESERVED).bound),
        "bounds": _bounds(
            instructions=warrants.of(Quantity.SCHEDULE).bound,
            values=warrants.of(Quantity.VALUES).bound,
            allocations=warrants.of(Quantity.RESERVED).bound,
            reserved_bytes=warrants.of(Quantity.RESERVED).bound,
        ),
        "printed": printed,
        "device": _device(report),
    }
    if Part.DONATION in parts:
        known["donation"] = report.donation and _donation(report, report.donation)
    if Part.ADVICE in parts:
        known["advice"] = report.advice and _advice(report, report.advice)
    return known | {"memory_spaces": [_space(report, one) for one in report.spaces]}


def _device(report: Report) -> dict[str, Any] | None:
    """The capacity of the device, and what takes it."""
    if report.hbm is None or report.capacity is None:
        return None
    space, capacity = report.hbm.space, report.capacity
    parts = reserved_parts(report.dump, space.color) if space.reserved_bound is not Bound.UNKNOWN else ()
    return {
        "size_bytes": capacity.size_bytes,
        "source": capacity.source.value,
        "file": capacity.file,
        "over_bytes": over_bytes(space, capacity.size_bytes),
        "reserved": [{"kind": kind, "size_bytes": size_bytes} for kind, size_bytes in parts],
        "bounds": _bounds(over_bytes=space.reserved_bound, reserved=space.reserved_bound),
    }


def _fits(report: Report, space: MemorySpace) -> bool | None:
    """Whether the program fits the budget, or else the device; None if neither is known or the dump does not tell."""
    limit_bytes = report.limit_bytes if space.color == DEFAULT_COLOR else None
    over = over_bytes(space, limit_bytes) if limit_bytes is not None else None
    return None if over is None else not over


def _program_bytes(report: Report, space: MemorySpace) -> dict[str, int | None]:
    found = asdict(program_bytes(report.dump, space.color))
    found["parameter_bytes"] = found.pop("argument_bytes")
    return {name: _known(size_bytes, space.reserved_bound) for name, size_bytes in found.items()}


def _space(report: Report, one: SpaceReport) -> dict[str, Any]:
    dump, space, parts, top = report.dump, one.space, report.options.parts, report.options.top
    peak_step = space.peak_step if space.live_bound is not Bound.UNKNOWN else None
    known: dict[str, Any] = {
        "color": space.color,
        "reserved_bytes": _known(space.reserved_bytes, space.reserved_bound),
        "needed_bytes": _known(space.needed_bytes, space.reserved_bound),
        "fits": _fits(report, space),
        **_program_bytes(report, space),
        "peak_step": peak_step,
        "peak_instruction": dump.instruction_at(peak_step) if peak_step is not None else None,
        "peak_live_bytes": _known(space.peak_live_bytes if report.has_live_ranges else None, space.live_bound),
        "live_bytes_at_printed_peak": one.live_at_printed_peak,
        "bounds": _bounds(
            reserved_bytes=space.reserved_bound,
            needed_bytes=space.reserved_bound,
            parameter_bytes=space.reserved_bound,
            output_bytes=space.reserved_bound,
            temporary_bytes=space.reserved_bound,
            aliased_bytes=space.reserved_bound,
            peak_live_bytes=space.live_bound,
            live_bytes_at_printed_peak=space.live_bound,
        ),
    }
    if Part.LIVE in parts:
        known["live_at_peak"] = _live_at_peak(report, one.peak, space.color, top) if one.peak else []
    if report.options.at_step is not None:
        known["at_step"] = one.at_step and _live_set(report, one.at_step)
    if Part.CURVE in parts:
        is_known = space.live_bound is not Bound.UNKNOWN
        known["curve"] = _pairs(space.live.steps, space.live.live_bytes) if is_known else []
    if Part.LINE in parts:
        known["lines"] = one.lines and {
            "size_bytes": one.lines.size_bytes,
            "count": one.lines.count,
            "lines": [_line(dump, line) for line in one.lines.lines],
            "rest_bytes": one.lines.rest_bytes,
            "unresolved_bytes": one.lines.unresolved_bytes,
            "without_source": [asdict(kind) for kind in one.lines.without_source],
            "bounds": _bounds(
                size_bytes=space.live_bound, lines=report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound
            ),
        }
    if Part.SOURCE in parts:
        known["sources"] = one.sources and {
            "bounds": _bounds(
                by_op_name=report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound,
                by_opcode=report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound,
                by_kind=report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound,
                by_parameter=report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound,
            ),
            "by_op_name": _node(dump, one.sources.by_op_name),
            "by_opcode": _node(dump, one.sources.by_opcode),
            "by_kind": _node(dump, one.sources.by_kind),
            "by_parameter": _node(dump, one.sources.by_parameter),
        }
    if Part.ALIVE in parts:
        known["alive_at_peak"] = [_alive(dump, without) for without in one.alive]
    if Part.PADDING in parts:
        known["padding"] = _padding(dump, one)
    if {Part.ARENAS, Part.HISTORY} & parts:
        known["arenas"] = [_arena(report, arena) for arena in one.arenas]
    if Part.BUDGET in parts:
        known["budget"] = one.budget and _budget(report, one.budget)
    return known


# ---------------------------------------------------------------- warrants


def _known(number: int | None, bound: Bound) -> int | None:
    """A number that is exact or a bound, None for another one."""
    return None if bound is Bound.UNKNOWN else number


def _bounds(**bounds: Bound) -> dict[str, str]:
    """The bounds of the numbers beside it that are not exact."""
    return {name: bound.value for name, bound in bounds.items() if bound is not Bound.EXACT}


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "quantity": gap.quantity.value,
        "bound": gap.bound.value,
        "cause": gap.cause.value,
        "file": gap.kind.value,
        "finding": gap.code,
    }


# ---------------------------------------------------------------- values


def _name(dump: DumpSet, value: int) -> dict[str, Any]:
    """A value by its id, name and index; the index is null where the instruction has no tuple shape."""
    name, index = int(dump.values.name[value]), int(dump.values.index[value])
    return {
        "id": int(dump.values.id[value]),
        "name": dump.label(name, NONE),
        "index": dump.indices[index].decode() if index != NONE else None,
    }


def _names(dump: DumpSet, values: Iterable[int]) -> list[dict[str, Any]]:
    return [_name(dump, value) for value in values]


def _live_values(report: Report, values: Column) -> list[dict[str, Any]]:
    from xla_lens.render.report.values import shape_text

    dump, table = report.dump, report.dump.values
    origins = {value: report.origins.of_value(value) for value in values.tolist()}
    return [
        {
            **_name(dump, value),
            "allocation": int(dump.allocations.index[table.allocation[value]]),
            "offset": int(table.offset[value]),
            "size_bytes": int(table.size_bytes[value]),
            "shape": shape_text(dump, value),
            "start_step": int(table.start_step[value]),
            "end_step": int(table.end_step[value]),
            "op_name": origins[value].op_name,
            "derived_from": _derived_from(origins[value]),
        }
        for value in values.tolist()
    ]


def _derived_from(origin: "Origin") -> str | None:
    return origin.derived.writer if origin.derived else None


def _live_at_peak(report: Report, live: LiveSet, color: int, top: int | None) -> list[dict[str, Any]]:
    from xla_lens.model.attribution.owned import owned_bytes

    values, owned = owned_bytes(report.dump, live.step, color)
    owned_of = dict(zip(values.tolist(), owned.tolist(), strict=True))
    shown = live.values[:top]
    rows = zip(shown.tolist(), _live_values(report, shown), strict=True)
    return [{**row, "owned_bytes": owned_of.get(value, 0)} for value, row in rows]


def _live_set(report: Report, live: LiveSet) -> dict[str, Any]:
    return {
        "step": live.step,
        "instruction": report.dump.instruction_at(live.step),
        "live_bytes": live.live_bytes,
        "bounds": _bounds(live_bytes=report.warrants.of(Quantity.LIVE).bound),
        "live": _live_values(report, live.values[: report.options.top]),
    }


def _ids(dump: DumpSet, values: tuple[int, ...]) -> list[int]:
    ids: list[int] = dump.values.id[list(values)].tolist()
    return ids


# ---------------------------------------------------------------- parts


def _findings(report: Report) -> list[dict[str, Any]]:
    if not report.analysis.findings:
        return []
    from xla_lens.render.messages import finding_data

    return [finding_data(finding) for finding in report.analysis.findings]


def _printed_peak(printed: PrintedPeak) -> dict[str, Any]:
    return {
        "listed": printed.listed and asdict(printed.listed),
        "counted_at_printed": printed.counted_at_printed and asdict(printed.counted_at_printed),
        "counted_at_peak": printed.counted_at_peak and asdict(printed.counted_at_peak),
    }


def _line(dump: DumpSet, line: "LineBytes") -> dict[str, Any]:
    frame = line.frame
    return {
        "file": frame.file if frame else None,
        "line": frame.line if frame else None,
        "function": frame.function if frame else None,
        "argument": line.argument,
        "size_bytes": line.size_bytes,
        "derived_bytes": line.derived_bytes,
        "values": _ids(dump, line.values),
        "stacks": [
            {"size_bytes": stack.size_bytes, "frames": [asdict(frame) for frame in stack.frames]}
            for stack in line.stacks
        ],
    }


def _node(dump: DumpSet, node: "BytesNode") -> dict[str, Any]:
    return {
        "name": node.name,
        "size_bytes": node.size_bytes,
        "own_bytes": node.own_bytes,
        "count": node.count,
        "values": _ids(dump, node.values),
        "children": [_node(dump, child) for child in node.children],
    }


def _alive(dump: DumpSet, without: PeakWithout) -> dict[str, Any]:
    from xla_lens.model.advice.alive import Reason
    from xla_lens.render.report.values import reader_names

    ending = without.ending
    return {
        **_name(dump, without.value),
        "size_bytes": int(dump.values.size_bytes[without.value]),
        "freed_bytes": without.freed_bytes,
        "next_peak_bytes": without.next_peak_bytes,
        "next_peak_step": without.next_peak_step,
        "end_step": int(dump.values.end_step[without.value]),
        "reason": (ending.reason if ending else Reason.UNKNOWN).name.lower(),
        "ended_by": reader_names(dump, ending) if ending else [],
    }


def _padding(dump: DumpSet, one: SpaceReport) -> dict[str, Any] | None:
    if one.padding is None:
        return None
    at_peak = one.padding.at_peak
    rows = ((int(at_peak.values[row]), int(at_peak.padding_bytes[row])) for row in one.padding.biggest)
    return {
        "padding_bytes": at_peak.total_bytes,
        "unknown_bytes": at_peak.unknown_bytes,
        "values": [_padded_value(dump, value, padding_bytes) for value, padding_bytes in rows],
    }


def _padded_value(dump: DumpSet, value: int, padding_bytes: int) -> dict[str, Any]:
    from xla_lens.model.advice.padding import padding_of
    from xla_lens.render.report.values import shape_text

    padding = padding_of(dump, value)
    return {
        **_name(dump, value),
        "shape": shape_text(dump, value),
        "size_bytes": int(dump.values.size_bytes[value]),
        "logical_bytes": padding.logical_bytes if padding else None,
        "padding_bytes": padding_bytes,
        "causes": [asdict(part) for part in padding.parts] if padding else [],
        "unexplained": padding.unexplained.value if padding and padding.unexplained else None,
    }


def _arena(report: Report, one: ArenaReport) -> dict[str, Any]:
    dump, arena, rows = report.dump, one.arena, one.history_rows
    return {
        "allocation": int(dump.allocations.index[arena.allocation]),
        "size_bytes": arena.size_bytes,
        "peak_step": arena.peak_step,
        "peak_bytes": arena.peak_bytes,
        "fragmentation": arena.fragmentation,
        "never_used_bytes": one.history.never_used_bytes,
        "holes": _intervals(one.history.free_at_space_peak, 0),
        "full_size_steps": _intervals(arena.full_size_steps, 1),
        "reaching": _names(dump, arena.reaching[: report.options.top].tolist()),
        "history": _history(dump, one.history, rows) if rows is not None else None,
    }


def _history(dump: DumpSet, history: "AllocationHistory", rows: Column) -> list[dict[str, Any]]:
    columns = (history.value, history.offset, history.end_offset, history.start_step, history.end_step)
    return [
        {
            **_name(dump, value),
            "offset": offset,
            "end_offset": end_offset,
            "start_step": start if start != NONE else None,
            "end_step": end if start != NONE else None,
        }
        for value, offset, end_offset, start, end in zip(*(column[rows].tolist() for column in columns), strict=True)
    ]


def _intervals(intervals: "Intervals | None", less: int) -> list[tuple[int, int]]:
    """Pairs of start and end. Ends are exclusive if `less` is 0, inclusive if it is 1."""
    return _pairs(intervals.start, intervals.end - less) if intervals is not None else []


def _pairs(first: Column, second: Column) -> list[tuple[int, int]]:
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _budget(report: Report, budget: BudgetReport) -> dict[str, Any]:
    plan = budget.plan
    return {
        "budget_bytes": budget.budget_bytes,
        "is_reached": budget.is_reached,
        "is_proven_smallest": budget.is_proven_smallest,
        "at_least": budget.at_least,
        "needed_bytes": budget.needed_bytes,
        "peak_bytes": plan.peak_bytes,
        "peak_step": plan.peak_step,
        "count": len(plan.values),
        "values": _live_values(report, plan.values[: report.options.top]),
    }


def _donation(report: Report, donation: "Donation") -> dict[str, Any]:
    from xla_lens.model.advice.donation import Fit

    dump, top = report.dump, report.options.top
    return {
        "donated_count": len(donation.donated),
        "donated_bytes": donation.donated_bytes,
        "donated": [
            {
                "parameter": _name(dump, row.parameter),
                "reused_by": _names(dump, row.reused_by),
                "size_bytes": row.size_bytes,
            }
            for row in donation.donated[:top]
        ],
        "missed_count": len(donation.missed),
        "missed_bytes": {fit.value: donation.missed_bytes(fit) for fit in Fit},
        "missed": [
            {
                "parameter": _name(dump, row.parameter),
                "output": _name(dump, row.output),
                "last_read": row.last_read,
                "birth": row.birth,
                "fit": row.fit.value,
                "size_bytes": row.size_bytes,
            }
            for row in donation.missed[:top]
        ],
        "copies_count": len(donation.kept_apart),
        "copies_bytes": donation.kept_apart_bytes,
        "copies": [
            {
                "copy": _name(dump, row.copy),
                "parameter": _name(dump, row.parameter),
                "is_output": row.is_output,
                "size_bytes": row.size_bytes,
            }
            for row in donation.kept_apart[:top]
        ],
    }


def _advice(report: Report, advice: "Advice") -> dict[str, Any]:
    budget = advice.budget
    return {
        "color": advice.color,
        "peak_bytes": advice.peak_bytes,
        "peak_step": advice.peak_step,
        "actions": [_action(report.dump, action) for action in advice.actions[: report.options.top]],
        "together": list(advice.together),
        "needed_bytes": advice.needed_bytes,
        "together_needed_bytes": advice.all_needed_bytes,
        "together_peak_bytes": advice.all_peak_bytes,
        "together_peak_step": advice.all_peak_step,
        "argument_bytes": advice.argument_bytes,
        "arguments": [
            {
                "name": tree.name,
                "count": tree.count,
                "size_bytes": tree.size_bytes,
                "is_optimizer_state": tree.is_idle,
            }
            for tree in advice.arguments[: report.options.top]
        ],
        "budget": budget
        and {
            "size_bytes": budget.budget_bytes,
            "is_reached": budget.is_reached,
            "actions": list(budget.actions),
            "needed_bytes": list(budget.needs),
            "peak_bytes": list(budget.peaks),
            "arguments_exceed": budget.do_arguments_exceed,
            "divide_arguments_by": budget.divide_arguments_by,
        },
    }


def _action(dump: DumpSet, action: "Action") -> dict[str, Any]:
    return {
        "rule": action.rule,
        "certainty": action.certainty,
        "size_bytes": action.size_bytes,
        "saved_bytes": action.saved_bytes,
        "saved_needed_bytes": action.saved_needed_bytes,
        "needed_bytes": action.needed_bytes,
        "peak_bytes": action.peak_bytes,
        "peak_step": action.peak_step,
        "factor": action.factor,
        "buffers": [_group(dump, group) for group in action.groups],
    }


def _group(dump: DumpSet, group: "Buffers") -> dict[str, Any]:
    return {
        "count": group.count,
        "shape": group.shape,
        "size_bytes": group.size_bytes,
        "file": group.line and group.line.file,
        "line": group.line and group.line.line,
        "function": group.line and group.line.function,
        "op_name": group.op_name,
        "values": _ids(dump, group.values),
    }
