"""Code lenses and code actions, which run commands of the server."""

from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, lines
from lsp.wire import FULL, RequestFailed
from samples import SEED, on_each_file
from xla_lens.lsp.requests import annotations


async def _lenses(reader: Reader, uri: str) -> list[tuple[str, str, Any]]:
    """Return the lenses: their lines, texts and commands."""
    text, found_lenses = lines(reader.text(uri)), []
    for lens in await reader.ask("codeLens", uri):
        assert lens["range"]["start"] == lens["range"]["end"] == {**lens["range"]["start"], "character": 0}
        found_lenses.append((text[lens["range"]["start"]["line"]], lens["command"]["title"], lens["command"]))
    return found_lenses


async def _actions(reader: Reader, uri: str, marked: str, **context: Any) -> list[Any]:
    position = reader.at(uri, marked)
    range_ = {"start": position, "end": position}
    return await reader.ask("codeAction", uri, range=range_, context={"diagnostics": [], **context})


# ---------------------------------------------------------------- lenses


async def test_last_lens_reports_truncation(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "LENS_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    shown = [(line, title) for line, title, _ in await _lenses(reader, uri)]
    assert shown[1] == ("BufferAssignment:", "lenses for the 2 largest only")
    assert [line for line, title in shown if "use" in title and "used" not in title] == [
        "<0 param @0>",
        "<5 fusion @0>",
    ]


# ---------------------------------------------------------------- actions


async def test_finding_has_actions(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    marked = "  Live ranges at 5 (peak):\n     ^"
    await reader.editor.until(lambda: bool(reader.editor.diagnostics.get(uri)))
    found = await _actions(reader, uri, marked, diagnostics=reader.editor.diagnostics[uri])
    assert [(action["title"], action["kind"]) for action in found] == [
        ("Explain peak-understated", "quickfix"),
        ("Show values live at step 5", "xla-lens"),
        ("Go to the real HBM peak: 580.0 KiB at step 4", "xla-lens"),
        ("Show what would lower the peak", "xla-lens"),
        ("Show the report as Markdown", "xla-lens"),
        ("Select this dump for comparison", "xla-lens"),
    ]
    assert found[0]["diagnostics"] == reader.editor.diagnostics[uri]
    assert found[0]["command"] == {
        "title": "Explain peak-understated",
        "command": "xla-lens.explain",
        "arguments": [{"code": "peak-understated"}],
    }
    assert found[2]["command"]["command"] == "xla-lens.goTo"
    assert reader.shown(found[2]["command"]["arguments"]) == ["001_491faa5ce21a17c6:63: cublas-gemm.1"]


@on_each_file
async def test_each_action_has_a_command_and_no_edit(reader: Reader, path: Path) -> None:
    await reader.start(FULL, path.parent)
    uri = reader.open(path)
    text = lines(reader.text(uri))
    seen = set()
    for row in range(0, len(text), max(1, len(text) // 40)):
        position = {"line": row, "character": len(text[row]) // 2}
        range_ = {"start": position, "end": position}
        found = await reader.ask("codeAction", uri, range=range_, context={"diagnostics": []})
        assert 1 <= len({action["title"] for action in found}) == len(found) <= 8 + 5
        for action in found:
            assert action.keys() <= {"title", "kind", "command", "diagnostics"}
            arguments = action["command"]["arguments"]
            if (action["command"]["command"], str(arguments)) not in seen:
                seen.add((action["command"]["command"], str(arguments)))
                name = action["command"]["command"].removeprefix("xla-lens.")
                if name == "goTo" and "path" in arguments[0]:
                    # The programs of these dumps are on other machines.
                    with pytest.raises(RequestFailed, match="is not in this workspace: map its folder"):
                        await reader.run(name, *arguments)
                else:
                    assert await reader.run(name, *arguments)
    assert len(seen) > 1 or "report" in path.name


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (["quickfix"], {"quickfix"}),
        (["xla-lens"], {"xla-lens"}),
        (["xla-lens.more"], set()),
        (["refactor", "source.organizeImports"], set()),
        ([""], {"quickfix", "xla-lens"}),
        (["refactor", "quickfix"], {"quickfix"}),
    ],
)
async def test_actions_are_filtered_by_kind(reader: Reader, only: list[str], kinds: set[str]) -> None:
    await reader.start()
    uri = reader.open(SEED)
    found = await _actions(reader, uri, "  Live ranges at 5 (peak):\n     ^", only=only)
    assert {action["kind"] for action in found} == kinds
