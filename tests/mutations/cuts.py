"""Edits that cut off the end of a file."""

import random

from mutations.edits import ANY, Change, Mutation, edit, made, pick
from mutations.lines import ASSIGNMENT
from mutations.view import View


def _looks_complete(view: View, file: str, place: int) -> bool:
    """Whether some XLA release prints a file like the rest of one that is cut after a line.

    Such cuts cannot be detected. They are between parts that XLA also prints to separate files, in dumps of releases
    without live ranges or stack traces, and before allocations without bytes or values. Dumps that quote instructions
    always have live ranges and a peak.
    """
    data = view.files[file]
    rest = data[place:].lstrip(b"\n")
    total = next((line for line in view.all("total") if line.file == file), None)
    if file != ASSIGNMENT:
        return False
    if total is None:
        lost = [line for line in view.all("allocation") if line.start >= place]
        return b" value: " not in rest and not any(line.number("size") for line in lost)
    if place <= total.start or rest.startswith(b"  Stack trace breakdown"):
        return True
    last = view.all("value")[-1] if view.all("value") else total
    return not view.quotes and view.peak is not None and last.start <= place <= view.peak.start


_HEAD = 200
"""Bytes that always remain, so that the kind of the file can be recognized."""


@edit
def cut_in_line(rng: random.Random, view: View) -> Mutation:
    """Every file that XLA writes ends with a line break."""
    file = pick(rng, (name for name, data in sorted(view.files.items()) if len(data.rstrip()) > _HEAD + 1))
    data = view.files[file]
    place = pick(rng, (place for place in range(_HEAD, len(data.rstrip())) if b"\n" not in data[place - 1 : place + 1]))
    return made(view, [Change(file, place, len(data), b"")], [], "truncated-dump", ANY)


@edit
def cut_after_line(rng: random.Random, view: View) -> Mutation:
    """The file looks complete, but contradicts the rest of the set. Any finding counts."""
    file = pick(rng, (name for name, data in sorted(view.files.items()) if len(data.rstrip()) > _HEAD + 1))
    data = view.files[file]
    places = [place for place in range(_HEAD, len(data.rstrip())) if data[place - 1 : place] == b"\n"]
    place = pick(rng, (place for place in places if not _looks_complete(view, file, place)))
    return made(view, [Change(file, place, len(data), b"")], [], "", ANY)
