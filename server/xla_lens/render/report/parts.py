"""The parts of a report as text: what explains the peak, and what might be saved."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from xla_lens.features.report.facts import (
    AliveValue,
    ArenaReport,
    BudgetReport,
    DonationReport,
    LiveSet,
    PaddingReport,
    SourceNode,
    SourceReport,
    ValueName,
)
from xla_lens.model.printed_peak import CountedBytes, PrintedPeak
from xla_lens.render.numbers import counted, human, percent, shortened
from xla_lens.render.padding import padding_part
from xla_lens.render.report.tables import WIDEST_NAME, WIDEST_SHAPE, table

_MOST_SHOWN: Final = 8
"""Of lists within a line or a tree."""

_SMALLEST_SHARE: Final = 0.01
"""Branches of a tree that have less than that of the peak are told together."""


def _name(value: ValueName) -> str:
    return shortened(value.name + (value.index or ""), WIDEST_NAME)


# ---------------------------------------------------------------- the printed peak


_TERMS: Final = (
    ("live_bytes", "live in the default memory space", 1),
    ("died_bytes", "+ died one step before", 1),
    ("tuple_bytes", "+ counted as the whole tuple", 1),
    ("other_space_bytes", "+ in other memory spaces", 1),
    ("shared_bytes", "+ on the same bytes, counted twice", 1),
    ("padding_bytes", "- padding, which shapes do not have", -1),
    ("unplaced_bytes", "+ in no allocation", 1),
)


def explained_text(explained: PrintedPeak) -> Iterator[str]:
    """What XLA counted where it printed a peak and at the true one, and what it listed."""
    columns: list[tuple[str, CountedBytes | None]] = [
        ("printed list", explained.listed),
        (f"counted at step {explained.step}", explained.counted_at_printed),
    ]
    peak = explained.counted_at_peak
    if peak and peak.step != explained.step:
        columns.append((f"counted at step {peak.step}", peak))
    known = [(title, terms) for title, terms in columns if terms]
    if not known:
        return
    rows = [["Why XLA prints that", *(title for title, _ in known)]]
    for field, title, sign in _TERMS:
        sizes = [int(getattr(terms, field)) * sign for _, terms in known]
        if any(sizes) or field == "live_bytes":
            rows.append([f"  {title}", *(human(abs(size) if sign < 0 and size <= 0 else size) for size in sizes)])
    rows.append(["  = XLA's sum", *(human(terms.total_bytes) for _, terms in known)])
    yield from table(rows, left=(0,))
    yield "  XLA prints the first step at which what it counts adds up to the most."


# ---------------------------------------------------------------- over time


_ROWS: Final = 40
_BAR: Final = 60


def curve_text(curve: Sequence[tuple[int, int]], peak: LiveSet, space: str, last_step: int) -> Iterator[str]:
    """The most bytes that are live in each of some parts of the schedule, as bars."""
    yield f"Live bytes of {space} over time, at most"
    parts = min(_ROWS, last_step + 1)
    bounds = [number * (last_step + 1) // parts for number in range(parts + 1)]
    place, live = 0, 0
    rows = []
    for first, after in pairwise(bounds):
        most = live if place >= len(curve) or curve[place][0] > first else 0
        while place < len(curve) and curve[place][0] < after:
            live = curve[place][1]
            most, place = max(most, live), place + 1
        steps = f"{first}-{after - 1}" if after - first > 1 else f"{first}"
        rows.append([f"  {steps}", human(most), "█" * round(_BAR * most / max(peak.live_bytes, 1))])
    yield from table(rows, left=(2,))


# ---------------------------------------------------------------- where the bytes come from


def source_text(sources: SourceReport, space: str) -> Iterator[str]:
    """The trees by op_name and by opcode."""
    total = sources.by_op_name.size_bytes
    for title, tree in (("op_name", sources.by_op_name), ("opcode", sources.by_opcode), ("kind", sources.by_kind)):
        yield f"At the peak of {space} by {title}: {human(total)}"
        rows = [[human(size), percent(size, total), name] for size, name in _branches(tree, total, 1)]
        if rows:
            yield from table(rows, left=(2,))


def _branches(node: SourceNode, total: int, depth: int) -> Iterator[tuple[int, str]]:
    """The children of a node, and below each its own. A chain of single children is one row."""
    indent = "  " * depth
    small = 0
    for number, child in enumerate(node.children):
        if number >= _MOST_SHOWN or child.size_bytes < _SMALLEST_SHARE * total:
            small += child.size_bytes
            continue
        name = child.name if child.name is not None else "(not told)"
        while len(child.children) == 1 and not child.own_bytes:
            child = child.children[0]  # noqa: PLW2901
            name = f"{name}/{child.name}"
        yield child.size_bytes, f"{indent}{shortened(name, 2 * WIDEST_NAME)}  {counted(child.count, 'value')}"
        yield from _branches(child, total, depth + 1)
    if small:
        yield small, f"{indent}(smaller ones)"
    if node.own_bytes and node.children:
        yield node.own_bytes, f"{indent}(itself)"


_REASONS: Final = {
    "parameter": "the caller's, to the end",
    "live_out": "part of the result",
    "read": "read by {by}",
    "called": "inside of a call, under another name",
    "replaced": "its bytes are taken over",
    "passed_on": "passed on by {by}",
    "unused": "nothing reads it",
    "computation_end": "the end of its computation",
    "unknown": "not told",
}


def alive_text(values: Sequence[AliveValue], peak: LiveSet, space: str) -> Iterator[str]:
    """Until when and why values are live, and the peak without each."""
    yield f"The peak of {space} without one value, {human(peak.live_bytes)} with all"
    header = ["  the peak were", "at step", "freed", "value", "live until", "because"]
    rows = [
        [
            f"  {human(value.next_peak_bytes)}",
            f"{value.next_peak_step}" if value.next_peak_step is not None else "",
            human(value.freed_bytes),
            _name(value),
            f"{value.end_step}",
            _REASONS[value.reason].format(by=_some(value.ended_by)),
        ]
        for value in values
    ]
    yield from table([header, *rows], left=(3, 5))


def _some(names: Sequence[str]) -> str:
    more = len(names) - 2
    return ", ".join(shortened(name, WIDEST_NAME) for name in names[:2]) + (f" and {more} more" if more > 0 else "")


# ---------------------------------------------------------------- padding


def padding_text(padding: PaddingReport, space: str) -> Iterator[str]:
    """The padding at the peak, and which dimension of which value costs what."""
    unknown = f"; of {human(padding.unknown_bytes)} it cannot be told" if padding.unknown_bytes else ""
    yield f"Padding at the peak of {space}: {human(padding.padding_bytes)}{unknown}"
    if not padding.values:
        return
    header = ["  padding", "of", "value", "shape", "because"]
    rows = [
        [
            f"  {human(value.padding_bytes)}",
            human(value.size_bytes),
            _name(value),
            shortened(value.shape, WIDEST_SHAPE),
            "; ".join(map(padding_part, value.causes)) or (value.unexplained or ""),
        ]
        for value in padding.values
    ]
    yield from table([header, *rows], left=(2, 3, 4))


# ---------------------------------------------------------------- arenas


def arenas_text(arenas: Sequence[ArenaReport], peak: LiveSet | None, space: str) -> Iterator[str]:
    """What of each arena is never used at once, and when it needs its full size."""
    header = [
        f"Arenas of {space}",
        "size",
        "most live at once",
        "fragmentation",
        "free at the peak",
        "full size at steps",
    ]
    rows = [
        [
            f"  allocation {arena.allocation}",
            human(arena.size_bytes),
            human(arena.peak_bytes),
            f"{100 * arena.fragmentation:.1f} %" if arena.fragmentation is not None else "-",
            f"{human(sum(end - start for start, end in arena.holes))} in {counted(len(arena.holes), 'hole')}"
            if peak
            else "",
            _steps(arena.full_size_steps),
        ]
        for arena in arenas
    ]
    yield from table([header, *rows], left=(0, 5))
    for arena in arenas:
        if arena.reaching and arena.full_size_steps:
            more = len(arena.reaching) - 2
            names = ", ".join(_name(value) for value in arena.reaching[:2]) + (f" and {more} more" if more > 0 else "")
            yield f"  allocation {arena.allocation} needs its full size because of {names}."
        if arena.biography:
            yield from _biography(arena)


def _steps(steps: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{first}-{last}" if first != last else f"{first}" for first, last in steps[:_MOST_SHOWN])
    return shown + (" ..." if len(steps) > _MOST_SHOWN else "")


def _biography(arena: ArenaReport) -> Iterator[str]:
    yield f"  Who holds which bytes of allocation {arena.allocation} when"
    rows = [
        [
            f"    {slot.offset:,}",
            f"{slot.end_offset:,}",
            human(slot.end_offset - slot.offset),
            f"{slot.start_step}-{slot.end_step}" if slot.start_step is not None else "",
            _name(slot),
        ]
        for slot in arena.biography or ()
    ]
    yield from table([["    from byte", "to", "size", "steps", "value"], *rows], left=(3, 4))


# ---------------------------------------------------------------- what might be saved


def budget_text(budget: BudgetReport, peak: LiveSet | None, space: str) -> Iterator[str]:
    """Which values would have to go."""
    if not budget.values:
        is_within = budget.is_reached and peak is not None
        told = "The peak is within it already." if is_within else "It cannot be reached."
        yield f"Budget of {human(budget.budget_bytes)} for {space}: {told}"
        return
    proven = "the fewest" if budget.is_proven_smallest else f"at least {budget.at_least:,} have to"
    yield (
        f"Within {human(budget.budget_bytes)} {space} would stay without {counted(len(budget.values), 'value')} "
        f"({proven}); the peak would be {human(budget.peak_bytes)}"
    )
    rows = [
        [f"  {human(value.size_bytes)}", _name(value), f"{value.start_step}-{value.end_step}", value.op_name or ""]
        for value in budget.values
    ]
    yield from table([["  size", "value", "live", "op_name"], *rows], left=(1, 2, 3))


_FITS: Final = {
    "free": "the parameter is dead before",
    "in place": "if its last reader writes in place",
    "shared": "others are in that buffer before: less may be saved",
}


def donation_text(donation: DonationReport) -> Iterator[str]:
    """What donation saves and might save, and what it costs in copies."""
    donated = f"{counted(donation.donated_count, 'parameter')} ({human(donation.donated_bytes)})"
    holding = (
        f"outputs are in the memory of {donated}" if donation.donated_count else "no parameter's memory holds outputs"
    )
    could = f"{donation.missed_count:,} more could" if donation.missed_count else "no more could, as far as can be told"
    yield f"Donation: {holding}, {could}"
    if donation.missed:
        for fit, size_bytes in donation.missed_bytes.items():
            if size_bytes:
                yield f"  {human(size_bytes)} at stake, {_FITS[fit]}"
        header = ["  size", "parameter", "read last at", "output", "made at", "how sure"]
        rows = [
            [
                f"  {human(row.size_bytes)}",
                _name(row.parameter),
                f"{row.last_read}" if row.last_read is not None else "never",
                _name(row.output),
                f"{row.birth}",
                row.fit,
            ]
            for row in donation.missed
        ]
        yield from table([header, *rows], left=(1, 3, 5))
    if donation.copies:
        copies = counted(donation.copies_count, "copy").replace("copys", "copies")
        yield f"  {copies} ({human(donation.copies_bytes)}) keep parameters apart from outputs:"
        copied = ((row.size_bytes, _name(row.copy), _name(row.parameter)) for row in donation.copies)
        yield from table([[f"  {human(size)}", copy, f"of {name}"] for size, copy, name in copied], left=(1, 2))
