"""The memory of files of the program: the command, and hints and hovers in editors that do not draw it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, sibling
from lsp.wire import FULL
from samples import DUMPS, ROOT, SPLIT, WHILE

_PROGRAM = DUMPS / "programs" / "programs.py"
_DYNAMIC = {"dynamicRegistration": True}
REGISTERING: Mapping[str, Any] = {
    **FULL,
    "textDocument": {
        **FULL["textDocument"],
        "synchronization": _DYNAMIC,
        "hover": {**FULL["textDocument"]["hover"], **_DYNAMIC},
        "inlayHint": _DYNAMIC,
    },
}
ON = {"sourceLines": {"enable": True}}
_LINE = 50
"""The line of the program with the most bytes at the peak of `SPLIT`."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program in a folder of its own, older than the dumps."""
    path = tmp_path / "programs" / "programs.py"
    path.parent.mkdir()
    shutil.copy(_PROGRAM, path)
    os.utime(path, (1e9, 1e9))
    return path


def _open(reader: Reader, program: Path) -> str:
    return reader.open_uri(program.as_uri(), program.read_text(), "python")


async def _hints(reader: Reader, uri: str) -> dict[int, str]:
    """Return the hints of a document by line, from 1."""
    text = reader.text(uri).split("\n")
    found = {}
    for hint in await reader.ask("inlayHint", uri, range=reader.whole(uri)):
        row, column = hint["position"]["line"], hint["position"]["character"]
        assert column == reader.width(text[row])
        found[row + 1] = hint["label"]
    return found


async def test_module_is_the_worst_unless_another_is_preferred(reader: Reader, program: Path) -> None:
    await reader.start(FULL, program.parent)
    small, big = reader.open(WHILE), reader.open(SPLIT)
    for uri in (small, big):
        await reader.analysed(uri)
    found = await reader.run("sourceMemory", {"uri": program.as_uri()})
    assert (found["uri"], found["others"]) == (big, ["jit_tuple_while"])
    found = await reader.run("sourceMemory", {"uri": program.as_uri(), "dump": small})
    assert (found["uri"], found["others"]) == (small, ["jit_train_step"])


async def test_workspace_is_searched_on_request(reader: Reader, program: Path) -> None:
    shutil.copytree(SPLIT.parent, program.parent / "dump")
    await reader.start(FULL, program.parent)
    assert await reader.run("sourceMemory", {"uri": program.as_uri()}) is None
    found = await reader.run("sourceMemory", {"uri": program.as_uri(), "search": True})
    assert found["module"] == "jit_train_step"


async def test_file_that_is_newer_than_the_dump_says_so(reader: Reader, program: Path) -> None:
    os.utime(program)
    folder = program.parent / "dump"
    shutil.copytree(SPLIT.parent, folder)
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    await reader.start(FULL, program.parent)
    await reader.analysed(reader.open(folder / SPLIT.name))
    found = await reader.run("sourceMemory", {"uri": program.as_uri()})
    assert found["is_newer"]
    assert found["lines"][0]["label"].endswith(" · dump of 2001-09-09 " + found["lines"][0]["label"][-5:])


async def test_hints_and_hovers_are_off_by_default(reader: Reader, program: Path) -> None:
    await reader.start(REGISTERING, program.parent)
    await reader.analysed(reader.open(SPLIT))
    uri = _open(reader, program)
    assert await reader.ask("inlayHint", uri, range=reader.whole(uri)) is None
    position = {"line": _LINE - 1, "character": 0}
    assert await reader.ask("hover", uri, position=position) is None
    assert not reader.editor.received("client/registerCapability")
    await reader.set(**ON)
    hints, lines = await _hints(reader, uri), program.read_text().split("\n")
    assert hints[_LINE] == "██▉ 1.53 MiB (36.4 %)"
    # The walkthrough of VS Code shows the same.
    _, *shown = (ROOT / "vscode-extension" / "media" / "lines.md").read_text().partition("\n```\n")[0].split("\n")
    for row, text in enumerate(shown, 48):
        label = f"   {hints[row]}" if row in hints else ""
        assert text == f" {row}  {lines[row - 1]}{label}"
    hover = await reader.ask("hover", uri, position=position)
    assert hover["contents"]["value"].startswith("**1.53 MiB** · 36.4 % of the host memory peak")
    assert await reader.ask("hover", uri, position={"line": 0, "character": 0}) is None
    # Everything else is left to the servers for Python.
    for method in ("definition", "documentSymbol", "codeLens", "foldingRange"):
        given = {"position": position} if method == "definition" else {}
        assert await reader.ask(method, uri, **given) is None
    assert not reader.editor.diagnostics.get(uri)


