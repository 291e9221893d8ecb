"""Lines that no release of XLA prints, and dumps with such lines: they change no number and leave nothing out."""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from commands import as_printed
from samples import dump_file, module_of_text, never
from xla_lens.blocks.html import html_lines
from xla_lens.disk.sets import SetFiles
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.warrants import Quantity
from xla_lens.report.data import report_data
from xla_lens.report.facts import report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.outline import report_markdown, report_outline, report_text
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.rows import read_columns
from xla_lens.syntax.tables import DumpSection

STATISTICS: Final = (
    b"Assignment statistics: 30 allocations, 58 values",
    b"allocation summary: 3 of size 128, 2 of size 64",
    b"Allocation statistics:\n  parameters: 12 (3.5KiB)\n  temporaries: 3 (1.2MiB)\n  largest: 4096 bytes",
    b"Total number of values: 58, of which 12 are live out",
    b"Heap fragmentation: 0.35%, 3 of 8 chunks",
    b"  heap simulator trace: 123 events, peak 456 bytes",
    b"Peak memory: 4096 bytes at instruction 12",
    b"  Heap: 3.2MiB(12%); 4 chunks",
)
LOGS: Final = (
    b"I0312 12:00:05.123456  4242 buffer_assignment.cc:123] Assigned 5 buffers, size=1024 offset=0",
    b"2026-03-12 12:00:05.123456: W external/xla/service/heap.cc:7] live range of fusion.5: 3-7",
    b"[12:00:05] INFO: step 5: compiling, 30% done",
    b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    b"    at run (model.py:12)",
    b"Traceback (most recent call last):",
)
PROSE: Final = (
    b"This line was typed by accident.",
    b"the copy of the while loop takes 5 steps",
    b"  see also: docs/memory.md",
    b"value 3 was spilled, operand 0 too",
    b"  uses of parameter 0 follow",
    b"\tSummary of pools; 3 pools",
    b"# a comment",
    b"// another one",
)
KEYS: Final = (
    b"j",
    b":wq",
    b"x",
    b" j",
    b"    k",
    b"0",
    b"12345",
    b"-1",
    b"3.14",
    b"?!",
    b".",
    b";",
    b"\\",
    b"`",
    b"~~~",
)
BRACKETS: Final = (
    b"{",
    b"}",
    b"  }",
    b"(",
    b")]",
    b"{1,2}",
    b"[[]]",
    b"<>",
    b"<5 values omitted>",
    b"hints {\n  a: 3\n}",
    b"};",
)
RULES: Final = (b"-----------------", b"==========", b"********", b"+--+--+", b"| a | b |")
INDENTED: Final = (
    b" hints: {a=1, b=(2}",
    b"    deeper [x] line; 12",
    b"      nested deeper than all: yes!",
    b"          x = 3;",
)
UNICODE: Final = (
    "│ ünïcode └".encode(),
    "  ├── 3 Werte".encode(),
    "→ größe: 3 KiB".encode(),
    b"\xef\xbf\xbd",
    b"\xff\xfe",
)
BLANK: Final = (b"", b"   ", b"\t", b"\n")
FIELDS: Final = (b'name: "fusion"', b"size: 3", b"  index: 0", b"color: 1", b"shape {", b"total_bytes: 5")
ROWS: Final = {
    DumpSection.BUFFER_ASSIGNMENT: (
        b"allocation 0: size 4, thread-local:",
        b" value: <7 nothing.1 @0> (size=8,offset=0): f32[2]{0}",
        b"BufferAssignment:",
    ),
    DumpSection.USED_VALUES: (
        b"<7 nothing.1 @0>",
        b" positions:",
        b"  nothing.1",
        b"  nothing.1, operand 0",
        b"Used values:",
    ),
    DumpSection.INSTRUCTION_SEQUENCE: (b"    3:nothing.1", b"  InstructionSequence:"),
    DumpSection.BUFFER_LIVE_RANGES: (b"    nothing.1{}:3-5", b"  BufferLiveRange:"),
    DumpSection.PEAK: (b"    nothing.1{}: 8 bytes (cumulative: 8 bytes)", b"  Live ranges at 3 (peak):"),
    DumpSection.STACK_TRACES: (b"    nothing (1.0%, total: 8 bytes, current: 8 bytes, remaining: 0 bytes)",),
    DumpSection.REPORT: (
        b"        32B( 50%);        32B;           64;                1; f32[8]",
        b"Memory Space: x (color=0)",
    ),
}
"""Rows and headers of each section. They are foreign in the middle of any other section."""

