"""Pages: virtual documents with links into the dump."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from lsp.conftest import Loads
from lsp.reading import NO_PAGE, Reader, copied, in_all_encodings, lines, path_of, read_page, show_page, sibling
from lsp.wire import FULL
from samples import GLUED, SEED, SPLIT, TPU

_PAGES: list[tuple[str, dict[str, int]]] = [
    ("showSummary", {}),
    ("showAdvice", {}),
    ("showLiveSet", {"step": 5}),
    ("showAllocationHistory", {"allocation": 2}),
]


async def test_live_set_page_lists_live_values(reader: Reader) -> None:
    await reader.start()
    uri = await show_page(reader, "showLiveSet", uri=reader.open(SEED), step=5)
    assert uri.endswith("/001_491faa5ce21a17c6.txt/live-set-at-5.txt")
    assert (
        reader.text(uri)
        == """\
Live at step 5
  runs       negate.0
  peak       XLA prints the peak here

Memory space  live bytes  of the peak  values       peak  at step     needed
  HBM          324.0 KiB       55.9 %       4  580.0 KiB        4  580.0 KiB

Live in HBM: 324.0 KiB in 4 values at step 5 (negate.0)
       size   share  value          source                          shape                 live  op_name
  256.0 KiB  79.0 %  param                                          f32[64,256,4]{2,1,0}  0–7
   64.0 KiB  19.8 %  param.1                                        f32[1024,4,4]{2,1,0}  0–7
    4.0 KiB   1.2 %  negate.0       test_auto_sharding_basic.py:53  f32[64,16]{1,0}       5–7   parallelize(func_shard_parallel)/neg
    4.0 KiB   1.2 %  cublas-gemm.1  test_auto_sharding_basic.py:52  f32[64,16]{1,0}       4–5   parallelize(func_shard_parallel)/dot_general[dimension_numbers=(((1,), (0,)), ((), ())) precision=None preferred_element_type=None]
"""  # noqa: E501
    )


async def test_page_has_an_outline_with_the_headers_of_its_tables(reader: Reader) -> None:
    await reader.start(FULL)
    uri = await show_page(reader, "showLiveSet", uri=reader.open(SEED), step=5)
    shown = reader.text(uri).split("\n")
    outline = [
        (one["name"], shown[one["range"]["start"]["line"]], one["range"]["end"]["line"], one.get("children") or [])
        for one in await reader.ask("documentSymbol", uri)
    ]
    title = "Live in HBM: 324.0 KiB in 4 values at step 5 (negate.0)"
    assert [one[:3] for one in outline] == [
        ("Live at step 5", "Live at step 5", 3),
        ("Memory space", shown[4], 6),
        (title, title, 13),
    ]
    (headers,) = outline[2][3]
    assert headers["name"] == "size, share, value, source, shape, live, op_name"
    assert (headers["range"]["start"]["line"], headers["range"]["end"]["line"]) == (8, 13)
    assert shown[13:] == [""]
    assert [(fold["startLine"], fold["endLine"]) for fold in await reader.ask("foldingRange", uri)] == [
        (0, 2),
        (4, 5),
        (7, 12),
    ]


@pytest.mark.parametrize(
    ("command", "arguments", "name", "row"),
    [
        ("showLiveSet", {"step": 36}, "dot", "    dot{}:35-37"),
        ("showSummary", {}, "params_0__0_.1", "    params_0__0_.1{}:0-37"),
        ("showAllocationHistory", {"allocation": 29}, "copy.2", "    copy.2{}:9-33"),
    ],
)
async def test_name_in_a_page_has_the_hover_of_the_dump(
    reader: Reader, command: str, arguments: dict[str, int], name: str, row: str
) -> None:
    await reader.start(FULL)
    dump = reader.open(sibling(SPLIT, "live-range"))
    await reader.ask("documentLink", dump)
    uri = await show_page(reader, command, uri=dump, **arguments)
    (line,) = [number for number, text in enumerate(lines(reader.text(uri))) if f"  {name}" in f"{text}  "][:1]
    position = {"line": line, "character": lines(reader.text(uri))[line].index(name) + 1}
    of_page = await reader.ask("hover", uri, position=position)
    of_dump = await reader.ask("hover", dump, position=reader.at(dump, f"{row}\n     ^"))
    assert of_page["contents"]["value"].split("\n")[0] == of_dump["contents"]["value"].split("\n")[0]
    assert f"`{name}`" in of_page["contents"]["value"]
    assert reader.text_at(uri, of_page["range"]).startswith(name)
    assert await reader.ask("hover", uri, position={"line": 1, "character": 0}) is None


async def test_summary_report_and_history_pages_are_shown(reader: Reader) -> None:
    await reader.start()
    dump = reader.open(sibling(TPU, "live-range"))
    text = reader.text(await show_page(reader, "showSummary", uri=dump))
    assert text.startswith(
        "jit_roundtrip\n  It needs 12.05 MiB of HBM.\n  At most 12.00 MiB are live at once, at step 8 of 9 (fusion.2)"
    )
    assert "\n  files      buffer-assignment, values, live-range, memory-usage-report, hlo in " in text
    assert "HBM peak by source line: " in text
    assert "  HBM           12.00 MiB       99.6 %        8  fusion.2                      8.00 MiB\n" in text
    assert "  lists      the first 20 rows of each\n" in text
    text = reader.text(await show_page(reader, "showAllocationHistory", uri=dump, allocation=2))
    assert text.endswith("""
