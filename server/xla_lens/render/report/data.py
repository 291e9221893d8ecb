"""Reports as JSON. The format is described in `docs/report.schema.json`, which the tests validate.

Facts have the names in JSON that they have in the model (`_facts`), except for the few that mean something else there.
Modules that only one part needs are imported there, so that no report waits for the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xla_lens.features.report.facts import ArenaReport, BudgetReport, LiveSet, PeakWithout, Report, SpaceReport
from xla_lens.features.report.options import Part
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.needed import program_bytes, reserved_parts
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.syntax.columns import NONE, Column

if TYPE_CHECKING:
    from xla_lens.model.advice.actions import Advice
    from xla_lens.model.advice.donation import Donation
    from xla_lens.model.attribution.breakdowns import BytesNode
    from xla_lens.model.hlo.stack_frames import StackFrame
    from xla_lens.model.memory.allocation_history import AllocationHistory, Intervals


def report_data(report: Report) -> dict[str, Any]:
    """Return a report as a JSON object. Parts that were not requested are left out. Numbers that are not even bounds
    are null, and parts that would be made of them are null or empty.
    """
    parts, dump = report.options.parts, report.dump
    bound = {quantity: report.warrants.of(quantity).bound for quantity in Quantity}
    step, size_bytes = report.printed or (None, None)
    printed = {"peak_step": step} | _bounded(
        (bound[Quantity.TOTAL], {"total_bytes": report.total_bytes}),
        (bound[Quantity.PRINTED_PEAK], {"peak_bytes": size_bytes}),
    )
    if Part.PEAK in parts:
        counted = asdict(report.printed_peak) if report.printed_peak else {}
        terms = ("listed", "counted_at_printed", "counted_at_peak")
        printed["explained"] = {term: counted[term] for term in terms} if counted else None
    known: dict[str, Any] = {
        "module": report.module,
        "files": dict(report.files),
        "complete": report.warrants.is_complete,
        "incomplete": [
            _facts(dump, gap, "quantity bound cause") | {"file": gap.kind, "finding": gap.code}
            for gap in report.warrants.gaps
        ],
        "left_out": report.left_out,
        "findings": _findings(report),
        **_bounded(
            (bound[Quantity.SCHEDULE], {"instructions": report.instruction_count}),
            (bound[Quantity.VALUES], {"values": report.value_count}),
            (bound[Quantity.RESERVED], {"allocations": report.allocation_count}),
            (bound[Quantity.RESERVED], {"reserved_bytes": report.reserved_bytes}),
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
    bound, is_known = space.reserved_bound, space.reserved_bound is not Bound.UNKNOWN
    reserved = reserved_parts(report.dump, space.color) if is_known else ()
    numbers = {"over_bytes": over_bytes(space, capacity.size_bytes)}
    return {
        **_facts(report.dump, capacity, "size_bytes source file"),
        **numbers,
        "reserved": [{"kind": kind, "size_bytes": size_bytes} for kind, size_bytes in reserved],
        "bounds": _bounds((bound, ("over_bytes", "reserved"))),
    }


def _fits(report: Report, space: MemorySpace) -> bool | None:
    """Whether the program fits the budget, or else the device; None if neither is known or the dump does not tell."""
    limit_bytes = report.limit_bytes if space.color == DEFAULT_COLOR else None
    over = over_bytes(space, limit_bytes) if limit_bytes is not None else None
    return None if over is None else not over


def _space(report: Report, one: SpaceReport) -> dict[str, Any]:
    dump, space, parts, options = report.dump, one.space, report.options.parts, report.options
    is_known = space.live_bound is not Bound.UNKNOWN
    peak_step = space.peak_step if is_known else None
    sizes = asdict(program_bytes(dump, space.color))
    reserved = _facts(dump, space, "reserved_bytes needed_bytes") | {"parameter_bytes": sizes.pop("argument_bytes")}
    live = {
        "peak_live_bytes": space.peak_live_bytes if report.has_live_ranges else None,
        "live_bytes_at_printed_peak": one.live_at_printed_peak,
    }
    attributed = report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound
    known: dict[str, Any] = {
        "color": space.color,
        "fits": _fits(report, space),
        "peak_step": peak_step,
        "peak_instruction": dump.instruction_at(peak_step) if peak_step is not None else None,
        **_bounded((space.reserved_bound, reserved | sizes), (space.live_bound, live)),
    }
    if Part.LIVE in parts:
        known["live_at_peak"] = _live_at_peak(report, one.peak, space.color, options.top) if one.peak else []
    if options.at_step is not None:
        known["at_step"] = one.at_step and _live_set(report, one.at_step)
    if Part.CURVE in parts:
        known["curve"] = _pairs(space.live.steps, space.live.live_bytes) if is_known else []
    if Part.LINE in parts:
        lines = one.lines
        known["lines"] = lines and {
            **_facts(dump, lines, "size_bytes count rest_bytes unresolved_bytes"),
            "lines": [
                _place(line.frame)
                | _facts(dump, line, "argument size_bytes derived_bytes values")
                | {"stacks": [asdict(stack) for stack in line.stacks]}
                for line in lines.lines
            ],
            "without_source": [asdict(kind) for kind in lines.without_source],
            "bounds": _bounds((space.live_bound, ("size_bytes",)), (attributed, ("lines",))),
        }
    if Part.SOURCE in parts:
        trees = ("by_op_name", "by_opcode", "by_kind", "by_parameter")
        known["sources"] = one.sources and {
            "bounds": _bounds((attributed, trees)),
            **{tree: _node(dump, getattr(one.sources, tree)) for tree in trees},
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


# ---------------------------------------------------------------- facts by their names


def _facts(dump: DumpSet, one: object, names: str) -> dict[str, Any]:
    """Some facts under their own names. Values of the dump, which are rows of `DumpSet.values`, become the name of a
    single one and the ids of several.
    """
    found = {name: getattr(one, name) for name in names.split()}
    for name, fact in found.items():
        if name in ("parameter", "output", "copy"):
            found[name] = _name(dump, fact)
        elif name == "values":
            found[name] = dump.values.id[list(fact)].tolist()
    return found


def _place(frame: "StackFrame | None") -> dict[str, Any]:
    """A line of the program; null if there is none."""
    return {name: frame and getattr(frame, name) for name in ("file", "line", "function")}


def _bounded(*groups: tuple[Bound, Mapping[str, int | None]]) -> dict[str, Any]:
    """Numbers, which are null if they are not even bounds, and the bounds of those that are not exact."""
    numbers = {
        name: None if bound is Bound.UNKNOWN else number for bound, group in groups for name, number in group.items()
    }
    return numbers | {"bounds": _bounds(*((bound, tuple(group)) for bound, group in groups))}


def _bounds(*groups: tuple[Bound, Sequence[str]]) -> dict[str, str]:
    """The bounds of the numbers with some names, without those that are exact."""
    return {name: bound.value for bound, names in groups for name in names if bound is not Bound.EXACT}


def _name(dump: DumpSet, value: int) -> dict[str, Any]:
    """A value by its id, name and index; the index is null where the instruction has no tuple shape."""
    name, index = int(dump.values.name[value]), int(dump.values.index[value])
    return {
        "id": int(dump.values.id[value]),
        "name": dump.label(name, NONE),
        "index": dump.indices[index].decode() if index != NONE else None,
    }


def _cells(dump: DumpSet, value: int, names: str) -> dict[str, Any]:
    """A value, and some columns of its row."""
    return _name(dump, value) | {name: int(getattr(dump.values, name)[value]) for name in names.split()}


def _live_values(report: Report, values: Column) -> list[dict[str, Any]]:
    from xla_lens.render.report.values import shape_text

    dump, found = report.dump, list[dict[str, Any]]()
    for value in values.tolist():
        origin = report.origins.of_value(value)
        found.append(
            _cells(dump, value, "offset size_bytes start_step end_step")
            | {
                "allocation": int(dump.allocations.index[dump.values.allocation[value]]),
                "shape": shape_text(dump, value),
                "op_name": origin.op_name,
                "derived_from": origin.derived.writer if origin.derived else None,
            }
        )
    return found


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
        "bounds": _bounds((report.warrants.of(Quantity.LIVE).bound, ("live_bytes",))),
        "live": _live_values(report, live.values[: report.options.top]),
    }


# ---------------------------------------------------------------- parts


def _findings(report: Report) -> list[dict[str, Any]]:
    if not report.analysis.findings:
        return []
    from xla_lens.render.messages import finding_data

    return [finding_data(finding) for finding in report.analysis.findings]


def _node(dump: DumpSet, node: "BytesNode") -> dict[str, Any]:
    children = [_node(dump, child) for child in node.children]
    return _facts(dump, node, "name size_bytes own_bytes count values") | {"children": children}


def _alive(dump: DumpSet, without: PeakWithout) -> dict[str, Any]:
    from xla_lens.model.advice.alive import Reason
    from xla_lens.render.report.values import reader_names

    ending = without.ending
    return {
        **_cells(dump, without.value, "size_bytes end_step"),
        **_facts(dump, without, "freed_bytes next_peak_bytes next_peak_step"),
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
        **_cells(dump, value, "size_bytes"),
        "shape": shape_text(dump, value),
        "logical_bytes": padding.logical_bytes if padding else None,
        "padding_bytes": padding_bytes,
        "causes": [asdict(part) for part in padding.parts] if padding else [],
        "unexplained": padding.unexplained if padding else None,
    }


def _arena(report: Report, one: ArenaReport) -> dict[str, Any]:
    dump, arena, rows = report.dump, one.arena, one.history_rows
    return {
        "allocation": int(dump.allocations.index[arena.allocation]),
        **_facts(dump, arena, "size_bytes peak_step peak_bytes fragmentation"),
        "never_used_bytes": one.history.never_used_bytes,
        "holes": _intervals(one.history.free_at_space_peak, 0),
        "full_size_steps": _intervals(arena.full_size_steps, 1),
        "reaching": [_name(dump, value) for value in arena.reaching[: report.options.top].tolist()],
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
        **_facts(report.dump, budget, "budget_bytes is_reached is_proven_smallest at_least needed_bytes"),
        **_facts(report.dump, plan, "peak_bytes peak_step"),
        "count": len(plan.values),
        "values": _live_values(report, plan.values[: report.options.top]),
    }


def _donation(report: Report, donation: "Donation") -> dict[str, Any]:
    from xla_lens.model.advice.donation import Fit

    dump = report.dump

    def rows(found: Iterable[object], names: str) -> list[dict[str, Any]]:
        return [_facts(dump, row, names) for row in [*found][: report.options.top]]

    donated = rows(donation.donated, "parameter reused_by size_bytes")
    for row in donated:
        row["reused_by"] = [_name(dump, value) for value in row["reused_by"]]
    return {
        "donated_count": len(donation.donated),
        "donated_bytes": donation.donated_bytes,
        "donated": donated,
        "missed_count": len(donation.missed),
        "missed_bytes": {fit.value: donation.missed_bytes(fit) for fit in Fit},
        "missed": rows(donation.missed, "parameter output last_read birth fit size_bytes"),
        "copies_count": len(donation.kept_apart),
        "copies_bytes": donation.kept_apart_bytes,
        "copies": rows(donation.kept_apart, "copy parameter is_output size_bytes"),
    }


def _advice(report: Report, advice: "Advice") -> dict[str, Any]:
    from xla_lens.render.report.actions import snippet_of, what_to_do
    from xla_lens.render.report.blocks import plain_text

    dump, top, budget = report.dump, report.options.top, advice.budget
    saved = "saved_bytes saved_needed_bytes needed_bytes peak_bytes peak_step"
    actions = [
        _facts(dump, action, "rule")
        | {"what": plain_text(what_to_do(dump, action)), "snippet": snippet_of(dump, action)}
        | _facts(dump, action, f"certainty size_bytes {saved} factor")
        | {
            "buffers": [
                _facts(dump, group, "count shape size_bytes op_name values") | _place(group.line)
                for group in action.groups
            ]
        }
        for action in advice.actions[:top]
    ]
    return {
        **_facts(dump, advice, "color peak_bytes peak_step needed_bytes argument_bytes"),
        "actions": actions,
        "together": [*range(len(advice.actions))],
        "together_needed_bytes": advice.all_needed_bytes,
        "together_peak_bytes": advice.all_peak_bytes,
        "together_peak_step": advice.all_peak_step,
        "arguments": [
            _facts(dump, tree, "name count size_bytes") | {"is_optimizer_state": tree.is_idle}
            for tree in advice.arguments[:top]
        ],
        "budget": budget
        and {
            **_facts(dump, budget, "is_reached actions divide_arguments_by"),
            "size_bytes": budget.budget_bytes,
            "needed_bytes": budget.needs,
            "peak_bytes": budget.peaks,
            "arguments_exceed": budget.do_arguments_exceed,
        },
    }
