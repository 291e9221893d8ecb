"""URIs of documents and paths of files."""

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pygls.uris import to_fs_path

_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*:.")


def path_of(uri: str) -> Path:
    """Return the path of a `file:` URI. Any other URI becomes a path with the URI as its name: it has no siblings on
    disk, and `uri_of` turns it back into the URI.
    """
    try:
        path = Path(file_path(uri))
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
    return to_fs_path(uri.replace(";", "%3B")) or ""


def _quoted(text: str) -> str:
    return quote(text, safe="/:?#[]@!$&'()*+,;=% ", errors="surrogatepass")
