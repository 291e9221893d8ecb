"""Edits of the peak list and the stack trace breakdown."""

import random
from itertools import combinations

from mutations.edits import Mutation, changed_size, edit, exchanged, made, other_size, part, pick, put, removed, unknown
from mutations.lines import Line
from mutations.view import View

_SUMS = "cumulative-mismatch stack-trace-mismatch"
"""Codes about sums of the list."""


@edit
def peak_row_deleted(rng: random.Random, view: View) -> Mutation | None:
    row = pick(rng, (row for row in view.all("peak-row") if not view.is_last(row)))
    if not view.peak:
        return None
    return made(view, [removed(row)], [view.peak], "peak-list-mismatch", _SUMS)


def _has_whole_shape(view: View, name: bytes) -> bool:
    """Whether the dump has the whole shape of an instruction."""
    return name in view.instruction or (name, b"{}") in view.slice


def _live_at(view: View, step: int) -> frozenset[Line]:
    return frozenset(line for line in view.all("range") if line.number("first") <= step <= line.number("last"))


@edit
def peak_step(rng: random.Random, view: View) -> Mutation | None:
    """Change the peak step to one with other live values. XLA's rule needs the whole shapes of all values."""
    if not view.peak or not view.max or not all(_has_whole_shape(view, name) for name, _ in view.range):
        return None
    before = view.peak.number("step")
    live = _live_at(view, before)
    step = pick(rng, (step for step in range(view.max.number("max") + 1) if _live_at(view, step) != live))
    changes = [put(view.peak, "step", step)]
    return made(view, changes, [view.peak], "peak-step-mismatch", "peak-list-mismatch")


@edit
def peak_rows_exchanged(rng: random.Random, view: View) -> Mutation:
    """Swap two rows of different size in a list with cumulative sizes, which is sorted by size."""
    rows = [row for row in view.all("peak-row") if row["cumulative"]]
    pair = pick(rng, ((one, two) for one, two in combinations(rows, 2) if one["size"] != two["size"]))
    one, two = pair
    changes = exchanged(one, two)
    mutation = made(view, changes, [], "peak-list-mismatch", "cumulative-mismatch")
    places = frozenset({(one.file, one.row), (two.file, two.row)})
    return Mutation(mutation.files, places, mutation.codes, mutation.also)


@edit
def peak_row_renamed(rng: random.Random, view: View) -> Mutation:
    row = pick(rng, view.all("peak-row"))
    name = pick(rng, (name for name in view.step if name != row["name"]))
    return made(view, [put(row, "name", name)], [row], "peak-list-mismatch")


def _is_size_known(view: View, row: Line) -> bool:
    """Older dumps print the size of the whole instruction, newer ones that of the value."""
    return row.key in view.slice if row["index"] else _has_whole_shape(view, row.text("name"))


def _grouped_size(rng: random.Random, part: bytes) -> bytes:
    size = changed_size(rng, int(part.replace(b" ", b"")))
    return f"{size:,}".replace(",", " ").encode()


part("peak-size", "peak-row", "size", other_size, "peak-list-mismatch", _SUMS, _is_size_known)
part("peak-cumulative", "peak-row", "cumulative", other_size, "cumulative-mismatch")
part("peak-row-renamed-to-unknown", "peak-row", "name", unknown, "unknown-instruction", "peak-list-mismatch")
part("tree-total", "tree", "total", _grouped_size, "stack-trace-mismatch")
part("tree-row-total", "tree-row", "total", _grouped_size, "stack-trace-mismatch")
part("tree-row-current", "tree-row", "current", _grouped_size, "stack-trace-mismatch")
