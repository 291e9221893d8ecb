"""Findings: none on real dumps, the right one at the right place on edited ones."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from samples import (
    DUMPS,
    SEED,
    SHARED_DUMPS,
    TPU,
    analysis_of,
    analysis_of_text,
    assignments,
    big_dumps,
    facts,
    lines_with_marks,
    member,
    needs_shared_dumps,
)
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks import is_exempt
from xla_lens.model.findings import Code, Severity
from xla_lens.render.messages import message, related_message
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import MemberKind


def check(before: str, after: str, expected: str, path: Path = SEED) -> None:
    """The findings in a dump after a part of its text was replaced, as text: code and message, the place, and the
    related places."""
    text = path.read_text()
    assert text.count(before) == 1, before
    analysis = analysis_of_text(text.replace(before, after))
    assert _text(analysis) == expected.strip("\n")


def _text(analysis: Analysis) -> str:
    lines = []
    for finding in analysis.findings:
        lines.append(f"{finding.severity}[{finding.code}] {message(finding)}")
        lines.append(lines_with_marks(analysis, [finding.place]))
        for related in finding.related:
            lines.append(f"-- {related_message(related.what)}")
            lines.append(lines_with_marks(analysis, [related.place]))
    return "\n".join(lines)


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_real_dumps_have_none(path: Path) -> None:
    assert not _text(analysis_of(path))


@needs_shared_dumps
def test_no_real_dump_has_any(tmp_path_factory: pytest.TempPathFactory) -> None:
    big = big_dumps(tmp_path_factory.getbasetemp() / "big")
    for fact in facts(SHARED_DUMPS):
        path = SHARED_DUMPS / fact["file"]
        analysis = analysis_of.__wrapped__(path if path.is_file() else big / fact["file"])
        assert not _text(analysis), path


def test_a_slice_past_the_end_of_its_allocation() -> None:
    check(
        " value: <5 fusion @0> (size=262144,offset=0): f32[64,1024]{1,0}",
        " value: <5 fusion @0> (size=262144,offset=64): f32[64,1024]{1,0}",
        """
error[slice-out-of-bounds] fusion takes bytes 64 to 262,208 of allocation 4, which has 262,144. A value always lies inside of its allocation.
 value: <5 fusion @0> (size=262144,offset=64): f32[64,1024]{1,0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The allocation
allocation 4: 0x399c0d0, size 262144, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",  # noqa: E501
    )


