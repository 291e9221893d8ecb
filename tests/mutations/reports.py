"""Edits of the memory usage report."""

import random
from collections.abc import Sequence

from mutations.edits import Mutation, changed_human, changed_size, edit, made, other_number, pick, put
from mutations.view import View


def _human(rng: random.Random, view: View, kinds: Sequence[str], group: str) -> Mutation | None:
    line = pick(rng, (line for kind in kinds for line in view.all(kind)))
    if not line:
        return None
    return made(view, [put(line, group, changed_human(rng, line.text(group)))], [line], "report-mismatch")


@edit
def report_total(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("report-total"))
    if not line:
        return None
    size = changed_size(rng, line.number("bytes"))
    return made(view, [put(line, "bytes", size)], [line], "report-mismatch", "human-size-mismatch")


@edit
def report_human_total(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("report-total"))
    if not line:
        return None
    return made(view, [put(line, "human", changed_human(rng, line.text("human")))], [line], "human-size-mismatch")


@edit
def report_row_size(rng: random.Random, view: View) -> Mutation | None:
    return _human(rng, view, ["report-row"], "size")


@edit
def report_cumulative(rng: random.Random, view: View) -> Mutation | None:
    return _human(rng, view, ["report-row", "report-allocation"], "cumulative")


@edit
def report_share(rng: random.Random, view: View) -> Mutation | None:
    """Change the share of all bytes, in percent."""
    lines = view.all("report-row") + view.all("report-allocation")
    line = pick(rng, (line for line in lines if line.text("percent").isdigit()))
    if not line:
        return None
    percent = other_number(rng, line.number("percent"), 0, 100)
    return made(view, [put(line, "percent", b"%d" % percent)], [line], "report-mismatch")


@edit
def report_remaining(rng: random.Random, view: View) -> Mutation | None:
    return _human(rng, view, ["report-allocation"], "rest")


@edit
def report_offset(rng: random.Random, view: View) -> Mutation | None:
    """If another row has the new offset, either of the two may be wrong."""
    line = pick(rng, view.all("report-row"))
    if not line:
        return None
    offset = changed_size(rng, line.number("offset"))
    others = [other for other in view.all("report-row") if other.number("offset") == offset]
    return made(view, [put(line, "offset", offset)], [line], "report-mismatch", related=others)


@edit
def report_count(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("report-row") + view.all("report-rest"))
    if not line:
        return None
    count = line.number("values")
    new = other_number(rng, count, max(0, count - 2), count + 2)
    return made(view, [put(line, "values", new)], [line], "report-mismatch")


@edit
def report_header_size(rng: random.Random, view: View) -> Mutation | None:
    return _human(rng, view, ["report-allocation", "report-header"], "size")


@edit
def report_header_number(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("report-allocation") + view.all("report-header"))
    if not line:
        return None
    number = other_number(rng, line.number("number"), 0, len(view.all("allocation")) + 5)
    return made(view, [put(line, "number", number)], [line], "report-mismatch")


@edit
def report_header_kind(rng: random.Random, view: View) -> Mutation | None:
    """Remove `maybe-live-out` or change the number of the parameter."""
    lines = view.all("report-allocation") + view.all("report-header")
    line = pick(rng, (line for line in lines if line["out"] or line["parameter"]))
    if not line:
        return None
    change = put(line, "out", b"") if line["out"] else put(line, "parameter", line.number("parameter") + 1)
    return made(view, [change], [line], "report-mismatch")


@edit
def report_shapes(rng: random.Random, view: View) -> Mutation | None:
    """Add a shape to a row."""
    line = pick(rng, view.all("report-row"))
    if not line:
        return None
    return made(view, [put(line, "shapes", line.text("shapes") + b", f32[9999]")], [line], "report-mismatch")


@edit
def report_color(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("space"))
    if not line:
        return None
    return made(view, [put(line, "color", other_number(rng, line.number("color"), 0, 9))], [line], "report-mismatch")
