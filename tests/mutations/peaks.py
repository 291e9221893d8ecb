"""Edits of the peak list and the stack trace breakdown."""

import random
from itertools import combinations

from mutations.edits import Mutation, changed_size, edit, exchanged, made, pick, put, removed
from mutations.lines import Line
from mutations.values import UNKNOWN
from mutations.view import View

_SUMS = "cumulative-mismatch stack-trace-mismatch"
"""Codes about sums of the list."""


@edit
def peak_row_deleted(rng: random.Random, view: View) -> Mutation | None:
    row = pick(rng, (row for row in view.all("peak-row") if not view.is_last(row)))
    if not row or not view.peak:
        return None
    return made(view, [removed(row)], [view.peak], "peak-list-mismatch", _SUMS)


def _has_whole_shape(view: View, name: bytes) -> bool:
    """Whether the dump has the whole shape of an instruction."""
    return name in view.instruction or (name, b"{}") in view.slice


@edit
def peak_size(rng: random.Random, view: View) -> Mutation | None:
    """Older dumps print the size of the whole instruction, newer ones that of the value."""
    row = pick(
        rng,
        (
            row
            for row in view.all("peak-row")
            if (row.key in view.slice if row["index"] else _has_whole_shape(view, row.text("name")))
        ),
    )
    if not row:
        return None
    size = changed_size(rng, row.number("size"))
    return made(view, [put(row, "size", size)], [row], "peak-list-mismatch", _SUMS)


@edit
def peak_cumulative(rng: random.Random, view: View) -> Mutation | None:
    row = pick(rng, (row for row in view.all("peak-row") if row["cumulative"]))
    if not row:
        return None
    size = changed_size(rng, row.number("cumulative"))
    return made(view, [put(row, "cumulative", size)], [row], "cumulative-mismatch")


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
    if step is None:
        return None
    changes = [put(view.peak, "step", step)]
    return made(view, changes, [view.peak], "peak-step-mismatch", "peak-list-mismatch")


@edit
def peak_rows_exchanged(rng: random.Random, view: View) -> Mutation | None:
    """Swap two rows of different size in a list with cumulative sizes, which is sorted by size."""
    rows = [row for row in view.all("peak-row") if row["cumulative"]]
    pair = pick(rng, ((one, two) for one, two in combinations(rows, 2) if one["size"] != two["size"]))
    if not pair:
        return None
    one, two = pair
    changes = exchanged(one, two)
    mutation = made(view, changes, [], "peak-list-mismatch", "cumulative-mismatch")
    places = frozenset({(one.file, one.row), (two.file, two.row)})
    return Mutation("", mutation.files, places, mutation.codes, mutation.also)


@edit
def peak_row_renamed_to_unknown(rng: random.Random, view: View) -> Mutation | None:
    row = pick(rng, view.all("peak-row"))
    if not row:
        return None
    return made(view, [put(row, "name", UNKNOWN)], [row], "unknown-instruction", "peak-list-mismatch")


@edit
def peak_row_renamed(rng: random.Random, view: View) -> Mutation | None:
    row = pick(rng, view.all("peak-row"))
    name = pick(rng, (name for name in view.step if row and name != row["name"]))
    if not row or not name:
        return None
    return made(view, [put(row, "name", name)], [row], "peak-list-mismatch")


def _digits(number: int) -> bytes:
    return f"{number:,}".replace(",", " ").encode()


@edit
def tree_total(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("tree"))
    if not line:
        return None
    size = _digits(changed_size(rng, line.number("total")))
    return made(view, [put(line, "total", size)], [line], "stack-trace-mismatch")


@edit
def tree_row_total(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("tree-row"))
    if not line:
        return None
    size = _digits(changed_size(rng, line.number("total")))
    return made(view, [put(line, "total", size)], [line], "stack-trace-mismatch")


@edit
def tree_row_current(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("tree-row"))
    if not line:
        return None
    size = _digits(changed_size(rng, line.number("current")))
    return made(view, [put(line, "current", size)], [line], "stack-trace-mismatch")
