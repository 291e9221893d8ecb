"""Answers to all requests about a document, as text: in each encoding, with both line ends, and after an edit. The
document is a file of a dump set or a page.

Each file in `answers` has questions and answers about one document. A line with `#` names a method, and lines with `>`
mark the position of the requests below. Ranges are shown by the text that they cover in their document.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fuzzing.positions import tokens_in
from lsp.conftest import Loads
from lsp.reading import Reader, check_golden, copied, lines, short_name, show_page, sibling
from samples import DUMPS, PEAK_NAMES, SEED, SPLIT, TPU, WHILE

_FOLDER = Path(__file__).parent / "answers"

DONATION, NEW_DONATION = (
    next(DUMPS.glob(f"{folder}*-buffer-assignment.txt"))
    for folder in ("cpu-jaxlib0.4.20/donation/module_0000", "cpu-jaxlib0.6.2/donation/module_0001")
)

_DOCUMENTS: Mapping[str, tuple[Path, str, tuple[str, str]]] = {
    "one_file": (SEED, "", ("cublas", "cüb🚀las")),
    "live_ranges": (SPLIT, "live-range", ("ynn_fusion", "ynn_füs🚀n")),
    "memory_spaces": (TPU, "live-range", ("copy-done.1", "cöpy🚀done.1")),
    "module": (WHILE, "hlo", ("arg_tuple.1", "ärg_tuple🚀")),
    "module_alone": (WHILE, "hlo", ("arg_tuple.1", "ärg_tuple🚀")),
    "odd_names": (PEAK_NAMES, "live-range", ("tuple.1", "täple🚀.1")),
    "live_set": (SEED, "showLiveSet", ("cublas", "cüb🚀las")),
    "history": (TPU, "showAllocationHistory", ("copy-start", "cöpy🚀start")),
    "comparison": (DONATION, "compare", ("fusion.2", "füs🚀n")),
}
"""What each golden is about, a file of a dump set or a page about it, and what is replaced in the set: names get wide
characters.
"""

_ARGUMENTS: Mapping[str, Mapping[str, int]] = {"showLiveSet": {"step": 5}, "showAllocationHistory": {"allocation": 2}}

_LEFT_OUT = ("data", "paddingLeft", "targetRange")
_BELOW = {"children": "  ", "parent": ""}
"""Parts of answers that are shown below them, and their indentation."""

_WIDTH = 60
"""Longer texts are cut off."""


class _Text:
    """Shows the answers of a reader as lines of text."""

    def __init__(self, reader: Reader, uri: str, *, has_numbers: bool) -> None:
        self._reader, self._uri = reader, uri
        self._has_numbers = has_numbers
        self._legend: Any = None

    async def filled(self, golden: str, legend: Any) -> str:
        """Return a golden with the answers of now."""
        self._legend = legend
        found, marks = [], list[str]()
        for line in golden.split("\n"):
            if line.startswith(">"):
                marks = [*marks[-1:], line[2:]]
                found.append(line)
            elif line.startswith("#"):
                position = self._reader.at(self._uri, "\n".join(marks)) if marks else None
                found += [line, *[f"  {shown}".rstrip() for shown in await self._answer(line[2:], position)]]
        return "\n".join(found) + "\n"

    async def _answer(self, method: str, position: Any) -> list[str]:
        reader, uri = self._reader, self._uri
        params: dict[str, Any] = {}
        if method in ("inlayHint", "semanticTokens/range"):
            params = {"range": reader.whole(uri)}
        elif method == "selectionRange":
            params = {"positions": [position]}
        elif position:
            params = {"position": position, "context": {"includeDeclaration": True}}
        if method == "whatIsAt":
            return list(self._lines(await reader.run(method, {"uri": uri, **params}), uri))
        answer = await reader.ask(method, uri, **params)
        if method == "semanticTokens/range":
            return self._tokens(answer["data"])
        if method == "hover" and answer:
            return [f"{self._range(answer['range'], uri)}: {answer['contents']['value'].partition(chr(10))[0]}"]
        if method == "documentLink":
            answer = answer and [await reader.editor.request(f"{method}/resolve", item) for item in answer]
        if method != "prepareCallHierarchy":
            return list(self._lines(answer, uri))
        found = list(self._lines(answer, uri))
        for way in ("incoming", "outgoing"):
            for call in await reader.editor.request(f"callHierarchy/{way}Calls", {"item": answer[0]}):
                # The ranges are in the file of the caller.
                other = call["from" if way == "incoming" else "to"]
                place = other["uri"] if way == "incoming" else answer[0]["uri"]
                ranges = [self._range(one, place) for one in call["fromRanges"]]
                found += [f"{way}: {shown} · {', '.join(ranges)}" for shown in self._lines(other, uri)]
        return found

    def _lines(self, value: Any, uri: str) -> Iterator[str]:
        """Yield one line for each item of an answer, with children and parents below it."""
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                yield str(item)
                continue
            own = item.get("targetUri") or item.get("uri") or uri
            # The selected part of a range is enough.
            left_out = (*_LEFT_OUT, *_BELOW, *(["range"] if "selectionRange" in item else []))
            yield " · ".join(
                self._one(key, part, uri if key == "originSelectionRange" else own)
                for key, part in item.items()
                if key not in left_out
            )
            for key in _BELOW.keys() & item.keys():
                yield from (f"{_BELOW[key]}{line}" for line in self._lines(item[key], own))

    def _one(self, key: str, value: Any, uri: str) -> str:
        if isinstance(value, dict) and "start" in value:
            return self._range(value, uri)
        if key in ("startLine", "endLine"):
            return self._range({"start": {"line": value, "character": 0}, "end": _end(self._reader, uri, value)}, uri)
        if key == "position":
            return self._range({"start": {**value, "character": 0}, "end": value}, uri) + "‸"
        if isinstance(value, dict):
            return ", ".join(self._lines(value, uri))
        if isinstance(value, list):
            return ", ".join(line for item in value for line in self._lines(item, uri))
        text = str(value)
        return short_name(text) if key in ("uri", "targetUri", "target") else text

    def _range(self, value: Any, uri: str) -> str:
        """Return the text at a range: the start of its first line, and how many follow."""
        text, whole = self._reader.text_at(uri, value), self._reader.text(uri)
        first, *more = lines(text)
        # New lines at the start of a file are before its ranges.
        if whole.endswith(text) and len(more) + 2 >= whole.count("\n"):
            return "the whole file"
        shown = first if len(first) <= _WIDTH else f"{first[:_WIDTH]}…"
        shown += f" and {len(more)} more lines" if more else ""
        return f"{value['start']['line'] + 1}: {shown}".rstrip() if self._has_numbers else shown

    def _tokens(self, data: list[int]) -> list[str]:
        found: dict[int, list[str]] = {}
        for start, end, kind, modifiers in tokens_in(data):
            names = [name for bit, name in enumerate(self._legend["tokenModifiers"]) if modifiers >> bit & 1]
            word = self._reader.text_at(self._uri, {"start": start, "end": end})
            shown = f"{word}:{'+'.join([self._legend['tokenTypes'][kind], *names])}"
            found.setdefault(start["line"] + 1, []).append(shown)
        return [f"{row}: {' '.join(shown)}" if self._has_numbers else " ".join(shown) for row, shown in found.items()]


def _end(reader: Reader, uri: str, row: int) -> Mapping[str, int]:
    return {"line": row, "character": reader.width(lines(reader.text(uri))[row])}


async def _opened(reader: Reader, folder: Path, name: str, line_end: str = "\n") -> tuple[str, Any]:
    """Open the document of a golden. Return its URI and the legend of its tokens."""
    path, kind, replaced = _DOCUMENTS[name]
    legend = (await reader.start())["capabilities"]["semanticTokensProvider"]["legend"]
    path = copied(path, folder, *replaced)
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", line_end.encode()))
    if kind == "hlo":
        path = path.with_name(path.name.replace("-buffer-assignment", ""))
    if name == "module_alone":
        path = path.rename(path.with_name("module_0010.f.before_optimizations.txt"))
    is_dump = kind in ("", "hlo") or "-" in kind or kind.startswith("live")
    uri = reader.open(sibling(path, kind) if is_dump and kind not in ("", "hlo") else path)
    await reader.ask("documentLink", uri)
    await reader.checked(uri)
    if kind == "compare":
        uri = await show_page(reader, kind, old=uri, new=reader.open(NEW_DONATION))
    elif not is_dump:
        uri = await show_page(reader, kind, uri=uri, **_ARGUMENTS.get(kind, {}))
    return uri, legend


@pytest.mark.parametrize(
    ("reader", "line_end"), [("utf-8", "\n"), ("utf-16", "\r\n"), ("utf-32", "\n")], indirect=["reader"]
)
@pytest.mark.parametrize("name", _DOCUMENTS)
async def test_answers_are_those_of_the_golden(reader: Reader, tmp_path: Path, name: str, line_end: str) -> None:
    uri, legend = await _opened(reader, tmp_path, name, line_end)
    golden = _FOLDER / f"{name}.txt"
    check_golden(golden, await _Text(reader, uri, has_numbers=True).filled(golden.read_text(), legend))


@pytest.mark.parametrize("reader", ["utf-8", "utf-16"], indirect=True)
@pytest.mark.parametrize("name", [*_DOCUMENTS][:6])
async def test_answers_follow_edits(reader: Reader, loads: Loads, tmp_path: Path, name: str) -> None:
    """During a load the last analysis answers, at the current positions."""
    uri, legend = await _opened(reader, tmp_path, name)
    golden = (_FOLDER / f"{name}.txt").read_text()
    shown = _Text(reader, uri, has_numbers=False)
    before = await shown.filled(golden, legend)
    loads.hold()
    first = re.split(r"\W", reader.text(uri))[0]
    line = next(line for line in lines(reader.text(uri)) if line.startswith(first))
    reader.replace(uri, f"{line}\n", f"🚀\r\n\r{line}\n")
    assert await shown.filled(golden, legend) == before
