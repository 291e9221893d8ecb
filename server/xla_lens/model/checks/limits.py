"""Limits that a user sets, for continuous integration: how much of the default memory space a program may take."""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.findings import Code, Finding, error
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE


def over_limits(analysis: Analysis, max_peak_bytes: int | None, max_reserved_bytes: int | None) -> Iterator[Finding]:
    """What is over the limits, each None for no limit. What the set does not tell cannot be held to be within one."""
    dump, space = analysis.dump, analysis.memory.space(DEFAULT_COLOR)
    if not dump.files:
        return
    if max_peak_bytes is not None:
        peak = space.peak_live_bytes if space else 0
        is_known = len(dump.live_ranges) > 0 and dump.assignment is not None
        if not is_known or peak > max_peak_bytes:
            step = space.peak_step if space and space.peak_step is not None else NONE
            row = dump.schedule_row(step)
            place = row_place(dump.live, dump.schedule, row) if dump.live and row != NONE else _start(analysis)
            facts = {"size_bytes": peak, "limit_bytes": max_peak_bytes, "step": step, "is_known": int(is_known)}
            yield error(Code.MAX_PEAK, place, **facts)
    if max_reserved_bytes is not None:
        reserved = space.reserved_bytes if space else 0
        if dump.assignment is None or reserved > max_reserved_bytes:
            is_known = dump.assignment is not None
            facts = {"size_bytes": reserved, "limit_bytes": max_reserved_bytes, "is_known": int(is_known)}
            yield error(Code.MAX_RESERVED, _biggest(analysis), **facts)


def _start(analysis: Analysis) -> Place:
    first: DumpFile = analysis.dump.files[0]
    return Place(first, 0, 0)


def _biggest(analysis: Analysis) -> Place:
    """The biggest allocation of the default memory space."""
    dump = analysis.dump
    rows = np.flatnonzero(dump.allocations.color == DEFAULT_COLOR)
    if dump.assignment is None or not len(rows):
        return _start(analysis)
    return row_place(dump.assignment, dump.allocations, int(rows[dump.allocations.size_bytes[rows].argmax()]))
