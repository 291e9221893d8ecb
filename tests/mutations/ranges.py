"""Edits of the schedule and the live ranges."""

import random
from itertools import pairwise

from mutations.edits import (
    Mutation,
    Place,
    edit,
    exchanged,
    made,
    other_number,
    part,
    pick,
    put,
    removed,
    unknown,
)
from mutations.lines import Line
from mutations.view import View

_PEAK = "peak-list-mismatch peak-step-mismatch"
"""Codes for other values at the peak, or a peak at another step."""

_ENDS = "live-range-start live-range-end"


def _defines_at_its_step(view: View, line: Line) -> bool:
    """Whether a live range starts at the step of its instruction, and has to.

    Parameters may start earlier, and values of asynchronous computations one step later.
    """
    name = line.text("name")
    header = view.value.get(line.key)
    if name not in view.step or not header or line.number("first") != view.step[name]:
        return False
    if view.quotes:
        return view.opcode(name) not in (None, b"parameter")
    row = view.slice.get(line.key)
    is_parameter = row is None or row.parent is None or row.parent["parameter"] is not None
    return not header["phi"] and not is_parameter


def _starting(view: View) -> list[Line]:
    return [line for line in view.all("range") if _defines_at_its_step(view, line)]


_ASYNC = (b"-start", b"-update", b"-done")


def _is_async(view: View, name: bytes) -> bool:
    return (view.opcode(name) or b"").endswith(_ASYNC)


def _has_async(view: View) -> bool:
    return any(_is_async(view, name) for name in view.instruction)


@edit
def steps_exchanged(rng: random.Random, view: View) -> Mutation | None:
    """Swap two rows of the schedule, including their steps."""
    steps = view.all("step")
    if len(steps) < 2:
        return None
    first, second = sorted(rng.sample(range(len(steps)), 2))
    places = [Place(steps[number].file, steps[number].start) for number in (first, second)]
    changes = exchanged(steps[first], steps[second])
    # The swapped lines may differ in length, which shifts offsets but not line numbers.
    return _at_rows(made(view, changes, [], "schedule-mismatch", _ENDS), view, places)


def _at_rows(mutation: Mutation, view: View, places: list[Place]) -> Mutation:
    """Set the places of a mutation that moves no lines."""
    rows = {(place.file, view.files[place.file].count(b"\n", 0, place.offset)) for place in places}
    return Mutation(mutation.files, frozenset(rows), mutation.codes, mutation.also)


@edit
def range_renamed(rng: random.Random, view: View) -> Mutation | None:
    """Change the name to that of a value with a live range. Either of the two may be wrong."""
    line = pick(rng, view.all("range"))
    other = pick(rng, (other for other in view.all("range") if other["name"] != line["name"]))
    if (other.text("name"), line.text("index")) not in view.range:
        return None
    other = view.range[other.text("name"), line.text("index")]
    also = f"missing-live-range overlapping-slices {_ENDS} {_PEAK}"
    return made(view, [put(line, "name", other.text("name"))], [line, other], "duplicate-live-range", also)


@edit
def step_number(rng: random.Random, view: View) -> Mutation:
    """If another row has the new step, either of the two may be wrong."""
    steps = view.all("step")
    line = pick(rng, steps)
    number = other_number(rng, line.number("step"), 0, len(steps) + 3)
    others = [step for step in steps if step is not line and step.number("step") == number]
    return made(view, [put(line, "step", number)], [line, *others], "schedule-mismatch")


@edit
def step_deleted(rng: random.Random, view: View) -> Mutation:
    """The gap is reported at the next row."""
    pair = pick(rng, pairwise(view.all("step")))
    return made(view, [removed(pair[0])], [pair[1]], "schedule-mismatch")


@edit
def step_renamed(rng: random.Random, view: View) -> Mutation | None:
    """Change a name to that of an instruction at another step."""
    line, other = pick(rng, view.all("step")), pick(rng, view.all("step"))
    if line is other:
        return None
    return made(view, [put(line, "name", other.text("name"))], [line, other], "schedule-mismatch")


@edit
def max_changed(rng: random.Random, view: View) -> Mutation | None:
    """Live ranges may then end past the schedule, or those of parameters before its end."""
    if not view.max:
        return None
    last = view.max.number("max")
    new = rng.choice([last + 1, last - 1, last * 2, rng.randrange(last)]) if last else 1
    also = "invalid-live-range live-range-end"
    return made(view, [put(view.max, "max", new)], [view.max], "schedule-mismatch", also)


