"""Pages, documents that the server makes; and commands, which show them or tell what the command line tells."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cli.test_cli import run
from lsp.conftest import Loads
from lsp.reading import Reader, copied, in_all_encodings, lines, path_of, sibling
from lsp.wire import PATIENCE, RICH, Refused
from samples import GLUED, SEED, SPLIT, TPU, slow_text
from xla_lens.model.findings import Code

_PAGES: list[tuple[str, dict[str, int]]] = [
    ("showSummary", {}),
    ("showLiveSet", {"step": 5}),
    ("showBiography", {"allocation": 2}),
]


async def _shown(reader: Reader, command: str, **arguments: Any) -> str:
    """Has a page shown, and opens it as an editor does; gives its address."""
    found = await reader.run(command, arguments)
    (shown,) = reader.editor.received("window/showDocument")[-1:]
    assert shown["params"] == {"uri": found["uri"], "takeFocus": True}
    assert await _read(reader, found["uri"]) == found["text"]
    reader.texts[found["uri"]] = found["text"]
    return str(found["uri"])


async def _read(reader: Reader, uri: str) -> str:
    return str((await reader.editor.request("workspace/textDocumentContent", {"uri": uri}))["text"])


# ---------------------------------------------------------------- pages


async def test_what_is_live_at_a_step(reader: Reader) -> None:
    await reader.start()
    uri = await _shown(reader, "showLiveSet", uri=reader.open(SEED), step=5)
    assert uri.endswith("/001_491faa5ce21a17c6.txt/live-set-at-5.txt")
    assert (
        reader.text(uri)
        == """\
Live at step 5
  runs       negate.0
  peak       XLA prints the peak here

Memory space       live  of the peak  values  true peak  at step   reserved
  0 default   324.0 KiB       55.9 %       4  580.0 KiB        4  580.0 KiB

Live in default: 324.0 KiB in 4 values at step 5 (negate.0)
       size   share  value          shape                 live  op_name
  256.0 KiB  79.0 %  param          f32[64,256,4]{2,1,0}  0-7
   64.0 KiB  19.8 %  param.1        f32[1024,4,4]{2,1,0}  0-7
    4.0 KiB   1.2 %  negate.0       f32[64,16]{1,0}       5-7   parallelize(func_shard_parallel)/neg
    4.0 KiB   1.2 %  cublas-gemm.1  f32[64,16]{1,0}       4-5   parallelize(func_shard_parallel)/dot_general[dimension_numbers=(((1,), (0,)), ((), ())) precision=None preferred_element_type=None]
"""  # noqa: E501
    )


async def test_where_the_memory_goes_and_who_holds_which_bytes(reader: Reader) -> None:
    await reader.start()
    dump = reader.open(sibling(TPU, "live-range"))
    text = reader.text(await _shown(reader, "showSummary", uri=dump))
    assert text.startswith("jit_roundtrip\n  files      buffer-assignment, values, live-range, memory-usage-report in ")
    assert "  0 default  12.00 MiB       99.6 %        8  fusion.2                      8.00 MiB\n" in text
    assert "  lists      the first 20 rows of each\n" in text
    text = reader.text(await _shown(reader, "showBiography", uri=dump, allocation=2))
    assert text.endswith("""
Who holds which bytes of allocation 2 when
  from byte         to      size  steps  value
          0        512     512 B  1-7    copy-start.2{}
     16,384     16,896     512 B  3-4    copy-start{}
     32,768     33,280     512 B  5-6    copy-start.1{}
     49,152  4,243,456  4.00 MiB  2-4    broadcast_multiply_fusion
     49,152  4,243,456  4.00 MiB  5-8    copy-start.1{0}
