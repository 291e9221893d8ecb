"""The files of a dump set, and what a file holds by its first lines."""

import codecs
from dataclasses import dataclass
from typing import Final

from xla_lens.syntax.file_columns import FileColumns
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.document import Document


@dataclass(frozen=True, slots=True, eq=False)
class DumpFile:
    """One file of a dump set. `label` names the file to the outside: a path or an address."""

    kind: FileKind
    label: str
    document: Document
    columns: FileColumns


def kind_of_content(head: bytes) -> FileKind | None:
    """What a file holds by its first lines; None if that is no part of a dump set."""
    head = head.removeprefix(codecs.BOM_UTF8)
    lines = [line for line in head[:_HEAD].splitlines() if line.strip()][:3]
    for line in lines:
        for start, kind in _FIRST_LINES.items():
            if line.startswith(start):
                return kind
        if line.startswith(b"Total bytes used: "):
            rest = head[:_HEAD]
            return FileKind.MEMORY_USAGE_REPORT if b"\nAllocations sorted by size:" in rest else FileKind.VALUES
    return None


_HEAD: Final = 4096
_FIRST_LINES: Final = {
    b"BufferAssignment:": FileKind.BUFFER_ASSIGNMENT,
    b"HloLiveRange ": FileKind.LIVE_RANGE,
    b"Memory Space: ": FileKind.MEMORY_USAGE_REPORT,
    b"Used values:": FileKind.VALUES,
    b"memory_space_allocation_entries {": FileKind.MEMORY_USAGE_REPORT,
    b"HloModule ": FileKind.HLO,
    # `--xla_dump_to=-`: all files one after another, on standard output.
    b"*** Begin ": FileKind.BUFFER_ASSIGNMENT,
}
