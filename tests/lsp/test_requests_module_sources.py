"""Links and actions that lead to source files, from an HLO module and from the dump."""

from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, sibling
from lsp.wire import FULL
from samples import SPLIT


def _module(path: Path) -> Path:
    return path.with_name(path.name.replace("-buffer-assignment", ""))


async def _links(reader: Reader, uri: str) -> dict[str, tuple[str, str]]:
    """Return the links of a document: their text, tooltip and target, or the path if the file is not here."""
    found_links = {}
    for link in await reader.ask("documentLink", uri):
        assert "target" not in link or "#L" in link["target"]
        found = await reader.editor.request("documentLink/resolve", link)
        found_links[reader.text_at(uri, link["range"])] = (
            link["tooltip"],
            found.get("target") or found["data"]["path"],
        )
    return found_links


# ---------------------------------------------------------------- finding source files


async def _program(reader: Reader, folder: Path, **settings: Any) -> str:
    """Return the target of the first link to a source file."""
    await reader.start(FULL, folder)
    if settings:
        await reader.set(**settings)
    uri = reader.open(_module(SPLIT))
    return (await _links(reader, uri))["stack_frame_id=6"][1]


async def test_source_is_found_in_the_workspace(reader: Reader, tmp_path: Path) -> None:
    for name in ("other/programs.py", "src/programs/programs.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    assert await _program(reader, tmp_path) == f"{(tmp_path / 'src/programs/programs.py').as_uri()}#L50"


@pytest.mark.parametrize("is_there", [True, False])
async def test_path_mapping_finds_a_source(reader: Reader, tmp_path: Path, is_there: bool) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "programs.py").write_text("")
    if is_there:
        (outside / "programs.py").write_text("")
    mapping = {"/home/user/programs": str(outside)}
    found = await _program(reader, inside, sources={"pathMapping": mapping})
    assert found == f"{((outside if is_there else inside) / 'programs.py').as_uri()}#L50"


# ---------------------------------------------------------------- actions


async def _go_to_sources(reader: Reader, uri: str, marked: str) -> list[str]:
    """Return the actions at a marked place that lead to source files, and the document shown for each."""
    position = reader.at(uri, marked)
    range_ = {"start": position, "end": position}
    found_links = []
    for action in await reader.ask("codeAction", uri, range=range_, context={"diagnostics": []}):
        if "source" in action["title"]:
            found = await reader.run(
                action["command"]["command"].removeprefix("xla-lens."), *action["command"]["arguments"]
            )
            (shown,) = reader.editor.received("window/showDocument")[-1:]
            assert shown["params"] == {"uri": found["uri"], "takeFocus": True, "selection": found["range"]}
            start = found["range"]["start"]
            found_links.append(f"{action['title']} -> {found['uri']}:{start['line'] + 1}:{start['character'] + 1}")
    return found_links


async def test_actions_of_the_schedule_lead_to_sources(reader: Reader, tmp_path: Path) -> None:
    for name in ("programs.py", "run_progs.py"):
        (tmp_path / name).write_text("")
    await reader.start(FULL, tmp_path)
    uri = reader.open(sibling(SPLIT, "live-range"))
    # The module is loaded after the dump.
    await reader.ask("documentLink", uri)
    here = (tmp_path / "programs.py").as_uri()
    assert await _go_to_sources(reader, uri, "    35:dot\n       ^") == [
        f"Go to Python source: programs.py:50 in mlp_apply -> {here}:50:13",
        f"Go to Python source: programs.py:57 in mlp_train.<locals>.train_step.<locals>.loss -> {here}:57:30",
        f"Go to Python source: programs.py:58 in mlp_train.<locals>.train_step -> {here}:58:16",
        f"Go to Python source: run_progs.py:54 in child -> {(tmp_path / 'run_progs.py').as_uri()}:54:23",
    ]