KINDS: Final = (STATISTICS, LOGS, PROSE, KEYS, BRACKETS, RULES, INDENTED, UNICODE, BLANK, FIELDS)


def texts_of(files: SetFiles) -> dict[FileKind, bytes]:
    """The texts of all files of a set, including its HLO module."""
    return {kind: path.read_bytes() for kind, path in files.paths.items()}


def analysis_of_texts(texts: Mapping[FileKind, bytes]) -> tuple[Analysis, dict[str, Any], str, str, str]:
    """Analyze a set. Return the analysis, and the report as data without findings, as text, as Markdown and as HTML."""
    one = analyse(dump_file(text, kind) for kind, text in texts.items() if kind is not FileKind.HLO)
    module = module_of_text(texts[FileKind.HLO]) if FileKind.HLO in texts else None
    one = one.with_module(module)
    paths = {kind: kind.value for kind in texts}
    made = report(one, paths, ReportOptions(parts=frozenset(Part) - {Part.BUDGET}))
    data = as_printed(report_data(made))
    del data["findings"]
    text, markdown, html = report_text(made, 120), report_markdown(made), html_lines(report_outline(made))
    return one, data, "\n".join(text), "\n".join(markdown), "\n".join(html)


def numbers(one: Analysis) -> dict[tuple[Quantity, str], int]:
    """All numbers of a dump set by the quantity they belong to."""
    dump = one.dump
    found = {
        (Quantity.RESERVED, "allocations"): len(dump.allocations),
        (Quantity.VALUES, "values"): len(dump.values),
        (Quantity.SCHEDULE, "instructions"): len(dump.schedule),
        (Quantity.LIVE, "live ranges"): len(dump.live_ranges),
        (Quantity.TOTAL, "total"): sum(dump.totals.size_bytes.tolist()),
        (Quantity.PRINTED_PEAK, "printed bytes"): sum(dump.peak_buffers.size_bytes.tolist()),
        (Quantity.PRINTED_PEAK, "printed peaks"): len(dump.peaks),
        (Quantity.USES, "uses"): len(dump.uses),
    }
    for space in one.memory.spaces:
        found[Quantity.RESERVED, f"reserved in {space.color}"] = space.reserved_bytes
        found[Quantity.LIVE, f"peak of {space.color}"] = space.peak_live_bytes
    return found


def places(text: bytes, kind: FileKind) -> list[int]:
    """The starts of all lines, except within rows of several lines, and the end of the text."""
    starts = [0, *(at + 1 for at, byte in enumerate(text) if byte == ord("\n"))]
    tables: tuple[Any, ...]
    if kind is FileKind.HLO:
        instructions = module_of_text(text).columns.instructions
        tables = ((instructions.start, instructions.end),)
    else:
        columns = read_columns(text, never)
        used, stacks = columns.used_values, columns.stack_traces
        tables = ((used.instruction_start, used.instruction_end), (stacks.start, stacks.end))
    spans = [span for start, end in tables for span in zip(start.tolist(), end.tolist(), strict=True)]
    within = {
        at + 1
        for start, end in spans
        if start != NONE and b"\n" in text[start:end]
        for at in range(start, end)
        if text[at] == ord("\n")
    }
    return [start for start in starts if start not in within and (not start or text[start - 1] == ord("\n"))]


def with_lines(
    chance: random.Random, text: bytes, kind: FileKind, lines: Iterable[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield each of some lines and the text with it at a random place, more often than others the first or the last."""
    possible = places(text, kind)
    for line in lines:
        place = chance.choice((possible[0], possible[-1], *(chance.choice(possible) for _ in range(6))))
        yield line, text[:place] + line + b"\n" + text[place:]