def test_slices_that_overlap() -> None:
    check(
        "    negate.0{}:5-7",
        "    negate.0{}:3-7",
        """
error[overlapping-slices] cublas-gemm.1 and negate.0 share bytes 0 to 4,096 of allocation 2 and are both live from step 4 to 5. One would overwrite the other.
 value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The value that was there before
 value: <2 negate.0 @0> (size=4096,offset=0): f32[64,16]{1,0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",  # noqa: E501
    )


def test_the_total() -> None:
    check(
        "Total bytes used: 593928 (580.0KiB)",
        "Total bytes used: 593920 (580.0KiB)",
        """
error[total-mismatch] The total is 593,920 bytes, but the 5 allocations add up to 593,928: 8 B more than the total.
Total bytes used: 593920 (580.0KiB)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_value_twice() -> None:
    check(
        " value: <3 tuple{} @0> (size=8,offset=0): (f32[64,16]{1,0})\n",
        " value: <3 tuple{} @0> (size=8,offset=0): (f32[64,16]{1,0})\n" * 2,
        """
error[duplicate-value] Value 3 (tuple{}) is here a second time. An id has one place only.
 value: <3 tuple{} @0> (size=8,offset=0): (f32[64,16]{1,0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The first time
 value: <3 tuple{} @0> (size=8,offset=0): (f32[64,16]{1,0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_an_instruction_that_is_not_scheduled() -> None:
    check(
        "  negate.0, operand 0",
        "  negate.1, operand 0",
        """
error[unknown-instruction] negate.1 is not in the instruction sequence, though it defines, shows or reads a value that has a live range (1 mention). Only scheduled instructions do.
  negate.1, operand 0
  ^^^^^^^^^^^^^^^^^^^
""",  # noqa: E501
    )
    check(
        "    4:cublas-gemm.1",
        "    4:cublas-gemm.2",
        """
error[unknown-instruction] cublas-gemm.1 is not in the instruction sequence, though it defines, shows or reads a value that has a live range (5 mentions). Only scheduled instructions do.
    cublas-gemm.1{}:4-5
    ^^^^^^^^^^^^^^^^^^^
-- Also mentioned here
    cublas-gemm.1: 4096 bytes
    ^^^^^^^^^^^^^^^^^^^^^^^^^
-- Also mentioned here
  cublas-gemm.1
  ^^^^^^^^^^^^^
-- Also mentioned here
  cublas-gemm.1, operand 1
  ^^^^^^^^^^^^^^^^^^^^^^^^
-- Also mentioned here
  cublas-gemm.1, operand 0
  ^^^^^^^^^^^^^^^^^^^^^^^^
""",  # noqa: E501
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "    3:fusion",
            "    3;fusion\n    oops",
            """
error[syntax] These 2 lines are no part of a dump: cut off, edited, or printed by something else.
    3;fusion
    ^^^^^^^^
""",
        ),
        (
            "size 262144, preallocated-temp",
            "size 262144, pinned, preallocated-temp",
            """
warning[syntax] This part of the line is unknown: edited, or from a newer release of XLA.
allocation 4: 0x399c0d0, size 262144, pinned, preallocated-temp:
                                      ^^^^^^
""",
        ),
    ],
)
def test_syntax(before: str, after: str, expected: str) -> None:
    text = SEED.read_text()
    assert text.count(before) == 1
    analysis = analysis_of_text(text.replace(before, after))
    assert _text(analysis).startswith(expected.strip("\n"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "error[syntax] The file is empty.\n\n"),
        (" \n\n", "error[syntax] The file is empty.\n \n"),
        ("some\ntext\n", "error[syntax] Nothing in this file is part of a dump.\nsome\n^^^^"),
    ],
)
def test_files_that_hold_nothing(text: str, expected: str) -> None:
    assert _text(analysis_of_text(text)) == expected


def test_codes_and_severities_are_those_of_the_documentation() -> None:
    assert set(Code) == {
        "syntax",
        "truncated-dump",
        "slice-out-of-bounds",
        "overlapping-slices",
        "total-mismatch",
        "duplicate-value",
        "unknown-instruction",
    }
    assert set(Severity) == {"error", "warning", "information", "hint"}


def test_the_state_of_asynchronous_operations_may_overlap() -> None:
    """Elements `{2,...}` of such a tuple share bytes on TPU; the same overlap of other values is an error."""
    text = """\
BufferAssignment:
allocation 0: size 8, preallocated-temp:
 value: <0 start{2,0} @0> (size=8,offset=0): f32[2]{0}
 value: <1 update{2,0} @0> (size=8,offset=0): f32[2]{0}

Total bytes used: 8 (8B)

Used values:
<0 start{2,0} @0>
 positions:
  start {2,0}
 uses:
 from instruction: %start = ((), (), (f32[2]{0})) OPCODE-start()
<1 update{2,0} @0>
 positions:
  update {2,0}
 uses:
 from instruction: %update = ((), (), (f32[2]{0})) OPCODE-update(%start)

HloLiveRange (max 4):
  InstructionSequence:
    0:start
    1:update
    2:other
    3:another
  BufferLiveRange:
    start{2,0}:0-3
    update{2,0}:1-4
  Live ranges at 1 (peak):
    start{2,0}: 8 bytes
    update{2,0}: 8 bytes
"""
    assert not analysis_of_text(text.replace("OPCODE", "async")).findings
    plain = text.replace("OPCODE-start", "tuple").replace("OPCODE-update", "tuple")
    assert [finding.code for finding in analysis_of_text(plain).findings] == [Code.OVERLAPPING_SLICES]
    moved = plain.replace("{2,0}", "{1,0}").replace("@0", "@1").replace("size 8,", "size 8, color 1,")
    assert [finding.severity for finding in analysis_of_text(moved).findings] == [Severity.WARNING]
    passed_on = moved.replace(
        " uses:\n from instruction: %start", " uses:\n  update, operand 0 {1,0}\n from instruction: %start"
    )
    called = passed_on.replace("tuple(%start)", "while(%start), body=%b")
    assert not analysis_of_text(called).findings


def test_each_file_of_a_set_tells_of_its_own() -> None:
    analysis = analysis_of(TPU)
    assert len(analysis.dump.members) == 4
    assert not analysis.findings


def test_of_standard_output_the_first_module_is_read() -> None:
    text = SEED.read_text()
    files = [(f"module_{number}.f.cpu_after_optimizations-buffer-assignment.txt", text) for number in (1, 2, 1)]
    files[2] = files[2][0].replace("buffer-assignment", "memory-usage-report"), "Memory Space: default (color=0)\n"
    output = "".join(f"*** Begin {name} ***\n{content}\n*** End {name} ***\n" for name, content in files)
    analysis = analysis_of_text(output)
    assert len(analysis.dump.values) == len(analysis_of(SEED).dump.values)
    assert analysis.memory.spaces[0].peak_live_bytes == analysis_of(SEED).memory.spaces[0].peak_live_bytes
    assert (
        _text(analysis)
        == """\
information[syntax] module_2.f.cpu_after_optimizations-buffer-assignment.txt belongs to another module than what is \
before. Only the first module in a file is read: save each to a file of its own.
*** Begin module_2.f.cpu_after_optimizations-buffer-assignment.txt ***
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""
    )


@pytest.mark.parametrize("path", sorted(DUMPS.glob("tpu-*/*/*-buffer-assignment.txt")), ids=lambda path: path.name[:30])
def test_values_of_fast_memory_may_not_overlap_either(path: Path) -> None:
    """Each value that is moved onto one that is live at the same time. `copy-done` and the like, which read them, are
    not quoted; they have no computation in which the bytes might be used again.
    """
    analysis = analysis_of(path)
    values, slices = analysis.dump.values, analysis.dump.slices
    members = {file.kind: file for file in analysis.dump.members}
    text = members[MemberKind.BUFFER_ASSIGNMENT].document.data
    for value, other in combinations(np.flatnonzero(values.color > 0).tolist(), 2):
        shared = min(values.end_step[value], values.end_step[other]) - max(
            values.start_step[value], values.start_step[other]
        )
        is_exempt_pair = is_exempt(analysis.dump, value) or is_exempt(analysis.dump, other)
        if values.allocation[value] != values.allocation[other] or shared < 1 or is_exempt_pair:
            continue
        row = values.slice[value]
        line = text[slices.start[row] : slices.end[row]]
        moved = line.replace(b"offset=%d)" % values.offset[value], b"offset=%d)" % values.offset[other])
        edited = member(text.replace(line, moved), MemberKind.BUFFER_ASSIGNMENT)
        rest = [file for file in members.values() if file.kind is not MemberKind.BUFFER_ASSIGNMENT]
        codes = {(finding.code, finding.severity) for finding in analyse([edited, *rest]).findings}
        assert (Code.OVERLAPPING_SLICES, Severity.WARNING) in codes or values.offset[value] == values.offset[other]


def test_most_values_of_fast_memory_are_checked() -> None:
    checked = exempt = 0
    for path in sorted(DUMPS.glob("tpu-*/*/*-buffer-assignment.txt")):
        dump = analysis_of(path).dump
        for value in np.flatnonzero((dump.values.color > 0) & (dump.values.live_range != NONE)).tolist():
            # The state of asynchronous operations is elements `{2,...}`.
            if "{2" not in dump.value_label(value):
                exempt += is_exempt(dump, value)
                checked += 1
    assert checked
    assert exempt <= checked // 10


def test_two_values_of_one_name_may_lack_the_same_used_value() -> None:
    text = (
        "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n"
        " value: <1 v @0> (size=8,offset=0): u8[8]{0}\n value: <2 v @0> (size=8,offset=8): u8[8]{0}\n\n"
        "Total bytes used: 64 (64B)\n\nUsed values:\n<5 v @0>\n positions:\n  v\n uses:\n"
    )
    found = [finding for finding in analysis_of_text(text).findings if finding.code is Code.UNDEFINED_VALUE]
    assert [(finding.facts["what"], finding.facts["id"]) for finding in found] == [("id", 1), ("missing", 2)]
