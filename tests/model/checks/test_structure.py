"""Findings about files that are cut off, lack headers or have unknown lines."""

import re
from pathlib import Path

import pytest

from goldens import SAME, SWAP, SWAP_2025, edited, files_of, findings_text
from samples import SEED, SPLIT, TPU, analysis_of_text, dump_file
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.problems import Finding, Problem
from xla_lens.model.memory.printed_peak import first_printed_peak
from xla_lens.model.memory.reported import reported_spaces
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.data import report_data
from xla_lens.report.facts import report
from xla_lens.report.options import ReportOptions
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.messages import message


def _messages(analysis: Analysis) -> list[str]:
    return [f"{finding.code}: {message(finding)}" for finding in _findings(analysis)]


def _findings(analysis: Analysis) -> list[Finding]:
    """All findings except understated peaks, which half of all complete dumps have."""
    return [finding for finding in analysis.findings if finding.code is not Code.PEAK_UNDERSTATED]


_ASSIGNMENT, _VALUES, _LIVE = FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE


@pytest.mark.parametrize(
    ("path", "kind", "last", "expected"),
    [
        (SAME, _ASSIGNMENT, "copy.3 @0> (size=308", "in the middle of a line"),
        (SPLIT, _LIVE, "    dot{}:35-", "in the middle of a line"),
        (
            TPU,
            _ASSIGNMENT,
            "allocation 3: size 4194304, color 1, page 0, preallocated-temp:\n",
            "before the last values of the allocations, which the used values list",
        ),
        (TPU, _VALUES, "<19 copy-start.1{0} @0>\n", "in the middle of a used value"),
        (
            TPU,
            _VALUES,
            "copy-start(%copy-done)\n",
            "before the last used values, which the buffer assignment lists",
        ),
        (SWAP, _ASSIGNMENT, "%copy.2, f32[100]{0} %copy.3)\n", "before the live ranges"),
        (SPLIT, _LIVE, "    35:dot\n", "before the live ranges"),
        (SPLIT, _LIVE, "    dot{}:35-37\n", "before the end of the list of values live at the peak"),
        (
            TPU,
            _LIVE,
            "4194304 bytes (cumulative: 12582912 bytes)\n",
            "before the end of the list of values live at the peak",
        ),
        (SWAP_2025, FileKind.MEMORY_USAGE_REPORT, "448;                1; f32[100]\n", "in the middle of the tables"),
    ],
)
def test_reports_where_a_file_is_cut_off(path: Path, kind: FileKind, last: str, expected: str) -> None:
    files = files_of(path)
    whole = files[kind].document.data
    text = whole[: whole.index(last.encode()) + len(last.encode())]
    cut = analyse(file if file.kind is not kind else dump_file(text, kind) for file in files.values())
    assert _messages(cut) == [
        f"truncated-dump: The file ends {expected}. It was cut off, so other results for this dump may be wrong."
    ]
    (finding,) = _findings(cut)
    assert f"{finding.severity}[{finding.code}]" == "error[truncated-dump]"
    assert text[finding.place.start : finding.place.end] == text.rstrip().split(b"\n")[-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [("  Live ranges at 5 (peak):\n", "Live ranges at N (peak):"), ("<5 fusion @0>\n", "<id name @color>")],
)
def test_reports_missing_header(line: str, expected: str) -> None:
    text = SEED.read_text()
    assert text.count(line) == 1
    (message,) = _messages(analysis_of_text(text.replace(line, "")))
    assert message == f"syntax: The header `{expected}` is missing before this line."


@pytest.mark.parametrize(
    "line", ["BufferAssignment:\n", "Used values:\n", "  InstructionSequence:\n", "  BufferLiveRange:\n"]
)
def test_rows_are_read_without_the_header_of_their_section(line: str) -> None:
    text = SEED.read_text()
    assert text.count(line) == 1
    analysis, whole = analysis_of_text(text.replace(line, "")), analysis_of_text(text)
    assert not _messages(analysis)
    assert analysis.memory.spaces[0].peak_live_bytes == whole.memory.spaces[0].peak_live_bytes
    assert len(analysis.dump.uses) == len(whole.dump.uses)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "error[syntax] The file is empty.\n"),
        (" \n\n", "error[syntax] The file is empty.\n \n"),
        ("some\ntext\n", "error[syntax] No line of this file belongs to an XLA memory dump.\nsome"),
    ],
)
def test_reports_empty_and_foreign_files(text: str, expected: str) -> None:
    assert findings_text(analysis_of_text(text)) == expected


