"""Commands that match the command line, and commands that lenses and actions run."""

import json
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from cli.test_cli import run
from lsp.conftest import Loads
from lsp.reading import NO_PAGE, Reader, copied, read_page, show_page
from lsp.wire import FULL, RequestFailed
from samples import SEED, SPLIT, TPU
from xla_lens.disk.sets import find_set


async def test_commands_return_what_the_command_line_prints(reader: Reader) -> None:
    await reader.start()
    for path in (SEED, SPLIT, TPU):
        uri = reader.open(path)
        for form in ("markdown", "text", "html"):
            _, out, _ = run("report", path, "--output-format", form)
            assert await reader.run("report", {"uri": uri, "format": form}) == out
        _, out, _ = run("report", path, "--output-format", "json")
        assert [await reader.run("report", {"uri": uri, "format": "json"})] == json.loads(out)
        _, out, _ = run("check", path, "--output-format", "json")
        assert await reader.run("check", {"uri": uri}) == json.loads(out)
    _, out, _ = run("explain", "peak-understated")
    assert (await reader.run("explain", {"code": "peak-understated"})).strip() == out.strip()


async def test_show_live_set_finds_the_step_at_a_position(reader: Reader) -> None:
    """The step is the one at the position, or the first step of the value there."""
    await reader.start()
    uri = reader.open(SEED)
    for marked, step in (
        ("    5:negate.0\n    ^", 5),
        ("    5:negate.0\n        ^", 5),
        ("    cublas-gemm.1{}:4-5\n      ^", 4),
        ("    cublas-gemm.1{}:4-5\n                      ^", 5),
        ("  Live ranges at 5 (peak):\n     ^", 5),
        ("    tuple{}:6-7\n      ^", 6),
    ):
        found = await reader.run("showLiveSet", {"uri": uri, "position": reader.at(uri, marked)})
        assert found["text"].startswith(f"Live at step {step}\n")


