"""Edits of the HLO module beside a dump, and edits of the dump that only the module shows."""

import random
import re
from itertools import pairwise

from mutations.edits import (
    UNKNOWN,
    Change,
    Mutation,
    Place,
    doubled,
    edit,
    exchanged,
    first,
    made,
    other_number,
    pick,
    put,
    removed,
)
from mutations.lines import HLO, Line
from mutations.view import View

SHOWN_BY_MODULE = ("use-deleted", "late-end", "position-index")
"""The edits of dumps that only the module shows."""

_SHAPE = "shape-mismatch module-mismatch"


def _module(view: View) -> list[Line]:
    """The instructions whose values the dump has, if the module is there."""
    names = {name for name, _ in view.position}
    return [line for line in view.all("instruction") if line.text("name") in names]


def _mentions(view: View, *names: bytes) -> list[Line]:
    """All lines of the dump that name an instruction or quote it."""
    kinds = ("value", "position", "use", "slice", "step", "range")
    quotes = [line for line in view.all("quote") if line.parent and line.parent["name"] in names]
    return [*quotes, *(line for kind in kinds for line in view.all(kind) if line["name"] in names)]


@edit
def module_shape(rng: random.Random, view: View) -> Mutation:
    """Change a dimension of an array."""
    lines = [line for line in _module(view) if (line["name"], b"{}") in view.slice]
    line = pick(rng, [line for line in lines if re.match(rb"\w+\[\d", line.text("shape"))])
    shape = re.sub(rb"\[(\d+)", lambda match: b"[%d" % (int(match[1]) + 1), line.text("shape"), count=1)
    places = [line, *_mentions(view, line.text("name"))]
    return made(view, [put(line, "shape", shape)], places, _SHAPE)


@edit
def module_instruction_renamed(rng: random.Random, view: View) -> Mutation:
    line = pick(rng, _module(view))
    places = [line, *_mentions(view, line.text("name"))]
    also = "operand-mismatch position-mismatch schedule-mismatch"
    return made(view, [put(line, "name", UNKNOWN)], places, "unknown-instruction", also)


@edit
def module_instruction_deleted(rng: random.Random, view: View) -> Mutation:
    """A module that had only this instruction is an empty one then: cut off."""
    line = pick(rng, _module(view))
    if len(view.all("instruction")) == 1:
        return made(view, [removed(line)], [], "truncated-dump")
    # Without its root, the computation is incomplete.
    places = [*_mentions(view, line.text("name")), *([line.parent] if line.parent else [])]
    return made(view, [removed(line)], places, "unknown-instruction module-mismatch")


@edit
def module_opcode(rng: random.Random, view: View) -> Mutation:
    """Change the opcode of an instruction that the dump quotes."""
    lines = [line for line in _module(view) if line.text("name") in view.instruction]
    line = pick(rng, [line for line in lines if line["opcode"] in (b"fusion", b"copy", b"add", b"multiply", b"dot")])
    places = [line, *_mentions(view, line.text("name"))]
    return made(view, [put(line, "opcode", b"negate")], places, "module-mismatch")


@edit
def module_alias(rng: random.Random, view: View) -> Mutation:
    """Let an output alias another parameter."""
    header = first(view.all("module"))
    match = pick(rng, re.finditer(rb"\{[\d, ]*\}: \((\d+), ", header.text("attributes")))
    start = header.span("attributes")[0]
    number = b"%d" % other_number(rng, int(match[1]), 0, int(match[1]) + 2)
    change = Change(HLO, start + match.start(1), start + match.end(1), number)
    return made(view, [change], [header], "module-mismatch")


@edit
def module_entry_layout(rng: random.Random, view: View) -> Mutation | None:
    """Change a dimension in `entry_computation_layout`."""
    header = first(view.all("module"))
    match = re.search(rb"entry_computation_layout=\{\(.*?\}(?=, \w+=|$)", header.text("attributes"))
    if not match or header["name"] == b"extracted":
        return None
    number = pick(rng, re.finditer(rb"(?<=\[)\d+", match[0]))
    start = header.span("attributes")[0] + match.start()
    change = Change(HLO, start + number.start(), start + number.end(), b"%d" % (int(number[0]) + 1))
    return made(view, [change], [header], "shape-mismatch")


@edit
def module_entry_order(rng: random.Random, view: View) -> Mutation | None:
    """Swap the order of two dimensions in `entry_computation_layout`."""
    header = first(view.all("module"))
    match = re.search(rb"entry_computation_layout=\{\(.*?\}(?=, \w+=|$)", header.text("attributes"))
    if not match or header["name"] == b"extracted":
        return None
    order = pick(rng, re.finditer(rb"(?<=\]\{)(\d+),(\d+)(?=[,:}])", match[0]))
    start = header.span("attributes")[0] + match.start()
    change = Change(HLO, start + order.start(), start + order.end(), b"%s,%s" % (order[2], order[1]))
    return made(view, [change], [header], "shape-mismatch")


