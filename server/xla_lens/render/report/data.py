"""Reports as JSON. The format is described in `docs/report.schema.json`, which the tests validate.

Facts have the names in JSON that they have in the model, except for the few that mean something else there (`_FACTS`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from xla_lens.features.report.facts import LiveSet, PeakWithout, Report, SpaceReport
from xla_lens.features.report.options import Part
from xla_lens.model.advice.actions import Advice
from xla_lens.model.advice.alive import Reason
from xla_lens.model.advice.donation import Donation, Fit
from xla_lens.model.advice.padding import padding_of
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.allocation_history import AllocationHistory
from xla_lens.model.memory.needed import program_bytes, reserved_parts
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.messages import finding_data
from xla_lens.render.peak_groups import owned_sizes
from xla_lens.render.report.actions import snippet_of, what_to_do
from xla_lens.render.report.blocks import plain_text
from xla_lens.render.report.values import reader_names, shape_text
from xla_lens.syntax.columns import NONE, Column

# ---------------------------------------------------------------- facts by their names

_LINE: Final = "file=frame.file line=frame.line function=frame.function"

_FACTS: Final = {
    "Gap": "quantity bound cause file=kind finding=code",
    "Capacity": "size_bytes source file",
    "LineReport": "size_bytes count rest_bytes unresolved_bytes lines without_source",
    "LineBytes": f"{_LINE} argument size_bytes derived_bytes values stacks",
    "StackBytes": "frames size_bytes",
    "StackFrame": "file line column function",
    "KindBytes": "kind size_bytes count",
    "BytesByOp": "by_op_name by_opcode by_kind by_parameter",
    "BytesNode": "name size_bytes own_bytes count values children",
    "PeakWithout": "freed_bytes next_peak_bytes next_peak_step",
    "PaddingPart": "cause size_bytes dimension length padded_length",
    "AllocationHistory": "size_bytes peak_step peak_bytes fragmentation",
    "BudgetReport": (
        "budget_bytes is_reached is_proven_smallest at_least needed_bytes peak_bytes=plan.peak_bytes "
        "peak_step=plan.peak_step"
    ),
    "Donated": "parameter reused_by size_bytes",
    "Missed": "parameter output last_read birth fit size_bytes",
    "KeptApart": "copy parameter is_output size_bytes",
    "Advice": (
        "color peak_bytes peak_step needed_bytes argument_bytes actions together "
        "together_needed_bytes=all_needed_bytes together_peak_bytes=all_peak_bytes together_peak_step=all_peak_step "
        "arguments budget"
    ),
    "Action": (
        "rule certainty size_bytes saved_bytes saved_needed_bytes needed_bytes peak_bytes peak_step factor "
        "buffers=groups"
    ),
    "Buffers": f"count shape size_bytes op_name values {_LINE.replace('frame', 'line')}",
    "ArgumentTree": "name count size_bytes is_optimizer_state=is_idle",
    "Budget": (
        "is_reached actions divide_arguments_by size_bytes=budget_bytes needed_bytes=needs peak_bytes=peaks "
        "arguments_exceed=do_arguments_exceed"
    ),
}
"""The facts of each kind of thing under their names in JSON, with the paths of those that have another name."""

_VALUES: Final = frozenset(("parameter", "output", "copy", "reused_by"))
"""Facts that are rows of `DumpSet.values`, as are `values`, of which only the ids are shown."""


def _facts(dump: DumpSet, one: Any) -> Any:
    """A fact as JSON, with the fields that `_FACTS` lists for its type; numbers and texts stay as they are."""
    if isinstance(one, tuple | list):
        return [_facts(dump, each) for each in one]
    found: dict[str, Any] = {}
    for fact in _FACTS.get(type(one).__name__, "").split():
        name, _, path = fact.partition("=")
        part = one
        for attribute in (path or name).split("."):
            part = getattr(part, attribute) if part is not None else None
        if name in _VALUES:
            found[name] = value_name(dump, part) if isinstance(part, int) else [value_name(dump, each) for each in part]
        else:
            found[name] = dump.values.id[list(part)].tolist() if name == "values" else _facts(dump, part)
    return found or one


def value_name(dump: DumpSet, value: int, columns: str = "") -> dict[str, Any]:
    """Return a value by its id, name and index, and some columns of its row. The index is null where the instruction
    has no tuple shape.
    """
    name, index = int(dump.values.name[value]), int(dump.values.index[value])
    return {
        "id": int(dump.values.id[value]),
        "name": dump.label(name, NONE),
        "index": dump.indices[index].decode() if index != NONE else None,
        **{column: int(getattr(dump.values, column)[value]) for column in columns.split()},
    }


def _bounded(*groups: tuple[Bound, Mapping[str, int | None]]) -> dict[str, Any]:
    """Numbers, which are null if they are not even bounds, and the bounds of those that are not exact."""
    numbers = {
        name: None if bound is Bound.UNKNOWN else number for bound, group in groups for name, number in group.items()
    }
    return numbers | {"bounds": _bounds(*((bound, tuple(group)) for bound, group in groups))}


def _bounds(*groups: tuple[Bound, Iterable[str]]) -> dict[str, str]:
    """The bounds of the numbers with some names, without those that are exact."""
    return {name: bound.value for bound, names in groups for name in names if bound is not Bound.EXACT}


# ---------------------------------------------------------------- a report


def report_data(report: Report) -> dict[str, Any]:
    """Return a report as a JSON object. Parts that were not requested are left out. Numbers that are not even bounds
    are null, and parts that would be made of them are null or empty.
    """
    parts, dump = report.options.parts, report.dump
    bound = {quantity: report.warrants.of(quantity).bound for quantity in Quantity}
    step, size_bytes = report.printed or (None, None)
    totals = dump.totals.size_bytes.tolist()
    printed = {"peak_step": step} | _bounded(
        (bound[Quantity.TOTAL], {"total_bytes": totals[0] if totals else None}),
        (bound[Quantity.PRINTED_PEAK], {"peak_bytes": size_bytes}),
    )
    if Part.PEAK in parts:
        counted = asdict(report.printed_peak) if report.printed_peak else {}
        terms = ("listed", "counted_at_printed", "counted_at_peak")
        printed["explained"] = {term: counted[term] for term in terms} if counted else None
    reserved = {"allocations": report.allocation_count, "reserved_bytes": report.reserved_bytes}
    known: dict[str, Any] = {
        "module": report.module,
        "files": dict(report.files),
        "complete": report.warrants.is_complete,
        "incomplete": _facts(dump, report.warrants.gaps),
        "left_out": report.left_out,
        "findings": [*map(finding_data, report.analysis.findings)],
        **_bounded(
            (bound[Quantity.SCHEDULE], {"instructions": report.instruction_count}),
            (bound[Quantity.VALUES], {"values": report.value_count}),
            (bound[Quantity.RESERVED], reserved),
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
    is_known = space.reserved_bound is not Bound.UNKNOWN
    reserved = reserved_parts(report.dump, space.color) if is_known else ()
    return {
        **_facts(report.dump, capacity),
        "over_bytes": over_bytes(space, capacity.size_bytes),
        "reserved": [{"kind": kind, "size_bytes": size_bytes} for kind, size_bytes in reserved],
        "bounds": _bounds((space.reserved_bound, ("over_bytes", "reserved"))),
    }


def _fits(report: Report, space: MemorySpace) -> bool | None:
    """Whether the program fits the budget, or else the device; None if neither is known or the dump does not tell."""
    limit_bytes = report.limit_bytes if space.color == DEFAULT_COLOR else None
    over = over_bytes(space, limit_bytes) if limit_bytes is not None else None
    return None if over is None else not over


def _space(report: Report, one: SpaceReport) -> dict[str, Any]:
    dump, space, options = report.dump, one.space, report.options
    peak_step = space.peak_step if space.live_bound is not Bound.UNKNOWN else None
    sizes = asdict(program_bytes(dump, space.color))
    reserved = {"reserved_bytes": space.reserved_bytes, "needed_bytes": space.needed_bytes}
    live = {
        "peak_live_bytes": space.peak_live_bytes if report.has_live_ranges else None,
        "live_bytes_at_printed_peak": one.live_at_printed_peak,
    }
    known = {
        "color": space.color,
        "fits": _fits(report, space),
        "peak_step": peak_step,
        "peak_instruction": dump.instruction_at(peak_step) if peak_step is not None else None,
        **_bounded(
            (space.reserved_bound, {**reserved, "parameter_bytes": sizes.pop("argument_bytes"), **sizes}),
            (space.live_bound, live),
        ),
        "at_step": _live_set(report, one.at_step) if one.at_step else None,
    }
    if options.at_step is None:
        del known["at_step"]
    return known | {name: made(report, one) for name, (parts, made) in _PARTS.items() if {*parts} & options.parts}


# ---------------------------------------------------------------- live values


def _live_values(report: Report, values: Column) -> list[dict[str, Any]]:
    dump, found = report.dump, list[dict[str, Any]]()
    for value in values.tolist():
        origin = report.origins.of_value(value)
        found.append(
            value_name(dump, value, "offset size_bytes start_step end_step")
            | {
                "allocation": int(dump.allocations.index[dump.values.allocation[value]]),
                "shape": shape_text(dump, value),
                "op_name": origin.op_name,
                "derived_from": origin.derived.name if origin.derived else None,
            }
        )
    return found


def _live_at_peak(report: Report, one: SpaceReport) -> list[dict[str, Any]]:
    if one.peak is None:
        return []
    owned_of = owned_sizes(report.dump, one.peak.step, one.space.color)
    shown = one.peak.values[: report.options.top]
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


# ---------------------------------------------------------------- parts of a memory space


def _curve(_: Report, one: SpaceReport) -> list[tuple[int, int]]:
    live = one.space.live
    return _pairs(live.steps, live.live_bytes) if one.space.live_bound is not Bound.UNKNOWN else []


def _pairs(first: Column, second: Column) -> list[tuple[int, int]]:
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _lines(report: Report, one: SpaceReport) -> dict[str, Any] | None:
    bounds = (one.space.live_bound, ("size_bytes",)), (report.sourced.bound, ("lines",))
    return {**_facts(report.dump, one.lines), "bounds": _bounds(*bounds)} if one.lines else None


def _sources(report: Report, one: SpaceReport) -> dict[str, Any] | None:
    if one.sources is None:
        return None
    trees = _facts(report.dump, one.sources)
    return {"bounds": _bounds((report.sourced.bound, trees)), **trees}


def _without(dump: DumpSet, without: PeakWithout) -> dict[str, Any]:
    ending = without.ending
    return {
        **value_name(dump, without.value, "size_bytes end_step"),
        **_facts(dump, without),
        "reason": (ending.reason if ending else Reason.UNKNOWN).name.lower(),
        "ended_by": reader_names(dump, ending) if ending else [],
    }


def _padding(report: Report, one: SpaceReport) -> dict[str, Any] | None:
    if one.padding is None:
        return None
    at_peak = one.padding.at_peak
    rows = ((int(at_peak.values[row]), int(at_peak.padding_bytes[row])) for row in one.padding.biggest)
    return {
        "padding_bytes": at_peak.total_bytes,
        "unknown_bytes": at_peak.unknown_bytes,
        "values": [_padded_value(report.dump, *row) for row in rows],
    }


def _padded_value(dump: DumpSet, value: int, padding_bytes: int) -> dict[str, Any]:
    padding = padding_of(dump, value)
    return {
        **value_name(dump, value, "size_bytes"),
        "shape": shape_text(dump, value),
        "logical_bytes": padding.logical_bytes if padding else None,
        "padding_bytes": padding_bytes,
        "causes": _facts(dump, padding.parts) if padding else [],
        "unexplained": padding.unexplained if padding else None,
    }


def _arena(report: Report, arena: AllocationHistory) -> dict[str, Any]:
    dump, steps = report.dump, arena.full_size_steps
    holes = arena.free_at(arena.space_peak_step)
    return {
        "allocation": int(dump.allocations.index[arena.allocation]),
        **_facts(dump, arena),
        "never_used_bytes": arena.never_used.total,
        "holes": _pairs(holes.start, holes.end) if holes else [],
        "full_size_steps": _pairs(steps.start, steps.end - 1),
        "reaching": [value_name(dump, value) for value in arena.reaching[: report.options.top].tolist()],
    }


def _budget(report: Report, one: SpaceReport) -> dict[str, Any] | None:
    if one.budget is None:
        return None
    values = one.budget.plan.values
    live = {"count": len(values), "values": _live_values(report, values[: report.options.top])}
    return {**_facts(report.dump, one.budget), **live}


_PARTS: Final[Mapping[str, tuple[Sequence[Part], Callable[[Report, SpaceReport], Any]]]] = {
    "live_at_peak": ((Part.LIVE,), _live_at_peak),
    "curve": ((Part.CURVE,), _curve),
    "lines": ((Part.LINE,), _lines),
    "sources": ((Part.SOURCE,), _sources),
    "alive_at_peak": (
        (Part.ALIVE,),
        lambda report, one: [_without(report.dump, without) for without in one.alive],
    ),
    "padding": ((Part.PADDING,), _padding),
    "arenas": (
        (Part.ARENAS,),
        lambda report, one: [_arena(report, arena) for arena in one.arenas],
    ),
    "budget": ((Part.BUDGET,), _budget),
}
"""What JSON has of each memory space, and the parts that ask for it."""


# ---------------------------------------------------------------- donation and advice


def _donation(report: Report, donation: Donation) -> dict[str, Any]:
    dump, top = report.dump, report.options.top
    return {
        "donated_count": len(donation.donated),
        "donated_bytes": donation.donated_bytes,
        "donated": _facts(dump, donation.donated[:top]),
        "missed_count": len(donation.missed),
        "missed_bytes": {fit.value: donation.missed_bytes(fit) for fit in Fit},
        "missed": _facts(dump, donation.missed[:top]),
        "copies_count": len(donation.kept_apart),
        "copies_bytes": donation.kept_apart_bytes,
        "copies": _facts(dump, donation.kept_apart[:top]),
    }


def _advice(report: Report, advice: Advice) -> dict[str, Any]:
    dump, top = report.dump, report.options.top
    actions = [
        {
            "rule": action.rule,
            "what": plain_text(what_to_do(dump, action)),
            "snippet": snippet_of(dump, action),
            **_facts(dump, action),
        }
        for action in advice.actions[:top]
    ]
    more = {
        "actions": actions,
        "arguments": _facts(dump, advice.arguments[:top]),
        "budget": _facts(dump, advice.budget),
    }
    return {name: more.get(name, fact) for name, fact in _facts(dump, advice).items()}
