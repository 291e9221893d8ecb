"""Edits of used values, their positions, uses and quoted instructions."""

import random

from mutations.edits import Change, Mutation, edit, made, part, pick, put, unknown
from mutations.lines import Line
from mutations.view import View


@edit
def used_value_deleted(rng: random.Random, view: View) -> Mutation:
    headers = [line for line in view.all("value") if line.key in view.slice]
    header = pick(rng, (line for line in headers if not view.is_last(line, view.block_end(line))))
    change = Change(header.file, header.start, view.block_end(header), b"")
    return made(view, [change], [view.slice[header.key]], "undefined-value")


def _same(view: View, use: Line, name: bytes, operand: int) -> list[Line]:
    """Other uses of the value with the same user, operand and index.

    After the edit, both lines are the same, so either of them may be reported.
    """
    others = view.below(use.parent, "use") if use.parent else []
    return [
        line
        for line in others
        if line is not use and (line["name"], line.number("operand"), line["index"]) == (name, operand, use["index"])
    ]


@edit
def operand_number(rng: random.Random, view: View) -> Mutation:
    """Skips uses by instructions that are not quoted."""
    use = pick(rng, (line for line in view.all("use") if line["name"] in view.instruction))
    count = len(view.instruction[use.text("name")].operands)
    number = rng.choice([number for number in range(count + 2) if number != use.number("operand")])
    places = [use, *_same(view, use, use.text("name"), number)]
    return made(view, [put(use, "operand", number)], places, "operand-mismatch duplicate-use")


def _is_live(view: View, line: Line) -> bool:
    return line.parent is not None and line.parent.key in view.range


@edit
def use_renamed(rng: random.Random, view: View) -> Mutation:
    """Change the user to a quoted instruction, which may run after the live range of the value."""
    use = pick(rng, (line for line in view.all("use") if _is_live(view, line)))
    names = [name for name in view.step if name in view.instruction and name != use["name"]]
    name = pick(rng, names)
    # Another instruction may read the value, too. Then only the use is missing that the line was before.
    header = [use.parent] if use.parent else []
    places = [use, *header, *_same(view, use, name, use.number("operand"))]
    return made(view, [put(use, "name", name)], places, "operand-mismatch duplicate-use", "live-range-end")


def _later_positions(view: View) -> list[Line]:
    """Positions of live values, except for the first one of each, which defines it."""
    return [
        line for header in view.all("value") if header.key in view.range for line in view.below(header, "position")[1:]
    ]


@edit
def position_renamed(rng: random.Random, view: View) -> Mutation:
    """Change a position to an existing one. Either of the two may be reported."""
    line = pick(rng, _later_positions(view))
    others = [
        other
        for other in view.all("position")
        if other["name"] in view.step and other["index"] == line["index"] and other["name"] != line["name"]
    ]
    other = pick(rng, others)
    changes = [put(line, "name", other.text("name"))]
    return made(view, changes, [line, other], "duplicate-position", "operand-mismatch live-range-end")


def _is_later_position(view: View, line: Line) -> bool:
    """Whether a position of a live value is not the first one, which defines the value."""
    return _is_live(view, line) and line.parent is not None and line is not view.below(line.parent, "position")[0]


part("used-value-renamed", "value", "name", unknown, "undefined-value", where=lambda view, line: line.key in view.slice)
part("use-renamed-to-unknown", "use", "name", unknown, "unknown-instruction", "operand-mismatch", _is_live)
# Instructions that read the value through this position then read an undefined name.
part(
    "position-renamed-to-unknown",
    "position",
    "name",
    unknown,
    "unknown-instruction",
    "operand-mismatch",
    _is_later_position,
)
