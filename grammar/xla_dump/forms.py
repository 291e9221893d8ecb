"""The pieces of a form in lines.py."""

import re
from typing import Final, NamedTuple

from lines import PARTS


class Piece(NamedTuple):
    """A piece of a form: literal `text`, a part of a `kind`, a `[` or `]`, or a place that fills a `column`."""

    text: str = ""
    kind: str = ""
    column: str = ""
    color: str = ""
    bracket: str = ""


_PIECE: Final = re.compile(
    r"(?P<brace>\{\{|\}\})|\{(?P<column>\w*)(?::(?P<kind>\w+)(?:/(?P<color>\w+))?)?\}|(?P<bracket>[][])"
)


def pieces_of(form: str) -> list[Piece]:
    """Return the pieces of a form."""
    found: list[Piece] = []

    def add(text: str) -> None:
        if found and found[-1].text:
            text = found.pop().text + text
        if text:
            found.append(Piece(text=text))

    end = 0
    for match in _PIECE.finditer(form):
        add(form[end : match.start()])
        end = match.end()
        if match["brace"]:
            add(match["brace"][0])
        else:
            piece = {name: text or "" for name, text in match.groupdict().items() if name != "brace"}
            if piece["kind"] and not piece["color"]:
                piece["color"] = PARTS[piece["kind"]].color
            found.append(Piece(**piece))
    add(form[end:])
    return found