""")
    text = reader.text(await _shown(reader, "showReport", uri=dump))
    assert text.startswith("## `jit_roundtrip`\n")


@pytest.mark.parametrize("path", [SEED, GLUED, SPLIT, TPU], ids=lambda path: path.name[:40])
@in_all_encodings
async def test_each_link_of_a_page_leads_to_the_line_that_tells_of_it(
    reader: Reader, tmp_path: Path, path: Path
) -> None:
    await reader.start()
    dump = reader.open(copied(path, tmp_path, "fusion", "füs🚀n"))
    count = 0
    for command, arguments in _PAGES:
        uri = await _shown(reader, command, uri=dump, **arguments)
        for link in await reader.ask("documentLink", uri):
            name = reader.cut(uri, link["range"])
            address, row = link["target"].split("#L")
            line = lines(reader.text(address))[int(row) - 1]
            (place,) = await reader.ask("definition", uri, position=link["range"]["start"])
            assert (place["uri"], place["range"]["start"]["line"]) == (address, int(row) - 1)
            assert reader.cut(place["uri"], place["range"]) in line
            if name.startswith("XLA prints"):
                assert line.strip().startswith("Live ranges at ")
            elif name.removeprefix("step ").isdecimal():
                assert line.startswith(f"    {name.removeprefix('step ')}:")
            else:
                # A step may be told by the instruction that runs then.
                assert name in line
            count += 1
    assert count > 12


async def test_all_of_a_link_leads_there_and_nothing_else_does(reader: Reader) -> None:
    await reader.start()
    uri = await _shown(reader, "showLiveSet", uri=reader.open(SEED), step=5)
    row, line = next((row, line) for row, line in enumerate(lines(reader.text(uri))) if "  negate.0  " in line)
    start = line.index("negate.0")
    for column in range(len(line)):
        found = await reader.ask("declaration", uri, position={"line": row, "character": column})
        expected = ["001_491faa5ce21a17c6:31: <2 negate.0 @0>"] if start <= column <= start + 8 else []
        assert reader.shown(found) == expected


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("hover", {"position": {"line": 0, "character": 9}}),
        ("references", {"position": {"line": 0, "character": 9}, "context": {"includeDeclaration": True}}),
        ("documentHighlight", {"position": {"line": 0, "character": 9}}),
        ("prepareCallHierarchy", {"position": {"line": 0, "character": 9}}),
        ("selectionRange", {"positions": [{"line": 0, "character": 9}]}),
        ("documentSymbol", {}),
        ("foldingRange", {}),
        ("codeLens", {}),
    ],
)
async def test_what_a_page_has_no_answer_to(reader: Reader, method: str, params: Any) -> None:
    await reader.start()
    uri = await _shown(reader, "showSummary", uri=reader.open(SEED))
    assert await reader.ask(method, uri, **params) is None


async def test_a_page_that_an_editor_opens_is_no_dump(reader: Reader) -> None:
    """Neovim tells the server of each document that it shows."""
    await reader.start()
    dump = reader.open(SEED)
    uri = await _shown(reader, "showLiveSet", uri=dump, step=5)
    reader.open_uri(uri, reader.text(uri))
    reader.replace(uri, "Live at step 5", "Live at  step 5")
    reader.replace(uri, "Live at  step 5", "Live at step 5")
    assert len(await reader.ask("documentLink", uri)) > 5
    symbols = await reader.editor.request("workspace/symbol", {"query": "kind:module"})
    assert [symbol["location"]["uri"] for symbol in symbols] == [dump]
    report = await reader.editor.request("workspace/diagnostic", {"previousResultIds": []})
    assert [item["uri"] for item in report["items"]] == [dump]
    reader.close(uri)
    assert len(await reader.ask("documentLink", uri)) > 5
    await reader.ask("hover", dump, position={"line": 0, "character": 0})
    assert uri not in reader.editor.diagnostics


async def test_pages_are_read_again_when_the_set_changes(reader: Reader) -> None:
    await reader.start()
    dump = reader.open(SEED)
    live, summary = await _shown(reader, "showLiveSet", uri=dump, step=5), await _shown(reader, "showSummary", uri=dump)
    assert not reader.editor.received("workspace/textDocumentContent/refresh")
    reader.replace(dump, "    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-4")
    await reader.editor.until(lambda: len(reader.editor.received("workspace/textDocumentContent/refresh")) == 2)
    told = {message["params"]["uri"] for message in reader.editor.received("workspace/textDocumentContent/refresh")}
    assert told == {live, summary}
    assert "cublas-gemm.1" in reader.text(live)
    assert "cublas-gemm.1" not in await _read(reader, live)


async def test_pages_of_a_set_that_is_not_open_are_read_again_too(reader: Reader, tmp_path: Path) -> None:
    path = copied(SEED, tmp_path)
    await reader.start(RICH, tmp_path)
    uri = await _shown(reader, "showLiveSet", uri=path.as_uri(), step=5)
    path.write_text(path.read_text().replace("    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-4"))
    for _ in range(2):
        reader.editor.notify("workspace/didChangeWatchedFiles", {"changes": []})
    await reader.editor.until(lambda: bool(reader.editor.received("workspace/textDocumentContent/refresh")))
    assert "cublas-gemm.1" not in await _read(reader, uri)


async def test_pages_are_not_read_again_by_editors_that_cannot(reader: Reader) -> None:
    workspace = {name: value for name, value in RICH["workspace"].items() if name != "textDocumentContent"}
    await reader.start({**RICH, "workspace": workspace})
    dump = reader.open(SEED)
    uri = await _shown(reader, "showLiveSet", uri=dump, step=5)
    reader.replace(dump, "    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-4")
    assert "cublas-gemm.1" not in await _read(reader, uri)
    assert not reader.editor.received("workspace/textDocumentContent/refresh")


async def test_links_are_carried_over_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    dump = reader.open(SEED)
    uri = await _shown(reader, "showLiveSet", uri=dump, step=5)
    loads.hold()
    reader.replace(dump, "BufferAssignment:", "🚀\r\n\nBufferAssignment:")
    (first, *_) = await reader.ask("documentLink", uri)
    assert first["target"] == f"{dump}#L66"
    row = next(row for row, line in enumerate(lines(reader.text(uri))) if line.endswith(" negate.0"))
    found = await reader.ask("definition", uri, position={"line": row, "character": 14})
    assert reader.shown(found) == ["001_491faa5ce21a17c6:66: negate.0"]


async def test_a_page_of_a_document_on_no_disk(reader: Reader) -> None:
    await reader.start()
    for dump in ("untitled:Untitled-1", "vscode-remote://ssh-remote%2Bbox/tmp/a%20(b)-buffer-assignment.txt"):
        reader.open_uri(dump, SEED.read_text())
        uri = await _shown(reader, "showLiveSet", uri=dump, step=5)
        assert {link["target"].split("#")[0] for link in await reader.ask("documentLink", uri)} == {dump}


async def test_a_page_by_another_spelling_of_its_address(reader: Reader, tmp_path: Path) -> None:
    folder = tmp_path / "a (b)+é=1"
    folder.mkdir()
    await reader.start()
    uri = await _shown(reader, "showSummary", uri=reader.open(copied(SPLIT, folder)))
    other = quote(path_of(uri.replace("xla-lens:", "file:")).as_posix(), safe="/+=()é")
    assert f"xla-lens:{other}" != uri
    assert await _read(reader, f"xla-lens:{other}") == reader.text(uri)


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
async def test_pages_that_there_are_not(reader: Reader, name: str) -> None:
    await reader.start()
    reader.open(SEED)
    text = await _read(reader, name.format(path=SEED.as_posix()))
    assert text == "There is no such page, or its dump is neither open nor in the workspace.\n"


async def test_a_page_outside_of_the_workspace_is_not_made(reader: Reader, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    copied(SPLIT, outside)
    path = copied(SPLIT, inside)
    await reader.start(RICH, inside)
    uri = await _shown(reader, "showSummary", uri=path.as_uri())
    assert (await _read(reader, uri)).startswith("jit_train_step\n")
    for other in ("/outside/", "/inside/../outside/"):
        assert (await _read(reader, uri.replace("/inside/", other))).startswith("There is no such page")


# ---------------------------------------------------------------- commands


async def test_commands_tell_what_the_command_line_tells(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    await reader.start()
    capsys.readouterr()
    for path in (SEED, SPLIT, TPU):
        uri = reader.open(path)
        for form in ("markdown", "text"):
            _, out, _ = run(capsys, "report", path, "--output-format", form)
            assert await reader.run("report", {"uri": uri, "format": form}) == out
        _, out, _ = run(capsys, "report", path, "--output-format", "json")
        assert [await reader.run("report", {"uri": uri, "format": "json"})] == json.loads(out)
        _, out, _ = run(capsys, "check", path, "--output-format", "json")
        assert await reader.run("check", {"uri": uri}) == json.loads(out)
    _, out, _ = run(capsys, "explain", "peak-understated")
    assert (await reader.run("explain", {"code": "peak-understated"})).strip() == out.strip()


async def test_options_of_the_report(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    await reader.start()
    uri = reader.open(SPLIT)
    given = {"parts": ["totals", "live"], "top": 3, "atStep": 30, "budget": "2MiB"}
    options = ("--part", "totals,live", "--top", 3, "--at", 30, "--budget", "2MiB")
    _, out, _ = run(capsys, "report", SPLIT, *options)
    assert await reader.run("report", {"uri": uri, "format": "text", **given}) == out
    given = {"top": None, "budget": None, "parts": None, "atStep": None, "format": None}
    assert await reader.run("report", {"uri": uri, **given}) == await reader.run("report", {"uri": uri})


async def test_every_code_is_explained(reader: Reader) -> None:
    await reader.start()
    for code in Code:
        text = await reader.run("explain", {"code": str(code)})
        assert text.startswith(f"# {code}\n")
        (shown,) = reader.editor.received("window/showDocument")[-1:]
        assert path_of(shown["params"]["uri"]).read_text() == text


async def test_the_live_set_at_a_place(reader: Reader) -> None:
    """At a step that step, at a value the one at which it is born."""
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


async def test_references_are_shown(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    position = reader.at(uri, "    cublas-gemm.1{}:4-5\n      ^")
    found = await reader.run("showReferences", {"uri": uri, "position": position})
    assert [place.split(":")[1] for place in reader.shown(found)] == ["8", "43", "45", "47", "71", "77", "63", "37"]
    (shown,) = reader.editor.received("window/showDocument")
    assert shown["params"] == {"uri": uri, "takeFocus": True, "selection": found[0]["range"]}
    assert await reader.run("showReferences", {"uri": uri, "position": {"line": 13, "character": 0}}) == []
    assert len(reader.editor.received("window/showDocument")) == 1


async def test_an_editor_that_shows_nothing_gets_the_result(reader: Reader) -> None:
    await reader.start({})
    uri = reader.open(SEED)
    assert (await reader.run("showLiveSet", {"uri": uri, "step": 5}))["text"].startswith("Live at step 5\n")
    assert not reader.editor.received("window/showDocument")


_NO_DUMP = " is neither open nor a dump in the workspace"


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("nothing", [{}], "no such command: xla-lens.nothing"),
        ("report", [], "uri is missing"),
        ("report", [{}], "uri is missing"),
        ("report", [5], "xla-lens.report takes one object"),
        ("report", [{"uri": "{uri}"}, {}], "xla-lens.report takes one object"),
        ("report", [{"uri": 5}], "uri: str wanted, not int"),
        ("report", [{"uri": "file:///no/such/file.txt"}], f"file:///no/such/file.txt{_NO_DUMP}"),
        ("report", [{"uri": "file:///etc/passwd"}], f"file:///etc/passwd{_NO_DUMP}"),
        ("report", [{"uri": f"file:///{'a' * 5000}"}], f"file:///{'a' * 5000}{_NO_DUMP}"),
        ("report", [{"uri": "file:///a%00b"}], f"file:///a%00b{_NO_DUMP}"),
        ("report", [{"uri": ""}], _NO_DUMP),
        ("report", [{"uri": "https://example.org/x"}], f"https://example.org/x{_NO_DUMP}"),
        ("report", [{"uri": "{uri}", "format": "html"}], "format: markdown, text or json"),
        ("report", [{"uri": "{uri}", "format": 5}], "format: str wanted, not int"),
        ("report", [{"uri": "{uri}", "top": "3"}], "top: int wanted, not str"),
        ("report", [{"uri": "{uri}", "top": True}], "top: int wanted, not bool"),
        ("report", [{"uri": "{uri}", "top": -1}], "top: a number from 0 to 9007199254740991"),
        ("report", [{"uri": "{uri}", "atStep": 10**30}], "atStep: a number from 0 to 9007199254740991"),
        ("report", [{"uri": "{uri}", "budget": "much"}], 'budget: a size such as "16GiB"'),
        ("report", [{"uri": "{uri}", "parts": ["x"]}], "parts: some of totals, "),
        ("report", [{"uri": "{uri}", "parts": [[]]}], "parts: some of totals, "),
        ("report", [{"uri": "{uri}", "parts": "peak"}], "parts: list wanted, not str"),
        ("check", [{}], "uri is missing"),
        ("explain", [{}], "code is missing"),
        ("explain", [{"code": "sintax"}], "no such code: sintax"),
        ("explain", [{"code": "../../x"}], "no such code: ../../x"),
        ("explain", [{"code": []}], "code: str wanted, not list"),
        ("showSummary", [{"uri": "file:///etc/passwd"}], f"file:///etc/passwd{_NO_DUMP}"),
        ("showLiveSet", [{"uri": "{uri}"}], "step is missing"),
        ("showLiveSet", [{"uri": "{uri}", "step": -1}], "step: a number from 0 to 9007199254740991"),
        ("showLiveSet", [{"uri": "{uri}", "step": 1.5}], "step: int wanted, not float"),
        ("showLiveSet", [{"uri": "{uri}", "position": 5}], "position: dict wanted, not int"),
        ("showLiveSet", [{"uri": "{uri}", "position": {"line": 0}}], "position is no position"),
        ("showLiveSet", [{"uri": "{uri}", "position": {"line": -1, "character": 0}}], "position is no position"),
        ("showLiveSet", [{"uri": "{uri}", "position": {"line": 0, "character": 0}}], "nothing there has a step"),
        ("showLiveSet", [{"uri": "{closed}", "position": {"line": 0, "character": 0}}], "{closed} is not open"),
        ("showBiography", [{"uri": "{uri}"}], "allocation is missing"),
        ("showBiography", [{"uri": "{uri}", "allocation": -1}], "allocation: a number from 0 to 9007199254740991"),
        ("showReferences", [{"uri": "{closed}", "position": {"line": 0, "character": 0}}], "{closed} is not open"),
        ("showReferences", [{"uri": "{uri}"}], "position is missing"),
        ("goTo", [{}], "a location wanted: uri and range"),
        ("goTo", [{"uri": "{uri}", "range": {"start": 5, "end": 6}}], "a location wanted: uri and range"),
    ],
)
async def test_arguments_that_are_wrong(reader: Reader, command: str, arguments: list[Any], message: str) -> None:
    await reader.start()
    names = {"uri": reader.open(SEED), "closed": SPLIT.as_uri()}

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return value.format(**names) if value.startswith("{") else value
        return {name: filled(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    with pytest.raises(Refused) as refused:
        await reader.run(command, *map(filled, arguments))
    assert refused.value.code == -32602
    told = str(refused.value).partition(": ")[2]
    assert told.startswith(filled(message))
    assert "\n" not in told


async def test_a_step_and_an_allocation_that_there_are_not(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    found = await reader.run("showLiveSet", {"uri": uri, "step": 99})
    assert found["text"] == "There is no step 99: the steps are 0 to 7.\n"
    found = await reader.run("showBiography", {"uri": uri, "allocation": 99})
    assert found["text"] == "There is no allocation 99.\n"


async def test_files_of_the_workspace_need_not_be_open(reader: Reader, tmp_path: Path) -> None:
    """An editor does not open a file that is too large for it."""
    path = copied(SPLIT, tmp_path)
    await reader.start(RICH, tmp_path)
    values = sibling(path, "buffer-assignment-values").as_uri()
    assert (await reader.run("report", {"uri": values})).startswith("## `jit_train_step`\n")
    uri = await _shown(reader, "showLiveSet", uri=values, step=5)
    assert len(await reader.ask("documentLink", uri)) > 5
    (finding,) = await reader.run("check", {"uri": values})
    assert finding["code"] == "peak-understated"
    assert not reader.editor.diagnostics


async def test_links_of_the_workspace_lead_nowhere_outside(reader: Reader, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    target = copied(SEED, outside)
    link = inside / "x-buffer-assignment.txt"
    os.symlink(target, link)
    (inside / "folder").symlink_to(outside)
    await reader.start(RICH, inside)
    for path in (link, inside / "folder" / target.name, inside / ".." / "outside" / target.name):
        with pytest.raises(Refused, match=_NO_DUMP):
            await reader.run("report", {"uri": path.as_uri()})


async def test_what_takes_long_shows_progress(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    path = copied(SEED, tmp_path)
    await reader.start(RICH, tmp_path)
    loads.hold()
    request = {"command": "xla-lens.showSummary", "arguments": [{"uri": path.as_uri()}], "workDoneToken": "bar"}
    number = reader.editor.ask("workspace/executeCommand", request)

    def told(token: str) -> list[str]:
        messages = [message["params"] for message in reader.editor.received("$/progress")]
        return [message["value"]["kind"] for message in messages if message["token"] == token]

    await reader.editor.until(lambda: told("bar") == ["begin"])
    loads.go_on()
    assert (await reader.editor.answer(number))["text"].startswith("001_491faa5ce21a17c6")
    await reader.editor.until(lambda: told("bar") == ["begin", "end"])


async def test_a_command_can_be_taken_back(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    path = copied(SEED, tmp_path)
    await reader.start(RICH, tmp_path)
    loads.hold()
    request = {"command": "xla-lens.report", "arguments": [{"uri": path.as_uri()}]}
    number = reader.editor.ask("workspace/executeCommand", request)
    await asyncio.sleep(0)
    reader.editor.cancel(number)
    with pytest.raises(Refused) as refused:
        await reader.editor.answer(number)
    assert refused.value.code == -32800
    loads.go_on()
    assert await reader.run("report", {"uri": path.as_uri()})


async def test_the_loop_goes_on_while_a_report_is_made(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "slow-buffer-assignment.txt"
    path.write_text(slow_text(300))
    await reader.start(RICH, tmp_path)
    uri = reader.open(path)
    number = reader.editor.ask(
        "workspace/executeCommand", {"command": "xla-lens.report", "arguments": [{"uri": uri, "format": "json"}]}
    )
    hover = await reader.ask("hover", uri, position={"line": 1, "character": 3})
    assert hover["contents"]["value"].startswith("**allocation 0**")
    assert (await asyncio.wait_for(reader.editor.answer(number), PATIENCE))["values"] > 100
