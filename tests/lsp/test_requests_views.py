"""Commands for views that draw and list dumps, and the `didLoad` notification."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, check_golden, copied, path_of, read_page, show_page, sibling
from lsp.wire import FULL, RequestFailed, eventually
from protocol import check
from samples import DUMPS, PALLAS, SEED, SPLIT, TPU, WHILE, joined
from xla_lens.disk.sets import find_set
from xla_lens.disk.tried import dump_digest, tried_path
from xla_lens.lsp import dump_sets
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.syntax.file_names import FileKind

_SETS = pytest.mark.parametrize("path", [SEED, SPLIT, TPU, PALLAS], ids=lambda path: path.parent.name)

LORA = next(DUMPS.glob("cpu-jaxlib0.10.2/donate_lora/*-buffer-assignment.txt"))

_DID_LOAD = "xla-lens/didLoad"


def _without_schedule(folder: Path) -> Path:
    """Copy a set in three files without the one that has the schedule."""
    path = copied(SPLIT, folder)
    sibling(path, "live-range").unlink()
    return path


# ---------------------------------------------------------------- the map


@_SETS
async def test_memory_map_equals_that_of_the_command_line(reader: Reader, path: Path) -> None:
    await reader.start()
    expected = memory_map_data(joined(path))
    found = await reader.run("memoryMap", {"uri": reader.open(path)})
    check(found, "MemoryMap")
    assert found == expected


# ---------------------------------------------------------------- the overview


_VIEWS: list[tuple[str, Mapping[str, Any], str]] = [
    ("overview", {"top": 3}, "Overview"),
    ("peak", {"color": 0}, "PeakGroups"),
    ("values", {"values": [1, 3]}, "ValueEntry"),
    *(("describe", {what: 3}, "Description") for what in ("value", "allocation", "step")),
]
_MAP: list[tuple[str, Mapping[str, Any], str]] = [("memoryMap", {}, "MemoryMap")]


@pytest.mark.parametrize("path", [SEED, SPLIT, TPU], ids=lambda path: path.parent.name)
async def test_views_are_those_of_the_golden(reader: Reader, tmp_path: Path, path: Path) -> None:
    """The answers as JSON. A description is the hover at its location."""
    await reader.start()
    uri = copied(path, tmp_path).as_uri()
    for file in sorted(tmp_path.iterdir()):
        reader.open(file)
    await reader.checked(uri)
    found = []
    # The map of another dump would be long.
    for command, arguments, kind in (*_VIEWS, *_MAP[: path == SEED]):
        answer = await reader.run(command, {"uri": uri, **arguments})
        for one in answer if isinstance(answer, list) else [answer]:
            check(one, kind)
        found.append({"command": command, **arguments, "answer": answer})
        if command == "describe":
            place = {"uri": answer["location"]["uri"], "position": answer["location"]["range"]["start"]}
            hover = await reader.ask("hover", place["uri"], position=place["position"])
            assert answer["markdown"] == hover["contents"]["value"]
            assert (await reader.run("whatIsAt", place))[next(iter(arguments))] == 3
    text = json.dumps(found, indent=1, ensure_ascii=False).replace(tmp_path.as_uri(), "file://")
    check_golden(Path(__file__).parent / "views" / f"{path.parent.name}.json", text)


async def test_locations_avoid_files_too_big_for_editors(reader: Reader) -> None:
    """The location is the row in the buffer assignment instead."""
    await reader.start({**FULL, "experimental": {"xlaLens": {"largestFileBytes": 6_000}}})
    uri = reader.open(SPLIT)
    found = await reader.run("values", {"uri": uri, "values": [3, 20]})
    assert {one["location"]["uri"] for one in found} == {uri}
    # A parameter has its path in the arguments.
    count = (await reader.run("memoryMap", {"uri": uri}))["values"]["size_bytes"]
    every = await reader.run("values", {"uri": uri, "values": [*range(len(count))]})
    assert "params[0][0]" in {one["path"] for one in every if one["label"].startswith("params")}
    assert any(not one["path"] for one in every)
    report = find_set(SPLIT).paths[FileKind.MEMORY_USAGE_REPORT].as_uri()
    assert (await reader.run("describe", {"uri": report, "value": 20}))["location"]["uri"] == uri


# ---------------------------------------------------------------- modules


async def _modules(reader: Reader) -> list[Any]:
    """Return the modules once all are read."""
    while (found := await reader.run("modules", {}))["is_reading"]:
        check(found, "Modules")
    check(found, "Modules")
    return list(found["modules"])


async def test_modules_are_sorted_by_what_they_need(reader: Reader, tmp_path: Path) -> None:
    for number, path in enumerate((SEED, SPLIT, TPU, WHILE)):
        copied(path, tmp_path / str(number))
    await reader.start(FULL, tmp_path)
    found = await _modules(reader)
    assert [one["module"] for one in found] == [
        "jit_roundtrip",
        "jit_train_step",
        "001_491faa5ce21a17c6",
        "jit_tuple_while",
    ]
    # That is the number that editors show.
    needed = [one["spaces"][0]["needed_bytes"] for one in found]
    assert needed == sorted(needed, reverse=True)
    for one in found:
        overview = await reader.run("overview", {"uri": one["uri"]})
        overview_spaces = [{name: space[name] for name in one["spaces"][0]} for space in overview["spaces"]]
        assert (one["module"], one["spaces"]) == (overview["module"], overview_spaces)


async def test_modules_and_overviews_say_what_is_wrong_with_a_set(reader: Reader, tmp_path: Path) -> None:
    _without_schedule(tmp_path / "incomplete")
    cut = copied(SEED, tmp_path / "cut")
    cut.write_bytes(cut.read_bytes()[:3000])
    contradictory = copied(SEED, tmp_path / "contradictory")
    text = contradictory.read_text()
    assert "    param.1{}:0-7" in text
    contradictory.write_text(text.replace("    param.1{}:0-7", "    param.1{}:0-9"))
    empty = tmp_path / "empty" / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
    empty.parent.mkdir()
    empty.touch()
    await reader.start(FULL, tmp_path)
    found = {path_of(one["uri"]).parent.name: one for one in await _modules(reader)}
    assert {folder: one["gap"] for folder, one in found.items()} == {
        "incomplete": "incomplete",
        "cut": "cut off",
        "contradictory": "contradictory",
        "empty": "incomplete",
    }
    assert found["empty"]["spaces"] == []
    for one in found.values():
        overview = await reader.run("overview", {"uri": one["uri"]})
        assert (overview["gap"], overview["incomplete"]) == (one["gap"], one["incomplete"])
        assert bool(one["gap"]) == bool(one["incomplete"])


async def test_modules_lists_what_has_been_read_so_far(
    reader: Reader, loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command waits neither for the workspace nor for open sets."""
    copied(SPLIT, tmp_path / "one")
    await reader.start(FULL, tmp_path / "one")
    loads.hold()
    uri = reader.open(copied(TPU, tmp_path / "two"))
    found = await reader.run("modules", {})
    assert found["is_reading"]
    assert uri not in [one["uri"] for one in found["modules"]]
    loads.resume()
    assert [one["module"] for one in await _modules(reader)] == ["jit_roundtrip", "jit_train_step"]
    # A set outside of the workspace is listed until it is evicted from memory.
    reader.close(uri)
    assert [one["module"] for one in await _modules(reader)] == ["jit_roundtrip", "jit_train_step"]
    await _evict_all(reader, monkeypatch)
    assert [one["module"] for one in await _modules(reader)] == ["jit_train_step"]


