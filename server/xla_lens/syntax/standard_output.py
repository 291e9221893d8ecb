"""The files that XLA prints to standard output with `--xla_dump_to=-` (DumpToFileInDirOrStdoutImpl in dump.cc)."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from xla_lens.text.patterns import lazy_pattern


class PrintedFile(NamedTuple):
    """A file in the output: its name, the bytes of its text, and where the line behind its end begins."""

    name: str
    start: int
    end: int
    next_line: int


def has_files(data: bytes) -> bool:
    """Whether a text has a file that XLA printed."""
    return bool(_MARKER.search(data))


def files_in_output(data: bytes) -> Iterator[PrintedFile]:
    """Yield the files in the order of the output. A file whose end is missing ends where the next one begins."""
    markers = list(_MARKER.finditer(data))
    for number, marker in enumerate(markers):
        if marker["kind"] == b"Begin":
            following = markers[number + 1] if number + 1 < len(markers) else None
            start, end = min(marker.end() + 1, len(data)), following.start() if following else len(data)
            next_line = end
            if following and following["kind"] == b"End":
                next_line = following.end() + 1
            # XLA prints a line end before each end. A file without its end is cut off, so that it lacks one of its own.
            end -= data.endswith(b"\n", start, end)
            end -= data.endswith(b"\r", start, end)
            yield PrintedFile(marker["name"].decode("utf-8", "replace"), start, max(start, end), next_line)


_MARKER: Final = lazy_pattern(
    # The literal start lets the search skip what cannot match.
    rb"\*\*\* (?<![^\n]\*\*\* )(?P<kind>Begin|End) (?P<name>[^\s*]+) \*\*\*\r?$",
    re.MULTILINE,
)
