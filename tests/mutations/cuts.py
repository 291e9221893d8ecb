"""Files that end too early."""

import random

from mutations.edits import Change, Mutation, edit, made, pick
from mutations.lines import ASSIGNMENT
from mutations.view import View


def _is_as_good_as_whole(view: View, file: str, place: int) -> bool:
    """Whether what is left of a file that ends with a line is what some XLA prints, so that nothing can tell.

    Those are what one of three files holds, what XLA printed before it knew live ranges or stack traces, and
    allocations that add nothing, without a value. Where an instruction is quoted, live ranges and a peak were known.
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
"""Bytes that are always left: with fewer, there may be nothing that tells what the file is."""


@edit
def cut_in_line(rng: random.Random, view: View) -> Mutation | None:
    """All that XLA writes ends with a line end."""
    file = pick(rng, (name for name, data in sorted(view.files.items()) if len(data.rstrip()) > _HEAD + 1))
    if not file:
        return None
    data = view.files[file]
    place = pick(rng, (place for place in range(_HEAD, len(data.rstrip())) if b"\n" not in data[place - 1 : place + 1]))
    return made(view, [Change(file, place, len(data), b"")], [], "truncated-dump", "*") if place else None


@edit
def cut_after_line(rng: random.Random, view: View) -> Mutation | None:
    """The file looks whole by itself, and the rest of the set has to show that it is not: any finding will do."""
    file = pick(rng, (name for name, data in sorted(view.files.items()) if len(data.rstrip()) > _HEAD + 1))
    if not file:
        return None
    data = view.files[file]
    places = [place for place in range(_HEAD, len(data.rstrip())) if data[place - 1 : place] == b"\n"]
    place = pick(rng, (place for place in places if not _is_as_good_as_whole(view, file, place)))
    return made(view, [Change(file, place, len(data), b"")], [], "", "*") if place else None
