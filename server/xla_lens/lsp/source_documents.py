"""Files of the program that the editor has open, and where their lines are after edits.

A dump names lines as they were when the program was compiled. Each time a file is opened or saved, its text is a
version that a later dump may be of. The lines of each version are followed through the edits since.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from lsprotocol import types as lsp

from xla_lens.files import file_time
from xla_lens.lsp.documents import Change, applied
from xla_lens.lsp.uris import path_of
from xla_lens.reading import read_source
from xla_lens.syntax.columns import Column
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import encode

_SUFFIXES: Final = (".py", ".pyi", ".pyw")
_LANGUAGE: Final = "python"

_MOST_VERSIONS: Final = 32
"""The first version of a document is kept, and the last ones."""


@dataclass(frozen=True, slots=True, eq=False)
class _Version:
    """A text of a document that was on disk since `time`. `offsets` are where the first character of each of its lines
    is now, blanks excluded.
    """

    text: Document
    time: float
    offsets: Column

    def changed(self, edits: Sequence[Edit]) -> "_Version":
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


@dataclass(frozen=True, slots=True, eq=False)
class SourceDocument:
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

    def did_change(self, uri: str, changes: Sequence[Change], encoding: Encoding) -> None:
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
