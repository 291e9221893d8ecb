"""Documents with the standard output of XLA, which has several modules: each is answered like a dump of its own."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, lines, read_page, rows
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

    def moved(self, value: Any, row: int) -> Any:
        """Return an answer about a file, with its places and URIs in the log."""
        match value:
            case list():
                return [self.moved(item, row) for item in value]
            case dict():
                inner = self.first_rows.get(str(value.get("uri", value.get("targetUri"))), row)
                rows = {key: row if key == "originSelectionRange" else inner for key in value}
                return {key: self._moved(key, item, value, rows[key]) for key, item in value.items()}
            case str() if match := re.fullmatch(r"(file:.*)#L(\d+)", value):
                return f"{self.uri}#L{int(match[2]) + self.first_rows[match[1]]}"
        return value

    def _moved(self, key: str, item: Any, around: dict[str, Any], row: int) -> Any:
        # A path is that of a file of the program.
        if key in ("line", "startLine", "endLine") and "path" not in around:
            return item + row
        if key in ("uri", "targetUri") and item in self.first_rows:
            is_place = {"range", "position", "targetRange"} & around.keys()
            return self.uri if is_place else f"{self.uri}#L{row + 1}"
        return self.moved(item, row)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path, SPLIT.parent, GLUED.parent, TPU.parent)


def _positions(text: str) -> Iterator[dict[str, int]]:
    """The middles of some lines of a file."""
    found = lines(text)
    for row in range(2, len(found), max(1, len(found) // 4)):
        yield {"line": row, "character": len(found[row]) // 2}


def _at(position: dict[str, int], row: int) -> dict[str, int]:
    return {**position, "line": position["line"] + row}


AT_POSITIONS = ("hover", "definition", "implementation", "documentHighlight", "prepareCallHierarchy")


async def _opened(reader: Reader, log: Log) -> list[DumpSetState]:
    """Open a log, and return the dump sets in it when they are checked."""
    reader.open(log.path, log.text)
    states = reader.editor.server.state.sets.open
    for state in states:
        await state.checked()
    return states


@pytest.mark.parametrize("reader", ["utf-8", "utf-16"], indirect=True)
async def test_each_module_answers_like_its_files(reader: Reader, log: Log) -> None:
    # Links in hovers name files.
    await reader.start({**FULL, "experimental": {}})
    expected = {}
    for file in log.files:
        uri = reader.open(file)
        await reader.checked(uri)
        expected[file] = await _answers(reader, uri, 0, file)
    for file in log.files:
        reader.close(file.as_uri())
    assignments = [file for file in log.files if file.name.endswith("-buffer-assignment.txt")]
    assert len(await _opened(reader, log)) == len(assignments) == 6
    for file, answers in expected.items():
        row = log.first_rows[file.as_uri()]
        found = await _answers(reader, log.uri, row, file)
        for key, answer in answers.items():
            assert found[key] == log.moved(answer, row), key
    every = [(method, answer) for answers in expected.values() for (method, _), answer in answers.items()]
    for method in (*AT_POSITIONS, "codeAction", "inlayHint"):
        assert sum(bool(answer) for name, answer in every if name == method) >= 6, method


async def _answers(reader: Reader, uri: str, row: int, file: Path) -> dict[tuple[str, str], Any]:
    """The answers about positions and lines of a file, which begins at a line of a document."""
    text, found = file.read_text(), dict[tuple[str, str], Any]()
    for position in _positions(text):
        place = _at(position, row)
        for method in AT_POSITIONS:
            found[method, str(position)] = await reader.ask(method, uri, position=place)
        found["selectionRange", str(position)] = await reader.ask("selectionRange", uri, positions=[place])
        options = {"range": {"start": place, "end": place}, "context": {"diagnostics": list[Any]()}}
        actions = await reader.ask("codeAction", uri, **options)
        # Which dumps are open decides what to compare with.
        found["codeAction", str(position)] = [one for one in actions or [] if "Compare with" not in one["title"]]
    last = row + len(lines(text)) - 1
    found["inlayHint", "all"] = await reader.ask("inlayHint", uri, range=rows(row, last))
    return found


@pytest.mark.parametrize("reader", ["utf-8", "utf-16"], indirect=True)
async def test_answers_about_the_whole_output_have_all_modules(reader: Reader, log: Log) -> None:
    await reader.start()
    expected = {method: list[Any]() for method in WHOLE}
    tokens = list[list[int]]()
    for file in log.files:
        uri, row = reader.open(file), log.first_rows[file.as_uri()]
        await reader.checked(uri)
        for method in WHOLE:
            expected[method] += log.moved(await reader.ask(method, uri) or [], row)
        found = await reader.ask("semanticTokens/range", uri, range=reader.whole(uri))
        tokens += _absolute(found["data"] if found else [], row)
        reader.close(uri)
    await _opened(reader, log)
    first_rows = [log.first_rows[file.as_uri()] for file in log.files]
    outline = await reader.ask("documentSymbol", log.uri)
    assert [symbol["name"] for symbol in outline] == [file.name for file in log.files]
    assert [reader.text_at(log.uri, symbol["range"]).split()[2] for symbol in outline] == [
        file.name for file in log.files
    ]
    assert [child for symbol in outline for child in symbol["children"]] == expected["documentSymbol"]
    folds = await reader.ask("foldingRange", log.uri)
    assert [fold["startLine"] for fold in folds[-len(first_rows) :]] == [row - 1 for row in first_rows]
    assert folds[: -len(first_rows)] == expected["foldingRange"]
    for method in ("codeLens", "documentLink"):
        assert await reader.ask(method, log.uri) == expected[method]
    found = await reader.ask("semanticTokens/range", log.uri, range=reader.whole(log.uri))
    assert _absolute(found["data"], 0) == tokens
    assert all(expected.values())
    assert tokens


WHOLE = ("documentSymbol", "foldingRange", "codeLens", "documentLink")


def _absolute(data: list[int], row: int) -> list[list[int]]:
    """Semantic tokens with the lines of a document instead of distances."""
    tokens = list[list[int]]()
    for first in range(0, len(data), 5):
        row += data[first]
        tokens.append([row, *data[first + 1 : first + 5]])
    return tokens


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
        assert {file["uri"].partition("#")[0] for file in one["files"]} == {log.uri}
        overview = await reader.run("overview", {"uri": one["uri"]})
        shown = (overview["uri"], overview["module"], [space["peakLiveBytes"] for space in overview["spaces"]])
        assert shown == (one["uri"], one["module"], [space["peakLiveBytes"] for space in one["spaces"]])
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
    # A module that comes, and one that goes.
    reader.replace(log.uri, f"{begins[0]}\n", "")
    count -= 1
    await check()
    reader.replace(log.uri, "0\nmore\n", f"0\nmore\n{begins[0]}\n")
    count += 1
    await check()
    reader.close(log.uri)
    assert not reader.editor.server.state.sets.open
    assert not reader.editor.server.state.sets.recent
    if capabilities is not PULLING:
        await reader.editor.until(lambda: not reader.editor.diagnostics[log.uri])


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