async def test_lines_follow_edits(reader: Reader, program: Path) -> None:
    await reader.start(REGISTERING, program.parent)
    await reader.set(**ON)
    await reader.analysed(reader.open(SPLIT))
    uri = _open(reader, program)
    line = program.read_text().split("\n")[_LINE - 1]
    before = await _hints(reader, uri)
    reader.replace(uri, line, f"\n# é🚀 \n\n{line}")
    assert await _hints(reader, uri) == {row + 3 if row >= _LINE else row: label for row, label in before.items()}
    reader.replace(uri, f"\n# é🚀 \n\n{line}", line)
    assert await _hints(reader, uri) == before
    # The file is now newer than the dump, but the lines are known.
    reader.replace(uri, line, f"\n{line}")
    reader.editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert (await _hints(reader, uri))[_LINE + 1].startswith(f"{before[_LINE]} · dump of ")
    hover = await reader.ask("hover", uri, position={"line": _LINE, "character": 0})
    assert "\n\nThe file is newer than the dump of " in hover["contents"]["value"]


async def test_files_are_registered_by_their_paths(reader: Reader, program: Path) -> None:
    await reader.start(REGISTERING, program.parent)
    await reader.set(**ON)
    dump = reader.open(sibling(SPLIT, "live-range"))
    await reader.analysed(dump)
    await reader.editor.until(lambda: bool(reader.editor.received("client/registerCapability")))
    (message,) = reader.editor.received("client/registerCapability")
    registrations = message["params"]["registrations"]
    assert {one["method"] for one in registrations} == {
        f"textDocument/{name}" for name in ("didOpen", "didChange", "didSave", "didClose", "hover", "inlayHint")
    }
    for one in registrations:
        selector = one["registerOptions"]["documentSelector"]
        assert selector == [{"scheme": "file", "pattern": program.resolve().as_posix()}]
    await reader.set(sourceLines={"enable": False})
    await reader.editor.until(lambda: bool(reader.editor.received("client/unregisterCapability")))


async def test_editor_that_draws_lines_only_reports_edits(reader: Reader, program: Path) -> None:
    drawing = {**REGISTERING, "experimental": {"xlaLens": {"didLoad": True, "sourceLines": True}}}
    await reader.start(drawing, program.parent)
    await reader.set(**ON)
    await reader.analysed(reader.open(SPLIT))
    given = {"uri": program.as_uri()}
    before = await reader.run("sourceMemory", given)
    await reader.editor.until(lambda: bool(reader.editor.received("client/registerCapability")))
    (message,) = reader.editor.received("client/registerCapability")
    assert {one["method"] for one in message["params"]["registrations"]} == {
        f"textDocument/{name}" for name in ("didOpen", "didChange", "didSave", "didClose")
    }
    text = program.read_text()
    uri = reader.open(program, text)
    first = text.split("\n")[0]
    reader.replace(uri, first, f"\n{first}")
    reader.editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    after = await reader.run("sourceMemory", given)
    assert (before["is_newer"], after["is_newer"]) == (False, True)
    for name in ("lines", "functions"):
        assert [one["row"] for one in after[name]] == [one["row"] + 1 for one in before[name]] != []
