"""What `vscode-extension/src/protocol.ts` says of the answers of commands, and values held against it.

Read from its text, of which so much of TypeScript is understood as stands there.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from samples import ROOT

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INTERFACE = re.compile(r"export interface (\w+)(?: extends (\w+))? \{")
_OPENING, _CLOSING = "{[(", "}])"

_LOCATION = "{ uri: string; range: { start: Position; end: Position } }"
_POSITION = "{ line: number; character: number }"


class Mismatch(AssertionError):
    """A value is not as the protocol says. Says where in it, and why."""


@cache
def interfaces() -> Mapping[str, Mapping[str, str]]:
    """The fields of each interface with their types, by name."""
    text = _COMMENT.sub("", (ROOT / "vscode-extension" / "src" / "protocol.ts").read_text())
    found = {"Location": _fields(_LOCATION[1:-1]), "Position": _fields(_POSITION[1:-1])}
    for match in _INTERFACE.finditer(text):
        body = text[match.end() : _end(text, match.end())]
        found[match[1]] = {**(found[match[2]] if match[2] else {}), **_fields(body)}
    return found


def check(value: Any, wanted: str, where: str = "") -> None:
    """Whether a value has a type, with all fields of it and no others. Raises `Mismatch`."""
    wanted, where = wanted.strip(), where or wanted
    alternatives = list(_divided(wanted, "|"))
    if len(alternatives) > 1:
        _check_any(value, alternatives, where)
    elif wanted.endswith("[]"):
        _need(isinstance(value, list), value, wanted, where)
        for number, item in enumerate(value):
            check(item, wanted.removesuffix("[]"), f"{where}[{number}]")
    elif wanted.startswith("{"):
        _check_object(value, _fields(wanted[1:-1]), where)
    elif wanted in interfaces():
        _check_object(value, interfaces()[wanted], where)
    else:
        plain = {"number": int, "string": str, "boolean": bool, "null": type(None)}.get(wanted)
        is_right = type(value) is plain if plain else f'"{value}"' == wanted
        _need(is_right, value, wanted, where)


def _check_any(value: Any, alternatives: list[str], where: str) -> None:
    reasons = []
    for alternative in alternatives:
        try:
            check(value, alternative, where)
        except Mismatch as mismatch:
            reasons.append(str(mismatch))
        else:
            return
    raise Mismatch(" and ".join(reasons))


def _check_object(value: Any, fields: Mapping[str, str], where: str) -> None:
    _need(isinstance(value, dict), value, "object", where)
    if value.keys() != fields.keys():
        raise Mismatch(f"{where}: one side only has {sorted(value.keys() ^ fields.keys())}")
    for name, wanted in fields.items():
        check(value[name], wanted, f"{where}.{name}")


def _need(holds: bool, value: Any, wanted: str, where: str) -> None:
    if not holds:
        raise Mismatch(f"{where}: {str(value)[:80]!r} is no {wanted}")


def _fields(body: str) -> Mapping[str, str]:
    """The fields of an object type, by what stands between its brackets."""
    pairs = (part.partition(":") for part in _divided(body, ";") if part.strip())
    return {name.strip(): wanted.strip() for name, _, wanted in pairs}


def _divided(text: str, mark: str) -> Iterator[str]:
    """The parts of a text between marks that stand outside of brackets."""
    start = depth = 0
    for place, letter in enumerate(text):
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == mark and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _end(text: str, start: int) -> int:
    """Where the bracket closes that is open at a place."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] in _OPENING) - (text[place] in _CLOSING)
        if not depth:
            return place
    raise ValueError("a bracket is not closed")