Values by offset, then by time
  start offset  end offset      size  live  value
             0         512     512 B  1–7   copy-start.2{}
        16,384      16,896     512 B  3–4   copy-start{}
        32,768      33,280     512 B  5–6   copy-start.1{}
        49,152   4,243,456  4.00 MiB  2–4   broadcast_multiply_fusion
        49,152   4,243,456  4.00 MiB  5–8   copy-start.1{0}
""")
    text = reader.text(await show_page(reader, "showReport", uri=dump))
    assert text.startswith("## `jit_roundtrip`\n")
    text = reader.text(await show_page(reader, "showAdvice", uri=dump))
    assert "What would lower the HBM peak (now 12.00 MiB, needed 12.05 MiB)\n" in text
    assert "| 4.00 MiB | 1 × `f32[1024,1024]` | `x` | `x.1` |\n" in text
    assert "Show in the memory map" not in text


async def test_advice_leads_to_the_memory_map_of_editors_that_have_one(reader: Reader) -> None:
    await reader.start({**FULL, "experimental": {"xlaLens": {"commandUris": True}}})
    uri = await show_page(reader, "showAdvice", uri=reader.open(sibling(TPU, "live-range")))
    assert uri.endswith("/jit_roundtrip-advice.md")
    found = await reader.ask("documentLink", uri)
    links = {reader.text_at(uri, link["range"]): link["target"] for link in found if "target" in link}
    name, _, arguments = unquote(links["Show in the memory map"]).partition("?")
    (values,) = [one["values"] for one in json.loads(arguments)]
    assert (name, len(values)) == ("command:xla-lens.showValuesInMap", 1)
    assert links["When this helps"].endswith("/donate.md")


@pytest.mark.parametrize("path", [SEED, GLUED, SPLIT, TPU], ids=lambda path: path.name[:40])
@in_all_encodings
async def test_each_link_of_a_page_leads_to_its_line(reader: Reader, tmp_path: Path, path: Path) -> None:
    await reader.start()
    dump = reader.open(copied(path, tmp_path, "fusion", "füs🚀n"))
    await reader.checked(dump)
    count = 0
    sources: set[tuple[str, str]] = set()
    for command, arguments in _PAGES:
        uri = await show_page(reader, command, uri=dump, **arguments)
        for link in await reader.ask("documentLink", uri):
            name = reader.text_at(uri, link["range"]).strip("`")
            if "data" in link:
                resolved = await reader.editor.request("documentLink/resolve", link)
                # A relative path leads nowhere without a workspace.
                sources.add((name, resolved.get("target", f"/{name.replace(':', '#L')}")))
                continue
            if name == "When this helps":
                assert path_of(link["target"]).read_text(encoding="utf-8").startswith("# ")
                continue
            target_uri, row = link["target"].split("#L")
            line = lines(reader.text(target_uri))[int(row) - 1]
            (place,) = await reader.ask("definition", uri, position=link["range"]["start"])
            assert (place["uri"], place["range"]["start"]["line"]) == (target_uri, int(row) - 1)
            assert reader.text_at(place["uri"], place["range"]) in line
            if name.startswith("XLA prints"):
                assert line.strip().startswith("Live ranges at ")
            elif name.removeprefix("step ").isdecimal():
                assert line.startswith(f"    {name.removeprefix('step ')}:")
            else:
                # The link of a step may show the instruction that runs then.
                assert name in line
            count += 1
    assert count > 12
    for name, target in sources:
        file, _, line = name.rpartition(":")
        assert target.endswith(f"/{file.rpartition('/')[2]}#L{line}")
    assert len(sources) >= (0 if path is TPU else 1)


async def test_definition_works_on_the_whole_of_a_link_only(reader: Reader) -> None:
    await reader.start()
    uri = await show_page(reader, "showLiveSet", uri=reader.open(SEED), step=5)
    row, line = next((row, line) for row, line in enumerate(lines(reader.text(uri))) if "  negate.0  " in line)
    start = line.index("negate.0")
    for column in range(len(line)):
        found = await reader.ask("declaration", uri, position={"line": row, "character": column})
        expected = ["001_491faa5ce21a17c6:31: <2 negate.0 @0>"] if start <= column <= start + 8 else []
        assert reader.shown(found) == expected


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


async def test_source_line_that_is_not_here_has_no_definition(reader: Reader) -> None:
    await reader.start()
    uri = await show_page(reader, "showLiveSet", uri=reader.open(SPLIT), step=36)
    row, line = next((row, line) for row, line in enumerate(lines(reader.text(uri))) if "  dot  " in line)
    where = {"line": row, "character": line.index("programs.py:50")}
    assert not await reader.ask("definition", uri, position=where)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("hover", {"position": {"line": 0, "character": 9}}),
        ("references", {"position": {"line": 0, "character": 9}, "context": {"includeDeclaration": True}}),
        ("documentHighlight", {"position": {"line": 0, "character": 9}}),
        ("prepareCallHierarchy", {"position": {"line": 0, "character": 9}}),
        ("selectionRange", {"positions": [{"line": 0, "character": 9}]}),
        ("codeLens", {}),
    ],
)
async def test_other_requests_about_pages_have_no_result(reader: Reader, method: str, params: Any) -> None:
    await reader.start()
    uri = await show_page(reader, "showSummary", uri=reader.open(SEED))
    assert await reader.ask(method, uri, **params) is None


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
    report = await reader.editor.request("workspace/diagnostic", {"previousResultIds": []})
    assert [item["uri"] for item in report["items"]] == [dump]
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


async def test_editors_without_page_support_get_no_refreshes(reader: Reader) -> None:
    workspace = {name: value for name, value in FULL["workspace"].items() if name != "textDocumentContent"}
    await reader.start({**FULL, "workspace": workspace})
    dump = reader.open(SEED)
    uri = await show_page(reader, "showLiveSet", uri=dump, step=5)
    reader.replace(dump, "    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-4")
    assert "cublas-gemm.1" not in await read_page(reader, uri)
    assert not reader.editor.received("workspace/textDocumentContent/refresh")


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


@pytest.mark.parametrize(
    "name",
    [
        "xla-lens:/no/such/set/summary.txt",
        "xla-lens:{path}/summary",
        "xla-lens:{path}/live-set-at-x.txt",
        "xla-lens:{path}/live-set-at-00.txt",
        "xla-lens:summary.txt",
        "xla-lens:",
        "file:{path}/summary.txt",
        "https://example.org/summary.txt",
        "",
    ],
)
async def test_unknown_pages_say_so(reader: Reader, name: str) -> None:
    await reader.start()
    reader.open(SEED)
    text = await read_page(reader, name.format(path=SEED.as_posix()))
    assert text == NO_PAGE


async def test_page_of_a_set_outside_the_workspace_is_refused(reader: Reader, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    copied(SPLIT, outside)
    path = copied(SPLIT, inside)
    await reader.start(FULL, inside)
    uri = await show_page(reader, "showSummary", uri=path.as_uri())
    assert (await read_page(reader, uri)).startswith("jit_train_step\n")
    for other in ("/outside/", "/inside/../outside/"):
        assert (await read_page(reader, uri.replace("/inside/", other))).startswith("There is no such page")
