"""Requests about a position: hover, jumps, references and highlights."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, copied, lines, read_page, sibling
from lsp.wire import FULL
from samples import SEED, SPLIT, WHILE

_GOING = ("definition", "declaration", "typeDefinition", "implementation")
_ALL: Mapping[str, Any] = {"context": {"includeDeclaration": True}}
_TEXT, _READ, _WRITE = 1, 2, 3


# ---------------------------------------------------------------- one file, and three


async def test_jumps_never_lead_to_a_file_that_the_editor_cannot_open(reader: Reader) -> None:
    # The list of values and the module are larger than this.
    await reader.start({**FULL, "experimental": {"xlaLens": {"largestFileBytes": 7000}}})
    live, rows = reader.open(sibling(SPLIT, "live-range")), reader.open(SPLIT)
    # Another place about the value, in a file that opens.
    found = await reader.ask_at("definition", live, "    dot{}:35-37\n     ^")
    assert [one.get("targetUri", one.get("uri")) for one in found] == [rows]
    # From there, the excerpt of the list of values.
    (found,) = await reader.ask_at(
        "definition", rows, " value: <244 dot @0> (size=1605632,offset=0): f32[784,512]{1,0}\n             ^"
    )
    page, where = found.get("targetUri", found.get("uri")), found.get("targetSelectionRange", found.get("range"))
    assert page.endswith("/jit_train_step-excerpt-of-values-1.txt")
    text = await read_page(reader, page)
    assert lines(text)[where["start"]["line"]].startswith("<")
    assert " dot @0>" in lines(text)[where["start"]["line"]]
    # The excerpt has the hovers and the jumps of the dump.
    hover = await reader.ask("hover", page, position=where["start"])
    assert "dot" in hover["contents"]["value"]
    assert await reader.ask("definition", page, position=where["start"])
    references = await reader.ask_at("references", live, "    dot{}:35-37\n     ^", **_ALL)
    assert {one["uri"].rpartition("/")[2].partition("-excerpt")[2] for one in references} == {
        "",
        "-of-values-1.txt",
        "-of-hlo-1.txt",
    }


async def test_references_include_those_in_the_module(reader: Reader) -> None:
    await reader.start()
    live = reader.open(sibling(SPLIT, "live-range"))
    found = reader.shown(await reader.ask_at("references", live, "    dot{}:35-37\n     ^", **_ALL))
    module = reader.open(SPLIT.with_name(SPLIT.name.replace("-buffer-assignment", "")))
    await reader.checked(module)
    row = next(
        row
        for row, line in enumerate(lines(reader.text(module)))
        if line.startswith("  %dot = f32[784,512]{1,0} dot(%x.1")
    )
    there = reader.shown(await reader.ask("references", module, position={"line": row, "character": 4}, **_ALL))
    # From the module, the operands of the instruction count as well.
    assert set(found) < set(there)
    assert {place for place in there if place.startswith("module_")} <= set(found)


async def test_editors_without_markdown_get_plain_text_hovers(reader: Reader) -> None:
    hover = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
    await reader.start(hover)
    uri = reader.open(SEED)
    found = await reader.ask_at("hover", uri, "    cublas-gemm.1{}:4-5\n       ^")
    assert found["contents"]["kind"] == "plaintext"
    assert found["contents"]["value"].startswith(
        "cublas-gemm.1 · 4.0 KiB · 0.7 % of the HBM peak · test_auto_sharding_basic.py:52\n"
    )
    assert "`" not in found["contents"]["value"]


async def test_editors_that_run_commands_get_links_in_hovers(reader: Reader) -> None:
    await reader.start({**FULL, "experimental": {"xlaLens": {"commandUris": True}}})
    uri = reader.open(SEED)
    marked = "    cublas-gemm.1{}:4-5\n       ^"
    linked = (await reader.ask_at("hover", uri, marked))["contents"]["value"]
    commands = dict(re.findall(r"\[([^]]+)\]\(command:([^)]*)\)", linked))
    name, argument = commands["allocation 2"].split("?")
    (given,) = json.loads(unquote(argument))
    assert given == {"uri": uri, "allocation": 2}
    assert "history-of-allocation-2" in str(await reader.run(name.removeprefix("xla-lens."), given))


# ---------------------------------------------------------------- positions without a mention


@pytest.mark.parametrize("method", ["hover", *_GOING, "references", "documentHighlight", "prepareCallHierarchy"])
async def test_positions_without_a_mention_have_no_result(reader: Reader, method: str) -> None:
    await reader.start()
    uri = reader.open(SEED)
    context = _ALL if method == "references" else {}
    for row, column in ((0, 3), (14, 0), (17, 2), (0, 9999), (9999, 0), (2**31 - 1, 2**31 - 1)):
        position = {"line": row, "character": column}
        assert await reader.ask(method, uri, position=position, **context) is None
    closed = SPLIT.as_uri()
    assert await reader.ask(method, closed, position={"line": 2, "character": 12}, **context) is None


# ---------------------------------------------------------------- edits


async def test_mention_split_by_an_edit_has_an_answer(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    assert await reader.ask_at("hover", uri, "    cublas-gemm.1{}:4-5\n       ^")
    await reader.checked(uri)
    loads.hold()
    reader.replace(uri, "ublas-gemm.1{}:4-", "")
    marked = "    c5\n    ^"
    hover = await reader.ask_at("hover", uri, marked)
    assert reader.text_at(uri, hover["range"]) == "c"
    found = await reader.ask_at("references", uri, marked, **_ALL)
    assert "001_491faa5ce21a17c6:71: c" in reader.shown(found)
    reader.replace(uri, reader.text(uri), "")
    assert await reader.ask("hover", uri, position={"line": 0, "character": 0}) is None
    found = await reader.ask("references", uri, position={"line": 0, "character": 0}, **_ALL)
    assert found is None


async def test_answers_follow_edits_after_an_undone_edit(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    await reader.analysed(uri)
    reader.replace(uri, "BufferAssignment:", "Assignment:")
    reader.replace(uri, "Assignment:", "BufferAssignment:")
    await reader.checked(uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "\n\nBufferAssignment:")
    found = await reader.ask_at("definition", uri, "    cublas-gemm.1{}:4-5\n       ^")
    assert reader.shown(found) == ["001_491faa5ce21a17c6:45: <4 cublas-gemm.1 @0>"]


async def test_requests_wait_for_short_loads_of_a_module(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(WHILE, tmp_path)
    uri = reader.open(path.with_name(path.name.replace("-buffer-assignment", "")))
    assert await reader.ask("hover", uri, position={"line": 0, "character": 0}) is None
    reader.replace(uri, "HloModule ", "\n\nHloModule ")
    reader.replace(uri, "%copy.5 = ", "%copy.55 = ")
    (line,) = (line for line in reader.text(uri).split("\n") if "copy.55 = " in line)
    found = await reader.ask_at("definition", uri, f"{line}\n{' ' * line.index('_tuple.1#2')}^")
    assert reader.shown(found)[0].endswith(":47: arg_tuple.1")
    hover = await reader.ask_at("hover", uri, f"{line}\n   ^")
    assert hover["contents"]["value"].startswith("`copy.55`, `copy` in `region_0.1`")
