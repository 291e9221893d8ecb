"""Edits that repeat a line or a whole used value."""

import random
from collections.abc import Callable

from mutations.edits import Change, Mutation, Place, always, doubled, edit, made, pick, register
from mutations.lines import Line
from mutations.view import View


@edit
def used_value_twice(rng: random.Random, view: View) -> Mutation:
    """Including its positions and uses."""
    header = pick(rng, view.all("value"))
    end = view.block_end(header)
    change = Change(header.file, end, end, view.files[header.file][header.start : end])
    second = Place(header.file, end)
    return made(view, [change], [second], "duplicate-value", "duplicate-position duplicate-use")


def _twice(
    name: str,
    kinds: str,
    codes: str,
    also: str = "",
    where: Callable[[View, Line], bool] = always,
    *,
    either: bool = False,
) -> None:
    """Register an edit that repeats a line. The finding is at the second one, or, with `either`, at any of the two."""

    def change(rng: random.Random, view: View) -> Mutation:
        line = pick(rng, (line for kind in kinds.split() for line in view.all(kind) if where(view, line)))
        repeated, second = doubled(line)
        return made(view, [repeated], [second, line] if either else [second], codes, also)

    register(name, change)


def _has_line_of_its_own(view: View, line: Line) -> bool:
    """Whether a header is not on the line of an instruction, whose text it would seem to continue if repeated."""
    return view.files[line.file][line.start - 1 : line.start] == b"\n"


def _is_single(view: View, line: Line) -> bool:
    """Whether a row occurs once. Without indices, the elements of a tuple have equal rows."""
    return sum(row.whole == line.whole for row in view.all("peak-row")) == 1


_twice("slice-twice", "slice", "duplicate-value", "report-mismatch")
# Also repeats properties that can exist only once, such as a parameter number. The total is then too small.
_twice(
    "allocation-twice",
    "allocation",
    "duplicate-allocation",
    "total-mismatch report-mismatch parameter-mismatch allocation-kind-conflict",
)
# The first header is then without positions and uses.
_twice("used-value-header-twice", "value", "duplicate-value", "syntax", _has_line_of_its_own)
_twice("position-twice", "position", "duplicate-position")
_twice("use-twice", "use", "duplicate-use")
_twice("range-twice", "range", "duplicate-live-range")
_twice("step-twice", "step", "schedule-mismatch", either=True)
_twice("peak-row-twice", "peak-row", "peak-list-mismatch", "cumulative-mismatch stack-trace-mismatch", _is_single)
_twice("tree-row-twice", "tree-row", "stack-trace-mismatch", either=True)
_twice("report-row-twice", "report-row report-allocation", "report-mismatch", either=True)
