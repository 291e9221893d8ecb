"""The files that XLA prints to standard output with `--xla_dump_to=-` (DumpToFileInDirOrStdoutImpl in dump.cc)."""

import re
from collections.abc import Iterator
from typing import Final


def has_files(data: bytes) -> bool:
    """Whether a text has a file that XLA printed."""
    return bool(_MARKER.search(data))


def files_in_output(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the text of each file, in the order of the output. A file whose end is missing ends where the
    next one begins.
    """
    markers = list(_MARKER.finditer(data))
    for number, marker in enumerate(markers):
        if marker["kind"] == b"Begin":
            following = markers[number + 1] if number + 1 < len(markers) else None
            end = following.start() if following else len(data)
            text = data[marker.end() + 1 : end]
            # XLA prints a line end before each end.
            if following and following["kind"] == b"End":
                text = text.removesuffix(b"\n").removesuffix(b"\r")
            yield marker["name"].decode("utf-8", "replace"), text


_MARKER: Final = re.compile(rb"^\*\*\* (?P<kind>Begin|End) (?P<name>[^\s*]+) \*\*\*\r?$", re.MULTILINE)
