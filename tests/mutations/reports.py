"""Edits of the memory usage report."""

import random

from mutations.edits import (
    Mutation,
    changed_human,
    changed_size,
    edit,
    made,
    number,
    other_number,
    other_size,
    part,
    pick,
    put,
)
from mutations.view import View


@edit
def report_offset(rng: random.Random, view: View) -> Mutation:
    """If another row has the new offset, either of the two may be wrong."""
    line = pick(rng, view.all("report-row"))
    offset = changed_size(rng, line.number("offset"))
    others = [other for other in view.all("report-row") if other.number("offset") == offset]
    return made(view, [put(line, "offset", offset)], [line], "report-mismatch", related=others)


@edit
def report_header_number(rng: random.Random, view: View) -> Mutation:
    line = pick(rng, view.all("report-allocation") + view.all("report-header"))
    number = other_number(rng, line.number("number"), 0, len(view.all("allocation")) + 5)
    return made(view, [put(line, "number", number)], [line], "report-mismatch")


@edit
def report_header_kind(rng: random.Random, view: View) -> Mutation:
    """Remove `maybe-live-out` or change the number of the parameter."""
    lines = view.all("report-allocation") + view.all("report-header")
    line = pick(rng, (line for line in lines if line["out"] or line["parameter"]))
    change = put(line, "out", b"") if line["out"] else put(line, "parameter", line.number("parameter") + 1)
    return made(view, [change], [line], "report-mismatch")


def _other_count(rng: random.Random, part: bytes) -> int:
    return other_number(rng, int(part), max(0, int(part) - 2), int(part) + 2)


part("report-total", "report-total", "bytes", other_size, "report-mismatch", "human-size-mismatch")
part("report-human-total", "report-total", "human", changed_human, "human-size-mismatch")
part("report-row-size", "report-row", "size", changed_human, "report-mismatch")
part("report-cumulative", "report-row report-allocation", "cumulative", changed_human, "report-mismatch")
# The share of all bytes, in percent.
part(
    "report-share",
    "report-row report-allocation",
    "percent",
    number(0, 100),
    "report-mismatch",
    where=lambda _, line: line.text("percent").isdigit(),
)
part("report-remaining", "report-allocation", "rest", changed_human, "report-mismatch")
part("report-count", "report-row report-rest", "values", _other_count, "report-mismatch")
part("report-header-size", "report-allocation report-header", "size", changed_human, "report-mismatch")
part("report-shapes", "report-row", "shapes", lambda _, shapes: shapes + b", f32[9999]", "report-mismatch")
part("report-color", "space", "color", number(0, 9), "report-mismatch")
