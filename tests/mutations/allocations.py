"""Edits of allocations, their slices and the total."""

import random
from itertools import pairwise

from mutations.edits import (
    Change,
    Mutation,
    Place,
    changed_human,
    changed_size,
    edit,
    first,
    made,
    nothing,
    number,
    other_number,
    other_size,
    part,
    pick,
    put,
    removed,
    unknown,
)
from mutations.lines import ASSIGNMENT, Line
from mutations.view import View


def _is_movable(view: View, row: Line) -> bool:
    """Whether a value is live and not the state of an asynchronous operation, which may share its bytes."""
    if row.key not in view.range or not row.number("size"):
        return False
    return row["color"] == b"0" and not row.key[1].startswith(b"{2")


@edit
def offset_onto_neighbour(rng: random.Random, view: View) -> Mutation | None:
    """Move a value onto one that is live at the same time.

    Skips live ranges that touch or share one step: such values may share bytes.
    """
    rows = [row for row in view.all("slice") if _is_movable(view, row)]
    rng.shuffle(rows)
    for moved in rows[:200]:
        for other in rows:
            first, second = view.range[moved.key], view.range[other.key]
            shared = min(first.number("last"), second.number("last")) - max(
                first.number("first"), second.number("first")
            )
            if moved is other or moved.parent is not other.parent or shared <= 1:
                continue
            assert moved.parent
            offset = min(other.number("offset"), moved.parent.number("size") - moved.number("size"))
            if offset != moved.number("offset"):
                changes = [put(moved, "offset", offset)]
                return made(view, changes, [moved], "overlapping-slices", "report-mismatch", [other])
    return None


@edit
def size_past_allocation(rng: random.Random, view: View) -> Mutation:
    """Grow a value past the end of its allocation. It may then overlap others."""
    row = pick(rng, view.all("slice"))
    assert row.parent
    size = row.parent.number("size") - row.number("offset") + rng.choice([1, 64, 1 << 20])
    also = "overlapping-slices report-mismatch"
    return made(view, [put(row, "size", size)], [row], "slice-out-of-bounds", also)


@edit
def offset_misaligned(rng: random.Random, view: View) -> Mutation:
    """Move a value in an arena by a few bytes. XLA aligns values to 4 bytes or more."""
    rows = [row for row in view.all("slice") if row.parent and row.parent["temp"] and row.number("offset")]
    row = pick(rng, rows)
    offset = row.number("offset") - rng.randint(1, 3)
    return made(view, [put(row, "offset", offset)], [row], "slice-out-of-bounds")


@edit
def allocation_color(rng: random.Random, view: View) -> Mutation:
    """Color 0 is not printed. For GPUs, XLA itself prints color 2 for temporaries whose values have color 0."""
    header = pick(rng, (line for line in view.all("allocation") if view.below(line, "slice")))
    before = int(header.text("color").split()[-1]) if header["color"] else 0
    color = other_number(rng, before, 0, 5)
    while header["temp"] and {before, color} == {0, 2}:
        color = other_number(rng, before, 0, 5)
    start, end = header.span("color") if header["color"] else (header.span("size")[1],) * 2
    change = Change(header.file, start, end, b", color %d" % color if color else b"")
    return made(view, [change], [header], "memory-space-mismatch", "report-mismatch")


@edit
def slice_deleted(rng: random.Random, view: View) -> Mutation:
    """After the edit, the allocation of a parameter may lack the value of that parameter."""
    rows = (row for row in view.all("slice") if row["id"] in view.header and not view.is_last(row))
    row = pick(rng, rows)
    header = view.header[row.text("id")]
    return made(view, [removed(row)], [header], "unassigned-value", "report-mismatch parameter-mismatch")


@edit
def parameter_number_unused(rng: random.Random, view: View) -> Mutation:
    """Change a parameter number to one that leaves a gap below it."""
    headers = [line for line in view.all("allocation") if line["parameter"] and view.below(line, "slice")]
    line = pick(rng, headers)
    number = max(line.number("parameter") for line in headers) + rng.randint(1, 9)
    return made(view, [put(line, "parameter", number)], [line], "parameter-mismatch", "report-mismatch")


@edit
def allocation_number(rng: random.Random, view: View) -> Mutation:
    """Numbers ascend by one. A wrong one is reported at its header, at the next header, or at its duplicate."""
    headers = view.all("allocation")
    header = pick(rng, headers)
    numbers = {line.number("number"): line for line in headers}
    number = other_number(rng, header.number("number"), 0, len(headers) + 5)
    following = [second for first, second in pairwise(headers) if first is header]
    places = [header, *following, *([numbers[number]] if number in numbers else [])]
    return made(view, [put(header, "number", number)], places, "syntax duplicate-allocation", "report-mismatch")


@edit
def allocation_size(rng: random.Random, view: View) -> Mutation:
    header = pick(rng, view.all("allocation"))
    total_line = first(view.all("total"))
    size = changed_size(rng, header.number("size"))
    places = [header, total_line]
    also = "slice-out-of-bounds report-mismatch"
    return made(view, [put(header, "size", size)], places, "total-mismatch", also)


@edit
def allocation_header_deleted(rng: random.Random, view: View) -> Mutation:
    """The gap is reported at the next header. Skips the last one: its values would seem to belong to the one before."""
    headers = view.all("allocation")
    pair = pick(rng, pairwise(headers))
    header, following = pair
    places: list[Line | Place] = [Place(ASSIGNMENT, header.start), following]
    also = "total-mismatch report-mismatch parameter-mismatch allocation-kind-conflict"
    return made(view, [removed(header)], places, "syntax", also)


def _is_kind_of_its_own(_view: View, line: Line) -> bool:
    """Whether an allocation is invalid without `maybe-live-out`: all but outputs may have another kind."""
    return bool(line["output"]) or not any(line[other] for other in ("parameter", "constant", "thread", "temp"))


part(
    "slice-color",
    "slice",
    "color",
    number(0, 5),
    "memory-space-mismatch",
    where=lambda view, row: row["id"] in view.header,
)
part("used-value-color", "value", "color", number(0, 5), "memory-space-mismatch")
part("total", "total", "bytes", other_size, "total-mismatch", "human-size-mismatch report-mismatch")
part("human-total", "total", "human", changed_human, "human-size-mismatch")
part(
    "without-live-out", "allocation", "out", nothing, "allocation-kind-conflict", "report-mismatch", _is_kind_of_its_own
)
part("slice-renamed", "slice", "name", unknown, "undefined-value", where=lambda view, row: row.key in view.value)