async def test_show_references_goes_to_the_first(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    position = reader.at(uri, "    cublas-gemm.1{}:4-5\n      ^")
    found = await reader.run("showReferences", {"uri": uri, "position": position})
    assert [place.split(":")[1] for place in reader.shown(found)] == ["8", "43", "45", "47", "71", "77", "63", "37"]
    (shown,) = reader.editor.received("window/showDocument")
    assert shown["params"] == {"uri": uri, "takeFocus": True, "selection": found[0]["range"]}
    assert await reader.run("showReferences", {"uri": uri, "position": {"line": 13, "character": 0}}) == []
    assert len(reader.editor.received("window/showDocument")) == 1


_NO_DUMP = " is neither open nor a dump"


_INVALID: list[tuple[str, list[Any], str]] = [
    ("nothing", [{}], "no such command: xla-lens.nothing"),
    ("report", [], "uri is missing"),
    ("report", [{"uri": 5}], "uri: expected str, not int"),
    ("report", [{"uri": "file:///no/such/file.txt"}], f"file:///no/such/file.txt{_NO_DUMP}"),
    ("report", [{"uri": "{uri}", "format": "pdf"}], "format: 'pdf' is none of text, markdown, json, html"),
    ("showLiveSet", [{"uri": "{uri}", "step": 10**30}], "step: expected an integer from 0 to 9007199254740991"),
    ("explain", [{}], "code is missing"),
    ("explain", [{"code": "sintax"}], "unknown code 'sintax'; did you mean 'syntax'?"),
    ("showLiveSet", [{"uri": "{uri}"}], "step is missing"),
    (
        "showLiveSet",
        [{"uri": "{uri}", "position": {"line": 0}}],
        "position: expected an object with line and character",
    ),
    ("showLiveSet", [{"uri": "{uri}", "position": {"line": 0, "character": 0}}], "nothing there has a step"),
    ("showAllocationHistory", [{"uri": "{uri}"}], "allocation is missing"),
    ("goTo", [{}], "expected a location: uri and range"),
    ("goTo", [{"path": "/a.py", "line": -1}], "line: expected an integer from 0 to 2147483647"),
    ("peak", [{"uri": "{uri}", "color": 5}], "nothing is ever live in memory space 5"),
    ("values", [{"uri": "{uri}", "values": [0, 99]}], "values: expected rows from 0 to 5"),
    ("describe", [{"uri": "{uri}", "value": 1, "step": 1}], "expected exactly one of value, allocation, step"),
    ("describe", [{"uri": "{uri}", "step": 7}], "there is no step 7"),
    ("compare", [{"new": "{uri}"}], "old is missing, and no dump is selected for comparison"),
    ("compare", [{"old": "{uri}", "new": "{uri}"}], "both are files of the same dump: choose two dumps to compare"),
]


async def test_invalid_arguments_are_rejected(reader: Reader) -> None:
    await reader.start()
    names = {"uri": reader.open(SEED)}

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return value.format(**names) if value.startswith("{") else value
        return {name: filled(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    for command, arguments, message in _INVALID:
        with pytest.raises(RequestFailed) as refused:
            await reader.run(command, *map(filled, arguments))
        assert refused.value.code == -32602
        error = str(refused.value).partition(": ")[2]
        assert error.startswith(filled(message)), (command, arguments)
        assert "\n" not in error


@pytest.mark.parametrize(
    ("path", "name"), [("/nowhere/a.py", "a.py"), ("b.py", "b.py"), ("C:\\nowhere\\c.py", "c.py"), ("/", "")]
)
async def test_missing_source_file_is_named(reader: Reader, path: str, name: str) -> None:
    await reader.start()
    reader.open(SEED)
    with pytest.raises(RequestFailed) as refused:
        await reader.run("goTo", {"path": path, "line": 1})
    assert (refused.value.code, refused.value.data) == (-32803, {"source": path})
    expected = f"{name} is not in this workspace: map its folder with the setting xla-lens.sources.pathMapping"
    assert str(refused.value).partition(": ")[2] == expected


async def test_pages_cannot_follow_links_out_of_the_workspace(reader: Reader, tmp_path: Path) -> None:
    """The user must name a file outside the workspace in a command; the URI of a page is not enough."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    target = copied(SEED, outside)
    link = inside / "x-buffer-assignment.txt"
    os.symlink(target, link)
    (inside / "folder").symlink_to(outside)
    await reader.start(FULL, inside)
    for path in (link, inside / "folder" / target.name, target, inside / ".." / "outside" / target.name):
        page = f"xla-lens:{str(path).removesuffix('-buffer-assignment.txt')}/summary.txt"
        assert await read_page(reader, page) == NO_PAGE
        shown = await reader.run("showSummary", {"uri": path.as_uri()})
        # In the URI of a document, `..` is resolved.
        own = page.replace("/inside/..", "")
        assert unquote(shown["uri"]) == own
        assert await read_page(reader, own) == shown["text"]


async def test_commands_work_on_dumps_outside_the_workspace(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    """Without a workspace, and with a file too large to open."""
    path = copied(SPLIT, tmp_path)
    await reader.start(FULL)
    for file in find_set(path).paths.values():
        assert (await reader.run("report", {"uri": file.as_uri()})).startswith("## `jit_train_step`\n")
    await show_page(reader, "showLiveSet", uri=path.as_uri(), step=5)
    assert loads.count == 1, "the set is read once, and cached for later commands"
    for name in ("README.md", "no-buffer-assignment.txt"):
        (tmp_path / name).write_text("# no dump\n")
    for name in ("README.md", ".", "none", "x-live-range.txt"):
        with pytest.raises(RequestFailed, match=_NO_DUMP):
            await reader.run("report", {"uri": (tmp_path / name).as_uri()})


@pytest.mark.parametrize("is_changed", [False, True])
async def test_opening_a_file_that_is_being_read(
    reader: Reader, loads: Loads, tmp_path: Path, *, is_changed: bool
) -> None:
    """The file is read once more only if its text differs from that in the editor."""
    path = copied(SEED, tmp_path)
    await reader.start(FULL, tmp_path)
    loads.hold()
    number = reader.ask_to_run("overview", {"uri": path.as_uri(), "top": 1})
    await reader.editor.until(lambda: loads.count == 1)
    text = path.read_text()
    uri = reader.open(path, text.replace("gemm.1", "zebra.1") if is_changed else text)
    hints = reader.editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    # A message that is answered at once: the document is open.
    assert await reader.ask("hover", "file:///nothing", position={"line": 0, "character": 0}) is None
    loads.resume()
    assert (await reader.editor.answer(number))["module"]
    outline = str(await reader.editor.answer(hints))
    assert ("zebra.1" in outline, "gemm.1" in outline) == (is_changed, not is_changed)
    assert loads.count == 1 + is_changed


async def test_loading_shows_its_percentage(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    await reader.start(FULL, tmp_path)
    loads.done = 0.42
    loads.hold()
    reader.open(copied(SEED, tmp_path))

    def values() -> list[Any]:
        return [message["params"]["value"] for message in reader.editor.received("$/progress")]

    await reader.editor.until(lambda: len(values()) > 1)
    title = f"Reading {SEED.name.removesuffix('-buffer-assignment.txt')}"
    assert values()[:2] == [
        {"kind": "begin", "title": title, "percentage": 42},
        {"kind": "report", "percentage": 42},
    ]
    loads.resume()
    await reader.editor.until(lambda: values()[-1]["kind"] == "end")


_HBM_MESSAGE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (12.05M) exceeds available HBM (10.00M). HLO module: jit_roundtrip."
)


async def test_out_of_memory_message_is_explained(reader: Reader, tmp_path: Path) -> None:
    await reader.start(FULL)
    log = tmp_path / "error.log"
    log.write_text(f"step 1\n{_HBM_MESSAGE}\n")
    shutil.copytree(TPU.parent, tmp_path / "dumps")
    shown = await reader.run("showOutOfMemory", {"uri": log.as_uri()})
    # The answer about the dump is between the failure and the details of the message, as on the command line.
    failure, _, rest = shown["text"].partition("\n## `jit_roundtrip`")
    answer, _, details = rest.partition("\n## What the message says\n")
    assert "### Where it goes: the HBM peak" in answer
    (file,) = tmp_path.rglob("*optimizations-buffer-assignment.txt")
    _, out, _ = run("oom", log, tmp_path, "--output-format", "markdown")
    out = out.replace(str(log), log.name).replace(str(file), file.name)
    assert out.startswith(failure)
    assert details.strip() in out
    assert await read_page(reader, shown["uri"]) == shown["text"]
    # The commands and the links of the page are about that dump.
    page = {"uri": shown["uri"]}
    overview = await reader.run("overview", page)
    assert overview["module"] == "jit_roundtrip"
    assert str(tmp_path) in unquote(overview["uri"])
    assert "What would lower the HBM peak" in (await reader.run("showAdvice", page))["text"]
    links = await reader.ask("documentLink", shown["uri"])
    reader.texts[shown["uri"]] = shown["text"]
    targets = {reader.text_at(shown["uri"], link["range"]): link.get("target") for link in links}
    assert targets["`error.log`"] == f"{log.as_uri()}#L2"
    assert targets[f"`{file.name}`"] == f"{file.as_uri()}#L1"
    assert ".txt#L" in targets["step 8"]
    # Without dumps beside it, the one in view counts.
    alone = {"uri": (tmp_path / "alone" / "notes").as_uri(), "text": _HBM_MESSAGE}
    dump = reader.open(TPU)
    assert "### What to do" in (await reader.run("showOutOfMemory", {**alone, "dump": dump}))["text"]
    with pytest.raises(RequestFailed, match="no out-of-memory message"):
        await reader.run("showOutOfMemory", {**alone, "text": "all is well"})