# ---------------------------------------------------------------- positions

_NOTHING = {"value": None, "allocation": None, "step": None}


async def test_page_uri_stands_for_its_set(reader: Reader) -> None:
    await reader.start()
    dump = reader.open(SPLIT)
    page = await show_page(reader, "showLiveSet", uri=dump, step=5)
    for command, more in (("memoryMap", {}), ("overview", {}), ("describe", {"step": 5}), ("report", {})):
        assert await reader.run(command, {"uri": page, **more}) == await reader.run(command, {"uri": dump, **more})
    with pytest.raises(RequestFailed, match="neither open nor a dump"):
        await reader.run("overview", {"uri": "xla-lens:/no/such/set/summary.txt"})


# ---------------------------------------------------------------- loads


def _load_events(reader: Reader) -> list[tuple[set[str], bool]]:
    """Return the file names and the `loaded` flag of each notification."""
    found = [message["params"] for message in reader.editor.received(_DID_LOAD)]
    for one in found:
        check(one, "DidLoad")
    return [({path_of(uri).name for uri in one["uris"]}, one["loaded"]) for one in found]


async def test_did_load_is_sent_after_loads(reader: Reader, tmp_path: Path) -> None:
    path = copied(SPLIT, tmp_path)
    names = {file.name for file in find_set(path).paths.values()}
    module = find_set(path).stem.name + ".txt"
    await reader.start()
    uri = reader.open(path)
    await reader.editor.until(lambda: len(_load_events(reader)) == 2)
    assert _load_events(reader) == [(names - {module}, True), (names, True)], "the module is loaded later"
    reader.replace(uri, "allocation 0: size 1605632", "allocation 0: size 1605633")
    await reader.editor.until(lambda: len(_load_events(reader)) == 3)
    other = reader.open(sibling(path, "live-range"))
    assert await reader.ask("hover", other, position={"line": 5, "character": 5})
    reader.close(other)
    # The set stays in memory, without the unsaved change.
    reader.close(uri)
    await reader.editor.until(lambda: len(_load_events(reader)) == 4)
    assert _load_events(reader)[2:] == [(names, True), (names, True)]


