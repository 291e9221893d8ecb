"""The files of a dump set: what each holds, and how their names belong together.

XLA names them by one stem (`FilenameFor` and `DumpHloModuleIfEnabled` in xla/service/dump.cc)::

    module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt
    module_0001.jit_f.cpu_after_optimizations-live-range.txt
    module_0001.jit_f.cpu_after_optimizations.txt                     the scheduled HLO module
"""

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from xla_lens.syntax.columns import FileColumns
from xla_lens.text.document import Document


class MemberKind(StrEnum):
    """What a file of a dump set holds. Before 2026 the buffer assignment held values and live ranges, too."""

    BUFFER_ASSIGNMENT = "buffer-assignment"
    VALUES = "values"
    LIVE_RANGE = "live-range"
    MEMORY_USAGE_REPORT = "memory-usage-report"
    HLO = "hlo"


SUFFIXES: Final = {
    MemberKind.VALUES: "-buffer-assignment-values.txt",
    MemberKind.BUFFER_ASSIGNMENT: "-buffer-assignment.txt",
    MemberKind.LIVE_RANGE: "-live-range.txt",
    MemberKind.MEMORY_USAGE_REPORT: "-memory-usage-report.txt",
    MemberKind.HLO: ".txt",
}
"""How the names end. The last fits any text file and so says nothing by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One file of a dump set. `label` names the file to the outside: a path or an address."""

    kind: MemberKind
    label: str
    document: Document
    columns: FileColumns


def split_name(name: str) -> tuple[str, MemberKind | None]:
    """The stem of a file's name and what the name says that it holds, None if it says nothing."""
    for kind, suffix in SUFFIXES.items():
        if kind is not MemberKind.HLO and name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix), kind
    return name.removesuffix(SUFFIXES[MemberKind.HLO]), None


def module_name(name: str) -> str | None:
    """The name of the HLO module that a file's name, or a path, tells of; None if it tells of none."""
    match = _MODULE.search(name)
    return match[1] if match else None


_MODULE: Final = re.compile(
    r"(?:^|[/\\.])module_\d{4,}\.(?P<module>.+?)(?:\.cl_\d+)?"
    r"\.(?:(?:(?:sm_[\da-z.]+|gfx[\da-z]+)_)?[cg]pu_)?after_optimizations[^/\\]*$"
)


def kind_of_content(head: bytes) -> MemberKind | None:
    """What a file holds by its first lines; None if that is no part of a dump set."""
    head = head.removeprefix(codecs.BOM_UTF8)
    lines = [line for line in head[:_HEAD].splitlines() if line.strip()][:3]
    for line in lines:
        for start, kind in _FIRST_LINES.items():
            if line.startswith(start):
                return kind
        if line.startswith(b"Total bytes used: "):
            rest = head[:_HEAD]
            return MemberKind.MEMORY_USAGE_REPORT if b"\nAllocations sorted by size:" in rest else MemberKind.VALUES
    return None


_HEAD: Final = 4096
_FIRST_LINES: Final = {
    b"BufferAssignment:": MemberKind.BUFFER_ASSIGNMENT,
    b"HloLiveRange ": MemberKind.LIVE_RANGE,
    b"Memory Space: ": MemberKind.MEMORY_USAGE_REPORT,
    b"Used values:": MemberKind.VALUES,
    b"memory_space_allocation_entries {": MemberKind.MEMORY_USAGE_REPORT,
    b"HloModule ": MemberKind.HLO,
    # `--xla_dump_to=-`: all files one after another, on standard output.
    b"*** Begin ": MemberKind.BUFFER_ASSIGNMENT,
}
