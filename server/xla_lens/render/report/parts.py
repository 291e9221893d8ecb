"""The parts of a report: what is live, where it comes from and why."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from xla_lens.features.report.facts import (
    AliveValue,
    ArenaReport,
    LiveSet,
    PaddingReport,
    Slot,
    SourceNode,
    SourceReport,
)
from xla_lens.model.memory.printed_peak import CountedBytes, PrintedPeak
from xla_lens.render.numbers import counted, human, percent
from xla_lens.render.padding import padding_part as padding_cause
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_NAME,
    WIDEST_SHAPE,
    Name,
    Part,
    Section,
    Table,
    Word,
    Words,
    joined,
)
from xla_lens.render.report.words import allocation_link, op_name_word, step_link, value_link

_MOST_SHOWN: Final = 8
"""Of lists within a line or a tree."""

_SMALLEST_SHARE: Final = 0.01
"""Branches of a tree that have less than that of the peak are told together."""


# ---------------------------------------------------------------- live values


def live_set_part(live: LiveSet, title: str) -> Part:
    """What takes bytes of a memory space at a step, biggest first."""
    instruction: tuple[Word, ...] = (" (", Name(live.instruction, widest=LONGEST_NAME), ")") if live.instruction else ()
    told = f"{title}: {human(live.live_bytes)} in {counted(live.count, 'value')} at "
    header = ("size", "share", "value", "shape", "live", "op_name")
    rows = tuple(
        (
            human(value.size_bytes),
            percent(value.size_bytes, live.live_bytes),
            value_link(value),
            Name(value.shape, widest=WIDEST_SHAPE),
            f"{value.start_step}-{value.end_step}",
            op_name_word(value),
        )
        for value in live.values
    )
    left_out = live.count - len(live.values)
    rest = (f"... and {counted(left_out, 'smaller value')}",) if left_out else ()
    title_words = (told, step_link(live.step, f"step {live.step}"), *instruction)
    return (Section(title_words, (Table(header, rows, left=(2, 3, 4, 5)), *rest)),)


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


def explained_part(explained: PrintedPeak) -> Part:
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
        return ()
    rows: list[tuple[Words, ...]] = []
    for field, title, sign in _TERMS:
        sizes = [int(getattr(terms, field)) * sign for _, terms in known]
        if any(sizes) or field == "live_bytes":
            rows.append((title, *(human(abs(size) if sign < 0 and size <= 0 else size) for size in sizes)))
    rows.append(("= XLA's sum", *(human(terms.total_bytes) for _, terms in known)))
    sums = Table(("", *(title for title, _ in known)), tuple(rows), left=(0,))
    rule = "XLA prints the first step at which what it counts adds up to the most."
    return (Section("Why XLA prints that", (sums, rule)),)


# ---------------------------------------------------------------- over time


_ROWS: Final = 40
_BAR: Final = 60


def curve_part(curve: Sequence[tuple[int, int]], peak: LiveSet, space: str, last_step: int) -> Part:
    """The most bytes that are live in each of some parts of the schedule, as bars."""
    parts = min(_ROWS, last_step + 1)
    bounds = [number * (last_step + 1) // parts for number in range(parts + 1)]
    place, live = 0, 0
    rows: list[tuple[Words, ...]] = []
    for first, after in pairwise(bounds):
        most = live if place >= len(curve) or curve[place][0] > first else 0
        while place < len(curve) and curve[place][0] < after:
            live = curve[place][1]
            most, place = max(most, live), place + 1
        steps = f"{first}-{after - 1}" if after - first > 1 else f"{first}"
        rows.append((step_link(first, steps), human(most), "█" * round(_BAR * most / max(peak.live_bytes, 1))))
    bars = Table(("steps", "live", ""), tuple(rows), left=(2,), has_plain_header=False)
    return (Section(f"Live bytes of {space} over time, at most", (bars,)),)


# ---------------------------------------------------------------- where the bytes come from


def source_part(sources: SourceReport, space: str) -> Part:
    """The trees by op_name, by opcode and by what the bytes are for."""
    total = sources.by_op_name.size_bytes
    trees = (("op_name", sources.by_op_name), ("opcode", sources.by_opcode), ("kind", sources.by_kind))
    return tuple(
        Section(f"At the peak of {space} by {title}: {human(total)}", (_tree(tree, total, title),))
        for title, tree in trees
    )


def _tree(tree: SourceNode, total: int, title: str) -> Table:
    rows = tuple((human(size), percent(size, total), name) for size, name in _branches(tree, total, 1))
    return Table(("size", "share", title), rows, left=(2,), has_plain_header=False, indent=0)


def _branches(node: SourceNode, total: int, depth: int) -> Iterator[tuple[int, Words]]:
    """The children of a node, and below each its own. A chain of single children is one row."""
    indent = "  " * depth
    small = 0
    for number, child in enumerate(node.children):
        if number >= _MOST_SHOWN or child.size_bytes < _SMALLEST_SHARE * total:
            small += child.size_bytes
            continue
        names = [child.name]
        while len(child.children) == 1 and not child.own_bytes:
            child = child.children[0]  # noqa: PLW2901
            names.append(child.name)
        yield child.size_bytes, (indent, _joined_name(names), f"  {counted(child.count, 'value')}")
        yield from _branches(child, total, depth + 1)
    if small:
        yield small, f"{indent}(smaller ones)"
    if node.own_bytes and node.children:
        yield node.own_bytes, f"{indent}(itself)"


def _joined_name(names: Sequence[str | None]) -> Word:
    not_told = "(not told)"
    if names == [None]:
        return not_told
    return Name("/".join(name if name is not None else not_told for name in names), widest=2 * WIDEST_NAME)


_REASONS: Final = {
    "parameter": "the caller's, to the end",
    "live_out": "part of the result",
    "read": "read by ",
    "called": "inside of a call, under another name",
    "replaced": "its bytes are taken over",
    "passed_on": "passed on by ",
    "unused": "nothing reads it",
    "computation_end": "the end of its computation",
    "unknown": "not told",
}


def alive_part(values: Sequence[AliveValue], peak: LiveSet, space: str) -> Part:
    """Until when and why values are live, and the peak without each."""
    header = ("the peak were", "at step", "freed", "value", "live until", "because")
    rows = tuple(
        (
            human(value.next_peak_bytes),
            step_link(value.next_peak_step),
            human(value.freed_bytes),
            value_link(value),
            step_link(value.end_step),
            _reason(value),
        )
        for value in values
    )
    title = f"The peak of {space} without one value, {human(peak.live_bytes)} with all"
    return (Section(title, (Table(header, rows, left=(3, 5)),)),)


def _reason(value: AliveValue) -> Words:
    reason = _REASONS[value.reason]
    return (reason, *_first(tuple(map(Name, value.ended_by)))) if reason.endswith(" ") else reason


def _first(names: Sequence[Name]) -> tuple[Word, ...]:
    """Two names, and how many more there are."""
    more = len(names) - 2
    return (*joined(names[:2], ", "), f" and {more} more") if more > 0 else joined(names, ", ")


# ---------------------------------------------------------------- padding


def padding_part(padding: PaddingReport, space: str) -> Part:
    """The padding at the peak, and which dimension of which value costs what."""
    unknown = f"; of {human(padding.unknown_bytes)} it cannot be told" if padding.unknown_bytes else ""
    title = f"Padding at the peak of {space}: {human(padding.padding_bytes)}{unknown}"
    rows = tuple(
        (
            human(value.padding_bytes),
            human(value.size_bytes),
            value_link(value),
            Name(value.shape, widest=WIDEST_SHAPE),
            "; ".join(map(padding_cause, value.causes)) or (value.unexplained or ""),
        )
        for value in padding.values
    )
    table = Table(("padding", "of", "value", "shape", "because"), rows, left=(2, 3, 4))
    return (Section(title, (table,) if rows else ()),)


# ---------------------------------------------------------------- arenas


def arenas_part(arenas: Sequence[ArenaReport], peak: LiveSet | None, space: str) -> Part:
    """What of each arena is never used at once, and when it needs its full size."""
    header = ("", "size", "most live at once", "fragmentation", "free at the peak", "full size at steps")
    rows = tuple(
        (
            allocation_link(arena.allocation),
            human(arena.size_bytes),
            human(arena.peak_bytes),
            f"{100 * arena.fragmentation:.1f} %" if arena.fragmentation is not None else "-",
            f"{human(sum(end - start for start, end in arena.holes))} in {counted(len(arena.holes), 'hole')}"
            if peak
            else "",
            _steps(arena.full_size_steps),
        )
        for arena in arenas
    )
    because = (
        (allocation_link(arena.allocation), " needs its full size because of ", *_first(names), ".")
        for arena in arenas
        if arena.full_size_steps and (names := tuple(map(value_link, arena.reaching)))
    )
    lives = ((arena.allocation, arena.biography) for arena in arenas if arena.biography)
    return (
        Section(f"Arenas of {space}", (Table(header, rows, left=(0, 5)), *because)),
        *(biography_section(allocation, slots) for allocation, slots in lives),
    )


def _steps(steps: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{first}-{last}" if first != last else f"{first}" for first, last in steps[:_MOST_SHOWN])
    return shown + (" ..." if len(steps) > _MOST_SHOWN else "")


def biography_section(allocation: int, slots: Sequence[Slot]) -> Section:
    """Who holds which bytes of an allocation when."""
    rows = tuple(
        (
            f"{slot.offset:,}",
            f"{slot.end_offset:,}",
            human(slot.end_offset - slot.offset),
            f"{slot.start_step}-{slot.end_step}" if slot.start_step is not None else "",
            value_link(slot),
        )
        for slot in slots
    )
    table = Table(("from byte", "to", "size", "steps", "value"), rows, left=(3, 4))
    return Section(f"Who holds which bytes of allocation {allocation} when", (table,), level=1)
