"""Edits that repeat a line or a whole used value."""

import random

from mutations.edits import Change, Mutation, Place, doubled, edit, made, pick
from mutations.lines import Line
from mutations.view import View


def _twice(view: View, line: Line | None, codes: str, also: str = "", *, either: bool = False) -> Mutation | None:
    """Repeat a line. The finding is at the second one, or, with `either`, at any of the two."""
    if not line:
        return None
    change, second = doubled(line)
    return made(view, [change], [second, line] if either else [second], codes, also)


@edit
def slice_twice(rng: random.Random, view: View) -> Mutation | None:
    return _twice(view, pick(rng, view.all("slice")), "duplicate-value", "report-mismatch")


@edit
def allocation_twice(rng: random.Random, view: View) -> Mutation | None:
    """Also repeats properties that can exist only once, such as a parameter number. The total is then too small."""
    also = "total-mismatch report-mismatch parameter-mismatch allocation-kind-conflict"
    return _twice(view, pick(rng, view.all("allocation")), "duplicate-allocation", also)


@edit
def used_value_header_twice(rng: random.Random, view: View) -> Mutation | None:
    """The first header is then without positions and uses.

    Skips headers on the line of an instruction, which would seem to continue its text.
    """
    lines = [line for line in view.all("value") if view.files[line.file][line.start - 1 : line.start] == b"\n"]
    return _twice(view, pick(rng, lines), "duplicate-value", "syntax")


@edit
def used_value_twice(rng: random.Random, view: View) -> Mutation | None:
    """Including its positions and uses."""
    header = pick(rng, view.all("value"))
    if not header:
        return None
    end = view.block_end(header)
    change = Change(header.file, end, end, view.files[header.file][header.start : end])
    second = Place(header.file, end)
    return made(view, [change], [second], "duplicate-value", "duplicate-position duplicate-use")


@edit
def position_twice(rng: random.Random, view: View) -> Mutation | None:
    return _twice(view, pick(rng, view.all("position")), "duplicate-position")


@edit
def use_twice(rng: random.Random, view: View) -> Mutation | None:
    return _twice(view, pick(rng, view.all("use")), "duplicate-use")


@edit
def range_twice(rng: random.Random, view: View) -> Mutation | None:
    return _twice(view, pick(rng, view.all("range")), "duplicate-live-range")


@edit
def step_twice(rng: random.Random, view: View) -> Mutation | None:
    return _twice(view, pick(rng, view.all("step")), "schedule-mismatch", either=True)


@edit
def peak_row_twice(rng: random.Random, view: View) -> Mutation | None:
    """Skips repeated rows: without indices, the elements of a tuple have equal rows."""
    also = "cumulative-mismatch stack-trace-mismatch"
    line = pick(rng, view.all("peak-row"))
    if not line or sum(row.whole == line.whole for row in view.all("peak-row")) > 1:
        return None
    return _twice(view, line, "peak-list-mismatch", also)


@edit
def tree_row_twice(rng: random.Random, view: View) -> Mutation | None:
    return _twice(view, pick(rng, view.all("tree-row")), "stack-trace-mismatch", either=True)


@edit
def report_row_twice(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("report-row") + view.all("report-allocation"))
    return _twice(view, line, "report-mismatch", either=True)
