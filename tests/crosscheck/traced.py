"""The rules for a TPU, where memory space assignment decides on the order of the heap simulator's trace.

README.md explains the rules. They take the trace from XLA's proto, and sizes, offsets and live ranges from our reading.
"""

from dataclasses import dataclass
from typing import Any

from crosscheck.ours import FREE, Ours
from crosscheck.rules import SMALL_BYTES, Comparison, Result, Space, compare_proto
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.columns import NONE, Kind


@dataclass(frozen=True)
class TracedPeak:
    """What both sides say of the peak of a memory space. `twice` are the bytes that xprof counts for two values at
    once, `traced` is the largest size by our live ranges of everything that xprof counts.
    """

    ours: int
    reserved: int
    theirs: int
    twice: int
    traced: int


class TracedSpace(Space):
    """One memory space, with the heap simulator's events from XLA's trace."""

    def __init__(self, ours: Ours, color: int, facts: dict[str, Any]) -> None:
        super().__init__(ours, color, facts)
        self.unpadded: dict[str, int] = facts["unpadded"][str(color)]
        self.simulated.events = [list(event) for event in self.trace]
        self.roots = self._roots()
        self.places = {id: place for row in self.temps for id, *place in ours.allocations[row]["buffers"]}

    def live_at_peak(self) -> dict[int, int]:
        """For each group of values that share bytes and is live at xprof's peak, the last value that has a span."""
        live: dict[int, int] = {}
        last: dict[int, int] = {}
        spans = self.spans()
        for kind, id, *_ in self.trace[: self.xprof["peak_event"] + 1]:
            root = self.roots[id]
            live[root] = live.get(root, 0) + (-1 if kind == FREE else 1)
            if kind != FREE and str(id) in spans:
                last[root] = id
        return {root: last[root] for root, count in live.items() if count}

    def at_peak(self) -> list[list[int]]:
        """The objects at xprof's peak, as in `Space.at_peak`."""
        objects = [[id, self.places[id][1]] for id in self.live_at_peak().values()]
        for row in self.whole_life:
            held = [(-size, id) for id, _, size in self.ours.allocations[row]["buffers"]]
            objects += [[id, -size] for size, id in sorted(held)[:1]]
        small = sum(size for _, size in objects if size < SMALL_BYTES)
        return sorted([*(one for one in objects if one[1] >= SMALL_BYTES), *([[-1, small]] if small else [])])

    @property
    def traced_peak(self) -> TracedPeak:
        """What both sides say of the peak."""
        return TracedPeak(
            ours=self.space.peak_live_bytes,
            reserved=self.space.reserved_bytes,
            theirs=self.xprof["peak"],
            twice=self._twice(),
            traced=self.ours.size(self.whole_life) + self._largest_traced(),
        )

    def _twice(self) -> int:
        """The bytes that more than one value has at xprof's peak."""
        places = [self.places[root] for root in self.live_at_peak()]
        return sum(size for _, size in places) - _covered(places)

    def _largest_traced(self) -> int:
        """The largest number of bytes that the values of the trace cover at a step, by our live ranges."""
        values = self.ours.dump.values
        rows = [self.ours.dump.value_of_id(id) for id in self.roots]
        ranges = [
            (
                int(values.start_step[row]),
                int(values.end_step[row]),
                [int(values.offset[row]), int(values.size_bytes[row])],
            )
            for row in rows
            if values.start_step[row] != NONE
        ]
        starts = {start for start, _, _ in ranges}
        return max(
            (_covered([place for start, end, place in ranges if start <= step <= end]) for step in starts), default=0
        )

    def compare(self) -> list[Comparison]:
        ours, xprof, peak = self.ours, self.xprof, self.traced_peak
        without_local = self.space.reserved_bytes - ours.size(ours.rows(self.color, Kind.THREAD_LOCAL))
        logical = ours.dump.logical_bytes
        return [
            Comparison("total", without_local, xprof["total"]),
            Comparison("parameters", ours.size(ours.rows(self.color, Kind.PARAMETER)), xprof["parameters"]),
            Comparison("live-out", ours.size(ours.rows(self.color, Kind.MAYBE_LIVE_OUT)), xprof["live_out"]),
            Comparison("whole life", ours.size(self.whole_life), xprof["indefinite"]),
            Comparison("heap by event", self.heap_by_event(), xprof["heap_sizes"]),
            Comparison("peak", max(self.heap_by_event(), default=ours.size(self.whole_life)), peak.theirs),
            # Without bytes that count twice, our live ranges give the peak, else less.
            Comparison("peak by step", peak.theirs if peak.twice else peak.traced, peak.theirs),
            Comparison("fits", peak.theirs - peak.twice <= peak.reserved, True),
            Comparison("spans", self.spans(), xprof["spans"]),
            Comparison("blocks", self.blocks(), xprof["blocks"]),
            Comparison("at the peak", self.at_peak() if self.trace else [], xprof["at_peak"] if self.trace else []),
            Comparison(
                "shapes", {id: int(logical[ours.dump.value_of_id(int(id))]) for id in self.unpadded}, self.unpadded
            ),
        ]


def _covered(places: list[list[int]]) -> int:
    """The bytes that are in at least one of some places, each an offset and a size."""
    total, end = 0, 0
    for offset, size in sorted(places):
        total += max(0, offset + size - max(offset, end))
        end = max(end, offset + size)
    return total


def compare_traced(module: str, analysis: Analysis, facts: dict[str, Any]) -> Result:
    """Compare a dump set of a TPU with the facts of the peers about its module."""
    ours = Ours(analysis)
    spaces: list[Space] = [TracedSpace(ours, int(color), facts) for color in facts["xprof"]]
    comparisons = [*compare_proto(ours, facts["proto"]), *(one for space in spaces for one in space.compare())]
    return Result(module, ours, spaces, comparisons)
