"""The documents that the editor has open: those of dumps and files of the program, the changes it sends, and URIs.

A dump names lines of the program as they were when that was compiled. Each time a file is opened or saved, its text is
a version that a later dump may be of. The lines of each version are followed through the edits since.
"""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

import numpy as np
from lsprotocol import types as lsp
from msgspec import Struct
from msgspec.structs import replace
from pygls.uris import to_fs_path

from xla_lens.disk.reading import file_time, read_source
from xla_lens.syntax.columns import Column
from xla_lens.text.document import Document
from xla_lens.text.edits import TextEdit, merged
from xla_lens.text.encoding import Encoding
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import encode, to_offset, to_position

# ---------------------------------------------------------------- dumps

_MERGED_EDITS: Final = 20
"""A notification with more changes than this counts as one edit, because mapping a position takes one step per edit."""

ContentChange: TypeAlias = lsp.TextDocumentContentChangePartial | lsp.TextDocumentContentChangeWholeDocument


class OpenDocument(Struct, frozen=True, eq=False):
    """A document that the editor has open.

    `opening` is unique to each time a document is opened. `analysed` is the text that the last analysis has seen, None
    if it has seen none, and `edits` lead from that text to `document`.
    """

    uri: str
    path: Path
    version: int
    document: Document
    opening: object
    analysed: Document | None = None
    edits: tuple[TextEdit, ...] = ()


OpenDocuments: TypeAlias = Mapping[Path, OpenDocument]
"""The open documents of a set, by their paths."""


def texts_of(opened: OpenDocuments) -> dict[Path, Document]:
    """Return the texts of open documents by their paths."""
    return {path: one.document for path, one in opened.items()}


def uri_in(path: Path, opened: OpenDocuments) -> str:
    """Return the URI of a file: the editor's own if it is among some open documents."""
    one = opened.get(path)
    return one.uri if one else uri_of(path)


def apply_changes(
    document: Document, changes: Sequence[ContentChange], encoding: Encoding
) -> tuple[Document, list[TextEdit]]:
    """Return a text after the changes of one notification, and the edits that lead to it."""
    document, edits = applied(document, changes, encoding)
    return document, [merged(edits)] if len(edits) > _MERGED_EDITS else edits


def applied(
    document: Document, changes: Sequence[ContentChange], encoding: Encoding
) -> tuple[Document, list[TextEdit]]:
    """Apply changes in order. Editors send the changes of a "replace all" from the end of the text to its start; such a
    run is applied in one pass, because no change moves the text before it.
    """
    edits: list[TextEdit] = []
    run: list[tuple[int, int, bytes]] = []
    first = (0, 0)
    for change in changes:
        part = change.range if isinstance(change, lsp.TextDocumentContentChangePartial) else None
        if run and not (part and (part.end.line, part.end.character) < first):
            document, run = _replaced(document, run), []
        text, start, end = encode(change.text), 0, len(document.data)
        if part:
            start, end = (
                to_offset(document, position.line, position.character, encoding) for position in (part.start, part.end)
            )
            end = max(start, end)
        first = to_position(document, start, encoding)
        edits.append(TextEdit(start, end, len(text)))
        run.append((start, end, text))
    return _replaced(document, run), edits


def _replaced(document: Document, parts: Sequence[tuple[int, int, bytes]]) -> Document:
    """Return a text with disjoint parts replaced; `parts` are ordered from the end of the text to its start."""
    if len(parts) < 2:
        return document.replaced(*parts[0]) if parts else document
    pieces, rest = list[bytes | memoryview](), memoryview(document.data)
    for start, end, text in parts:
        pieces += (rest[end:], text)
        rest = rest[:start]
    return Document(b"".join((rest, *reversed(pieces))))


# ---------------------------------------------------------------- files of the program


_SUFFIXES: Final = (".py", ".pyi", ".pyw")
_LANGUAGE: Final = "python"

_MOST_VERSIONS: Final = 32
"""The first version of a document is kept, and the last ones."""


class _Version(Struct, frozen=True, eq=False):
    """A text of a document that was on disk since `time`. `offsets` are where the first character of each of its lines
    is now, blanks excluded.
    """

    text: Document
    time: float
    offsets: Column

    def changed(self, edits: Sequence[TextEdit]) -> "_Version":
        """The lines after some edits. Those within replaced text move to its start."""
        offsets = self.offsets
        for edit in edits:
            moved = offsets + edit.length - (edit.end - edit.start)
            offsets = np.where(offsets >= edit.end, moved, np.minimum(offsets, edit.start))
        return replace(self, offsets=offsets)


