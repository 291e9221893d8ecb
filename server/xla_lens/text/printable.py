"""Text that cannot control a terminal, a browser or a reader of logs."""

from typing import Final

from xla_lens.text.patterns import lazy_pattern

_CONTROLS: Final = lazy_pattern(
    "[\0-\x09\x0b-\x1f\x7f-\x9f"  # C0 without the line feed, DEL, C1
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # the order of writing, and other ends of lines
    "\ud800-\udfff]"  # bytes of file names that are not UTF-8
)
"""Characters that do something instead of being shown."""


def printable(text: str) -> str:
    """Return a text in which every character shows. A line feed stays, and a tab becomes a space.

    All output passes through this function: escape sequences in a dump, a path or a log must not reach the terminal.
    """
    return _CONTROLS.sub(lambda match: " " if match[0] == "\t" else "�", text)


def printable_line(text: str) -> str:
    """Return a text in which every character shows, on one line."""
    return printable(text).replace("\n", "�")


def json_printable(text: str) -> str:
    """Return JSON in which control characters are escaped."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
