"""Text document synchronisation: what the editor opens, changes and closes, as documents of the session."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from xla_lens.lsp.methods import PAGE_SCHEME
from xla_lens.lsp.session import Session
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit, merged
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import encode, to_offset, to_position

_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*:.")


def path_of(uri: str) -> Path:
    """The path of a file; an address of none stands for itself, and nothing is on disk beside it."""
    try:
        path = Path(to_fs_path(uri) or "")
        os.fsencode(path)
    except ValueError:
        path = Path()
    if path.is_absolute() and path.name and "\0" not in str(path):
        return path
    name = _quoted(uri)
    return Path(name if _SCHEME.match(name) else f"untitled:{name}")


def uri_of(path: Path) -> str:
    """The address of a path: of one that `path_of` has given, or of any other."""
    try:
        return path.as_uri()
    except ValueError:
        return _quoted(str(path)) if _SCHEME.match(str(path)) else f"file://{_quoted(str(path))}"


def _quoted(text: str) -> str:
    return quote(text, safe="/:?#[]@!$&'()*+,;=% ", errors="surrogatepass")


def did_open(session: Session, params: lsp.DidOpenTextDocumentParams) -> None:
    """The editor has opened a document. A page is the server's own: some editors tell of it, too."""
    item = params.text_document
    if item.uri.startswith(f"{PAGE_SCHEME}:"):
        return
    session.open(item.uri, path_of(item.uri), item.version, Document(encode(item.text)))


def did_change(session: Session, params: lsp.DidChangeTextDocumentParams, encoding: Encoding) -> None:
    """The editor has changed a document. Changes of one that is not open are of no interest."""
    uri = params.text_document.uri
    found = session.find(uri)
    if found is None:
        return
    document, edits = _changed(found[0].open[found[1]].document, params.content_changes, encoding)
    # Each place that is carried over them costs one step for each.
    edits = [merged(edits)] if len(edits) > _MANY else edits
    session.change(uri, params.text_document.version, document, edits)


_MANY: Final = 20

_Change: TypeAlias = lsp.TextDocumentContentChangePartial | lsp.TextDocumentContentChangeWholeDocument


def _changed(document: Document, changes: Sequence[_Change], encoding: Encoding) -> tuple[Document, list[Edit]]:
    """A text after some changes, and where they were. Editors tell many from the end of a text to its start: those are
    made in one go, since what is before them is as it was.
    """
    edits: list[Edit] = []
    waiting: list[tuple[int, int, bytes]] = []
    first = (0, 0)
    for change in changes:
        part = change.range if isinstance(change, lsp.TextDocumentContentChangePartial) else None
        if waiting and not (part and (part.end.line, part.end.character) < first):
            document, waiting = _replaced(document, waiting), []
        text, start, end = encode(change.text), 0, len(document.data)
        if part:
            start, end = (
                to_offset(document, position.line, position.character, encoding) for position in (part.start, part.end)
            )
            end = max(start, end)
        first = to_position(document, start, encoding)
        edits.append(Edit(start, end, len(text)))
        waiting.append((start, end, text))
    return _replaced(document, waiting), edits


def _replaced(document: Document, parts: Sequence[tuple[int, int, bytes]]) -> Document:
    """A text with some parts replaced, the last of them first."""
    if len(parts) < 2:
        return document.replaced(*parts[0]) if parts else document
    pieces, rest = list[bytes | memoryview](), memoryview(document.data)
    for start, end, text in parts:
        pieces += (rest[end:], text)
        rest = rest[:start]
    return Document(b"".join((rest, *reversed(pieces))))


def did_close(session: Session, params: lsp.DidCloseTextDocumentParams) -> None:
    """The editor has closed a document."""
    session.close(params.text_document.uri)
