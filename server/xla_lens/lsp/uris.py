"""URIs of documents and paths of files."""

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*:.")
_DRIVE: Final = re.compile(r"/[A-Za-z]:")


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
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    host, path = unquote(parts.netloc), unquote(parts.path)
    if host and path:
        path = f"//{host}{path}"
    elif _DRIVE.match(path):
        path = path[1].lower() + path[2:]
    return path.replace("/", "\\") if os.name == "nt" else path


def _quoted(text: str) -> str:
    return quote(text, safe="/:?#[]@!$&'()*+,;=% ", errors="surrogatepass")
