"""Documents, settings and files change while a request waits or its answer is made: the answer is the current one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp import test_requests_source_memory as source_memory
from lsp.conftest import Held, Hold, Loads
from lsp.reading import Reader, copied, read_page, sibling
from lsp.wire import FULL, PATIENCE, RequestFailed
from samples import DUMPS, SEED, SPLIT
from xla_lens.lsp import comparisons, dump_set_state, sources, state
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.handlers import HANDLERS
from xla_lens.model.diff.comparable import DiffSide

_BEGIN = {"line": 0, "character": 0}
_FIRST = {"start": _BEGIN, "end": {"line": 9, "character": 0}}
_WORSE = ("    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-7")
"""An edit of `SEED` that changes what is live at step 7."""


@pytest.fixture(autouse=True)
def _is_not_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the tests poll the disk."""
    monkeypatch.setattr("xla_lens.lsp.server._POLL_SECONDS", 3600.0)


def _ask_all(reader: Reader, uri: str) -> list[int]:
    """Send every request about a document, and return their ids."""
    here, numbers = {"textDocument": {"uri": uri}}, []
    extra: dict[str, Any] = {
        lsp.TEXT_DOCUMENT_CODE_ACTION: {"range": _FIRST, "context": {"diagnostics": []}},
        lsp.TEXT_DOCUMENT_CODE_LENS: {},
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: {},
        lsp.TEXT_DOCUMENT_FOLDING_RANGE: {},
        lsp.TEXT_DOCUMENT_SELECTION_RANGE: {"positions": [_BEGIN]},
        lsp.TEXT_DOCUMENT_DOCUMENT_LINK: {},
        lsp.TEXT_DOCUMENT_INLAY_HINT: {"range": _FIRST},
        lsp.TEXT_DOCUMENT_REFERENCES: {"position": _BEGIN, "context": {"includeDeclaration": True}},
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: {"range": _FIRST},
    }
    for method, handler in HANDLERS.items():
        if handler.dump and method.startswith("textDocument/"):
            numbers.append(reader.editor.ask(method, here | extra.get(method, {"position": _BEGIN})))
    return numbers


async def test_requests_about_a_closed_document_find_nothing(reader: Reader, analyses: Loads, tmp_path: Path) -> None:
    """The result is null and not an error, because the editor has not cancelled the requests."""
    await reader.start()
    analyses.hold()
    uri = reader.open(copied(SEED, tmp_path))
    numbers = _ask_all(reader, uri)
    await asyncio.to_thread(analyses.begun.wait, PATIENCE)
    reader.close(uri)
    analyses.resume()
    assert len(numbers) > 10
    assert [await reader.editor.answer(number) for number in numbers] == [None] * len(numbers)
    assert reader.editor.server.state.sets.open == []


async def _page(reader: Reader, made: Held, number: int) -> Any:
    """Resume a request that shows a page, and return its answer, which has the same text as the page."""
    made.resume()
    answer = await reader.editor.answer(number)
    assert await read_page(reader, answer["uri"]) == answer["text"]
    return answer


async def test_page_of_a_set_that_is_loaded_again_while_it_is_rendered(
    reader: Reader, hold: Hold, tmp_path: Path
) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path))
    await reader.analysed(uri)
    made = hold(state, "render")
    number = reader.ask_to_run("showLiveSet", {"uri": uri, "step": 7})
    await made.done()
    reader.replace(uri, *_WORSE)
    await reader.analysed(uri)
    assert "cublas-gemm.1" in (await _page(reader, made, number))["text"]


async def test_comparison_of_a_set_that_is_loaded_again_while_the_other_is_read(
    reader: Reader, hold: Hold, tmp_path: Path
) -> None:
    await reader.start()
    old, new = (reader.open(copied(SEED, tmp_path / name)) for name in ("old", "new"))
    for uri in (old, new):
        await reader.analysed(uri)
    made = hold(comparisons, "read_flags", after=1)
    number = reader.ask_to_run("compare", {"old": old, "new": new})
    await made.done()
    reader.replace(old, *_WORSE)
    await reader.analysed(old)
    answer = await _page(reader, made, number)
    assert (await reader.run("compare", {"old": old, "new": new}))["text"] == answer["text"]
    last = await reader.editor.server.state.compared(answer["uri"])
    assert last is not None
    sides = [side for side in (last.diff.old, last.diff.new) if isinstance(side, DiffSide)]
    assert [side.analysis for side in sides] == [one.analysis for one, _ in last.sources]


