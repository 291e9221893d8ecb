"""Documents with the standard output of XLA (`--xla_dump_to=-`), which contains the files of several dump sets.

Each file in it is a document of its own for the rest of the server, which knows where it begins. `DumpSets` finds the
file around a line, and here the answers about several files become one answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.files import printed_files, set_key
from xla_lens.lsp.converter import Json, RawJson, to_json
from xla_lens.syntax.file_names import is_from_cache, split_name
from xla_lens.text.document import Document


@dataclass(frozen=True, slots=True, eq=False)
class PrintedDocument:
    """A file in the output, and the key of its set. Its text is in the lines from `first_row` up to `end_row`, and
    begins at the byte `start`.
    """

    key: Path
    path: Path
    document: Document
    start: int
    first_row: int
    end_row: int


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """An open document with the standard output of XLA, and the files of dump sets in it, at least one."""

    uri: str
    path: Path
    document: Document
    parts: tuple[PrintedDocument, ...]

    def around(self, first: int, last: int) -> list[PrintedDocument]:
        """Return the files that have any of some lines."""
        return [part for part in self.parts if part.first_row <= last and first < part.end_row]

    def at(self, row: int) -> PrintedDocument:
        """Return the file at a line, the one before it if it is between two. A URI may be older than the text."""
        return next((part for part in reversed(self.parts) if part.first_row - 1 <= row), self.parts[0])


def output_of(uri: str, path: Path, document: Document) -> Output | None:
    """Return a document as the output of XLA, None if it has no file of a dump set."""
    data = document.data
    # The search comes last: it takes 100 ms in the biggest dumps.
    if split_name(path.name)[1] or data.startswith(_MODULE) or _MARKER not in data:
        return None
    found = list(printed_files(path, data))
    names = [one.name for one, _ in found]
    stems = {one.parent / stem for one, _ in found for stem, kind in (split_name(one.name),) if kind}
    parts = []
    for one, file in found:
        stem, kind = split_name(one.name)
        if kind or one.parent / stem in stems or is_from_cache(one.name, names):
            text = Document(data[file.start : file.end])
            rows = document.row(file.start), document.row(max(file.start, file.next_line - 1)) + 1
            parts.append(PrintedDocument(set_key(one, text), one, text, file.start, *rows))
    return Output(uri, path, document, tuple(parts)) if parts else None


_MARKER: Final = b"*** Begin "
_MODULE: Final = b"HloModule"


def split_line(uri: str) -> tuple[str, int | None]:
    """Split a URI into that of a document and the line, from 0, that its fragment names; None if it names none."""
    match = _LINE.search(uri)
    return (uri[: match.start()], int(match[1]) - 1) if match else (uri, None)


_LINE: Final = re.compile(r"#L(\d{1,9})$")


# ---------------------------------------------------------------- answers about several files


def rows_of(params: Any) -> tuple[int, int] | None:
    """Return the first and the last line that a request is about, None for a whole document."""
    where = getattr(params, "range", None)
    if where is not None:
        is_action = isinstance(params, lsp.CodeActionParams)
        return where.start.line, where.start.line if is_action else where.end.line
    position = getattr(params, "position", None)
    return (position.line, position.line) if position is not None else None


def joined(method: str, parts: Sequence[PrintedDocument], answers: Sequence[Any], *, is_tree: bool) -> Any:
    """Join the answers about some files of an output. `is_tree` is whether the editor supports a tree as outline."""
    if method == lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE:
        return lsp.SemanticTokens(_joined_tokens([answer.data for answer in answers if answer]))
    found = [to_json(answer) or [] for answer in answers]
    if method == lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL and is_tree:
        return RawJson([_file_symbol(part, symbols) for part, symbols in zip(parts, found, strict=True)])
    if method == lsp.TEXT_DOCUMENT_FOLDING_RANGE:
        found.append([{"startLine": part.first_row - 1, "endLine": part.end_row - 1} for part in parts])
    return RawJson([item for items in found for item in items])


def _file_symbol(part: PrintedDocument, symbols: list[Json]) -> Json:
    begin = {"line": part.first_row - 1, "character": 0}
    return {
        "name": part.path.name,
        "kind": lsp.SymbolKind.File.value,
        "range": {"start": begin, "end": {"line": part.end_row, "character": 0}},
        "selectionRange": {"start": begin, "end": begin},
        "children": symbols,
    }


def _joined_tokens(answers: Sequence[Sequence[int]]) -> list[int]:
    """Join the tokens of consecutive texts. Each token has its distance from the one before, of five numbers the first
    in lines.
    """
    found: list[int] = []
    row = 0
    for data in answers:
        if data:
            found += [data[0] - row, *data[1:]]
            row = sum(data[::5])
    return found
