"""Where the memory of one dump set goes: the facts of `xla-lens report`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.memory import MemorySpace, live_values
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import MemberKind, module_name


@dataclass(frozen=True, slots=True)
class LiveValue:
    """A value that takes bytes at a step. What the set does not tell is None; `index` is None where the instruction
    has no tuple shape.
    """

    id: int
    name: str
    index: str | None
    allocation: int
    offset: int
    size_bytes: int
    shape: str
    start_step: int
    end_step: int
    op_name: str | None


@dataclass(frozen=True, slots=True)
class KindTotal:
    """The allocations of one memory space that are for the same."""

    kind: str
    allocations: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LiveSet:
    """What is live in a memory space at a step, biggest first. `values` may be cut, `count` is not."""

    step: int
    instruction: str | None
    live_bytes: int
    count: int
    values: tuple[LiveValue, ...]


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """One memory space. `peak` is None if nothing is ever live, `at_step` if no step was asked for or the set does not
    know that step, `live_at_printed_peak` if no peak is printed.
    """

    color: int
    reserved_bytes: int
    kinds: tuple[KindTotal, ...]
    peak: LiveSet | None
    live_at_printed_peak: int | None
    at_step: LiveSet | None


@dataclass(frozen=True, slots=True)
class Report:
    """One dump set. `files` are the labels of its files by what they hold; `has_live_ranges` tells whether it says when
    values are live. The steps are 0 to `last_step`; `lacks_step` tells that `asked_step` is none of them. What the set
    does not tell is None.
    """

    module: str | None
    files: dict[MemberKind, str]
    instructions: int | None
    values: int | None
    allocations: int | None
    reserved_bytes: int | None
    has_live_ranges: bool
    last_step: int | None
    asked_step: int | None
    lacks_step: bool
    total_bytes: int | None
    printed_peak_step: int | None
    printed_peak_bytes: int | None
    spaces: tuple[SpaceReport, ...]
    findings: int


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """`top` values of each live set, None for all; `at_step` asks for the live set of a step, too."""

    top: int | None = None
    at_step: int | None = None


def report(analysis: Analysis, files: dict[MemberKind, str], options: ReportOptions) -> Report:
    """The report of a dump set whose files have the labels `files`."""
    dump = analysis.dump
    printed = len(dump.peaks) > 0
    # One file with all but live ranges is a release that prints none; it is whole.
    is_scheduled = dump.live or (dump.used and dump.used is dump.assignment)
    last_step = dump.last_step + 1 if dump.last_step is not None else None
    asked_step = options.at_step
    lacks_step = asked_step is not None and (last_step is None or asked_step > last_step)
    if lacks_step:
        options = replace(options, at_step=None)
    return Report(
        module=next((name for label in files.values() if (name := module_name(label))), None),
        files=files,
        instructions=len(dump.schedule) if is_scheduled else None,
        values=len(dump.values) if dump.assignment or dump.used else None,
        allocations=len(dump.allocations) if dump.assignment else None,
        reserved_bytes=sum(space.reserved_bytes for space in analysis.memory.spaces) if dump.assignment else None,
        has_live_ranges=len(dump.live_ranges) > 0,
        last_step=last_step,
        asked_step=asked_step,
        lacks_step=lacks_step,
        total_bytes=int(dump.totals.size_bytes[0]) if len(dump.totals) else None,
        printed_peak_step=int(dump.peaks.step[0]) if printed else None,
        printed_peak_bytes=sum(dump.peak_buffers.size_bytes.tolist()) if printed else None,
        spaces=tuple(_space(analysis, space, options) for space in analysis.memory.spaces),
        findings=len(analysis.findings),
    )


def _space(analysis: Analysis, space: MemorySpace, options: ReportOptions) -> SpaceReport:
    dump = analysis.dump
    return SpaceReport(
        color=space.color,
        reserved_bytes=space.reserved_bytes,
        kinds=tuple(_kinds(dump, space.color)),
        peak=live_set(dump, space, space.peak_step, options.top) if space.peak_step is not None else None,
        live_at_printed_peak=space.live.at(int(dump.peaks.step[0])) if len(dump.peaks) else None,
        at_step=live_set(dump, space, options.at_step, options.top) if options.at_step is not None else None,
    )


def _kinds(dump: DumpSet, color: int) -> Iterator[KindTotal]:
    kinds = allocation_kinds(dump)
    for kind, name in enumerate(KIND_NAMES):
        here = (dump.allocations.color == color) & (kinds == kind)
        if here.any():
            yield KindTotal(name, int(here.sum()), sum(dump.allocations.size_bytes[here].tolist()))


def live_set(dump: DumpSet, space: MemorySpace, step: int, top: int | None) -> LiveSet:
    """What takes bytes of a memory space at a step."""
    live = live_values(dump, step)
    live = live[(dump.values.color[live] == space.color) & (dump.values.allocation[live] != NONE)]
    live = live[np.lexsort((live, -dump.values.size_bytes[live]))]
    return LiveSet(
        step=step,
        instruction=dump.instruction_at(step),
        live_bytes=space.live.at(step),
        count=len(live),
        values=tuple(_live_values(dump, live[:top])),
    )


def _live_values(dump: DumpSet, rows: Column) -> Iterator[LiveValue]:
    values = dump.values
    for row in rows.tolist():
        instruction = dump.instruction(int(values.name[row]))
        index = int(values.index[row])
        yield LiveValue(
            id=int(values.id[row]),
            name=dump.label(int(values.name[row]), NONE),
            index=dump.indices[index].decode() if index != NONE else None,
            allocation=int(dump.allocations.index[values.allocation[row]]),
            offset=int(values.offset[row]),
            size_bytes=int(values.size_bytes[row]),
            shape=(dump.shape(row) or b"").decode("utf-8", "replace"),
            start_step=int(values.start_step[row]),
            end_step=int(values.end_step[row]),
            op_name=instruction.op_name if instruction else None,
        )
