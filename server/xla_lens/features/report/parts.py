"""The parts of a report: where the bytes at the peak come from, why they are there, and what might be saved."""

from collections.abc import Iterator

import numpy as np

from xla_lens.features.report.facts import (
    AliveValue,
    ArenaReport,
    BudgetReport,
    DonatedBuffer,
    DonationReport,
    LineReport,
    MissedDonation,
    PaddedValue,
    PaddingReport,
    ParameterCopy,
    Slot,
    SourceLine,
    SourceNode,
    SourceReport,
    SourceStack,
)
from xla_lens.features.report.values import live_value_rows, name_cells, names_of, shape_text, value_name
from xla_lens.model.advice.alive import Reason, last_uses
from xla_lens.model.advice.budget import smallest_set
from xla_lens.model.advice.donation import Fit, find_donation
from xla_lens.model.advice.next_peak import next_peaks
from xla_lens.model.advice.padding import padding_at, padding_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.bytes_by_line import LineBytes, bytes_by_line
from xla_lens.model.attribution.bytes_by_op import BytesNode, bytes_by_op
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.allocation_history import Biography, Intervals, arenas, biography
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


def line_report(dump: DumpSet, module: HloModule | None, space: MemorySpace, step: int, top: int | None) -> LineReport:
    """Which lines the bytes of a memory space at a step come from."""
    found = bytes_by_line(dump, module, step, space.color)
    lines, unknown = ([line for line in found.lines if (line.frame is None) is wanted] for wanted in (False, True))
    return LineReport(
        size_bytes=sum(line.size_bytes for line in found.lines),
        count=len(found.lines),
        lines=tuple(_line(dump, line) for line in (*lines[:top], *unknown)),
        rest_bytes=sum(line.size_bytes for line in lines[top:]) if top is not None else 0,
        unresolved_bytes=found.unresolved_bytes,
    )


def _line(dump: DumpSet, line: LineBytes) -> SourceLine:
    frame = line.frame
    return SourceLine(
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        function=frame.function if frame else None,
        size_bytes=line.size_bytes,
        values=tuple(dump.values.id[list(line.values)].tolist()),
        stacks=tuple(SourceStack(stack.size_bytes, stack.frames) for stack in line.stacks),
    )


def source_report(dump: DumpSet, space: MemorySpace, step: int) -> SourceReport:
    """Where the bytes of a memory space at a step come from."""
    sources = bytes_by_op(dump, step, space.color)
    return SourceReport(*(_node(dump, node) for node in (sources.by_op_name, sources.by_opcode, sources.by_kind)))


def _node(dump: DumpSet, node: BytesNode) -> SourceNode:
    return SourceNode(
        name=node.name,
        size_bytes=node.size_bytes,
        own_bytes=node.own_bytes,
        count=node.count,
        values=tuple(dump.values.id[list(node.values)].tolist()),
        children=tuple(_node(dump, child) for child in node.children),
    )


def alive_values(analysis: Analysis, space: MemorySpace, top: int | None) -> tuple[AliveValue, ...]:
    """Why values are live at the peak of a memory space; those that would lower it most come first."""
    dump = analysis.dump
    peaks = next_peaks(dump, analysis.memory, space.color)
    order = np.lexsort((peaks.value, -peaks.freed_bytes, peaks.next_peak_bytes))
    return tuple(
        _alive(
            dump,
            int(peaks.value[row]),
            int(peaks.freed_bytes[row]),
            int(peaks.next_peak_bytes[row]),
            int(peaks.next_peak_step[row]),
        )
        for row in order[:top].tolist()
    )


def _alive(dump: DumpSet, value: int, freed_bytes: int, next_bytes: int, next_step: int) -> AliveValue:
    ending = last_uses(dump, value)
    rows = [(dump.uses.name, row) for row in (ending.uses if ending else ())]
    rows += [(dump.positions.name, row) for row in (ending.positions if ending else ())]
    return AliveValue(
        *name_cells(dump, value),
        size_bytes=int(dump.values.size_bytes[value]),
        freed_bytes=freed_bytes,
        next_peak_bytes=next_bytes,
        next_peak_step=next_step if next_step != NONE else None,
        end_step=int(dump.values.end_step[value]),
        reason=(ending.reason if ending else Reason.UNKNOWN).name.lower(),
        ended_by=tuple(dict.fromkeys(dump.label(int(names[row]), NONE) for names, row in rows)),
    )


