"""Dumps of any size, generated or repeated, and what it takes to parse a text and do nothing else."""

import re
import time
from pathlib import Path

from tree_sitter import Parser

from xla_lens.syntax.tree import XLA_DUMP


def ladder(dumps: Path) -> Path:
    """The biggest dump in one file: a CPU program of 192 layers."""
    return max(dumps.glob("cpu-big*/*/*-buffer-assignment.txt"), key=lambda path: path.stat().st_size)


def bare_seconds(data: bytes, runs: int = 2) -> float:
    """The time of a bare parse with tree-sitter, the least of several."""
    times = []
    for _ in range(runs):
        before = time.perf_counter()
        Parser(XLA_DUMP).parse(data)
        times.append(time.perf_counter() - before)
    return min(times)


def repeated(text: str, copies: int) -> str:
    """A dump of a program that does everything several times: every part of a dump in one file is repeated, each time
    with other names, ids and steps.
    """
    head, rest = text.split("\n\nTotal bytes used: ")
    used, live = re.split(r"\n+HloLiveRange \(max ", rest.split("\n\nUsed values:\n")[1])
    allocations, ids = head.count("\nallocation "), 1 + max(map(int, re.findall(r"^<(\d+) ", used, re.MULTILINE)))
    steps = int(live.split(")")[0])
    schedule, ranges = live.split("  InstructionSequence:\n")[1].split("  BufferLiveRange:\n")
    ranges = ranges.split("  Live ranges at")[0]
    name = r"([A-Za-z_][\w.-]*)"

    def renamed(text: str, copy: int) -> str:
        text = re.sub(
            r"^allocation (\d+):", lambda match: f"allocation {int(match[1]) + copy * allocations}:", text, flags=re.M
        )
        text = re.sub(rf"<(\d+) {name}", lambda match: f"<{int(match[1]) + copy * ids} {match[2]}.x{copy}", text)
        text = re.sub(rf"^  {name}", rf"  \1.x{copy}", text, flags=re.M)
        return re.sub(rf"%{name}", rf"%\1.x{copy}", text)

    def scheduled(copy: int) -> str:
        return re.sub(rf"(\d+):{name}", lambda match: f"{int(match[1]) + copy * steps}:{match[2]}.x{copy}", schedule)

    def live_ranges(copy: int) -> str:
        return re.sub(
            rf"{name}(\{{.*\}}):(\d+)-(\d+)",
            lambda match: f"{match[1]}.x{copy}{match[2]}:{int(match[3]) + copy * steps}-{int(match[4]) + copy * steps}",
            ranges,
        )

    body, more = head.split("\n", 1)[1], range(1, copies)
    return "".join(
        [
            head,
            *(f"\n{renamed(body, copy)}" for copy in more),
            f"\n\nTotal bytes used: {copies * int(rest.split(' ')[0])} (0B)\n\nUsed values:\n{used}",
            *(f"\n{renamed(used, copy)}" for copy in more),
            f"\n\n\nHloLiveRange (max {copies * steps}):\n  InstructionSequence:\n{schedule}",
            *map(scheduled, more),
            f"  BufferLiveRange:\n{ranges}",
            *map(live_ranges, more),
        ]
    )


def dense(values: int) -> str:
    """A dump with nothing but `values` values in one allocation: many nodes, little text."""
    slices = "".join(
        f" value: <{number} v.{number} @0> (size=256,offset={number * 256}): f32[64]{{0}}\n" for number in range(values)
    )
    return f"BufferAssignment:\nallocation 0: size {values * 256}, preallocated-temp:\n{slices}"
