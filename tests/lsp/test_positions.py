"""Answers are the same in UTF-8, UTF-16 and UTF-32 and with both line ends, whatever the lines contain."""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from fuzzing.params import Maker, fields_of
from fuzzing.positions import ENCODINGS, Text, tokens_in
from lsp.wire import FULL, InProcess
from samples import DUMPS
from xla_lens.lsp.handlers import HANDLERS

_NAMES = next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/*-live-range.txt"))

_ODD = (
    "      ├── naïve 名前🚀\tתווים é (34.3%, total: 1 024 bytes, current: 0 bytes, remaining: 3 000 bytes)",
    "      │   └── two\nlines 🚀🚀 (34.3%, total: 1 024 bytes, current: 1 024 bytes, remaining: 1 976 bytes)",
    "      │   └── 🚀 nothing of a stack trace",
)
"""Lines for stack traces, which XLA prints without escaping."""

_ROUNDS = 60


class _Lines(Text):
    """A text with random positions that do not depend on the encoding and the line ends."""

    def some(self, chance: random.Random) -> Any:
        start, end = chance.choice(self.spans)
        return self.position(start + chance.randint(0, end - start))


def _files(folder: Path) -> dict[Path, str]:
    """Return the files of a set with odd characters in some lines."""
    stem = _NAMES.name.removesuffix("-live-range.txt")
    files = {folder / path.name: path.read_text() for path in _NAMES.parent.glob(f"{stem}-*")}
    lines = files[folder / _NAMES.name].split("\n")
    row = next(row for row, line in enumerate(lines) if "├──" in line)
    files[folder / _NAMES.name] = "\n".join([*lines[:row], *_ODD, *lines[row:]])
    assert any("🚀" in line for line in lines)
    return files


def _methods() -> list[str]:
    """The methods of all requests about an open document."""
    return [method for method in HANDLERS if "textDocument" in fields_of(lsp.METHOD_TO_TYPES[method][2])]


async def _answers(folder: Path, encoding: str, line_end: str) -> list[Any]:
    """Return the answers to the same requests, with positions as lines and characters."""
    editor, texts = InProcess(), {}
    await editor.initialize({**FULL, "general": {"positionEncodings": [encoding]}})
    for path, text in _files(folder).items():
        texts[path.as_uri()] = _Lines(text.replace("\n", line_end), encoding)
        document = {"uri": path.as_uri(), "languageId": "x", "version": 1, "text": texts[path.as_uri()].text}
        editor.notify("textDocument/didOpen", {"textDocument": document})
    answers: list[Any] = []
    for number in range(_ROUNDS):
        for method in _methods():
            for uri in texts if number == 0 else [(folder / _NAMES.name).as_uri()]:
                maker = Maker(random.Random(f"{number} {method}"), [])
                maker.texts, maker.share = dict(texts), 0.0
                result = await editor.request(method, maker.params(method, uri))
                answers.append((method, uri, _plain(result, texts, uri, method)))
    answers += [
        ("diagnostics", uri, _plain(found, texts, uri, "")) for uri, found in sorted(editor.diagnostics.items())
    ]
    await editor.stop()
    return answers


def _plain(value: Any, texts: dict[str, _Lines], uri: str, method: str) -> Any:
    """Return some JSON with its positions as lines and characters of their texts."""
    if isinstance(value, list):
        return [_plain(item, texts, uri, method) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"line", "character"}:
        assert texts[uri].has(value), (method, value)
        return value["line"], texts[uri].index(value) - texts[uri].spans[value["line"]][0]
    if "semanticTokens" in method:
        found = (([start, end], *rest) for start, end, *rest in tokens_in(value["data"]))
        return [(_plain(place, texts, uri, ""), *rest) for place, *rest in found]
    own = str(value.get("targetUri") or value.get("uri") or uri)
    return {
        # Data for `codeLens/resolve`, and ids of results: both differ between servers.
        key: _plain(item, texts, uri if key == "originSelectionRange" else own, method)
        for key, item in value.items()
        if key not in ("data", "resultId")
    }


_VARIANTS = list(itertools.product(ENCODINGS, ("\n", "\r\n")))


@pytest.mark.parametrize(
    "variants", [_VARIANTS[:4:3], pytest.param(_VARIANTS, marks=pytest.mark.slow)], ids=["some", "all"]
)
async def test_answers_do_not_depend_on_encoding_and_line_ends(
    tmp_path: Path, variants: Sequence[tuple[str, str]]
) -> None:
    expected = await _answers(tmp_path, "utf-32", "\n")
    assert {method for method, _, result in expected if result} == {*_methods(), "diagnostics"}
    for encoding, line_end in variants:
        found = await _answers(tmp_path, encoding, line_end)
        for one, other in zip(found, expected, strict=True):
            assert one == other, (encoding, line_end)
