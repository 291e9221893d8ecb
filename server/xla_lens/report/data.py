"""Reports as JSON. The format is described in `docs/report.schema.json`, which the tests validate.

Facts have the names in JSON that they have in the model, except for the few that mean something else there (`_FACTS`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Final

from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.entities import reader_names, shape_text
from xla_lens.model.advice.actions import Advice
from xla_lens.model.attribution.breakdowns import LineBytes, StackBytes
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.alive import Reason
from xla_lens.model.memory.allocation_history import AllocationHistory
from xla_lens.model.memory.donation import Donation, Fit
from xla_lens.model.memory.needed import program_bytes
from xla_lens.model.memory.over_time import ColorPart
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.actions import snippet_of, what_to_do
from xla_lens.report.facts import Report, SpaceReport
from xla_lens.report.options import Part
from xla_lens.report.usage_report import usage_report_data
from xla_lens.syntax.columns import Column, pairs
from xla_lens.words.messages import Json, finding_data
from xla_lens.words.values import value_name

# ---------------------------------------------------------------- facts by their names

_LINE: Final = "file=frame.file line=frame.line function=frame.function"

_FACTS: Final = {
    "Report": "module files complete=warrants.is_complete incomplete=warrants.gaps left_out unseen",
    "MemorySpace": "reserved_bytes needed_bytes",
    "ColorPart": "reserved_bytes needed_bytes",
    "ProgramBytes": "parameter_bytes=argument_bytes output_bytes temporary_bytes aliased_bytes",
    "Gap": "quantity bound cause file=kind finding=code flag",
    "LineReport": "size_bytes count rest_bytes unresolved_bytes left_out_by lines without_source",
    "LineBytes": f"{_LINE} argument size_bytes derived_bytes values stacks",
    "PeakWithout": "freed_bytes next_peak_bytes next_peak_step",
    "PrintedPeak": "listed counted_at_printed counted_at_peak",
    "AllocationHistory": "size_bytes peak_step peak_bytes fragmentation never_used_bytes=never_used.total",
    "BudgetReport": (
        "budget_bytes=plan.budget_bytes is_reached=plan.is_reached is_proven_smallest=plan.is_proven_smallest "
        "at_least=plan.at_least needed_bytes peak_bytes=plan.peak_bytes peak_step=plan.peak_step"
    ),
    "Missed": "parameter output last_read birth fit size_bytes",
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
"""The facts of those kinds of things that have other names in JSON, with their paths, or that JSON shows in part."""

_VALUES: Final = frozenset(("parameter", "output", "copy", "reused_by"))
"""Facts that are rows of `DumpSet.values`, as are `values`, of which only the ids are shown."""


def _facts(dump: DumpSet, one: Any) -> Any:
    """A fact as JSON; numbers and texts stay as they are."""
    if isinstance(one, tuple | list):
        return [_facts(dump, each) for each in one]
    kind: Any = type(one)
    paths = _paths_of(kind)
    if paths is None:
        return one
    found: Json = {}
    for name, path in paths:
        part: Any = one
        for attribute in path:
            part = getattr(part, attribute) if part is not None else None
        if name in _VALUES:
            found[name] = value_name(dump, part) if isinstance(part, int) else [value_name(dump, each) for each in part]
        else:
            found[name] = dump.values.id[list(part)].tolist() if name == "values" else _facts(dump, part)
    return found


@cache
def _paths_of(kind: Any) -> tuple[tuple[str, list[str]], ...] | None:
    """The names of the facts of a kind of things in JSON, and the attributes that lead to each. None for numbers and
    texts.
    """
    if not isinstance(kind, type) or not is_dataclass(kind):
        return None
    own = _FACTS.get(kind.__name__)
    named = (fact.partition("=") for fact in (own.split() if own else [field.name for field in fields(kind)]))
    return tuple((name, (path or name).split(".")) for name, _, path in named)


def _bounded(*groups: tuple[Bound, Mapping[str, int | None]]) -> Json:
    """Numbers, which are null if they are not even bounds, and the bounds of those that are not exact."""
    numbers, bounds = dict[str, int | None](), dict[str, str]()
    for bound, group in groups:
        numbers |= dict.fromkeys(group) if bound is Bound.UNKNOWN else group
        bounds |= _bounds(bound, *group)
    return {**numbers, "bounds": bounds}


def _bounds(bound: Bound, *names: str) -> dict[str, str]:
    """The bounds of the numbers with some names, unless they are exact."""
    return {} if bound is Bound.EXACT else dict.fromkeys(names, bound.value)


# ---------------------------------------------------------------- a report


def report_data(report: Report) -> Json:
    """Return a report as a JSON object. Parts that were not requested are left out. Numbers that are not even bounds
    are null, and parts that would be made of them are null or empty.
    """
    parts, dump, top = report.options.parts, report.dump, report.options.top
    bound = {quantity: report.warrants.of(quantity).bound for quantity in Quantity}
    step, size_bytes = report.printed or (None, None)
    printed: Json = {"peak_step": step} | _bounded(
        (bound[Quantity.TOTAL], {"total_bytes": next(iter(dump.totals.size_bytes.tolist()), None)}),
        (bound[Quantity.PRINTED_PEAK], {"peak_bytes": size_bytes}),
    )
    if Part.PEAK in parts:
        printed["explained"] = _facts(dump, report.explained_peak)
    reserved = dict(zip(("allocations", "reserved_bytes"), report.reserved or (None, None), strict=True))
    known: Json = {
        **_facts(dump, report),
        "findings": [*map(finding_data, report.analysis.findings)],
        **_bounded(
            (bound[Quantity.SCHEDULE], {"instructions": report.instruction_count}),
            (bound[Quantity.VALUES], {"values": report.value_count}),
            (bound[Quantity.RESERVED], reserved),
        ),
        "printed": printed,
        "device": _device(report),
        "usage_report": usage_report_data(report),
    }
    if Part.DONATION in parts:
        known["donation"] = report.donation and _donation(dump, report.donation, top)
    if Part.ADVICE in parts:
        known["advice"] = report.advice and _advice(report, report.advice)
    return known | {"memory_spaces": [_space(report, one) for one in report.spaces]}


def _device(report: Report) -> Json | None:
    """The device, its capacity, and what takes it."""
    chip, capacity = report.analysis.chip, report.capacity
    if report.hbm is None or (chip is None and capacity is None):
        return None
    space = report.hbm.space
    is_known = space.reserved_bound is not Bound.UNKNOWN
    reserved = report.hbm.reserved if is_known else {}
    return {
        "chip": chip,
        "size_bytes": capacity and capacity.size_bytes,
        "source": capacity and capacity.source,
        "file": capacity and capacity.file,
        "over_bytes": over_bytes(space, capacity.size_bytes) if capacity else None,
        "reserved": [{"kind": kind, "size_bytes": size_bytes} for kind, size_bytes in reserved.items()],
        "bounds": _bounds(space.reserved_bound, "over_bytes", "reserved"),
    }


def _space(report: Report, one: SpaceReport) -> Json:
    dump, space, options = report.dump, one.space, report.options
    limit_bytes = report.limit_bytes if space.color == DEFAULT_COLOR else None
    over = over_bytes(space, limit_bytes) if limit_bytes is not None else None
    live = {
        "peak_live_bytes": space.peak_live_bytes if report.has_live_ranges else None,
        "live_bytes_at_printed_peak": one.live_at_printed_peak,
    }
    known = {
        "color": space.color,
        "name": one.name,
        "is_device": space.id.is_device,
        "colors": [_color(report, one, part) for part in space.colors],
        "fits": None if over is None else not over,
        "peak_step": one.peak and one.peak.step,
        "peak_instruction": one.peak and dump.instruction_at(one.peak.step),
        **_bounded(
            (space.reserved_bound, _facts(dump, space)),
            # A memory usage report has the parts only as rounded sizes, if at all.
            (
                space.reserved_bound if dump.assignment else Bound.UNKNOWN,
                _facts(dump, program_bytes(dump, space.color)),
            ),
            (space.live_bound, live),
        ),
    }
    live_set = one.at_step
    if options.at_step is not None:
        known["at_step"] = live_set and {
            "step": live_set.step,
            "instruction": dump.instruction_at(live_set.step),
            "live_bytes": live_set.live_bytes,
            "bounds": _bounds(report.live.bound, "live_bytes"),
            "live": _live_values(report, live_set.values),
        }
    return known | {name: part_data(report, one, name) for name in _PARTS if _PARTS[name][0] in options.parts}


def _color(report: Report, one: SpaceReport, part: ColorPart) -> Json:
    """The numbers of one color of a memory space, whose bounds hold for them too."""
    is_known = report.has_live_ranges and one.space.live_bound is not Bound.UNKNOWN
    live = {
        "peak_live_bytes": part.live.peak_bytes if report.has_live_ranges else None,
        "live_bytes_at_printed_peak": part.live.at(report.printed[0]) if report.printed and is_known else None,
    }
    numbers = _bounded((one.space.reserved_bound, _facts(report.dump, part)), (one.space.live_bound, live))
    peak_step = part.live.peak_step if is_known else None
    return {"color": part.color, "name": part.id.name, "peak_step": peak_step, **numbers}


def part_data(report: Report, one: SpaceReport, name: str) -> Any:
    """Return what JSON has of a memory space under a name: null or an empty list if the dump lacks the facts."""
    part, made = _PARTS[name]
    if not report.has(part, one):
        return [] if name in _LISTS else None
    return made(report, one)


# ---------------------------------------------------------------- live values


def _live_values(report: Report, values: Column) -> list[Json]:
    dump, found = report.dump, list[Json]()
    for value in values[: report.options.top].tolist():
        origin = report.origins.of_value(value)
        found.append(
            value_name(dump, value, "offset size_bytes start_step end_step")
            | {
                "allocation": dump.allocations.index.item(dump.values.allocation[value]),
                "shape": shape_text(dump, value),
                "op_name": origin.op_name,
                "derived_from": origin.derived.name if origin.derived else None,
            }
        )
    return found


def _live_at_peak(report: Report, one: SpaceReport) -> list[Json]:
    if one.peak is None:
        return []
    owned_of = dict(one.owned)
    # The list may be truncated.
    rows = zip(one.peak.values.tolist(), _live_values(report, one.peak.values), strict=False)
    return [{**row, "owned_bytes": owned_of.get(value, 0)} for value, row in rows]


# ---------------------------------------------------------------- parts of a memory space


def _lines(report: Report, one: SpaceReport) -> Json | None:
    bounds = _bounds(one.space.live_bound, "size_bytes") | _bounds(report.sourced.bound, "lines")
    lines = one.lines and replace(one.lines, lines=tuple(_with_limited_stacks(one.lines.lines)))
    return {**_facts(report.dump, lines), "bounds": bounds}


_MOST_CALLS: Final = 100_000
"""The most calls in the stacks of all lines together. Without a limit, a file with N deep stacks has tens of times as
many bytes as the dump.
"""


def _with_limited_stacks(lines: Sequence[LineBytes]) -> Iterator[LineBytes]:
    calls = 0
    for line in lines:
        shown: list[StackBytes] = []
        for stack in line.stacks:
            calls += len(stack.frames)
            if calls <= _MOST_CALLS:
                shown.append(stack)
        yield replace(line, stacks=tuple(shown))


def _sources(report: Report, one: SpaceReport) -> Json:
    trees = _facts(report.dump, one.sources)
    return {"bounds": _bounds(report.sourced.bound, *trees), **trees}


def _alive(report: Report, one: SpaceReport) -> list[Json]:
    dump = report.dump
    return [
        {
            **value_name(dump, without.value, "size_bytes end_step"),
            **_facts(dump, without),
            "reason": (without.ending.reason if without.ending else Reason.UNKNOWN).name.lower(),
            "ended_by": reader_names(dump, without.ending) if without.ending else [],
        }
        for without in one.alive
    ]


def _padding(report: Report, one: SpaceReport) -> Json | None:
    dump, at_peak = report.dump, one.padding
    if at_peak is None:
        return None
    values = [
        {
            **value_name(dump, padded.value, "size_bytes"),
            "shape": shape_text(dump, padded.value),
            "logical_bytes": padding and padding.logical_bytes,
            "padding_bytes": padded.padding_bytes,
            "causes": _facts(dump, padding.parts) if padding else [],
            "unexplained": padding and padding.unexplained,
        }
        for padded in one.most_padded
        for padding in [padded.padding]
    ]
    return {"padding_bytes": at_peak.total_bytes, "unknown_bytes": at_peak.unknown_bytes, "values": values}


def _arena(report: Report, arena: AllocationHistory) -> Json:
    dump, steps = report.dump, arena.full_size_steps
    holes = arena.free_at(arena.space_peak_step)
    return {
        "allocation": dump.allocations.index.item(arena.allocation),
        **_facts(dump, arena),
        "holes": pairs(holes.start, holes.end) if holes else [],
        "full_size_steps": pairs(steps.start, steps.end - 1),
        "reaching": [value_name(dump, value) for value in arena.reaching[: report.options.top].tolist()],
    }


def _budget(report: Report, one: SpaceReport) -> Json | None:
    if one.budget is None:
        return None
    values = one.budget.plan.values
    return {**_facts(report.dump, one.budget), "count": len(values), "values": _live_values(report, values)}


_PARTS: Final[Mapping[str, tuple[Part, Callable[[Report, SpaceReport], Any]]]] = {
    "live_at_peak": (Part.LIVE, _live_at_peak),
    "curve": (Part.CURVE, lambda _, one: pairs(one.space.live.steps, one.space.live.live_bytes)),
    "lines": (Part.LINE, _lines),
    "sources": (Part.SOURCE, _sources),
    "alive_at_peak": (Part.ALIVE, _alive),
    "padding": (Part.PADDING, _padding),
    "arenas": (Part.ARENAS, lambda report, one: [_arena(report, arena) for arena in one.arenas]),
    "budget": (Part.BUDGET, _budget),
}
"""What JSON has of each memory space, and the parts that ask for it."""

_LISTS: Final = ("live_at_peak", "curve", "alive_at_peak", "arenas")


# ---------------------------------------------------------------- donation and advice


def _donation(dump: DumpSet, donation: Donation, top: int | None) -> Json:
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


def _advice(report: Report, advice: Advice) -> Json:
    dump, top = report.dump, report.options.top
    more = {
        "actions": [
            {
                "rule": action.rule,
                "what": plain_text(what_to_do(dump, action)),
                "snippet": snippet_of(dump, action),
                **_facts(dump, action),
            }
            for action in advice.actions[:top]
        ],
        "arguments": _facts(dump, advice.arguments[:top]),
    }
    return {name: more.get(name, fact) for name, fact in _facts(dump, advice).items()}
