"""The comparison of our numbers with those of the peers, and the rules that explain where a peer counts differently.

README.md explains the rules. Each one computes a peer's number from our reading of the texts. They take one fact from a
peer that the texts do not have: which values share their bytes in the heap simulator.
"""

from dataclasses import dataclass
from typing import Any

from crosscheck.ours import FREE, WHOLE_LIFE, Ours, Simulated
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE, Kind

PROTO = ("allocations", "buffers", "schedule", "starts")
"""What we have in the format of XLA's proto."""

SMALL_BYTES = 16 << 10
"""xprof merges smaller objects into one."""


@dataclass(frozen=True)
class Comparison:
    """One or more numbers, as we compute them by the rules of a peer and as the peer reports them."""

    what: str
    by_rules: Any
    theirs: Any

    @property
    def is_explained(self) -> bool:
        return bool(self.by_rules == self.theirs)


@dataclass(frozen=True)
class Peak:
    """The terms that lead from our peak to xprof's: `ours + other_step + not_live_then + tables == theirs`."""

    ours: int
    our_step: int
    other_step: int
    not_live_then: int
    tables: int
    theirs: int
    their_step: int


def compare_proto(ours: Ours, proto: dict[str, Any]) -> list[Comparison]:
    """Compare with XLA's proto, without rules. `Space` compares its traces."""
    reserved = sum(space.reserved_bytes for space in ours.memory.spaces)
    return [
        *(Comparison(what, getattr(ours, what), proto[what]) for what in PROTO),
        Comparison("reserved bytes", reserved, sum(one["size"] for one in proto["allocations"])),
    ]


