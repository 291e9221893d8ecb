"""Documents that the editor has open, and the changes it sends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.lsp.uris import uri_of
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit, merged
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import encode, to_offset, to_position

_MERGED_EDITS: Final = 20
"""A notification with more changes than this counts as one edit, because mapping a position takes one step per edit."""

Change: TypeAlias = lsp.TextDocumentContentChangePartial | lsp.TextDocumentContentChangeWholeDocument


@dataclass(frozen=True, slots=True, eq=False)
class OpenDocument:
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
    edits: tuple[Edit, ...] = ()


OpenDocuments: TypeAlias = Mapping[Path, OpenDocument]
"""The open documents of a set, by their paths."""


def texts_of(opened: OpenDocuments) -> dict[Path, Document]:
    """Return the texts of open documents by their paths."""
    return {path: one.document for path, one in opened.items()}


def uri_in(path: Path, opened: OpenDocuments) -> str:
    """Return the URI of a file: the editor's own if it is among some open documents."""
    one = opened.get(path)
    return one.uri if one else uri_of(path)


def apply_changes(document: Document, changes: Sequence[Change], encoding: Encoding) -> tuple[Document, list[Edit]]:
    """Return a text after the changes of one notification, and the edits that lead to it."""
    document, edits = applied(document, changes, encoding)
    return document, [merged(edits)] if len(edits) > _MERGED_EDITS else edits


def applied(document: Document, changes: Sequence[Change], encoding: Encoding) -> tuple[Document, list[Edit]]:
    """Apply changes in order. Editors send the changes of a "replace all" from the end of the text to its start; such a
    run is applied in one pass, because no change moves the text before it.
    """
    edits: list[Edit] = []
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
        edits.append(Edit(start, end, len(text)))
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