def padding_report(dump: DumpSet, space: MemorySpace, step: int, top: int | None) -> PaddingReport:
    """The padding at a step."""
    values, owned = owned_bytes(dump, step, space.color)
    padding = padding_at(dump, values, owned)
    order = np.lexsort((values, -padding.padding_bytes))
    order = order[padding.padding_bytes[order] > 0]
    rows = ((int(values[row]), int(padding.padding_bytes[row])) for row in order[:top].tolist())
    return PaddingReport(
        padding_bytes=padding.total_bytes,
        unknown_bytes=padding.unknown_bytes,
        values=tuple(_padded(dump, value, size_bytes) for value, size_bytes in rows),
    )


def _padded(dump: DumpSet, value: int, padding_bytes: int) -> PaddedValue:
    padding = padding_of(dump, value)
    return PaddedValue(
        *name_cells(dump, value),
        shape=shape_text(dump, value),
        size_bytes=int(dump.values.size_bytes[value]),
        logical_bytes=padding.logical_bytes if padding else None,
        padding_bytes=padding_bytes,
        causes=padding.parts if padding else (),
        unexplained=padding.unexplained.value if padding and padding.unexplained else None,
    )


# ---------------------------------------------------------------- allocations


def arena_reports(analysis: Analysis, color: int, top: int | None, slots: int | None) -> Iterator[ArenaReport]:
    """The arenas of a memory space, with so many slots of their biographies; None for no biography."""
    dump, memory = analysis.dump, analysis.memory
    for arena in arenas(dump, memory):
        if arena.color != color:
            continue
        life = biography(dump, memory, arena.allocation)
        yield ArenaReport(
            allocation=int(dump.allocations.index[arena.allocation]),
            size_bytes=arena.size_bytes,
            peak_step=arena.peak_step,
            peak_bytes=arena.peak_bytes,
            fragmentation=arena.fragmentation,
            never_used_bytes=life.never_used_bytes,
            holes=_pairs(life.free_at_space_peak, 0),
            full_size_steps=_pairs(arena.full_size_steps, 1),
            reaching=names_of(dump, arena.reaching, top),
            biography=tuple(slots_of(dump, life, np.arange(len(life.value))[:slots])) if slots is not None else None,
        )


def _pairs(intervals: Intervals | None, less: int) -> tuple[tuple[int, int], ...]:
    if intervals is None:
        return ()
    return tuple(zip(intervals.start.tolist(), (intervals.end - less).tolist(), strict=True))


def slots_of(dump: DumpSet, life: Biography, rows: Column) -> Iterator[Slot]:
    """Some rows of a biography."""
    columns = (life.value, life.offset, life.end_offset, life.start_step, life.end_step)
    for value, offset, end, first, last in zip(*(column[rows].tolist() for column in columns), strict=True):
        steps = (None, None) if first == NONE else (first, last)
        yield Slot(*name_cells(dump, value), offset, end, *steps)


# ---------------------------------------------------------------- what might be saved


def budget_report(analysis: Analysis, space: MemorySpace, budget_bytes: int) -> BudgetReport | None:
    """What would have to go for a memory space to stay within a budget."""
    plan = smallest_set(analysis.dump, analysis.memory, space.color, budget_bytes)
    if plan is None:
        return None
    return BudgetReport(
        budget_bytes=budget_bytes,
        is_reached=plan.is_reached,
        is_proven_smallest=plan.is_proven_smallest,
        at_least=plan.at_least,
        peak_bytes=plan.peak_bytes,
        peak_step=plan.peak_step,
        values=tuple(live_value_rows(analysis.dump, plan.values)),
    )


def donation_report(dump: DumpSet, top: int | None) -> DonationReport | None:
    """Donated parameters, those that could have been, and copies of parameters; None if the set does not tell."""
    donation = find_donation(dump)
    if not donation.is_known:
        return None
    return DonationReport(
        donated_count=len(donation.donated),
        donated_bytes=donation.donated_bytes,
        donated=tuple(
            DonatedBuffer(
                value_name(dump, row.parameter), tuple(value_name(dump, heir) for heir in row.heirs), row.size_bytes
            )
            for row in donation.donated[:top]
        ),
        missed_count=len(donation.missed),
        missed_bytes={fit.value: donation.missed_bytes(fit) for fit in Fit},
        missed=tuple(
            MissedDonation(
                value_name(dump, row.parameter),
                value_name(dump, row.output),
                row.last_read,
                row.birth,
                row.fit.value,
                row.size_bytes,
            )
            for row in donation.missed[:top]
        ),
        copies_count=len(donation.kept_apart),
        copies_bytes=donation.kept_apart_bytes,
        copies=tuple(
            ParameterCopy(value_name(dump, row.copy), value_name(dump, row.parameter), row.is_output, row.size_bytes)
            for row in donation.kept_apart[:top]
        ),
    )
