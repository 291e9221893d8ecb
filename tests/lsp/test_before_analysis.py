"""The structure of an open file is answered when the file is read, before its set is analysed."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp.conftest import Loads
from lsp.reading import Reader, copied, sibling
from lsp.wire import RequestFailed
from samples import DUMPS, GLUED, SEED, SPLIT, TPU

_H100 = next(DUMPS.glob("gpu-h100-jaxlib0.12.0.1/*/*-buffer-assignment.txt"))

_WHOLE = [
    SEED,
    GLUED,
    SPLIT,
    TPU,
    _H100,
    *(sibling(path, "live-range") for path in (SPLIT, TPU, _H100)),
    sibling(TPU, "memory-usage-report"),
]
"""Files whose outlines need no other file of their set."""

_USED = [sibling(path, "buffer-assignment-values") for path in (SPLIT, TPU, _H100)]
"""Files whose outlines need the sizes in the buffer assignment beside them."""


def _hints(reader: Reader, uri: str) -> int:
    """Ask for inlay hints, which need the analysis."""
    return reader.editor.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": reader.whole(uri)})


async def _folds_and_selection(reader: Reader, uri: str) -> tuple[Any, Any]:
    middle = {"line": reader.text(uri).count("\n") // 2, "character": 1}
    return await reader.ask("foldingRange", uri), await reader.ask("selectionRange", uri, positions=[middle])


@pytest.mark.parametrize("path", _WHOLE, ids=lambda path: f"{path.parent.name}-{path.stem[-12:]}")
async def test_structure_is_answered_before_the_analysis(reader: Reader, analyses: Loads, path: Path) -> None:
    await reader.start()
    analyses.hold()
    uri = reader.open(path)
    hints = _hints(reader, uri)
    outline, structure = await reader.ask("documentSymbol", uri), await _folds_and_selection(reader, uri)
    assert outline
    assert structure[0]
    assert reader.editor.answers(hints) == [], "there is no analysis yet"
    analyses.resume()
    await reader.editor.answer(hints)
    assert outline == await reader.ask("documentSymbol", uri)
    assert structure == await _folds_and_selection(reader, uri)
    assert analyses.count == 1


@pytest.mark.parametrize("path", _USED, ids=lambda path: path.parent.name)
async def test_outline_of_used_values_waits_for_their_sizes(reader: Reader, analyses: Loads, path: Path) -> None:
    await reader.start()
    analyses.hold()
    uri = reader.open(path)
    number = reader.editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    structure = await _folds_and_selection(reader, uri)
    assert structure[0]
    assert reader.editor.answers(number) == []
    analyses.resume()
    (used,) = await reader.editor.answer(number)
    assert all("B" in value["detail"] for value in used["children"])
    assert structure == await _folds_and_selection(reader, uri)


async def test_other_file_of_a_set_that_is_being_analysed(reader: Reader, analyses: Loads) -> None:
    """A file that was read from disk has a structure as soon as it is opened."""
    await reader.start()
    analyses.hold()
    assert await reader.ask("documentSymbol", reader.open(SPLIT))
    second = reader.open(sibling(SPLIT, "live-range"))
    (outline,) = await reader.ask("documentSymbol", second)
    assert outline["name"].startswith("HloLiveRange")
    hints = _hints(reader, second)
    analyses.resume()
    await reader.editor.answer(hints)
    assert [outline] == await reader.ask("documentSymbol", second)
    assert analyses.count == 1


async def test_edits_before_the_analysis(reader: Reader, analyses: Loads, tmp_path: Path) -> None:
    """Each edit starts the load again, and the answers are those of the edited text."""
    await reader.start()
    analyses.hold()
    uri = reader.open(copied(SEED, tmp_path))
    before = await reader.ask("documentSymbol", uri)
    hints, numbers = _hints(reader, uri), []
    for count in range(1, 4):
        reader.replace(uri, "\nallocation 2:", "\n\n🚀 \nallocation 2:")
        numbers.append(reader.editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}))
        folds, outline = await reader.ask("foldingRange", uri), await reader.ask("documentSymbol", uri)
        assert [root["range"]["start"]["line"] - count * 2 for root in outline[1:]] == [
            root["range"]["start"]["line"] for root in before[1:]
        ]
        assert outline[0]["name"] == reader.text_at(uri, outline[0]["selectionRange"]).rstrip(":")
    assert reader.editor.answers(hints) == [], "there is no analysis yet"
    analyses.resume()
    await reader.editor.answer(hints)
    assert outline == await reader.ask("documentSymbol", uri)
    assert folds == await reader.ask("foldingRange", uri)
    assert {len(reader.editor.answers(number)) for number in (hints, *numbers)} == {1}


async def test_requests_can_be_cancelled_before_the_file_is_read(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    await reader.start()
    loads.hold()
    uri = reader.open(copied(SEED, tmp_path))
    methods = ("documentSymbol", "foldingRange")
    numbers = [reader.editor.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}}) for method in methods * 2]
    reader.replace(uri, "\nallocation 2:", "\n\nallocation 2:")
    for number in numbers[:2]:
        reader.editor.cancel(number)
        with pytest.raises(RequestFailed) as failed:
            await reader.editor.answer(number)
        assert failed.value.code == lsp.LSPErrorCodes.RequestCancelled
    assert not any(reader.editor.answers(number) for number in numbers[2:])
    loads.resume()
    outline, folds = [await reader.editor.answer(number) for number in numbers[2:]]
    assert outline == await reader.ask("documentSymbol", uri)
    assert folds == await reader.ask("foldingRange", uri)
    assert {len(reader.editor.answers(number)) for number in numbers} == {1}


async def test_closed_document_has_no_structure(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    await reader.start()
    loads.hold()
    uri = reader.open(copied(SEED, tmp_path))
    number = reader.editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    reader.close(uri)
    loads.resume()
    assert await reader.editor.answer(number) is None
