"""The documents that the editor has open, and the files of dump sets in them: one, or several in the standard output of
XLA (`--xla_dump_to=-`).

Each file is a document of its own for the rest of the server, which knows where it begins. `DumpSets` finds the file
around a line, and here the answers about several files become one answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.files import printed_files, set_key
from xla_lens.lsp.converter import Json, RawJson, to_json
from xla_lens.syntax.file_names import is_from_cache, split_name
from xla_lens.text.document import Document


@dataclass(frozen=True, slots=True)
class Part:
    """A file in a document, in the lines from `first_row` up to `end_row`, and the key of its set."""

    key: Path
    path: Path
    first_row: int
    end_row: int


@dataclass(frozen=True, slots=True, eq=False)
class EditorDocument:
    """A document that the editor has open, and the files in it, at least one. `output` is the text if that is the
    standard output of XLA, None for a single file, whose text its set has.
    """

    uri: str
    path: Path
    output: Document | None
    parts: tuple[Part, ...]

    def around(self, first: int, last: int) -> list[Part]:
        """Return the files that have any of some lines."""
        return [part for part in self.parts if part.first_row <= last and first < part.end_row]

    def at(self, row: int) -> Part:
        """Return the file at a line, the one before it if it is between two. A URI may be older than the text."""
        return next((part for part in reversed(self.parts) if part.first_row - 1 <= row), self.parts[0])


def read_document(uri: str, path: Path, document: Document) -> tuple[EditorDocument, list[Document]]:
    """Return a document of the editor, and the text of each file in it."""
    parts, texts = list[Part](), list[Document]()
    for one, text, first_row, end_row in _printed(path, document):
        parts.append(Part(set_key(one, text), one, first_row, end_row))
        texts.append(text)
    if parts:
        return EditorDocument(uri, path, document, tuple(parts)), texts
    return EditorDocument(uri, path, None, (Part(set_key(path, document), path, 0, 0),)), [document]


def _printed(path: Path, document: Document) -> Iterator[tuple[Path, Document, int, int]]:
    """The files of dump sets in the standard output of XLA: their paths, texts and lines."""
    data = document.data
    # The search comes last: it takes 100 ms in the biggest dumps.
    if split_name(path.name)[1] or data.startswith(_MODULE) or _MARKER not in data:
        return
    found = list(printed_files(path, data))
    names = [one.name for one, _ in found]
    stems = {one.parent / stem for one, _ in found for stem, kind in (split_name(one.name),) if kind}
    for one, file in found:
        stem, kind = split_name(one.name)
        if kind or one.parent / stem in stems or is_from_cache(one.name, names):
            last = document.row(max(file.start, file.next_line - 1))
            yield one, Document(data[file.start : file.end]), document.row(file.start), last + 1


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


def joined(method: str, parts: Sequence[Part], answers: Sequence[Any], *, is_tree: bool) -> Any:
    """Join the answers about some files of an output. `is_tree` is whether the editor supports a tree as outline."""
    if method == lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE:
        return lsp.SemanticTokens(_joined_tokens([answer.data for answer in answers if answer]))
    found = [to_json(answer) or [] for answer in answers]
    if method == lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL and is_tree:
        return RawJson([_file_symbol(part, symbols) for part, symbols in zip(parts, found, strict=True)])
    if method == lsp.TEXT_DOCUMENT_FOLDING_RANGE:
        found.append([{"startLine": part.first_row - 1, "endLine": part.end_row - 1} for part in parts])
    return RawJson([item for items in found for item in items])


def _file_symbol(part: Part, symbols: list[Json]) -> Json:
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