class Space:
    """One memory space, in our numbers and in xprof's."""

    def __init__(self, ours: Ours, color: int, facts: dict[str, Any]) -> None:
        self.ours, self.color, self.xprof = ours, color, facts["xprof"][str(color)]
        self.temps = ours.rows(color, Kind(0))
        self.whole_life = ours.rows(color, WHOLE_LIFE)
        space = ours.memory.space(color)
        assert space is not None
        self.space = space
        inside = {id for row in self.temps for id, _, _ in ours.allocations[row]["buffers"]}
        traces = [one["events"] for one in facts["proto"]["traces"]]
        traces = [events for events in traces if events and events[0][1] in inside]
        assert len(traces) <= 1, "xprof shows only one of several traces"
        self.trace: list[list[int]] = traces[0] if traces else []
        self.places = {id: place for row in self.temps for id, *place in ours.allocations[row]["buffers"]}
        self.simulated = self._simulated()
        # For each value of the trace, the first value that it shares its bytes with.
        self.roots: dict[int, int] = {}
        for kind, id, *of in self.simulated.events:
            if kind != FREE:
                self.roots[id] = self.roots[of[0]] if of else id

    def _simulated(self) -> Simulated:
        return self.ours.simulated(self.temps, self.trace)

    def heap_by_step(self) -> list[int]:
        """Heap bytes at each step: ours without pointer tables, plus everything that xprof keeps for the whole run."""
        whole_life = self.ours.size(self.whole_life)
        return [whole_life + self._heap_at(step) for step in range(self.ours.last_step + 1)]

    def _heap_at(self, step: int) -> int:
        return self.ours.live_at(self.temps, step) - self.ours.tables_at(self.temps, step)

    def shown_heap_by_step(self) -> list[int]:
        """xprof's heap bytes at each step: its largest size from before the step to the first FREE in it."""
        sizes = self.xprof["heap_sizes"] or [self.xprof["peak"]]
        return [
            max(sizes[first : last + 1])
            for first, last in zip(self.simulated.before, self.simulated.begun, strict=True)
        ]

    def heap_by_event(self) -> list[int]:
        """Heap bytes before each event and after the last one. Values that share bytes count once."""
        if not self.simulated.events:
            return []
        heap, live = [self.ours.size(self.whole_life)], dict.fromkeys(self.roots.values(), 0)
        for kind, id, *_ in self.simulated.events:
            root = self.roots[id]
            live[root] += -1 if kind == FREE else 1
            changes = live[root] == (0 if kind == FREE else 1)
            heap.append(heap[-1] + changes * self.places[root][1] * (-1 if kind == FREE else 1))
        return heap

    def spans(self) -> dict[str, list[int]]:
        """The first and last event of each value that has a span, by the id of the value.

        Among values that share bytes, only one that starts while none of them is live has a span. It ends with the last
        of them if it starts with ALLOC, and at its own FREE otherwise.
        """
        spans: dict[str, list[int]] = {}
        live = dict.fromkeys(self.roots.values(), 0)
        for place, (kind, id, *_) in enumerate(self.simulated.events):
            root = self.roots[id]
            live[root] += -1 if kind == FREE else 1
            if kind != FREE and live[root] == 1:
                spans[str(id)] = [place, len(self.simulated.events) - 1]
            elif kind == FREE and id != root and str(id) in spans:
                spans[str(id)][1] = place
            elif kind == FREE and not live[root] and spans[str(root)][1] == len(self.simulated.events) - 1:
                spans[str(root)][1] = place
        return dict(sorted(spans.items(), key=lambda item: int(item[0])))

    def blocks(self) -> list[list[int]]:
        """The rectangles of the timeline: the allocation and each value that has a span."""
        if not self.simulated.events:
            return []
        blocks = [[int(id), *self.places[int(id)], *span] for id, span in self.spans().items()]
        return sorted([[-1, 0, self.ours.size(self.temps), 0, len(self.simulated.events)], *blocks])

    def live_at_peak(self) -> dict[int, int]:
        """For each group of values that share bytes and is live at xprof's peak, the last value that has a span."""
        live: dict[int, int] = {}
        last: dict[int, int] = {}
        spans = self.spans()
        for kind, id, *_ in self.simulated.events[: self.xprof["peak_event"] + 1]:
            root = self.roots[id]
            live[root] = live.get(root, 0) + (-1 if kind == FREE else 1)
            if kind != FREE and str(id) in spans:
                last[root] = id
        return {root: last[root] for root, count in live.items() if count}

    def at_peak(self) -> list[list[int]]:
        """The objects at the peak: the largest value of each allocation that is kept for the whole run, and those of
        `live_at_peak`. Small objects are merged into one.
        """
        objects = [[id, self.places[id][1]] for id in self.live_at_peak().values()]
        for row in self.whole_life:
            held = [(-size, id) for id, _, size in self.ours.allocations[row]["buffers"]]
            objects += [[id, -size] for size, id in sorted(held)[:1]]
        small = sum(size for _, size in objects if size < SMALL_BYTES)
        return sorted([*(one for one in objects if one[1] >= SMALL_BYTES), *([[-1, small]] if small else [])])

    @property
    def their_step(self) -> int:
        """The step of xprof's peak, or of ours if there is no heap."""
        return self.simulated.steps[self.xprof["peak_event"]] if self.simulated.steps else self.space.peak_step or 0

    @property
    def peak(self) -> Peak:
        """The terms that lead from our peak to theirs."""
        step, live = self.their_step, self.space.live.at(self.their_step)
        return Peak(
            ours=self.space.peak_live_bytes,
            our_step=self.space.peak_step or 0,
            other_step=live - self.space.peak_live_bytes,
            not_live_then=self.ours.size(self.whole_life) - self.ours.live_at(self.whole_life, step),
            tables=-self.ours.tables_at(self.temps, step),
            theirs=self.xprof["peak"],
            their_step=step,
        )

    def compare(self) -> list[Comparison]:
        ours, own = self.ours, self.space.reserved_bytes
        pairs = {
            "total": (own - ours.size(ours.rows(self.color, Kind.THREAD_LOCAL)), "total"),
            "parameters": (ours.size(ours.rows(self.color, Kind.PARAMETER)), "parameters"),
            "live-out": (ours.size(ours.rows(self.color, Kind.MAYBE_LIVE_OUT)), "live_out"),
            "whole life": (ours.size(self.whole_life), "indefinite"),
            "heap by event": (self.heap_by_event(), "heap_sizes"),
            "spans": (self.spans(), "spans"),
            "blocks": (self.blocks(), "blocks"),
            "at the peak": (self.at_peak(), "at_peak"),
        }
        comparisons = [Comparison(what, by_rules, self.xprof[key]) for what, (by_rules, key) in pairs.items()]
        return [*comparisons, *self.compare_peak()]

    def compare_peak(self) -> list[Comparison]:
        peak, heap, by_event = self.peak, self.heap_by_step(), self.heap_by_event()
        peak_event = by_event.index(max(by_event)) - 1 if by_event else 0
        peak_step = heap.index(max(heap)) if by_event else self.their_step
        return [
            Comparison("heap simulator", self.simulated.events, self.trace),
            Comparison("peak", peak.ours + peak.other_step + peak.not_live_then + peak.tables, peak.theirs),
            Comparison("peak event", peak_event, self.xprof["peak_event"]),
            Comparison("peak step", peak_step, peak.their_step),
            Comparison("heap by step", heap, self.shown_heap_by_step()),
        ]


@dataclass(frozen=True)
class Result:
    """The comparisons for one module."""

    module: str
    spaces: list[Space]
    comparisons: list[Comparison]

    @property
    def differences(self) -> list[Comparison]:
        """The comparisons that no rule explains."""
        return [one for one in self.comparisons if not one.is_explained]


def compare(
    module: str, analysis: Analysis, hlo: HloModule, facts: dict[str, Any], space_type: type[Space] = Space
) -> Result:
    """Compare a dump set and its HLO module with the facts of the peers about the module."""
    ours = Ours(analysis)
    spaces = [space_type(ours, int(color), facts) for color in facts["xprof"]]
    traces = [trace for trace in facts["proto"]["traces"] if trace["events"]]
    comparisons = [
        *compare_proto(ours, facts["proto"]),
        Comparison("traces", sum(bool(space.trace) for space in spaces), len(traces)),
        Comparison("stack frames", {name: _stack(hlo, name) for name in facts["stacks"]}, facts["stacks"]),
        *(one for space in spaces for one in space.compare()),
    ]
    return Result(module, spaces, comparisons)


def _stack(module: HloModule, name: str) -> list[str]:
    """The stack frames of an instruction, innermost first."""
    row = module.row_of(name.encode())
    frames = module.frames(module.metadata(row)) if row != NONE else ()
    return [f"{frame.file}:{frame.line}:{frame.column}" for frame in frames]