@edit
def module_lines_exchanged(rng: random.Random, view: View) -> Mutation | None:
    """Swap two instructions. The module is in the order of the schedule."""
    header = first(view.all("module"))
    lines = [line for line in _module(view) if line["name"] in view.step]
    pairs = [pair for pair in pairwise(lines) if pair[0].parent is pair[1].parent and pair[0].row + 1 == pair[1].row]
    pair = pick(rng, pairs)
    if b"is_scheduled=true" not in header.text("attributes"):
        return None
    return made(view, exchanged(*pair), pair, "module-mismatch")


@edit
def module_line_twice(rng: random.Random, view: View) -> Mutation:
    """Repeat an instruction. It may be a second root, too."""
    line = pick(rng, [line for line in view.all("instruction") if line.parent])
    repeated, second = doubled(line)
    return made(view, [repeated], [second, line], "module-mismatch")


@edit
def module_computation_renamed(rng: random.Random, view: View) -> Mutation:
    """The instruction that calls it then calls none."""
    line = pick(rng, [line for line in view.all("computation") if not line["entry"]])
    calls = [other for other in view.all("instruction") if b"=%" + line.text("name") in other.text("attributes")]
    return made(view, [put(line, "name", UNKNOWN)], calls, "module-mismatch")


@edit
def module_element(rng: random.Random, view: View) -> Mutation:
    """Let a `get-tuple-element` read another element."""
    lines = [line for line in _module(view) if line["opcode"] == b"get-tuple-element"]
    line = pick(rng, lines)
    index = re.search(rb"index=(\d+)", line.text("attributes"))
    operand = re.search(rb"([A-Za-z_][\w.-]*)\Z", line.text("operands"))
    assert index
    assert operand
    indices = {
        int(text[1:-1]) for name, text in view.position if name == operand[1] and re.fullmatch(rb"\{\d+\}", text)
    }
    number = pick(rng, sorted(indices - {int(index[1])}))
    start = line.span("attributes")[0]
    change = Change(HLO, start + index.start(1), start + index.end(1), b"%d" % number)
    places = [line, *_mentions(view, line.text("name"))]
    return made(view, [change], places, "position-mismatch")


# ---------------------------------------------------------------- edits of the dump


@edit
def position_index(rng: random.Random, view: View) -> Mutation:
    """Change the index of a position to one that no shape has."""
    names = {line.text("name") for line in _module(view)}
    lines = [line for header in view.all("value") for line in view.below(header, "position")[1:]]
    line = pick(rng, (line for line in lines if line["index"] not in (None, b"{}") and line["name"] in names))
    # A quoted instruction that reads this position shows the mistake, too.
    uses = view.below(line.parent, "use") if line.parent else []
    return made(view, [put(line, "index", b"{99999}")], [line, *uses], "position-mismatch operand-mismatch")


@edit
def use_deleted(rng: random.Random, view: View) -> Mutation | None:
    names = {line.text("name") for line in _module(view)}
    use = pick(rng, [line for line in view.all("use") if line.parent and line["name"] in names])
    if not use.parent or view.is_last(use):
        return None
    places: list[Line | Place] = [Place(use.file, use.parent.start), *_mentions(view, use.text("name"))]
    return made(view, [removed(use)], places, "operand-mismatch", "syntax live-range-end")


@edit
def late_end(rng: random.Random, view: View) -> Mutation | None:
    """Let a value live longer than its last use. If it overlaps another one, the list of the peak contradicts it.

    Skips the step in which the next value starts on the same bytes: XLA prints either that step or the one before.
    """
    names = {line.text("name") for line in _module(view)}
    line = pick(rng, [line for line in view.all("range") if line["name"] in names])
    if not view.max or line.number("last") >= view.max.number("max"):
        return None
    # A value that a call reads may end before the call, and the new end then is no later than that.
    places = [line, *view.all("slice")]
    own = view.slice.get(line.key)
    next_starts = {
        view.range[other.key].number("first")
        for other in view.all("slice")
        if own and other.key in view.range and (other.parent, other["offset"]) == (own.parent, own["offset"])
    }
    last = pick(rng, {*range(line.number("last") + 1, view.max.number("max") + 1)} - next_starts)
    return made(view, [put(line, "last", last)], places, "live-range-end overlapping-slices", "peak-list-mismatch")
