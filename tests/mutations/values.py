"""Edits of used values, their positions, uses and quoted instructions."""

import random
import re
from itertools import pairwise

from mutations.edits import UNKNOWN, Change, Mutation, edit, exchanged, made, other_number, part, pick, put, unknown
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


@edit
def operand_number_of_unquoted(rng: random.Random, view: View) -> Mutation:
    """Change an operand of an instruction that is not quoted, such as a tuple: another value is that operand, too, or
    none is the operand that it was.
    """
    uses = [line for line in view.all("use") if line["name"] not in view.instruction]
    users = [(line.text("name"), line.number("operand")) for line in uses]
    # Values at several indices of one operand have uses that differ only in the index.
    use = pick(rng, (line for line, user in zip(uses, users, strict=True) if users.count(user) == 1))
    others = [line for line in uses if line["name"] == use["name"]]
    number = other_number(rng, use.number("operand"), 0, max(line.number("operand") for line in others) + 1)
    return made(view, [put(use, "operand", number)], others, "operand-mismatch duplicate-use")


@edit
def quote_renamed(rng: random.Random, view: View) -> Mutation:
    """Change the name that a quoted instruction defines."""
    quote = pick(rng, view.quotes.values())
    start = quote.line.span("text")[0] + len(b"%")
    change = Change(quote.line.file, start, start + len(quote.name), UNKNOWN)
    return made(view, [change], [quote.line], "undefined-value")


@edit
def second_quote(rng: random.Random, view: View) -> Mutation:
    """Change any number in the quote of another element of a tuple than the first."""
    firsts = {id(quote) for quote in view.instruction.values()}
    quote = pick(rng, (quote for quote in view.quotes.values() if id(quote) not in firsts))
    text, start = quote.line.text("text"), quote.line.span("text")[0]
    number = pick(rng, re.finditer(rb"\d", text[len(quote.name) + 1 :]))
    place = start + len(quote.name) + 1 + number.start()
    change = Change(quote.line.file, place, place + 1, b"%d" % ((int(number[0]) + 1) % 10))
    return made(view, [change], [quote.line], "operand-mismatch")


@edit
def slices_exchanged(rng: random.Random, view: View) -> Mutation:
    """Swap two values of an allocation, which XLA lists by id."""
    pairs = [pair for pair in pairwise(view.all("slice")) if pair[0].parent is pair[1].parent]
    pair = pick(rng, (pair for pair in pairs if pair[0]["id"] is not None))
    return made(view, exchanged(*pair), pair, "syntax")


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
