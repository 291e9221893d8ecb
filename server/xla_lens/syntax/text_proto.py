"""Reading of protocol buffers in text format. XLA writes its flags and the device in this format beside a dump.

Damaged texts are read as far as possible: what is not a field is skipped, and what follows an open block belongs to it.
"""

import re
from collections.abc import Iterator
from typing import Final

from xla_lens.text.patterns import lazy_pattern

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Message(dict[str, list["str | Message"]]):
    """The values of each field by its name, in the order of the text; more than one if the field is repeated. A value
    is a `Message`, or else the text of a number, of an enum's name or of a string, without its quotes and escapes.
    """

    def text(self, *path: str) -> str | None:
        """Return the last value at a path of fields, as protocol buffers do for a field that is not repeated. None if
        there is none, or if it is a message.
        """
        value = self._last(*path)
        return value if isinstance(value, str) else None

    def message(self, *path: str) -> "Message":
        """Return the last message at a path of fields, an empty one if there is none."""
        value = self._last(*path)
        return value if isinstance(value, Message) else Message()

    def _last(self, *path: str) -> "str | Message | None":
        value: str | Message | None = self
        for name in path:
            value = value.get(name, [None])[-1] if isinstance(value, Message) else None
        return value

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the names and values of the fields that are not messages."""
        for name, values in self.items():
            yield from ((name, value) for value in values if isinstance(value, str))


_STRING: Final = r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'"""
_TOKEN: Final = lazy_pattern(
    rf"""
    \#.*+
    | (?P<name>[A-Za-z_]\w*+) \s*+ (?: :\s*+(?P<value>{_STRING}|[\w.+-]++) | :?\s*+(?P<open>[{{<]) | :\s*+(?P<list>\[) )
    | (?P<item>{_STRING}|[\w.+-]++)
    | (?P<close>[}}>])
    | (?P<end>\])
    """,
    re.VERBOSE,
)
"""A comment, a field, a further item of a list, or a further part of a string. All quantifiers are possessive, so that
any text takes linear time.
"""


_DEEPEST: Final = 100
"""How deep messages nest at most. Protocol buffers have the same limit."""


def read_text_proto(text: str) -> Message:
    """Read a message in text format. Any text gives a message, an empty one if nothing in it is a field. Reading ends
    where messages nest too deep.
    """
    root = Message()
    blocks = [root]
    # The values of the list that is open, None outside of lists.
    values: list[str | Message] | None = None
    for token in _TOKEN.finditer(text):
        if name := token["name"]:
            values = None
            found = blocks[-1].setdefault(name, [])
            if token["open"]:
                if len(blocks) > _DEEPEST:
                    break
                blocks.append(Message())
                found.append(blocks[-1])
            elif token["list"]:
                values = found
            else:
                found.append(_scalar(token["value"]))
        elif token["close"] and len(blocks) > 1:
            blocks.pop()
        elif token["end"]:
            values = None
        elif values is not None and (item := token["item"]):
            values.append(_scalar(item))
    return root


_ESCAPE: Final = lazy_pattern(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))")


def _scalar(text: str) -> str:
    """A value without its quotes and escapes."""
    if text[0] not in "\"'":
        return text
    return _ESCAPE.sub(_unescaped, text[1:-1]) if "\\" in text else text[1:-1]


def _unescaped(escape: re.Match[str]) -> str:
    octal, hexadecimal, other = escape.groups()
    if other:
        return _ESCAPES.get(other, other)
    return chr(int(octal, 8) if octal else int(hexadecimal, 16))
