"""Edits of the HLO module beside a dump, and edits of the dump that only the module shows."""

import random
import re

from mutations.edits import (
    UNKNOWN,
    Change,
    Mutation,
    Place,
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

SHOWN_BY_MODULE = ("use-deleted", "position-deleted", "position-index", "unquoted-operand-number", "late-end")
"""The edits of dumps that only the module shows."""

_SHAPE = "shape-mismatch module-mismatch"

_OPERAND = re.compile(rb"%?([\w.-]+)(?=,|$)")


def _module(view: View) -> list[Line]:
    """The instructions whose values the dump has, if the module is there."""
    names = {name for name, _ in view.position}
    return [line for line in view.all("instruction") if line.text("name") in names]


def _mentions(view: View, *names: bytes) -> list[Line]:
    """All lines of the dump that name an instruction or quote it."""
    kinds = ("value", "position", "use", "slice", "step", "range")
    quotes = [line for line in view.all("quote") if line.parent and line.parent["name"] in names]
    return [*quotes, *(line for kind in kinds for line in view.all(kind) if line["name"] in names)]


def _headers(view: View, *names: bytes) -> list[Line]:
    """The headers of the values that name an instruction."""
    lines = [*view.all("position"), *view.all("use")]
    return [line.parent for line in lines if line.parent and line["name"] in names]


def _operands(line: Line) -> list[tuple[int, int, bytes]]:
    start = line.span("operands")[0]
    found = _OPERAND.finditer(line.text("operands"))
    return [(start + match.start(1), start + match.end(1), match[1]) for match in found]


def _values(view: View) -> dict[bytes, set[tuple[bytes | None, int]]]:
    """The values that each instruction shows: indices, and the lines of the values."""
    found: dict[bytes, set[tuple[bytes | None, int]]] = {}
    for line in view.all("position"):
        if line.parent:
            found.setdefault(line.text("name"), set()).add((line["index"], line.parent.row))
    return found


@edit
def module_operand(rng: random.Random, view: View) -> Mutation:
    """Make an instruction read another one of its computation. Tuples list no uses, so their positions differ.

    Not one that shows the same values: XLA would print the same dump for it.
    """
    lines = _module(view)
    values = _values(view)
    shape = {line.text("name"): line.text("shape") for line in lines}
    candidates = [
        (line, operand, other)
        for line in rng.sample(lines, min(40, len(lines)))
        for operand in _operands(line)
        for other in lines
        if other.parent is line.parent and other is not line and operand[2] in shape
        if other["name"] != operand[2] and shape[operand[2]] == other["shape"]
        if values[other.text("name")] != values[operand[2]]
    ]
    picked = pick(rng, candidates)
    line, (start, end, name), other = picked
    names = line.text("name"), name, other.text("name")
    headers = _headers(view, *names)
    # The parameters of a called computation show the operands of the call.
    is_call = line["opcode"] in (b"call", b"conditional", b"while", b"async-start")
    shown = [position for header in headers for position in view.below(header, "position")] if is_call else []
    places = [line, *_mentions(view, *names), *headers, *shown]
    codes = "operand-mismatch position-mismatch module-mismatch"
    return made(view, [Change(HLO, start, end, other.text("name"))], places, codes, "live-range-end")


@edit
def module_shape(rng: random.Random, view: View) -> Mutation:
    """Change a dimension of an array."""
    lines = [line for line in _module(view) if (line["name"], b"{}") in view.slice]
    line = pick(rng, [line for line in lines if re.match(rb"\w+\[\d", line.text("shape"))])
    shape = re.sub(rb"\[(\d+)", lambda match: b"[%d" % (int(match[1]) + 1), line.text("shape"), count=1)
    places = [line, *_mentions(view, line.text("name"))]
    return made(view, [put(line, "shape", shape)], places, _SHAPE)


@edit
def module_memory_space(rng: random.Random, view: View) -> Mutation:
    """Change the memory space in a layout to one that no dump has."""
    lines = [line for line in _module(view) if (line["name"], b"{}") in view.slice]
    line = pick(rng, [line for line in lines if re.fullmatch(rb"\w+\[[\d,]*\]\{[^{}]*\}", line.text("shape"))])
    shape = line.text("shape")
    space = b"S(63)" if b":" in shape else b":S(63)"
    shape = re.sub(rb"S\(\d+\)", b"S(63)", shape) if b"S(" in shape else shape[:-1] + space + b"}"
    return made(
        view, [put(line, "shape", shape)], [line, *_mentions(view, line.text("name"))], "shape-mismatch module-mismatch"
    )


def _is_scheduled(view: View) -> bool:
    return any(b"is_scheduled=true" in line.text("attributes") for line in view.all("module")) and bool(view.step)


@edit
def module_lines_exchanged(rng: random.Random, view: View) -> Mutation:
    """Swap two instructions of a computation."""
    lines = [line for line in _module(view) if line["name"] in view.step]
    pairs = [(one, other) for one in lines for other in lines if one.parent is other.parent and one.row < other.row]
    pair = pick(rng, pairs if _is_scheduled(view) else [])
    names = [line.text("name") for line in pair]
    all_of_computation = [line for line in lines if line.parent is pair[0].parent]
    inside = [line.text("name") for line in all_of_computation]
    places = [line for line in view.all("step") if line["name"] in (*names, *inside)]
    return made(view, exchanged(*pair), [*all_of_computation, *places], "schedule-mismatch module-mismatch")


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
def module_element(rng: random.Random, view: View) -> Mutation:
    """Change the element that a `get-tuple-element` reads."""
    lines = [line for line in _module(view) if line["opcode"] == b"get-tuple-element"]
    line = pick(rng, lines)
    match = re.match(rb", index=(\d+)", line.text("attributes"))
    assert match
    start = line.span("attributes")[0]
    number = b"%d" % other_number(rng, int(match[1]), 0, int(match[1]) + 3)
    change = Change(HLO, start + match.start(1), start + match.end(1), number)
    operand = _operands(line)[0][2]
    places = [line, *_mentions(view, line.text("name"), operand), *_headers(view, line.text("name"))]
    return made(view, [change], places, "position-mismatch operand-mismatch shape-mismatch")


@edit
def module_element_shape(rng: random.Random, view: View) -> Mutation:
    """Change a dimension of a `get-tuple-element`."""
    lines = [line for line in _module(view) if line["opcode"] == b"get-tuple-element"]
    line = pick(rng, [line for line in lines if re.match(rb"\w+\[\d", line.text("shape"))])
    shape = re.sub(rb"\[(\d+)", lambda match: b"[%d" % (int(match[1]) + 1), line.text("shape"), count=1)
    return made(view, [put(line, "shape", shape)], [line, *_mentions(view, line.text("name"))], _SHAPE)


@edit
def module_opcode(rng: random.Random, view: View) -> Mutation:
    """Change the opcode of an instruction that the dump quotes."""
    lines = [line for line in _module(view) if line.text("name") in view.instruction]
    line = pick(rng, [line for line in lines if line["opcode"] in (b"fusion", b"copy", b"add", b"multiply", b"dot")])
    places = [line, *_mentions(view, line.text("name"))]
    return made(view, [put(line, "opcode", b"negate")], places, "module-mismatch")


@edit
def module_called(rng: random.Random, view: View) -> Mutation:
    """Make a fusion call a computation that the module lacks."""
    lines = [line for line in _module(view) if line["opcode"] == b"fusion"]
    line = pick(rng, [line for line in lines if b", calls=" in line.text("attributes")])
    attributes = re.sub(rb"calls=%?[\w.-]+", b"calls=" + UNKNOWN, line.text("attributes"))
    return made(view, [put(line, "attributes", attributes)], [line], "module-mismatch")


@edit
def module_alias_removed(rng: random.Random, view: View) -> Mutation | None:
    """Remove all aliases, so that parameters live out without a reason."""
    header = first(view.all("module"))
    attributes = header.text("attributes")
    removed_aliases = re.sub(rb",? ?input_output_alias=\{ [^=]*? \}(?=,|$)", b"", attributes)
    if removed_aliases == attributes or attributes.count(b"-alias)") > 3:
        return None
    places = [header, *(line for line in view.all("allocation") if line["parameter"])]
    return made(view, [put(header, "attributes", removed_aliases)], places, "module-mismatch")


@edit
def module_parameter_number(rng: random.Random, view: View) -> Mutation:
    """Change the number of an entry parameter to that of another one, or to one that is not there."""
    lines = [line for line in _module(view) if line["opcode"] == b"parameter" and line.parent and line.parent["entry"]]
    line = pick(rng, lines)
    number = other_number(rng, line.number("operands"), 0, len(lines))
    headers = [header for header in view.all("allocation") if header["parameter"]]
    codes = "parameter-mismatch shape-mismatch module-mismatch"
    places = [*lines, *view.all("module"), *headers, *_mentions(view, line.text("name"))]
    return made(view, [put(line, "operands", number)], places, codes)


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
def module_of_another_compilation(rng: random.Random, view: View) -> Mutation | None:
    """Give all instructions other names. One finding says so."""
    lines = _module(view)
    if len(lines) < 8:
        return None
    changes = [put(line, "name", b"other-" + line.text("name")) for line in lines]
    return made(view, changes, [], "module-mismatch")


# ---------------------------------------------------------------- edits of the dump


@edit
def use_deleted(rng: random.Random, view: View) -> Mutation | None:
    names = {line.text("name") for line in _module(view)}
    use = pick(rng, [line for line in view.all("use") if line.parent and line["name"] in names])
    if not use.parent or view.is_last(use):
        return None
    places: list[Line | Place] = [Place(use.file, use.parent.start), *_mentions(view, use.text("name"))]
    return made(view, [removed(use)], places, "operand-mismatch", "syntax live-range-end")


@edit
def position_deleted(rng: random.Random, view: View) -> Mutation:
    """Skips the first position of a value, which defines it.

    Another position that shows the value through the deleted one is then wrong, too. An instruction that had no other
    position and is not in the schedule seems not to exist in the dump, which is found without the module.
    """
    names = {line.text("name") for line in _module(view)}
    lines = [line for header in view.all("value") for line in view.below(header, "position")[1:]]
    line = pick(rng, [line for line in lines if line["name"] in names])
    own = [other for other in view.all("instruction") if other["name"] == line["name"]]
    value = [*view.below(line.parent, "position"), *view.below(line.parent, "use")] if line.parent else []
    places = [*own, *value, *_mentions(view, line.text("name"))]
    is_only = sum(other["name"] == line["name"] for other in view.all("position")) == 1
    unscheduled = " unknown-instruction" if is_only and line["name"] not in view.step else ""
    # Without its position in the output, a value cannot have the shape of the output.
    output = [header for header in view.all("allocation") if header["output"]]
    codes = f"position-mismatch operand-mismatch shape-mismatch{unscheduled}"
    return made(view, [removed(line)], [*places, *output], codes, "live-range-end")


@edit
def position_index(rng: random.Random, view: View) -> Mutation:
    """Change an element of a tuple to one that it does not have. What reads the tuple then reads another value."""
    names = {line.text("name") for line in _module(view)}
    lines = [line for header in view.all("value") for line in view.below(header, "position")[1:]]
    lines = [line for line in lines if line["name"] in names and re.fullmatch(rb"{\d+}", line["index"] or b"")]
    line = pick(rng, lines)
    assert line.parent
    elements = sum(other["name"] == line["name"] for other in view.all("position"))
    index = b"{%d}" % (elements + rng.randint(0, 3))
    places = [line, *view.below(line.parent, "use")]
    return made(view, [put(line, "index", index)], places, "position-mismatch operand-mismatch")


@edit
def unquoted_operand_number(rng: random.Random, view: View) -> Mutation:
    """Change the operand number of a use by an instruction that the dump does not quote."""
    names = {line.text("name") for line in _module(view)} - set(view.instruction)
    use = pick(rng, [line for line in view.all("use") if line["name"] in names])
    number = other_number(rng, use.number("operand"), 0, use.number("operand") + 3)
    others = [line for line in view.all("use") if line["name"] == use["name"]]
    codes = "operand-mismatch duplicate-use"
    return made(view, [put(use, "operand", number)], [use, *others], codes)


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
