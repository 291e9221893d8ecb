"""Links in Markdown that run a command of the editor. Editors that cannot follow them get the text alone."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from xla_lens.model.hlo.stack_frames import StackFrame, is_file


class CommandLinks(NamedTuple):
    """Links about a dump set. `uri` names one of its files; None for an editor that cannot follow such links."""

    uri: str | None = None

    def source(self, text: str, frame: StackFrame) -> str:
        """Return Markdown as a link to a line of the program."""
        if not is_file(frame.file):
            return text
        line = {"line": frame.line} if frame.line is not None else {}
        return self._link(text, "xla-lens.goTo", {"path": frame.file, **line})

    def location(self, text: str, location: Mapping[str, Any]) -> str:
        """Return Markdown as a link to a location."""
        return self._link(text, "xla-lens.goTo", location)

    def live_set(self, text: str, step: int) -> str:
        """Return Markdown as a link to the values that are live at a step."""
        return f"[{text}]({self.about_dump('showLiveSet', step)})" if self.uri else text

    def history(self, text: str, allocation: int) -> str:
        """Return Markdown as a link to the history of an allocation, by its index in the dump."""
        return self._link(text, "xla-lens.showAllocationHistory", {"uri": self.uri, "allocation": allocation})

    def about_dump(self, command: str, step: int | None = None) -> str:
        """Return the URI of a command of the editor about the dump, or about a step of it."""
        return _command_uri(f"xla-lens.{command}", self.uri if step is None else {"uri": self.uri, "step": step})

    def values(self, values: Sequence[int], name: str | None = None) -> str:
        """Return the URI of the command that shows some values, by their rows, in the memory map, which calls them by a
        name.
        """
        named = {"name": name} if name else {}
        return _command_uri("xla-lens.showValuesInMap", {"uri": self.uri, "values": values, **named})

    def in_map(self, text: str, value: int) -> str:
        """Return Markdown as a link to a value, by its row, in the memory map."""
        return f"[{text}]({self.values([value])})" if self.uri else text

    def actions(self, text: str, line: int, character: int) -> str:
        """Return Markdown as a link to the actions at a position of the document."""
        position = {"line": line, "character": character}
        return self._link(text, "xla-lens.showActions", {"uri": self.uri, "position": position})

    def _link(self, text: str, command: str, argument: Any) -> str:
        return f"[{text}]({_command_uri(command, argument)})" if self.uri else text


def _command_uri(command: str, argument: Any) -> str:
    # The encoded arguments contain no character that could end a link: `quote` leaves letters, digits and `_.-~`.
    return f"command:{command}?{quote(json.dumps([argument], separators=(',', ':')), safe='')}"


NO_LINKS: Final = CommandLinks()
"""For texts that are shown where no command runs."""


def map_link(number: int) -> str:
    """Return the link to a map of a page of several, counted from 0."""
    return f"?map={number + 1}" if number else "?"
