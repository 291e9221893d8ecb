"""Dumps of any size, generated or repeated, and what it takes to parse a text and do nothing else."""

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


def dense(values: int) -> str:
    """A dump with nothing but `values` values in one allocation: many nodes, little text."""
    slices = "".join(
        f" value: <{number} v.{number} @0> (size=256,offset={number * 256}): f32[64]{{0}}\n" for number in range(values)
    )
    return f"BufferAssignment:\nallocation 0: size {values * 256}, preallocated-temp:\n{slices}"
