"""Answers that are too long are truncated, and say so: in the log, or to the user who asked for them."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lsp.reading import Reader, rows
from lsp.wire import FULL
from samples import SEED, WHILE
from xla_lens.lsp.requests import annotations, navigation, structure

_MODULE = WHILE.with_name(WHILE.name.replace("-buffer-assignment", ""))
_WHOLE = {"range": rows(0, 999)}
_VALUE = {"position": {"line": 70, "character": 8}}
_COPY = {"position": {"line": 74, "character": 4}}
_FOLDS: Mapping[str, Any] = {**FULL, "textDocument": {"foldingRange": {"rangeLimit": 2}}}


async def _answer(reader: Reader, uri: str, method: str, params: Mapping[str, Any]) -> list[Any]:
    if method in ("incomingCalls", "outgoingCalls"):
        (item,) = await reader.ask("prepareCallHierarchy", uri, **params)
        return list(await reader.editor.request(f"callHierarchy/{method}", {"item": item}))
    found = await reader.ask(method, uri, **params)
    return found["data"][::5] if method.startswith("semanticTokens") else found


@pytest.mark.parametrize(
    ("path", "module", "limit", "method", "params", "what"),
    [
        (SEED, annotations, "HINT_LIMIT", "inlayHint", _WHOLE, "hints"),
        (SEED, annotations, "LINK_LIMIT", "documentLink", {}, "links"),
        (SEED, structure, "TOKEN_LIMIT", "semanticTokens/range", _WHOLE, "semantic tokens"),
        (SEED, navigation, "HIGHLIGHT_LIMIT", "documentHighlight", _VALUE, "highlights"),
        (SEED, navigation, "FLOW_LIMIT", "incomingCalls", _VALUE, "producers or callers"),
        (_MODULE, navigation, "FLOW_LIMIT", "outgoingCalls", _COPY, "consumers or callees"),
    ],
)
async def test_truncated_answers_are_reported(
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    module: ModuleType,
    limit: str,
    method: str,
    params: Mapping[str, Any],
    what: str,
) -> None:
    """In the log, once, if editors request them without the user, for instance when the cursor moves."""
    monkeypatch.setattr(module, limit, 1)
    await reader.start()
    uri = reader.open(path)
    for _ in range(2):
        assert len(await _answer(reader, uri, method, params)) == 1
    is_shown = method.endswith("Calls")
    prefix = "" if is_shown else f"textDocument/{method}, {uri}: "
    messages = reader.editor.received("window/showMessage" if is_shown else "window/logMessage")
    expected = f"{prefix}more than 1 {what}: the first 1 are shown"
    assert [one["params"]["message"] for one in messages] == [expected] * (2 if is_shown else 1)


@pytest.mark.parametrize(("path", "shown"), [(SEED, [15, 56]), (_MODULE, [43, 71])], ids=["dump", "module"])
async def test_biggest_folding_ranges_are_kept(reader: Reader, path: Path, shown: list[int]) -> None:
    """Editors may limit folding ranges."""
    await reader.start(_FOLDS)
    uri = reader.open(path)
    found = await reader.ask("foldingRange", uri)
    assert [one["startLine"] for one in found][:4] == shown
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].endswith(f"{uri}: only the 2 biggest folding ranges are shown")