async def test_comparison_that_is_ended_while_it_is_computed(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    await reader.start()
    paths = [copied(SEED, tmp_path / name) for name in ("old", "new", "newer")]
    old, new, newer = map(reader.open, paths)
    server = reader.editor.server.state
    made = hold(comparisons, "diff")
    number = reader.ask_to_run("compare", {"old": old, "new": new})
    await made.done()
    await reader.run("endComparison", {})
    made.resume()
    await reader.editor.answer(number)
    assert (server.comparisons.active, server.comparisons.kept()) == (None, frozenset())
    made = hold(comparisons, "diff")
    number = reader.ask_to_run("compare", {"old": old, "new": newer})
    await made.done()
    later = reader.ask_to_run("compare", {"old": new, "new": newer})
    await reader.ask("hover", newer, position=_BEGIN)
    made.resume()
    for one in (number, later):
        await reader.editor.answer(one)
    keys = paths[1], paths[2]
    assert (server.comparisons.active, server.comparisons.kept()) == (keys, frozenset(keys))


# ---------------------------------------------------------------- loads


async def test_files_and_analysis_of_a_set_change_together(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SEED, tmp_path)
    uri = reader.open(path)
    await reader.analysed(uri)
    (one,) = reader.editor.server.state.sets.open
    read = hold(dump_set_state, "read")
    reader.replace(uri, *_WORSE)
    await read.done()
    assert one.analysis is not None
    assert one.file(path) in one.analysis.dump.files
    read.resume()
    await reader.analysed(uri)
    assert one.file(path) in one.analysis.dump.files


async def test_outdated_findings_against_a_module_are_dropped(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    """They do not replace the findings of a later text."""
    await reader.start()
    values = sibling(copied(SPLIT, tmp_path), "buffer-assignment-values")
    text = values.read_text()
    uri = reader.open(values, text.replace("f32[128,256]{1,0}", "f32[128,257]{1,0}", 1))
    (one,) = reader.editor.server.state.sets.open
    checked = hold(dump_set_state, "check")
    await checked.done()
    reader.replace(uri, "f32[128,257]{1,0}", "f32[128,256]{1,0}")
    await reader.analysed(uri)
    await one.checked()
    now = one.analysis
    checked.resume()
    await reader.analysed(uri)
    assert one.analysis is now


@pytest.mark.parametrize("command", ["memoryMap", "report", "sourceMemory"])
async def test_set_that_is_loaded_again_while_a_command_waits_for_its_module(
    reader: Reader, hold: Hold, tmp_path: Path, command: str
) -> None:
    program = DUMPS / "programs" / "programs.py"
    await reader.start(FULL, program.parent)
    read = hold(dump_set_state, "read_module")
    path = copied(SPLIT, tmp_path)
    dump = reader.open(path)
    arguments = {"uri": program.as_uri() if command == "sourceMemory" else dump, "format": "json", "top": 3}
    number = reader.ask_to_run(command, arguments)
    await read.done()
    reader.replace(
        dump, "<245 multiply_subtract_fusion.5 @0> (size=1605632", "<245 multiply_subtract_fusion.5 @0> (size=5632"
    )
    await reader.analysed(dump)
    read.resume()
    answer = await reader.editor.answer(number)
    # Otherwise the server may repeat a cached answer.
    reader.editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": program.as_uri(), "type": 2}]})
    assert answer == await reader.run(command, arguments)


async def test_overview_does_not_wait_for_the_module(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    await reader.start(FULL)
    read = hold(dump_set_state, "read_module")
    dump = reader.open(copied(SPLIT, tmp_path))

    (space,) = (await reader.run("overview", {"uri": dump}))["spaces"]
    assert space["peak_live_bytes"] == 4419632
    await read.done()
    read.resume()
    await reader.analysed(dump)


async def test_polled_set_is_closed_meanwhile(reader: Reader, hold: Hold, loads: Loads, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SEED, tmp_path)
    sets = reader.editor.server.state.sets
    await reader.run("overview", {"uri": path.as_uri()})
    (one,) = sets.recent
    await one.checked()
    path.write_text(path.read_text() + "\n")
    await one.poll()
    polled = hold(dump_set_state, "<lambda>")
    polling = asyncio.ensure_future(one.poll())
    await polled.done()
    one.close()
    polled.resume()
    await polling
    assert not one.is_loading
    assert loads.count == 1


async def test_module_that_is_loaded_while_its_set_is_polled(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    """The poll did not look at the module, so it must not report the module as gone."""
    await reader.start()
    uri = reader.open(copied(SPLIT, tmp_path))
    read = hold(dump_set_state, "read_module")
    await reader.analysed(uri)
    (one,) = reader.editor.server.state.sets.open
    await read.done()
    await one.poll()
    polled = hold(dump_set_state, "<lambda>")
    polling = asyncio.ensure_future(one.poll())
    await polled.done()
    read.resume()
    await one.checked()
    assert one.module
    polled.resume()
    await polling
    assert not one.is_loading
    assert reader.editor.received("window/showMessage") == []


async def test_request_also_waits_for_an_edit_that_follows_the_load(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path))
    number = reader.editor.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    (one,) = reader.editor.server.state.sets.open
    # Called before the request that waits is resumed, because it was added first.
    one._next_step.add_done_callback(lambda _: reader.replace(uri, "BufferAssignment:", "\nBufferAssignment:"))
    found = await reader.editor.answer(number)
    assert {lens["range"]["start"]["line"] for lens in found} == {
        lens["range"]["start"]["line"] for lens in await reader.ask("codeLens", uri)
    }


# ---------------------------------------------------------------- files, settings and the workspace


async def test_file_that_is_opened_while_a_command_looks_for_its_set(
    reader: Reader, hold: Hold, tmp_path: Path
) -> None:
    """The text in the editor takes precedence, and is an HLO module rather than a dump."""
    await reader.start()
    path = tmp_path / "dump.txt"
    path.write_text(SEED.read_text())
    found = hold(state, "find_set")
    number = reader.ask_to_run("report", {"uri": path.as_uri()})
    await found.done()
    reader.open(path, "HloModule jit_f\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n")
    found.resume()
    with pytest.raises(RequestFailed, match="neither open nor a dump"):
        await reader.editor.answer(number)
    assert [one.path for one in reader.editor.server.state.sets] == [path]


async def test_sources_are_listed_again_when_files_change_meanwhile(hold: Hold, tmp_path: Path) -> None:
    nothing: Any = None
    finder = sources.Sources(DumpSets(), nothing, lambda: ((), (tmp_path,)))
    listed = hold(sources, "find_source")
    finding = asyncio.ensure_future(finder.find("/there/a.py"))
    await listed.done()
    (tmp_path / "a.py").touch()
    finder.invalidate()
    listed.resume()
    assert await finding is None
    assert await finder.find("/there/a.py") == tmp_path / "a.py"


async def test_source_lines_that_are_switched_off_meanwhile(reader: Reader, hold: Hold, tmp_path: Path) -> None:
    await reader.start(source_memory.REGISTERING, SPLIT.parents[2] / "programs")
    await reader.set(**source_memory.ON)
    found = hold(sources, "named_files")
    reader.open(SPLIT)
    await found.done()
    await reader.set()
    await reader.editor.until(lambda: not reader.editor.server.state.settings.source_lines)
    found.resume()
    names = {task: getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
    await asyncio.wait([task for task, name in names.items() if name == "Publisher.update_source_files"])
    assert reader.editor.server.client.source_files == frozenset()
