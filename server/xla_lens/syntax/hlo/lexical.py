"""The lexical rules of HLO text, each written once for all readers that work without a syntax tree.

The grammar `hlo` defines the syntax. These patterns restate the parts of it that the fast readers need; tests hold the
readers equal to the grammar on every module and every quoted instruction of the collection.
"""

import re
from typing import Final, NamedTuple

from xla_lens.text.patterns import lazy_pattern

NAME_CHARACTER: Final = rb"[^\s{}()\[\]\",=%]"
NAME: Final = NAME_CHARACTER + rb"+"
"""A name without the `%` sign in front of it."""

BARE_NAME: Final = rb"[A-Za-z_]" + NAME_CHARACTER + rb"*+"
"""A name that is recognizable without a `%` sign."""

REFERENCE: Final = lazy_pattern(rb"%(" + NAME + rb")")
"""A name with its `%` sign; group 1 is the bare name."""

KEY: Final = rb"[A-Za-z_][A-Za-z0-9_.-]*+"
"""The name of an attribute or of a metadata field."""

STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A string, which may span lines. Compile with `re.DOTALL`."""

UNCLOSED: Final = rb'".*+'
"""A quotation mark that ends no string, with all that follows. As the last choice after `STRING` it keeps a search
linear: without it, the search for the end of the string starts again at each quotation mark.
"""

STRINGS: Final = lazy_pattern(STRING + rb"|(" + UNCLOSED + rb")", re.DOTALL)
"""A string; or a quotation mark that ends none, with all that follows in group 1, which a replacement keeps."""

STRING_IN_LINE: Final = rb'"(?:[^"\\\n]|\\.)*+"'
"""A string that ends in the line in which it starts."""

ARRAY_SHAPE: Final = rb"[a-z][a-z0-9]*+\[[0-9,<=?]*+\](?:\{(?:[^{}]++|\{[^{}]*+\})*+\})?"
"""The shape of an array with its layout: `f32[2,<=8]{1,0:T(8,128)}`."""

DEFINITION: Final = rb"(ROOT\s+)?%?(" + NAME + rb")\s*=\s*(?=[a-z(])"
"""The start of an instruction up to its shape; group 1 is `ROOT`, group 2 the bare name."""

CALLING_ATTRIBUTES: Final = (
    *(b"calls", b"to_apply", b"body", b"condition", b"branch_computations", b"called_computations"),
    *(b"called_computation", b"true_computation", b"false_computation", b"select", b"scatter"),
)
"""The attributes whose values are names of computations."""

MAX_NAME_LENGTH: Final = 1024
"""How far from a byte a name that covers it is searched for."""


class Reference(NamedTuple):
    """A name in HLO text. `name` is bare; bytes `start` to `end` include the `%` sign where there is one."""

    name: bytes
    start: int
    end: int


def reference_at(text: bytes, offset: int) -> Reference | None:
    """Return the ``%name`` that covers a byte.

    Looks only at the bytes around the offset, because the grammar takes 10 ms for the longest instructions. It
    therefore also finds names inside of strings: backend configurations quote instructions.
    """
    start = text.rfind(b"%", max(0, offset - MAX_NAME_LENGTH), offset + 1)
    match = REFERENCE.match(text, start) if start >= 0 else None
    return Reference(match[1], match.start(), match.end()) if match and offset <= match.end() else None


_ELEMENT: Final = lazy_pattern(rb"(?<=.)(?:#[0-9]{1,9}){1,99}+\Z", re.DOTALL)


def operand_position(operand: bytes) -> tuple[bytes, bytes]:
    """Return the name of the instruction that an operand refers to, and the shape index of its element in braces, empty
    for the whole value.
    """
    match = _ELEMENT.search(operand)
    return (operand[: match.start()], b"{%s}" % match[0][1:].replace(b"#", b",")) if match else (operand, b"")


_ESCAPES: Final = lazy_pattern(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROLS: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unquoted(value: bytes) -> str:
    """Return the text of a string that absl::CEscape escaped; any other value as it is."""
    if not value.startswith(b'"'):
        return value.decode("utf-8", "replace")
    content = value[1:-1]
    return (_ESCAPES.sub(_unescaped, content) if b"\\" in content else content).decode("utf-8", "replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 8) & 0xFF])
    return bytes([int(match[2], 16)]) if match[2] else _CONTROLS.get(match[3], match[3])