@pytest.mark.parametrize("depth", [101, 600, 5000])
def test_shape_may_nest_deeply(depth: int) -> None:
    shape = "(" * depth + "f32[2]{0}" + ")" * depth
    text = f"BufferAssignment:\nallocation 0: size 8:\n value: <0 f @0> (size=8,offset=0): {shape}\n"
    assert analysis_of_text(text).dump.logical_bytes.tolist() == [8]


def test_damaged_attribute_is_a_warning() -> None:
    analysis = edited(SWAP, [("size 800, preallocated-temp", "size 800, preallocatedtemp")])
    assert _messages(analysis) == [
        "syntax: This part of the line is damaged. It was edited, and what it said is missing."
    ]
    assert "warning[syntax]" in findings_text(analysis)
    assert analysis.warrants.of(Quantity.LIVE).bound is Bound.UNKNOWN


def test_sums_over_64_bits_are_refused() -> None:
    size = "9" * 18
    text = "BufferAssignment:\n" + "".join(
        f"allocation {number}: size {size}, maybe-live-out:\n"
        f" value: <{number} v{number} @0> (size={size},offset=0): u8[9]\n"
        for number in range(10)
    )
    analysis = analysis_of_text(text)
    assert any(finding.problem.kind is Problem.SIZES_TOO_LARGE for finding in analysis.findings)
    assert analysis.warrants.of(Quantity.RESERVED).bound is Bound.UNKNOWN
    assert analysis.warrants.of(Quantity.LIVE).bound is Bound.UNKNOWN


def test_negative_sizes_are_one_finding_and_no_numbers() -> None:
    peak, header = "    dot{}: 1605632 bytes", "  Live ranges at 37 (peak):\n"
    total = "Total bytes used: 4419760"
    analysis = edited(SPLIT, [(total, total.replace(": ", ": -")), (peak, "    dot{}: -2147483648 bytes")])
    assert _messages(analysis) == [
        "syntax: The size of -4,419,760 bytes is negative, as is another one. XLA Lens does not use the printed total "
        "and the printed peak."
    ]
    assert [one.place.file.kind for one in analysis.findings[0].related] == [_LIVE]
    known = {quantity: analysis.warrants.of(quantity).bound for quantity in Quantity}
    assert {name for name, bound in known.items() if bound is Bound.UNKNOWN} == {Quantity.TOTAL, Quantity.PRINTED_PEAK}
    assert analysis.memory.spaces[0].reserved_bytes == 4419760
    data = report_data(report(analysis, {_VALUES: "a"}, ReportOptions()))
    assert (data.reserved_bytes, data.printed.total_bytes, data.printed.peak_bytes) == (4419760, None, None)
    # A step is no size, but there is no negative one either.
    assert first_printed_peak(edited(SPLIT, [(header, header.replace("37", "-37"))]).dump) is None


def test_sums_with_a_negative_allocation_are_unknown() -> None:
    analysis = edited(SPLIT, [("allocation 1: size 524288", "allocation 1: size -524288")])
    assert any(finding.problem.kind is Problem.NEGATIVE_SIZES for finding in analysis.findings)
    assert {analysis.warrants.of(one).bound for one in (Quantity.RESERVED, Quantity.LIVE)} == {Bound.UNKNOWN}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(color=0)", "(color=-1)"),
        ("Total bytes: 4419760", "Total bytes: -4419760"),
        ("Total bytes: 4419760", "Total bytes: -1"),
    ],
)
def test_a_usage_report_alone_has_no_negative_numbers(old: str, new: str) -> None:
    data = files_of(SPLIT)[FileKind.MEMORY_USAGE_REPORT].document.data.replace(old.encode(), new.encode())
    assert new.encode() in data
    analysis = analyse([dump_file(data, FileKind.MEMORY_USAGE_REPORT)])
    made = report_data(report(analysis, {FileKind.MEMORY_USAGE_REPORT: "a"}, ReportOptions()))
    assert made.usage_report is None
    assert made.memory_spaces == []


def test_bounds_of_a_total_that_the_list_contradicts_are_in_order() -> None:
    data = files_of(SWAP_2025)[FileKind.MEMORY_USAGE_REPORT].document.data
    total = re.sub(rb"(?m)^Total bytes used: \d+", b"Total bytes used: 999999999", data)
    assert total != data
    (space,) = reported_spaces(analyse([dump_file(total, FileKind.MEMORY_USAGE_REPORT)]).dump)
    assert space.reserved.least <= space.reserved.most
    assert space.needed.least <= space.needed.most
