"""Text document synchronisation: what the editor opens, changes and closes, as documents of the session."""

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from xla_lens.lsp.session import Session
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import encode, to_offset

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
    name = quote(uri, safe="/:?#[]@!$&'()*+,;=% ", errors="surrogatepass")
    return Path(name if _SCHEME.match(name) else f"untitled:{name}")


def uri_of(path: Path) -> str:
    """The address of a path that `path_of` has given, or that is on disk."""
    return path.as_uri() if path.is_absolute() else str(path)


def did_open(session: Session, params: lsp.DidOpenTextDocumentParams) -> None:
    """The editor has opened a document."""
    item = params.text_document
    session.open(item.uri, path_of(item.uri), item.version, Document(encode(item.text)))


def did_change(session: Session, params: lsp.DidChangeTextDocumentParams, encoding: Encoding) -> None:
    """The editor has changed a document. Changes of one that is not open are of no interest."""
    uri = params.text_document.uri
    found = session.find(uri)
    if found is None:
        return
    document, edits = found[0].open[found[1]].document, []
    for change in params.content_changes:
        text = encode(change.text)
        start, end = 0, len(document.data)
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = (
                to_offset(document, position.line, position.character, encoding)
                for position in (change.range.start, change.range.end)
            )
            end = max(start, end)
        edits.append(Edit(start, end, len(text)))
        document = document.replaced(start, end, text)
    session.change(uri, params.text_document.version, document, edits)


def did_close(session: Session, params: lsp.DidCloseTextDocumentParams) -> None:
    """The editor has closed a document."""
    session.close(params.text_document.uri)
