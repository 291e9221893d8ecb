"""The parts of a report about the peak: totals, the recomputed and the printed peak, live values, live bytes."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from xla_lens.features.report.facts import LiveSet, Report, SpaceReport
from xla_lens.features.report.options import Part
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.tables.lookup import distinct
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.numbers import apart, capitalized, counted, human
from xla_lens.render.printed_peak import RULE, printed_peak_sums
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_SHAPE,
    Bar,
    Inline,
    Linked,
    Name,
    Role,
    Section,
    Sections,
    Table,
    Text,
    headers,
)
from xla_lens.render.report.values import (
    live_range_text,
    op_name_text,
    shape_text,
    space_of,
    step_link,
    steps_text,
    value_link,
)
from xla_lens.render.sources import frame_text
from xla_lens.render.warrants import bounded, bounded_size, reasons, share, suffix, worst


def totals_sections(report: Report) -> Sections:
    """The reserved bytes of each memory space, by what the allocations are for."""
    if not report.spaces or Part.TOTALS not in report.options.parts:
        return ()
    allocations, kinds = report.dump.allocations, allocation_kinds(report.dump)
    is_in_space = [allocations.color == one.space.color for one in report.spaces]
    present = list(dict.fromkeys(kind for here in is_in_space for kind in distinct(kinds[here]).tolist()))
    rows: list[tuple[Text, ...]] = []
    for one, here in zip(report.spaces, is_in_space, strict=True):
        sizes = (allocations.size_bytes[here & (kinds == kind)].tolist() for kind in present)
        bound = one.space.reserved_bound
        columns = (bounded_size(sum(column), bound) if column else "" for column in sizes)
        totals = (bounded_size(size, bound) for size in (one.space.needed_bytes, one.space.reserved_bytes))
        rows.append((space_of(report, one), *totals, *columns))
    header = headers("", "needed", "reserved", *(KIND_NAMES[kind] for kind in present), text=("",))
    return (Section("Memory space", (Table(header, tuple(rows)), *_why(report, Quantity.RESERVED))),)


def _why(report: Report, *quantities: Quantity) -> tuple[str, ...]:
    """A sentence that says why the numbers of a table are not exact."""
    found = "; ".join(reasons(report.warrants.of(*quantities).gaps))
    return (f"Not exact: {found}.",) if found else ()


# ---------------------------------------------------------------- the recomputed and the printed peak


def peak_sections(report: Report) -> Sections:
    """The recomputed peak of each memory space, and the peak that XLA prints."""
    if not report.has_live_ranges or Part.PEAK not in report.options.parts:
        return ()
    blocks: list[Text | Table] = []
    if report.spaces:
        titles = ("", "live bytes", "of reserved", "at step", "instruction", "live at the printed peak")
        rows = tuple(_peak_row(report, one) for one in report.spaces)
        blocks.append(Table(headers(*titles, text=("", "instruction")), rows))
    if report.printed:
        step, size_bytes = report.printed
        bound = report.warrants.of(Quantity.PRINTED_PEAK).bound
        printed = f"XLA prints a peak of {bounded_size(size_bytes, bound)} at step {step}"
        blocks.append((Linked(printed, Entity(EntityKind.PRINTED_PEAK, 0)), "."))
    blocks += _why(report, Quantity.LIVE, Quantity.PRINTED_PEAK)
    return (Section("Peak", tuple(blocks)),) if blocks else ()


def _peak_row(report: Report, one: SpaceReport) -> tuple[Text, ...]:
    space, printed = one.space, one.live_at_printed_peak
    instruction = report.dump.instruction_at(space.peak_step) if space.peak_step is not None else None
    is_known = space.live_bound is not Bound.UNKNOWN
    live_bytes = space.peak_live_bytes
    return (
        space_of(report, one),
        bounded_size(live_bytes, space.live_bound),
        share(live_bytes, space.reserved_bytes, worst(space.live_bound, space.reserved_bound)),
        step_link(space.peak_step) if is_known else "",
        Name(instruction or "") if is_known else "",
        bounded(apart(printed, live_bytes), space.live_bound) if printed is not None else "",
    )


def printed_peak_sections(report: Report) -> Sections:
    """What XLA added up to choose the step that it prints, and what it would have added up at the real peak."""
    printed = report.printed_peak
    if printed is None or not report.has_live_ranges:
        return ()
    sums = printed_peak_sums(printed, space_of(report, DEFAULT_COLOR))
    if sums is None:
        return ()
    table = Table(headers("", *sums.titles, text=("",)), sums.rows)
    return (Section("What XLA's printed peak counts", (table, RULE)),)


# ---------------------------------------------------------------- live values


def live_at_peak_sections(report: Report, one: SpaceReport) -> Sections:
    """What is live at the peak of a memory space, biggest first."""
    if one.peak is None or Part.LIVE not in report.options.parts:
        return ()
    return live_set_sections(report, one.peak, f"Live at the {space_of(report, one)} peak")


def live_at_step_sections(report: Report, one: SpaceReport) -> Sections:
    """What is live in a memory space at the requested step, biggest first."""
    return live_set_sections(report, one.at_step, f"Live in {space_of(report, one)}") if one.at_step else ()


def live_set_sections(report: Report, live: LiveSet, title: str) -> Sections:
    """The values that are live at a step, biggest first."""
    values = live.values[: report.options.top].tolist()
    sources = _sources(report, values)
    titles = ("value", *(("source",) if sources else ()), "shape", "live", "op_name")
    header = headers("size", "share", *titles, text=titles)
    left_out = len(live.values) - len(values)
    bound = report.warrants.of(Quantity.LIVE).bound
    rest = (f"... and {bounded(counted(left_out, 'smaller value'), bound)}",) if left_out else ()
    instruction = report.dump.instruction_at(live.step)
    runs: tuple[Inline, ...] = (" (", Name(instruction, widest=LONGEST_NAME), ")") if instruction else ()
    warrant = report.warrants.of(Quantity.LIVE)
    count = bounded(counted(len(live.values), "value"), warrant.bound)
    found = f"{title}: {bounded_size(live.live_bytes, warrant.bound)} in {count} at "
    table = Table(header, tuple(_live_rows(report, live, sources, values)))
    where = (step_link(live.step, f"step {live.step}"), *runs, suffix(warrant))
    return (Section((found, *where), (table, *rest)),)


def _live_rows(
    report: Report, live: LiveSet, sources: Mapping[int, Name], values: list[int]
) -> Iterator[tuple[Text, ...]]:
    dump, bound = report.dump, report.warrants.of(Quantity.LIVE).bound
    for value in values:
        size_bytes = int(dump.values.size_bytes[value])
        yield (
            human(size_bytes),
            share(size_bytes, live.live_bytes, bound),
            value_link(dump, value),
            *((sources.get(value, ""),) if sources else ()),
            Name(shape_text(dump, value), widest=WIDEST_SHAPE, role=Role.SHAPE),
            live_range_text(dump, value),
            op_name_text(report, value),
        )


def _sources(report: Report, values: list[int]) -> dict[int, Name]:
    """The source lines of values, without the folders of their files unless several files have the same name."""
    if not report.options.has_source_lines:
        return {}
    lines = {value: line for value in values if (line := report.origins.of_value(value).line)}
    paths: dict[str, set[str]] = {}
    for frame in lines.values():
        paths.setdefault(frame.file.rpartition("/")[2], set()).add(frame.file)
    found: dict[int, Name] = {}
    for value, frame in lines.items():
        path, name = frame_text(frame), frame.file.rpartition("/")[2]
        text = path.rpartition("/")[2] if len(paths[name]) == 1 else path
        found[value] = Name(text, widest=WIDEST_SHAPE, role=Role.SOURCE, frame=frame)
    return found


# ---------------------------------------------------------------- live bytes over time


_ROWS: Final = 40
_BAR: Final = 60


def curve_sections(report: Report, one: SpaceReport) -> Sections:
    """The live bytes of a memory space over the schedule, as bars; each bar is the maximum of its steps."""
    if one.peak is None or Part.CURVE not in report.options.parts:
        return ()
    curve, end = one.space.live, (report.end_step or 0) + 1
    parts = min(_ROWS, end)
    bounds = [number * end // parts for number in range(parts + 1)]
    rows: list[tuple[Text, ...]] = []
    for first, after in pairwise(bounds):
        most = curve.most_between(first, after - 1)
        steps = steps_text(first, after - 1) if after - first > 1 else f"{first}"
        rows.append(
            (step_link(first, steps), bounded_size(most, one.space.live_bound), Bar(most, one.peak.live_bytes, _BAR))
        )
    bars = Table(headers("steps", "live bytes", "", text=("",)), tuple(rows), has_text_header=False)
    title = f"{capitalized(space_of(report, one))} live bytes over time (maximum of the steps in each row)"
    title += suffix(report.warrants.of(Quantity.LIVE))
    return (Section(title, (bars,)),)
