"""Documents with the standard output of XLA, which has several modules: each is answered like a dump of its own."""

import re
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, lines, read_page
from lsp.wire import FULL, PULLING
from samples import DUMPS, GLUED, SPLIT, TPU, facts
from xla_lens.lsp.dump_set_state import DumpSetState


class Log:
    """A log with the files of some folders as `--xla_dump_to=-` prints them (DumpToFileInDirOrStdoutImpl).

    `first_rows` has the line at which each of the files begins in the log, by its URI.
    """

    def __init__(self, folder: Path, *folders: Path) -> None:
        self.path = folder / "train.log"
        text = "compiling ünïcode 🚀...\n" * 5
        self.files = [file for one in folders for file in sorted(one.glob("module_*.txt"))]
        self.first_rows: dict[str, int] = {}
        for file in self.files:
            text += f"*** Begin {file.name} ***\n"
            self.first_rows[file.as_uri()] = len(lines(text)) - 1
            text += f"{file.read_text()}\n*** End {file.name} ***\n"
        self.text = f"{text}done\n"
        self.uri = self.path.as_uri()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path, SPLIT.parent, GLUED.parent, TPU.parent)


async def _opened(reader: Reader, log: Log) -> list[DumpSetState]:
    """Open a log, and return the dump sets in it when they are checked."""
    reader.open(log.path, log.text)
    states = reader.editor.server.state.sets.open
    for state in states:
        await state.checked()
    return states


async def test_commands_find_each_module(reader: Reader, log: Log) -> None:
    await reader.start()
    await _opened(reader, log)
    listed = (await reader.run("modules", {}))["modules"]
    folders = {file.parent for file in log.files}
    expected = [fact["memory_spaces"] for fact in facts(DUMPS) if (DUMPS / fact["file"]).parent in folders]
    peaks = [sorted((space["color"], space["peakLiveBytes"]) for space in one["spaces"]) for one in listed]
    assert sorted(peaks) == sorted(
        sorted((space["color"], space["peak_live_bytes"]) for space in spaces) for spaces in expected
    )
    assert len(peaks) == 6
    for one in listed:
        assert re.fullmatch(re.escape(log.uri) + r"#L\d+", one["uri"])
        page = await reader.run("showReport", {"uri": one["uri"]})
        assert page["text"] == await read_page(reader, page["uri"])
        assert one["module"] in page["text"]
    # Without a line, a command is about the module with the highest peak, unless a position selects another.
    assert (await reader.run("overview", {"uri": log.uri}))["uri"] == listed[0]["uri"]
    row = log.first_rows[log.files[0].as_uri()]
    first = await reader.run("showLiveSet", {"uri": log.uri, "position": _position_of_step(reader, log.uri, row)})
    assert first["uri"].startswith(f"xla-lens:{log.path.as_posix()}/module_0000")


def _position_of_step(reader: Reader, uri: str, first_row: int) -> dict[str, int]:
    """The first position behind a line that is in the order of instructions."""
    rows = enumerate(lines(reader.text(uri)))
    return next({"line": row, "character": 6} for row, text in rows if row > first_row and text.startswith("    0:"))


@pytest.mark.parametrize("capabilities", [FULL, PULLING], ids=["push", "pull"])
async def test_findings_of_all_modules_are_in_one_list(reader: Reader, log: Log, capabilities: Any) -> None:
    log.text = log.text.replace("Total bytes used: ", "Total bytes used: 1")
    await reader.start(capabilities)
    await _opened(reader, log)

    async def check() -> None:
        for state in reader.editor.server.state.sets.open:
            await state.checked()
        rows = enumerate(lines(reader.texts[log.uri]))
        totals = [row for row, line in rows if line.startswith("Total bytes used: 1")]
        assert len(totals) == 6
        if capabilities is PULLING:
            assert found((await reader.ask("diagnostic", log.uri))["items"]) == totals[-count:]
        else:
            await reader.editor.until(lambda: found(reader.editor.diagnostics.get(log.uri, [])) == totals[-count:])

    def found(items: list[Any]) -> list[int]:
        return sorted(one["range"]["start"]["line"] for one in items if one["code"] == "total-mismatch")

    count = 6
    await check()
    # Lines before, in and between files.
    begins = [line for line in lines(log.text) if line.startswith("*** Begin") and line.count("-values.txt")]
    for number, begin in enumerate(begins):
        reader.replace(log.uri, begin, f"{number}\nmore\n{begin}\n")
        await check()
    reader.close(log.uri)
    assert not reader.editor.server.state.sets.open
    assert not reader.editor.server.state.sets.recent
    if capabilities is not PULLING:
        await reader.editor.until(lambda: not reader.editor.diagnostics[log.uri])


async def test_dump_becomes_an_output_and_back(reader: Reader, log: Log) -> None:
    await reader.start()
    uri = reader.open_uri("untitled:Untitled-1", GLUED.read_text())
    before = await reader.ask("codeLens", uri)
    first = lines(GLUED.read_text())[0]
    begin = f"*** Begin {GLUED.name} ***\n"
    reader.replace(uri, first, f"{begin}{first}")
    (symbol,) = await reader.ask("documentSymbol", uri)
    assert symbol["name"] == GLUED.name
    after = await reader.ask("codeLens", uri)
    assert [one["range"]["start"]["line"] for one in after] == [one["range"]["start"]["line"] + 1 for one in before]
    reader.replace(uri, begin, "")
    assert await reader.ask("codeLens", uri) == before


@pytest.mark.parametrize("is_printed", [False, True], ids=["file", "log"])
async def test_module_from_the_compilation_cache_says_why_it_has_no_numbers(
    reader: Reader, tmp_path: Path, *, is_printed: bool
) -> None:
    """XLA writes only the module for a program that comes from JAX's compilation cache."""
    module = tmp_path / "module_0008.jit_train_step.after_optimizations.txt"
    module.write_bytes(next(SPLIT.parent.glob("*_optimizations.txt")).read_bytes())
    await reader.start(PULLING)
    if is_printed:
        text = f"compiling\n*** Begin {module.name} ***\n{module.read_text()}\n*** End {module.name} ***\n"
        module.unlink()
        uri, row = reader.open(tmp_path / "train.log", text), 2
    else:
        uri, row = reader.open(module), 0
    (found,) = (await reader.ask("diagnostic", uri))["items"]
    assert found["message"] == (
        "This module was loaded from JAX's compilation cache. XLA did not compile it, so it wrote no buffer "
        "assignment. Run the program again with JAX_ENABLE_COMPILATION_CACHE=false."
    )
    assert found["severity"] == 3
    assert reader.text_at(uri, found["range"]) == lines(reader.text(uri))[row]
    assert (await reader.ask("documentSymbol", uri))[0]["children"]
    # A module that was compiled has none, with or without the files beside it.
    compiled = tmp_path / "module_0009.jit_f.cpu_after_optimizations.txt"
    compiled.write_bytes(next(SPLIT.parent.glob("*_optimizations.txt")).read_bytes())
    assert (await reader.ask("diagnostic", reader.open(compiled)))["items"] == []


async def test_output_that_is_opened_twice_closes_once(reader: Reader, log: Log) -> None:
    await reader.start()
    await _opened(reader, log)
    outline = await reader.ask("documentSymbol", log.uri)
    # VS Code escapes more characters than others.
    other = reader.open_uri(log.uri.replace("train", "%74rain"), log.text)
    reader.close(log.uri)
    assert await reader.ask("documentSymbol", other) == outline
    reader.close(other)
    assert not reader.editor.server.state.sets.open
    assert await reader.ask("documentSymbol", other) is None
