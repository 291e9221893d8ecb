"""The rules for a TPU, where memory space assignment decides on the order of the heap simulator's trace.

README.md explains the rules. They take the trace from XLA's proto, and sizes, offsets and live ranges from our reading.
"""

from typing import Any

from crosscheck.ours import Ours, Simulated
from crosscheck.rules import Comparison, Space
from xla_lens.syntax.columns import NONE


class TracedSpace(Space):
    """One memory space, with the heap simulator's events from XLA's trace."""

    def __init__(self, ours: Ours, color: int, facts: dict[str, Any]) -> None:
        super().__init__(ours, color, facts)
        self.unpadded: dict[str, int] = facts["unpadded"][str(color)]

    def _simulated(self) -> Simulated:
        return Simulated([list(event) for event in self.trace])

    def at_peak(self) -> list[list[int]]:
        # Not compared without a trace.
        return super().at_peak() if self.trace else self.xprof["at_peak"]

    def twice(self) -> int:
        """The bytes that xprof counts for more than one value at its peak."""
        places = [self.places[root] for root in self.live_at_peak()]
        return sum(size for _, size in places) - _covered(places)

    def _largest_traced(self) -> int:
        """The largest number of bytes that the values of the trace cover at a step, by our live ranges."""
        values = self.ours.dump.values
        ranges = [
            (int(values.start_step[row]), int(values.end_step[row]), self.places[id])
            for id in self.roots
            for row in [self.ours.dump.value_of_id(id)]
            if values.start_step[row] != NONE
        ]
        steps = {start for start, *_ in ranges}
        return max(
            (_covered([place for start, end, place in ranges if start <= step <= end]) for step in steps), default=0
        )

    def compare_peak(self) -> list[Comparison]:
        theirs, twice, whole_life = self.xprof["peak"], self.twice(), self.ours.size(self.whole_life)
        logical = self.ours.dump.logical_bytes
        shapes = {id: int(logical[self.ours.dump.value_of_id(int(id))]) for id in self.unpadded}
        return [
            Comparison("peak", max(self.heap_by_event(), default=whole_life), theirs),
            # Without bytes that count twice, our live ranges give the peak, else less.
            Comparison("peak by step", theirs if twice else whole_life + self._largest_traced(), theirs),
            Comparison("fits", theirs - twice <= self.space.reserved_bytes, True),
            Comparison("shapes", shapes, self.unpadded),
        ]


def _covered(places: list[list[int]]) -> int:
    """The bytes that are in at least one of some places, each an offset and a size."""
    total, end = 0, 0
    for offset, size in sorted(places):
        total += max(0, offset + size - max(offset, end))
        end = max(end, offset + size)
    return total
