"""The parts of a report about allocations: preallocated temps, their fragmentation and their history."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import ArenaReport, Report, SpaceReport
from xla_lens.model.memory.allocation_history import AllocationHistory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.numbers import counted, human
from xla_lens.render.report.blocks import Linked, Section, Sections, Table, Text, headers
from xla_lens.render.report.values import allocation_link, first_values, space_of, steps_text, value_link
from xla_lens.syntax.columns import NONE, Column

_MAX_STEPS: Final = 8
"""Maximum number of step ranges shown in a cell."""


def arenas_sections(report: Report, one: SpaceReport) -> Sections:
    """Each preallocated temp: how much of it is never used at once, and which values at which steps set its size."""
    if not one.arenas:
        return ()
    dump, space = report.dump, space_of(report, one)
    titles = ("", "size", "peak", "fragmentation", f"free at the {space} peak", "last byte in use at steps")
    rows = tuple(_arena_row(dump, arena) for arena in one.arenas)
    reasons: tuple[Text, ...] = tuple(
        ("The size of ", _link(dump, arena), " is set by ", *first_values(dump, arena.history.reaching), ".")
        for arena in one.arenas
        if len(arena.history.full_size_steps)
    )
    return (
        Section(f"Preallocated temps in {space}", (Table(headers(*titles, text=("", titles[-1])), rows), *reasons)),
        *(
            history_section(dump, arena.history, arena.history_rows, level=1)
            for arena in one.arenas
            if arena.history_rows is not None and len(arena.history_rows)
        ),
    )


def _arena_row(dump: DumpSet, one: ArenaReport) -> tuple[Text, ...]:
    arena, holes = one.history, one.history.free_at(one.history.space_peak_step)
    return (
        _link(dump, one),
        human(arena.size_bytes),
        human(arena.peak_bytes),
        f"{100 * arena.fragmentation:.1f} %" if arena.fragmentation is not None else "-",
        f"{human(holes.total)} in {counted(len(holes), 'hole')}" if holes is not None else "",
        ", ".join(_full_size_steps(one)),
    )


def _link(dump: DumpSet, one: ArenaReport) -> Linked:
    return allocation_link(int(dump.allocations.index[one.history.allocation]))


def _full_size_steps(one: ArenaReport) -> Iterator[str]:
    steps = one.history.full_size_steps
    for start, end in zip(steps.start[:_MAX_STEPS].tolist(), steps.end[:_MAX_STEPS].tolist(), strict=True):
        yield steps_text(start, end - 1) if end - start > 1 else f"{start}"
    if len(steps) > _MAX_STEPS:
        yield "..."


def history_section(dump: DumpSet, history: AllocationHistory, rows: Column, level: int = 0) -> Section:
    """Which values occupy which bytes of an allocation, and when. `rows` are the rows of the history to show."""
    columns = (history.value, history.offset, history.end_offset, history.start_step, history.end_step)
    table = Table(
        headers("start offset", "end offset", "size", "live", "value", text=("live", "value")),
        tuple(
            (
                f"{offset:,}",
                f"{end:,}",
                human(end - offset),
                steps_text(first, last) if first != NONE else "",
                value_link(dump, value),
            )
            for value, offset, end, first, last in zip(*(column[rows].tolist() for column in columns), strict=True)
        ),
    )
    return Section(f"History of allocation {dump.allocations.index[history.allocation]}", (table,), level)
