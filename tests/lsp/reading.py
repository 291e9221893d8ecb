"""A reader of dumps in an editor: opens documents, marks positions in them, and returns answers as the text at their
ranges.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from fuzzing.positions import Text
from lsp.wire import FULL, InProcess
from xla_lens.disk.sets import find_set
from xla_lens.syntax.file_names import split_name

_LINE_END = re.compile(r"\r\n|\n|\r")

NO_PAGE = "There is no such page, or its dump is neither open nor in the workspace.\n"
"""The text of a page that does not exist."""

Range = Mapping[str, Any]

in_all_encodings = pytest.mark.parametrize("reader", ["utf-8", "utf-16", "utf-32"], indirect=True)
"""Runs a test with each position encoding."""


class Reader:
    """An editor with open documents and the server in the same process. `texts` are the open documents by URI."""

    def __init__(self, encoding: str = "utf-16") -> None:
        self.editor = InProcess()
        self.encoding = encoding
        self.texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}

    async def start(self, capabilities: Mapping[str, Any] = FULL, *folders: Path, **params: Any) -> Any:
        """Initialize the server with some workspace folders. Return the result of `initialize`."""
        if folders:
            params["workspaceFolders"] = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        general = {"general": {"positionEncodings": [self.encoding]}}
        found = await self.editor.initialize({**capabilities, **general}, **params)
        assert found["capabilities"]["positionEncoding"] == self.encoding
        if "configuration" in capabilities.get("workspace", {}):
            await self.editor.until(lambda: bool(self.editor.received("workspace/configuration")))
        return found

    async def set(self, **settings: Any) -> None:
        """Change the user's settings, given by group."""
        count = len(self.editor.received("workspace/configuration"))
        self.editor.settings = settings
        self.editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await self.editor.until(lambda: len(self.editor.received("workspace/configuration")) > count)

    async def stop(self) -> None:
        """Shut the server down if it was initialized. Raises the first failure of the server."""
        if self.editor.messages:
            await self.editor.stop()

    # ---------------------------------------------------------------- documents

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file as it is on disk or with another text. Return its URI."""
        return self.open_uri(path.as_uri(), path.read_bytes().decode() if text is None else text)

    def open_uri(self, uri: str, text: str, language: str = "xla-dump") -> str:
        """Open a document."""
        self.texts[uri] = text
        self._versions[uri] = 1
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.editor.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replace a text that occurs once in an open document. Only the differing part is sent."""
        text = self.texts[uri]
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        self.texts[uri] = text.replace(old, new)
        same = _same(old, new)
        old, new, start = old[same:], new[same:], text.index(old) + same
        same = _same(old[::-1], new[::-1])
        old, new = old[: len(old) - same], new[: len(new) - same]
        place = Text(text, self.encoding).position
        range_ = {"start": place(start), "end": place(start + len(old))}
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        changed = {"textDocument": document, "contentChanges": [{"range": range_, "text": new}]}
        self.editor.notify("textDocument/didChange", changed)

    def close(self, uri: str) -> None:
        """Close a document."""
        del self.texts[uri]
        self.editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    # ---------------------------------------------------------------- positions

    def at(self, uri: str, marked: str) -> Mapping[str, int]:
        """Return the position of a mark: a line that occurs once in a document, and below it a line with a `^`."""
        line, mark = marked.strip("\n").split("\n")
        rows = [row for row, found in enumerate(lines(self.text(uri))) if found == line]
        assert len(rows) == 1, f"{line!r} occurs {len(rows)} times"
        return {"line": rows[0], "character": self.width(line[: mark.index("^")])}

    def text(self, uri: str) -> str:
        """Return the text of an open document, or else the text on disk."""
        return self.texts[uri] if uri in self.texts else path_of(uri).read_bytes().decode()

    def text_at(self, uri: str, range_: Range) -> str:
        """Return the text at a range, which must be inside the document."""
        text = Text(self.text(uri), self.encoding)
        assert all(map(text.has, range_.values())), range_
        start, end = text.index(range_["start"]), text.index(range_["end"])
        assert start <= end
        return text.text[start:end]

    def shown(self, places: Iterable[Mapping[str, Any]] | None) -> list[str]:
        """Return locations as text: the end of the file name, the line number, and the text at the range."""
        return [self._shown(place) for place in places or ()]

    def width(self, text: str) -> int:
        """Return the width of a text in the editor's encoding."""
        return Text("", self.encoding).width(text)

    def _shown(self, place: Mapping[str, Any]) -> str:
        uri = place.get("targetUri") or place["uri"]
        range_ = place.get("targetSelectionRange") or place["range"]
        return f"{short_name(uri)}:{range_['start']['line'] + 1}: {self.text_at(uri, range_)}"

    def whole(self, uri: str) -> Range:
        """Return the range of a whole document."""
        return rows(0, len(lines(self.text(uri))))

    # ---------------------------------------------------------------- requests

    async def ask(self, method: str, uri: str, **params: Any) -> Any:
        """Return the answer to a request about a document."""
        return await self.editor.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **params})

    async def analysed(self, uri: str) -> None:
        """Wait until a document is analysed. Some requests are answered before."""
        await self.ask("codeLens", uri)

    async def checked(self, uri: str) -> None:
        """Wait until the dump is checked against its HLO module, which changes findings and pages."""
        state, _ = self.editor.server.state.sets.find(uri) or pytest.fail(f"{uri} is not open")
        await state.checked()

    async def ask_at(self, method: str, uri: str, marked: str, **params: Any) -> Any:
        """Return the answer to a request about a marked position."""
        return await self.ask(method, uri, position=self.at(uri, marked), **params)

    async def run(self, command: str, *arguments: Any) -> Any:
        """Run a command and return its result."""
        return await self.editor.answer(self.ask_to_run(command, *arguments))

    def ask_to_run(self, command: str, *arguments: Any) -> int:
        """Send the request to run a command, and return its id."""
        params = {"command": f"xla-lens.{command}", "arguments": list(arguments)}
        return self.editor.ask("workspace/executeCommand", params)


