"""Pages: virtual documents with links into the dump."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote, unquote

from lsp.conftest import Loads
from lsp.reading import Reader, copied, lines, path_of, read_page, show_page, sibling
from lsp.wire import FULL
from samples import SEED, SPLIT, TPU


async def test_advice_leads_to_the_memory_map_of_editors_that_have_one(reader: Reader) -> None:
    await reader.start({**FULL, "experimental": {"xlaLens": {"commandUris": True}}})
    uri = await show_page(reader, "showAdvice", uri=reader.open(sibling(TPU, "live-range")))
    assert uri.endswith("/jit_roundtrip-advice.md")
    found = await reader.ask("documentLink", uri)
    links = {reader.text_at(uri, link["range"]): link["target"] for link in found if "target" in link}
    name, _, arguments = unquote(links["Show in the memory map"]).partition("?")
    (argument,) = json.loads(arguments)
    assert (name, len(argument["values"])) == ("command:xla-lens.showValuesInMap", 1)
    assert argument["name"] == "Donate x if nothing uses it after the call: saves 4.00 MiB (estimated)"
    assert links["`xla-lens explain donate`"].endswith("/donate.md")


async def test_definition_of_a_source_line_is_in_the_program(reader: Reader, tmp_path: Path) -> None:
    program = tmp_path / "code" / "programs.py"
    program.parent.mkdir()
    program.write_text("\n" * 60)
    await reader.start(FULL, tmp_path)
    uri = await show_page(reader, "showLiveSet", uri=reader.open(copied(SPLIT, tmp_path)), step=36)
    row, line = next((row, line) for row, line in enumerate(lines(reader.text(uri))) if "  dot  " in line)
    start, here = line.index("programs.py:50"), {"line": 49, "character": 0}
    for column in (start, start + 13):
        found = await reader.ask("definition", uri, position={"line": row, "character": column})
        assert found == [{"uri": program.as_uri(), "range": {"start": here, "end": here}}]


async def test_opened_page_is_not_loaded_as_a_dump(reader: Reader) -> None:
    """Neovim sends `didOpen` for every document that it shows."""
    await reader.start()
    dump = reader.open(SEED)
    uri = await show_page(reader, "showLiveSet", uri=dump, step=5)
    reader.open_uri(uri, reader.text(uri))
    reader.replace(uri, "Live at step 5", "Live at  step 5")
    reader.replace(uri, "Live at  step 5", "Live at step 5")
    assert len(await reader.ask("documentLink", uri)) > 5
    symbols = await reader.editor.request("workspace/symbol", {"query": SEED.stem})
    assert [symbol["location"]["uri"] for symbol in symbols] == [dump]
    reader.close(uri)
    assert len(await reader.ask("documentLink", uri)) > 5
    await reader.ask("hover", dump, position={"line": 0, "character": 0})
    assert uri not in reader.editor.diagnostics


async def test_change_of_a_set_refreshes_its_pages(reader: Reader) -> None:
    await reader.start()
    dump = reader.open(SEED)
    live, summary = (
        await show_page(reader, "showLiveSet", uri=dump, step=5),
        await show_page(reader, "showSummary", uri=dump),
    )
    assert not reader.editor.received("workspace/textDocumentContent/refresh")
    reader.replace(dump, "    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-4")
    await reader.editor.until(lambda: len(reader.editor.received("workspace/textDocumentContent/refresh")) == 2)
    refreshed = {
        message["params"]["uri"] for message in reader.editor.received("workspace/textDocumentContent/refresh")
    }
    assert refreshed == {live, summary}
    assert "cublas-gemm.1" in reader.text(live)
    assert "cublas-gemm.1" not in await read_page(reader, live)


async def test_change_of_a_closed_set_refreshes_its_pages(reader: Reader, tmp_path: Path) -> None:
    path = copied(SEED, tmp_path)
    await reader.start(FULL, tmp_path)
    uri = await show_page(reader, "showLiveSet", uri=path.as_uri(), step=5)
    path.write_text(path.read_text().replace("    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-4"))
    for _ in range(2):
        reader.editor.notify("workspace/didChangeWatchedFiles", {"changes": []})
    await reader.editor.until(lambda: bool(reader.editor.received("workspace/textDocumentContent/refresh")))
    assert "cublas-gemm.1" not in await read_page(reader, uri)


async def test_links_follow_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    dump = reader.open(SEED)
    uri = await show_page(reader, "showLiveSet", uri=dump, step=5)
    loads.hold()
    reader.replace(dump, "BufferAssignment:", "🚀\r\n\nBufferAssignment:")
    (first, *_) = await reader.ask("documentLink", uri)
    assert first["target"] == f"{dump}#L66"
    row = next(row for row, line in enumerate(lines(reader.text(uri))) if line.endswith(" negate.0"))
    found = await reader.ask("definition", uri, position={"line": row, "character": 14})
    assert reader.shown(found) == ["001_491faa5ce21a17c6:66: negate.0"]


async def test_untitled_document_has_pages(reader: Reader) -> None:
    await reader.start()
    for dump in ("untitled:Untitled-1", "vscode-remote://ssh-remote%2Bbox/tmp/a%20(b)-buffer-assignment.txt"):
        reader.open_uri(dump, SEED.read_text())
        uri = await show_page(reader, "showLiveSet", uri=dump, step=5)
        links = await reader.ask("documentLink", uri)
        assert {link["target"].split("#")[0] for link in links if "data" not in link} == {dump}


async def test_page_uri_may_be_spelled_differently(reader: Reader, tmp_path: Path) -> None:
    folder = tmp_path / "a (b)+é=1"
    folder.mkdir()
    await reader.start()
    uri = await show_page(reader, "showSummary", uri=reader.open(copied(SPLIT, folder)))
    other = quote(path_of(uri.replace("xla-lens:", "file:")).as_posix(), safe="/+=()é")
    assert f"xla-lens:{other}" != uri
    assert await read_page(reader, f"xla-lens:{other}") == reader.text(uri)


async def test_page_about_a_log_is_made_again_after_a_restart(reader: Reader, tmp_path: Path) -> None:
    """An editor shows its pages again when its window is reloaded, which starts the server anew."""
    folder = tmp_path / "workspace"
    shutil.copytree(TPU.parent, folder)
    message = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 12.05M of 10.00M hbm. Exceeded by 2.05M."
    for log in (folder / "error.txt", tmp_path / "error.txt"):
        log.write_text(message)
    await reader.start(FULL, folder)
    inside, outside = (f"xla-lens:{quote(str(where / 'error.txt'))}-explained.md" for where in (folder, tmp_path))
    assert "HBM ran out" in await read_page(reader, inside)
    links = await reader.ask("documentLink", inside)
    assert f"{(folder / 'error.txt').as_uri()}#L1" in [link.get("target") for link in links]
    # A link cannot make the server read other files.
    assert "no such page" in await read_page(reader, outside)