def _version_of(document: Document, since: float) -> _Version:
    lines = document.data.split(b"\n")
    starts = np.array([len(line) + 1 for line in lines], np.int64).cumsum()
    offsets = starts - np.array([len(line.lstrip()) + 1 for line in lines], np.int64)
    return _Version(document, since, offsets)


class SourceDocument(Struct, frozen=True, eq=False):
    """A file of the program that is open in the editor."""

    path: Path
    document: Document
    versions: tuple[_Version, ...]

    def at(self, dump_time: float) -> tuple[Column, float | None, Document | None]:
        """Return where the lines that a dump of some time names are now, that time if the file was saved since, else
        None, and what the file contained then, None if that is unknown.
        """
        older = [version for version in self.versions if version.time <= dump_time or not dump_time]
        version = older[-1] if older else self.versions[0]
        rows = self.document.line_starts.searchsorted(version.offsets, "right") - 1
        is_newer = version is not self.versions[-1] or not older
        return rows, dump_time if is_newer else None, version.text if older else None


def _at_first(path: Path, text: str) -> SourceDocument:
    document = Document(encode(text))
    return SourceDocument(path, document, (_version_of(document, file_time(path)),))


def document_on_disk(path: Path) -> SourceDocument:
    """Return a file of the program that is not open, without text if it cannot be read. Runs in a worker thread."""
    try:
        return _at_first(path, read_source(path))
    except OSError:
        return _at_first(path, "")


def row_of(rows: Column, line: int) -> int:
    """Return where a line, from 1, is now. One that the file did not have is at its end."""
    return int(rows[min(line, len(rows)) - 1])


class SourceDocuments(dict[str, SourceDocument]):
    """All files of the program that are open in the editor, by their URIs."""

    def did_open(self, item: lsp.TextDocumentItem) -> None:
        """Add a document."""
        self[item.uri] = _at_first(path_of(item.uri), item.text)

    def did_change(self, uri: str, changes: Sequence[ContentChange], encoding: Encoding) -> None:
        """Change a document."""
        one = self[uri]
        document, edits = applied(one.document, changes, encoding)
        versions = tuple(version.changed(edits) for version in one.versions)
        self[uri] = replace(one, document=document, versions=versions)

    def did_save(self, uri: str) -> None:
        """Add a version of a document."""
        if one := self.get(uri):
            first, *others = one.versions
            now = _version_of(one.document, time.time())
            self[uri] = replace(one, versions=(first, *others[2 - _MOST_VERSIONS :], now))


def is_source(item: lsp.TextDocumentItem) -> bool:
    """Whether a document is a file of the program, rather than of a dump."""
    return item.language_id == _LANGUAGE or path_of(item.uri).suffix in _SUFFIXES


# ---------------------------------------------------------------- URIs of documents and paths of files


_SCHEME: Final = lazy_pattern(r"[A-Za-z][\w+.-]*:.")


def path_of(uri: str) -> Path:
    """Return the path of a `file:` URI. Any other URI becomes a path with the URI as its name: it has no siblings on
    disk, and `uri_of` turns it back into the URI.
    """
    try:
        # A URI with `/../` is that of the same file as one without.
        path = Path(os.path.normpath(file_path(uri)))
        os.fsencode(path)
    except ValueError:
        path = Path()
    if path.is_absolute() and path.name and "\0" not in str(path):
        return path
    name = _quoted(uri)
    return Path(name if _SCHEME.match(name) else f"untitled:{name}")


def uri_of(path: Path) -> str:
    """Return the URI of a path, including those that `path_of` made of other URIs."""
    try:
        return path.as_uri()
    except ValueError:
        return _quoted(str(path)) if _SCHEME.match(str(path)) else f"file://{_quoted(str(path))}"


def file_path(uri: str) -> str:
    """Return the path of a `file:` URI, empty for any other. Raises `ValueError` for some that are malformed."""
    # pygls would drop what follows a semicolon, which some editors do not escape.
    path = to_fs_path(uri.replace(";", "%3B")) or ""
    # The host may be named (RFC 8089).
    return path.removeprefix("//localhost") if path.startswith("//localhost/") else path


def _quoted(text: str) -> str:
    return quote(text, safe="/:?#[]@!$&'()*+,;=% ", errors="surrogatepass")