async def test_old_sets_are_evicted_from_the_cache(
    reader: Reader, loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_sets, "_CACHE_SIZE", 2)
    monkeypatch.setattr(dump_sets, "_GRACE_SECONDS", 0.0)
    paths = [copied(SPLIT, tmp_path / str(number)) for number in range(4)]
    await reader.start()
    state = reader.editor.server.state
    for path in (*paths, paths[-1], paths[-2]):
        await reader.run("overview", {"uri": path.as_uri()})
        await eventually(lambda: not any(one.is_loading for one in state.sets.recent))
    assert loads.count == 4, "the last two sets stay in the cache"
    await state.sets.poll()
    assert {one.path for one in state.sets.recent} == set(paths[-2:])
    page = (await reader.run("showSummary", {"uri": paths[-1].as_uri()}))["uri"]
    assert state.pages.pages.keys() == {page}
    await _evict_all(reader, monkeypatch)
    assert not state.pages.pages
    monkeypatch.undo()
    assert (await read_page(reader, page)).startswith("jit_train_step\n"), "evicted sets can be read again"


async def _evict_all(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    state = reader.editor.server.state
    await eventually(lambda: not any(one.is_loading for one in state.sets.recent))
    monkeypatch.setattr(dump_sets, "_CACHE_SECONDS", -1.0)
    await state.sets.poll()
    assert state.sets.recent == []


async def test_oldest_sets_are_evicted_first(reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big, small, other = (copied(path, tmp_path / path.parent.name) for path in (SPLIT, SEED, TPU))
    await reader.start()
    sets = reader.editor.server.state.sets
    for path in (big, small, other):
        await reader.run("overview", {"uri": path.as_uri()})
        await eventually(lambda: not any(one.is_loading for one in sets.recent))
    sizes, (kept,) = sum(one.size_bytes for one in sets.recent), [one.key for one in sets.recent if one.path == small]
    # A set may be opened again at once. A comparison keeps its sets, however big.
    for seconds, most, keys, expected in (
        (60.0, sizes - 1, (), {big, small, other}),
        (0.0, sizes - 1, (), {small, other}),
        (0.0, 0, (kept,), {small}),
    ):
        monkeypatch.setattr(dump_sets, "_GRACE_SECONDS", seconds)
        monkeypatch.setattr(dump_sets, "_CACHE_BYTES", most)
        monkeypatch.setattr(sets, "kept", lambda keys=keys: frozenset(keys))
        await sets.poll()
        assert {one.path for one in sets.recent} == expected


async def test_closed_set_stays_in_memory(reader: Reader, tmp_path: Path) -> None:
    """Also if another file of the set is opened in its place."""
    path = copied(SPLIT, tmp_path)
    other = sibling(path, "live-range")
    await reader.start(FULL, tmp_path)
    uri = reader.open(path)
    assert await reader.ask("hover", uri, position={"line": 1, "character": 3})
    state = reader.editor.server.state
    (dump_set,) = state.sets.open
    await reader.editor.until(lambda: len(_load_events(reader)) == 2)
    analysis, module = dump_set.analysis, dump_set.module
    assert module is not None
    refreshes = len(reader.editor.received("workspace/inlayHint/refresh"))
    for one in (other, path, other):
        reader.close(uri)
        uri = reader.open(one)
        assert await reader.ask("hover", uri, position={"line": 5, "character": 5})
    await eventually(lambda: not dump_set.is_loading)
    assert state.sets.open == [dump_set]
    assert (dump_set.analysis, dump_set.module) == (analysis, module)
    assert len(_load_events(reader)) == 2
    assert len(reader.editor.received("workspace/inlayHint/refresh")) == refreshes


async def test_advice_is_measured_once_it_was_tried(reader: Reader, tmp_path: Path) -> None:
    """The command line keeps what it has measured beside a dump that is open."""
    path = copied(LORA, tmp_path)
    await reader.start(FULL, tmp_path)
    uri = reader.open(path)
    await _modules(reader)
    sets = reader.editor.server.state.sets
    (dump_set,) = sets.open
    await eventually(lambda: not dump_set.is_loading)

    async def advice() -> str:
        return await read_page(reader, (await reader.run("showAdvice", {"uri": uri}))["uri"])

    assert ": saves 512 B (estimated)" in await advice()
    loaded = dump_set.analysis
    assert loaded
    needed = loaded.memory.spaces[0].needed_bytes
    change: dict[str, Any] = {
        "change": "Donate adapters if nothing uses it after the call",
        "rule": "donate",
        "policy": None,
        "flag": None,
    }
    change |= {"needed_bytes": needed - 2048, "peak_bytes": needed - 2048, "peak_step": 3}
    tried: dict[str, Any] = {"needed_bytes": needed, "measured_needed_bytes": needed, "changes": [change], "plan": None}
    tried["dump_digest"] = dump_digest(loaded.dump.files)
    tried_path(find_set(path).stem).write_text(json.dumps(tried))
    # Files that have changed are read once they have stopped changing.
    await sets.poll()
    await sets.poll()
    await eventually(lambda: not dump_set.is_loading)
    assert dump_set.analysis
    assert dump_set.analysis.dump is loaded.dump, "the dump is not read again"
    assert ": saves 2.0 KiB (measured)" in await advice()


async def test_evicted_set_is_listed_without_being_read_again(
    reader: Reader, loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(SPLIT, tmp_path)
    await reader.start(FULL, tmp_path)
    uri = reader.open(path)
    before = await _modules(reader)
    reader.close(uri)
    await _evict_all(reader, monkeypatch)
    count = loads.count
    monkeypatch.setattr("xla_lens.lsp.index.load_set", lambda *_: pytest.fail("the set is read again"))
    assert (await reader.run("modules", {}))["modules"] == before
    assert await _modules(reader) == before
    assert loads.count == count


async def test_load_of_a_set_that_is_closed_at_once_is_cancelled(
    reader: Reader, loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_sets, "_GRACE_SECONDS", 0.0)
    await reader.start()
    loads.hold()
    reader.close(reader.open(copied(SPLIT, tmp_path)))
    sets = reader.editor.server.state.sets
    await eventually(lambda: bool(sets.recent))
    await sets.poll()
    assert sets.recent == []
    loads.resume()


async def test_sets_are_not_evicted_while_requests_wait_for_them(
    reader: Reader, loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many sets are requested at once."""
    monkeypatch.setattr(dump_sets, "_CACHE_SIZE", 2)
    monkeypatch.setattr(dump_sets, "_GRACE_SECONDS", -1.0)
    paths = [copied(SPLIT, tmp_path / str(number)) for number in range(5)]
    await reader.start()
    loads.hold()
    numbers = [reader.ask_to_run("overview", {"uri": path.as_uri()}) for path in paths]
    await reader.editor.until(lambda: loads.count > 0)
    loads.resume()
    for path, number in zip(paths, numbers, strict=True):
        assert (await reader.editor.answer(number))["uri"] == path.as_uri()
    assert loads.count == 5
    await _evict_all(reader, monkeypatch)


async def test_memory_map_is_handed_over_as_a_file(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SPLIT)
    path = Path((await reader.run("memoryMap", {"uri": uri, "as_file": True}))["path"])
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text()) == await reader.run("memoryMap", {"uri": uri})
    reader.editor.server.state.close()
    assert not path.exists()


async def test_what_is_at_works_in_closed_files(reader: Reader) -> None:
    await reader.start()
    for kind, place in (
        ("live-range", {"line": 5, "character": 5}),
        ("buffer-assignment-values", {"line": 4, "character": 2}),
    ):
        path = sibling(SPLIT, kind)
        closed = await reader.run("whatIsAt", {"uri": path.as_uri(), "position": place})
        uri = reader.open(path)
        assert closed == await reader.run("whatIsAt", {"uri": uri, "position": place}) != _NOTHING
        reader.close(uri)


async def test_heat_marks_the_steps_near_the_peak(reader: Reader) -> None:
    await reader.start()
    path = sibling(SPLIT, "live-range")
    uri = reader.open(path)
    found = await reader.run("heat", {"uri": uri})
    lines = path.read_text().split("\n")
    runs = [*zip(found["first_row"], found["last_row"], found["level"], strict=True)]
    # The hints have the live bytes, such as `+8.0 KiB → 4.21 MiB live` at the peak.
    assert [lines[first].strip() for first, _, level in runs if level == 3] == ["36:ynn_fusion.1"]
    assert all(first <= last and 0 <= level <= 3 for first, last, level in runs)
    assert {row for first, last, _ in runs for row in range(first, last + 1)} == {
        hint["position"]["line"]
        for hint in await reader.ask("inlayHint", uri, range=reader.whole(uri))
        if (match := re.search(r"([\d.]+) MiB live", hint["label"])) and float(match[1]) >= 0.75 * 4.21
    }
    assert await reader.run("heat", {"uri": reader.open(SPLIT)}) == {"first_row": [], "last_row": [], "level": []}