@edit
def end_before_start(rng: random.Random, view: View) -> Mutation:
    line = pick(rng, (line for line in view.all("range") if line.number("first")))
    end = rng.randrange(line.number("first"))
    return made(view, [put(line, "last", end)], [line], "invalid-live-range", f"live-range-end {_PEAK}")


@edit
def end_past_max(rng: random.Random, view: View) -> Mutation | None:
    line = pick(rng, view.all("range"))
    if not view.max:
        return None
    end = view.max.number("max") + rng.choice([1, 2, 1000])
    return made(view, [put(line, "last", end)], [line], "invalid-live-range", f"overlapping-slices {_PEAK}")


@edit
def start_changed(rng: random.Random, view: View) -> Mutation:
    """A value may start one step late, or even earlier, if the dump has asynchronous computations. What it then lies on
    is found.
    """
    line = pick(rng, _starting(view))
    first = line.number("first")
    legal = {first, first + 1} if _has_async(view) else {first}
    starts = [start for start in range(line.number("last") + 1) if start not in legal]
    start = pick(rng, starts)
    places, codes = [line], "live-range-start"
    if _has_async(view):
        places, codes = [line, *view.all("slice")], f"{codes} overlapping-slices"
    return made(view, [put(line, "first", start)], places, codes, f"overlapping-slices {_PEAK}")


def _last_use(view: View, line: Line) -> int | None:
    """The last step that reads a value.

    None if a reader may be a loop, call, branch or asynchronous operation, which allow a live range to end earlier.
    """
    header = view.value.get(line.key)
    uses = view.below(header, "use") if header else []
    names = {use.text("name") for use in uses}
    for name in names:
        opcode = view.opcode(name)
        if opcode is None or opcode in (b"while", b"call", b"conditional"):
            return None
        if opcode.startswith(b"async") or opcode.endswith(_ASYNC):
            return None
    return max((view.step[name] for name in names if name in view.step), default=None)


def _starts_in_place(view: View, line: Line) -> set[int]:
    """Steps at which other values start on the same bytes, and the steps before: a live range may end there."""
    row = view.slice.get(line.key)
    if not row or not row.parent:
        return set()
    start, size = row.number("offset"), row.number("size")
    starts = {
        view.range[other.key].number("first")
        for other in view.below(row.parent, "slice")
        if other is not row and other.key in view.range
        if other.number("offset") <= start + size and other.number("offset") + other.number("size") >= start
    }
    return starts | {step - 1 for step in starts}


@edit
def end_lowered(rng: random.Random, view: View) -> Mutation | None:
    """Move an end to a step before the last use, unless another value takes over the bytes there."""
    lines = view.all("range")
    for line in rng.sample(lines, len(lines)):
        use = _last_use(view, line)
        if use is None or line.number("last") < use:
            continue
        ends = [*({*range(line.number("first"), use)} - _starts_in_place(view, line))]
        if ends:
            return made(view, [put(line, "last", rng.choice(ends))], [line], "live-range-end", _PEAK)
    return None


@edit
def range_deleted(rng: random.Random, view: View) -> Mutation:
    line = pick(rng, (line for line in view.all("range") if line["name"] in view.step))
    place = view.value.get(line.key) or view.slice.get(line.key)
    return made(view, [removed(line)], [place] if place else [], "missing-live-range", _PEAK)


# No value has that name, and one value loses its live range.
part(
    "range-renamed-to-unknown",
    "range",
    "name",
    unknown,
    "unknown-instruction",
    f"missing-live-range undefined-value {_PEAK}",
)


@edit
def parameter_range(rng: random.Random, view: View) -> Mutation | None:
    """Let a parameter that is not donated start later or end earlier."""
    kept = {
        row.key
        for row in view.all("slice")
        if row.parent and row.parent["parameter"] is not None and not row.parent["out"]
    }
    line = pick(rng, [line for line in view.all("range") if line.key in kept])
    group, number = rng.choice((("first", line.number("first") + 1), ("last", line.number("last") - 1)))
    if not view.step or not 0 <= line.number("first") < line.number("last"):
        return None
    return made(view, [put(line, group, number)], [line], f"{_ENDS} invalid-live-range", _PEAK)
