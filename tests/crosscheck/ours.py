"""Our reading of a dump set, in the format of the peers' facts."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.syntax.columns import NONE, Column, Kind

ALLOC, FREE, SHARE = range(3)
"""Kinds of events in the heap simulator's trace."""

WHOLE_LIFE = Kind.PARAMETER | Kind.MAYBE_LIVE_OUT | Kind.CONSTANT
_SPECIAL = WHOLE_LIFE | Kind.THREAD_LOCAL


@dataclass
class Simulated:
    """A heap simulation derived from our live ranges."""

    events: list[list[int]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    """The step of each event."""
    before: list[int] = field(default_factory=list)
    """For each step, the number of events before it."""
    begun: list[int] = field(default_factory=list)
    """For each step, the number of events before its first FREE that is not part of a SHARE."""


class Ours:
    """A dump set as XLA Lens reads it, in the format of the facts."""

    def __init__(self, analysis: Analysis) -> None:
        self.dump, self.memory = analysis.dump, analysis.memory
        self.last_step = max(int(self.dump.values.end_step.max(initial=0)), self.dump.last_step or 0)

    @cached_property
    def allocations(self) -> list[dict[str, Any]]:
        table, values = self.dump.allocations, self.dump.values
        return [
            {
                "index": int(table.index[row]),
                "size": int(table.size_bytes[row]),
                "color": int(table.color[row]),
                "parameter": self._parameter(row),
                "live_out": bool(table.kind[row] & Kind.MAYBE_LIVE_OUT),
                "constant": bool(table.kind[row] & Kind.CONSTANT),
                "thread_local": bool(table.kind[row] & Kind.THREAD_LOCAL),
                "buffers": sorted(
                    [int(values.id[value]), int(values.offset[value]), int(values.size_bytes[value])]
                    for value in self.values_in(row)
                ),
            }
            for row in range(len(table))
        ]

    def _parameter(self, row: int) -> str | None:
        table = self.dump.allocations
        if not table.kind[row] & Kind.PARAMETER:
            return None
        return f"{table.parameter[row]}{self.dump.indices[table.parameter_index[row]].decode()}"

    @cached_property
    def buffers(self) -> dict[str, list[Any]]:
        dump, values = self.dump, self.dump.values
        return {
            str(values.id[value]): [
                dump.label(int(values.name[value]), max(int(values.index[value]), 0)),
                int(values.size_bytes[value]),
                int(values.color[value]),
            ]
            for value in range(len(values))
        }

    @cached_property
    def schedule(self) -> list[str | None]:
        return [self.dump.instruction_at(step) for step in range(len(self.dump.schedule))]

    @cached_property
    def starts(self) -> dict[str, int | None]:
        values = self.dump.values
        steps = [None if step == NONE else step for step in values.start_step.tolist()]
        return dict(zip(map(str, values.id.tolist()), steps, strict=True))

    def values_in(self, row: int) -> list[int]:
        """The rows of the values in an allocation."""
        return [value for value, place in enumerate(self.dump.values.allocation.tolist()) if place == row]

    def rows(self, color: int, kinds: Kind) -> list[int]:
        """The allocations of a memory space with one of `kinds`, or without any kind if `kinds` is empty."""
        table = self.dump.allocations
        kinds_of = table.kind & int(_SPECIAL)
        is_wanted = (kinds_of & int(kinds)) != 0 if kinds else kinds_of == 0
        return [int(row) for row in (is_wanted & (table.color == color)).nonzero()[0]]

    def size(self, rows: list[int]) -> int:
        return sum(int(self.dump.allocations.size_bytes[row]) for row in rows)

    def live_at(self, rows: list[int], step: int) -> int:
        return sum(self.memory.allocation(row).at(step) for row in rows)

    def is_table(self, value: int) -> bool:
        """Whether a value is the pointer table of a tuple."""
        return (self.dump.shape(value) or b"").startswith(b"(")

    def counted_whole(self, rows: list[int]) -> Column:
        """The total size of the live values in some allocations at each step, without pointer tables."""
        values = self.dump.values
        changes = np.zeros(self.last_step + 2, np.int64)
        is_here = np.isin(values.allocation, rows) & (values.start_step != NONE)
        for value in (value for value in is_here.nonzero()[0].tolist() if not self.is_table(value)):
            changes[values.start_step[value]] += values.size_bytes[value]
            changes[values.end_step[value] + 1] -= values.size_bytes[value]
        return changes.cumsum()

    def tables_at(self, rows: list[int], step: int) -> int:
        """The bytes of the pointer tables that are live in some allocations at a step."""
        values = self.dump.values
        covered = {
            (row, byte)
            for row in rows
            for value in self.values_in(row)
            if self.is_table(value) and NONE < values.start_step[value] <= step <= values.end_step[value]
            for byte in range(values.offset[value], values.offset[value] + values.size_bytes[value])
        }
        return len(covered)

    def simulated(self, rows: list[int], trace: list[list[int]]) -> Simulated:
        """Derive the heap simulator's events from our live ranges. Only which values share comes from XLA's `trace`."""
        values = self.dump.values
        ranges = {
            int(values.id[value]): (int(values.start_step[value]), int(values.end_step[value]))
            for row in rows
            for value in self.values_in(row)
            if not self.is_table(value) and values.start_step[value] != NONE
        }
        shared = {event[1]: event[2] for event in trace if event[0] == SHARE}
        taken_over = {event[1] for before, event in pairwise(trace) if event[0] == SHARE and before == [FREE, event[2]]}
        simulated = Simulated()

        def add(*event: int) -> None:
            simulated.events.append(list(event))
            simulated.steps.append(step)

        order = sorted(ranges, key=lambda id: (*ranges[id], id))
        for step in range(self.last_step + 1):
            simulated.before.append(len(simulated.events))
            freed = [id for id in order if ranges[id][1] == step]
            for id in (id for id in order if ranges[id][0] == step):
                if id in taken_over and shared[id] in freed:
                    freed.remove(shared[id])
                    add(FREE, shared[id])
                add(*((SHARE, id, shared[id]) if id in shared else (ALLOC, id)))
            simulated.begun.append(len(simulated.events))
            for id in freed:
                add(FREE, id)
        return simulated