async def show_page(reader: Reader, command: str, **arguments: Any) -> str:
    """Show a page and read it as an editor does. Return its URI."""
    found = await reader.run(command, arguments)
    (shown,) = reader.editor.received("window/showDocument")[-1:]
    assert shown["params"] == {"uri": found["uri"], "takeFocus": True}
    assert await read_page(reader, found["uri"]) == found["text"]
    reader.texts[found["uri"]] = found["text"]
    return str(found["uri"])


async def read_page(reader: Reader, uri: str) -> str:
    """Return the text of a page."""
    return str((await reader.editor.request("workspace/textDocumentContent", {"uri": uri}))["text"])


def rows(first: int, last: int) -> Range:
    """Return the range from the start of one line to the start of another."""
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}


def lines(text: str) -> list[str]:
    """Return the lines of a text as the protocol defines them."""
    return _LINE_END.split(text)


def path_of(uri: str) -> Path:
    """Return the path of a file URI."""
    parts = urlsplit(uri)
    assert parts.scheme == "file", uri
    return Path(url2pathname(parts.path))


def short_name(uri: str) -> str:
    """Return the end of a file name, which gives the kind of the file."""
    return re.split(r"_optimizations-|/", uri)[-1].removesuffix(".txt")


def _same(text: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = zip(text, other, strict=False)
    return next((index for index, (one, two) in enumerate(pairs) if one != two), min(len(text), len(other)))


def copied(path: Path, folder: Path, old: str = "", new: str = "") -> Path:
    """Copy the dump set of a file to a folder, with one text replaced by another. Return the copy of the file."""
    folder.mkdir(exist_ok=True)
    for file in find_set(path).paths.values():
        text = file.read_text()
        (folder / file.name).write_text(text.replace(old, new) if old else text)
    return folder / path.name


def check_golden(golden: Path, text: str) -> None:
    """Compare a text with a golden file. `XLA_LENS_GOLDENS=keep` writes the file instead."""
    if os.environ.get("XLA_LENS_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def sibling(path: Path, kind: str) -> Path:
    """Return another file of the set of a file."""
    return path.with_name(f"{split_name(path.name)[0]}-{kind}.txt")
