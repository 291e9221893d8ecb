"""The files of a dump set, and how to recognize what a file holds by its first lines.

Recognition by name is in `syntax/file_names.py`.
"""

import codecs
from typing import Final

from msgspec import Struct

from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import FileColumns
from xla_lens.text.document import Document


class DumpFile(Struct, frozen=True, eq=False, weakref=True):
    """One file of a dump set. `label` is its path or URI. `unreadable` says why the file could not be read, as one
    line; it is empty if it could.
    """

    kind: FileKind
    label: str
    document: Document
    columns: FileColumns
    unreadable: str = ""


_TOTAL: Final = b"Total bytes used: "
_REPORT: Final = b"\nAllocations sorted by size:"
"""The line that distinguishes memory usage reports from used values, which can start with the same line."""

FIRST_LINES: Final = {
    b"BufferAssignment:": FileKind.BUFFER_ASSIGNMENT,
    b"HloLiveRange ": FileKind.LIVE_RANGE,
    b"Memory Space: ": FileKind.MEMORY_USAGE_REPORT,
    b"Used values:": FileKind.VALUES,
    _TOTAL: FileKind.VALUES,
    b"memory_space_allocation_entries {": FileKind.MEMORY_USAGE_REPORT,
    b"HloModule ": FileKind.HLO,
    # `--xla_dump_to=-` prints all files, one after another, on standard output.
    b"*** Begin ": FileKind.BUFFER_ASSIGNMENT,
}
"""How the first lines of each kind of file start. The extension recognizes files by the same table."""

FIRST_LINES_READ: Final = 3
"""How many lines to compare with the table, blank ones not counted."""

_HEAD: Final = 4096


def kind_of_content(head: bytes) -> FileKind | None:
    """Return what a file holds by its first lines, None if it is no part of a dump set."""
    head = head.removeprefix(codecs.BOM_UTF8)[:_HEAD]
    for line in [line for line in head.splitlines() if line.strip()][:FIRST_LINES_READ]:
        for start, kind in FIRST_LINES.items():
            if line.startswith(start):
                return FileKind.MEMORY_USAGE_REPORT if start == _TOTAL and _REPORT in head else kind
    return None
