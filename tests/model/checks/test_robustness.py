"""Any edit of a dump can be analyzed, and all findings have messages and places."""

import random
import re
from itertools import combinations
from pathlib import Path

import pytest

from goldens import files_of
from samples import FORMS, PALLAS, SEED, SPLIT, TPU, dump_file, sweep
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.model.analysis import analyse
from xla_lens.report.facts import report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.outline import report_text
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.messages import message

_TOO_BIG = (b"9" * 19, b"9" * 20, b"-" + b"9" * 30, b"9" * 5000)
"""Numbers that do not fit into 64 bits, and one with more digits than Python parses."""


@pytest.mark.parametrize("most", sweep([2, 40], 2))
@pytest.mark.parametrize("path", [SEED, SPLIT, TPU, PALLAS], ids=lambda path: path.parent.name)
def test_numbers_over_64_bits_are_analyzed_without_errors(path: Path, most: int) -> None:
    """Includes numbers in shapes and instructions, which have readers of their own."""
    chance = random.Random(path.name)
    files = files_of(path)
    for kind, file in files.items():
        text = file.document.data
        numbers = list(re.finditer(rb"\d+", text))
        spaces = [number for number in numbers if text[number.start() - 2 : number.start()] == b"S("]
        for number in chance.sample(numbers, min(most, len(numbers))) + spaces[: most // 2]:
            edited = text[: number.start()] + chance.choice(_TOO_BIG) + text[number.end() :]
            analysis = analyse(
                [other if other.kind is not kind else dump_file(edited, kind) for other in files.values()]
            )
            assert all(map(message, analysis.findings))
            assert memory_map_data(analysis)["values"]["label"]
            made = report(analysis, dict.fromkeys(files, "a"), ReportOptions(parts=frozenset(Part)))
            assert list(report_text(made, 100))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (FileKind.VALUES, b"<3@\n from instruction:}\n positions:\n  4\n"),
        (FileKind.BUFFER_ASSIGNMENT, b"Used values:\n<0 size @100000000000000000000>\n uses:"),
        (
            FileKind.BUFFER_ASSIGNMENT,
            b"BufferAssignment:\nallocation 0: size 0, constant:\n\nUsed values:\n positions:\n  a\n",
        ),
        (FileKind.BUFFER_ASSIGNMENT, b"BufferAssignment:\nallocation x: size 1:\n value: <"),
        (FileKind.BUFFER_ASSIGNMENT, b"Used values:\n  BufferLiveRange:\n    a{}:0-1\n    a{}:0-1"),
        (FileKind.VALUES, b"Used values:\n positions:\n  a\n  a\n uses:\n  a, operand 0\n  a, operand 0\n"),
    ],
)
def test_rows_without_any_value_are_analyzed(kind: FileKind, text: bytes) -> None:
    analysis = analyse([dump_file(text, kind)])
    assert analysis.findings
    assert all(map(message, analysis.findings))
    made = report(analysis, {kind: "a"}, ReportOptions(parts=frozenset(Part)))
    assert list(report_text(made, 100))


_ROWS = (
    rb"BufferAssignment:",
    rb"allocation ",
    rb" value: ",
    rb"Total bytes used|Used values:",
    rb"<\d+ ",
    rb"  [^ ]",
    rb" from instruction",
    rb"HloLiveRange|  InstructionSequence:",
    rb"    \d+:",
    rb"  BufferLiveRange:",
    rb"    \S+:\d+-\d+",
    rb"  Live ranges at",
    rb"    \S+: \d+ bytes",
    rb"Memory Space|Total bytes|  cumulative_size",
)
"""What the rows of most tables begin with."""


@pytest.mark.parametrize(("one", "other"), sweep(combinations(_ROWS, 2), 9))
def test_tables_may_be_empty(one: bytes, other: bytes) -> None:
    """Rows that refer to rows of other tables do not find any."""
    missing = re.compile(rb"^(?:%s|%s).*\n" % (one, other), re.MULTILINE)
    for form in FORMS:
        files = [
            dump_file(missing.sub(b"", path.read_bytes()), kind)
            for kind, path in form.paths.items()
            if kind is not FileKind.HLO
        ]
        analysis = analyse(files)
        assert all(map(message, analysis.findings))
        assert len(memory_map_data(analysis)["values"]["label"]) == len(analysis.dump.values)
        made = report(analysis, form.labels, ReportOptions(parts=frozenset(Part), budget_bytes=1024))
        assert list(report_text(made, 100))


@pytest.mark.parametrize(
    "text", [b"9" * 10**5, b"  a" + b"oper" * 10**5, b"a." * 10**5 + b" ", b"  x oper" + b"a" * 10**5]
)
def test_long_unknown_lines_below_a_used_value_are_read_once(text: bytes) -> None:
    """Patterns that try all ways to divide such a line between their parts would take hours."""
    values = b"Total bytes used: 0 (0B)\n\nUsed values:\n<0 a @0>\n positions:\n  a\n%s\n" % text
    assert analyse([dump_file(values, FileKind.VALUES)]).findings
