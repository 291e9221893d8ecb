"""Dumps of XLA have no findings, messages have their facts, and exempt overlaps are not reported."""

import ast
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from goldens import SAME, SWAP_2025, all_goldens, files_of, finding_lines, findings_text
from samples import (
    DUMPS,
    ROOT,
    SEED,
    SHARED_DUMPS,
    SPLIT,
    TPU,
    analysis_of,
    analysis_of_text,
    facts,
    on_all_dumps,
    space_facts,
)
from xla_lens.disk.sets import find_set
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.problems import Problem
from xla_lens.syntax.file_names import FileKind


def _codes(analysis: Analysis) -> list[tuple[Code, Severity]]:
    return [(finding.code, finding.severity) for finding in analysis.findings]


def _expected(fact: dict[str, Any]) -> list[tuple[Code, Severity]]:
    """The findings of a dump of XLA: at most that its printed peak is understated in the device's memory."""
    is_understated = any(
        space["live_bytes_at_printed_peak"] < space["peak_live_bytes"]
        for space in space_facts(fact)
        if space["color"] == 0 and "live_bytes_at_printed_peak" in space
    )
    return [(Code.PEAK_UNDERSTATED, Severity.INFORMATION)] if is_understated else []


@pytest.mark.parametrize("fact", facts(DUMPS), ids=lambda fact: fact["file"])
def test_dumps_have_no_findings_except_understated_peaks(fact: dict[str, Any]) -> None:
    assert _codes(analysis_of(DUMPS / fact["file"])) == _expected(fact)


@on_all_dumps(_codes)
def test_all_dumps_have_no_findings_except_understated_peaks(
    of_all_dumps: Mapping[str, list[tuple[Code, Severity]]],
) -> None:
    assert of_all_dumps == {fact["file"]: _expected(fact) for fact in facts(SHARED_DUMPS)}
    assert 100 < sum(map(len, of_all_dumps.values())) < 200


def test_each_code_has_a_problem_and_a_test() -> None:
    assert {problem.code for problem in Problem} == set(Code)
    assert [code for code in Code if f"[{code}]" not in all_goldens()] == []


@pytest.mark.parametrize("problem", Problem, ids=lambda problem: problem.name)
def test_messages_name_facts_of_their_problem(problem: Problem) -> None:
    names = {name for name, _ in problem.if_empty}
    for message in (problem.message, *(other for _, other in problem.if_empty)):
        names |= {name for _, name, _, _ in Formatter().parse(message) if name is not None}
    assert names <= set(problem.fact_names)


def test_checks_give_each_problem_its_facts() -> None:
    """Python reports a wrong call only when the problem occurs."""
    used = set()
    for path in (ROOT / "server" / "xla_lens").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Attribute(ast.Name("Problem"), name):
                    used.add(Problem[name])
                case ast.Call(ast.Attribute(ast.Name("Problem"), name), args, keywords):
                    names = Problem[name].fact_names
                    given = [*names[: len(args)], *(str(keyword.arg) for keyword in keywords)]
                    has_all = any(isinstance(one, ast.Starred) for one in args) or sorted(given) == sorted(names)
                    assert has_all, f"{path}:{node.lineno}"
    assert used == set(Problem)


def test_state_of_asynchronous_operations_may_overlap() -> None:
    """Elements `{2,...}` of their tuples share bytes on TPU. The same overlap of other values is an error."""
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
    assert not _overlaps(text.replace("OPCODE", "async"))
    plain = text.replace("OPCODE-start", "tuple").replace("OPCODE-update", "tuple")
    assert _overlaps(plain) == [Severity.ERROR]
    moved = plain.replace("{2,0}", "{1,0}").replace("@0", "@1").replace("size 8,", "size 8, color 1,")
    moved = moved.replace("]{0}", "]{0:T(1)S(1)}").replace("((), (), ", "((), ")
    assert _overlaps(moved) == [Severity.WARNING]
    passed_on = moved.replace(
        " uses:\n from instruction: %start", " uses:\n  update, operand 0 {1,0}\n from instruction: %start"
    )
    called = passed_on.replace("tuple(%start)", "while(%start), body=%b")
    assert not _overlaps(called)


def _overlaps(text: str) -> list[Severity]:
    findings = analysis_of_text(text).findings
    return [finding.severity for finding in findings if finding.code is Code.OVERLAPPING_SLICES]


def test_only_first_module_of_standard_output_is_read() -> None:
    text = SEED.read_text()
    files = [(f"module_{number}.f.cpu_after_optimizations-buffer-assignment.txt", text) for number in (1, 2, 1)]
    files[2] = files[2][0].replace("buffer-assignment", "memory-usage-report"), "Memory Space: default (color=0)\n"
    output = "".join(f"*** Begin {name} ***\n{content}\n*** End {name} ***\n" for name, content in files)
    analysis = analysis_of_text(output)
    assert len(analysis.dump.values) == len(analysis_of(SEED).dump.values)
    assert analysis.memory.spaces[0].peak_live_bytes == analysis_of(SEED).memory.spaces[0].peak_live_bytes
    assert (
        findings_text(analysis)
        == """\
information[syntax] `module_2.f.cpu_after_optimizations-buffer-assignment.txt` belongs to a second module. Of a file
with the name of a dump file, editors show the first module; `xla-lens report` shows all. With `--xla_dump_to=DIR`,
each has files of its own.
*** Begin module_2.f.cpu_after_optimizations-buffer-assignment.txt ***"""
    )


def test_two_values_with_one_name_share_no_used_value() -> None:
    text = (
        "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n"
        " value: <1 v @0> (size=8,offset=0): u8[8]{0}\n value: <2 v @0> (size=8,offset=8): u8[8]{0}\n\n"
        "Total bytes used: 64 (64B)\n\nUsed values:\n<5 v @0>\n positions:\n  v\n uses:\n"
    )
    found = [finding for finding in analysis_of_text(text).findings if finding.code is Code.UNDEFINED_VALUE]
    assert [finding.problem for finding in found] == [
        Problem.UNDEFINED_VALUE("v", 1),
        Problem.UNDEFINED_VALUE("v", 2),
    ]


def test_reports_understated_peak() -> None:
    (finding,) = analysis_of(SEED).findings
    assert (
        "\n".join(finding_lines(finding))
        == """\
information[peak-understated] The printed peak is not the real one: 324.0 KiB of HBM are live at step 5, but 580.0
KiB at step 4 (`cublas-gemm.1`). XLA adds up shapes to find the step, not allocated bytes.
  Live ranges at 5 (peak):
-- Real peak
    4:cublas-gemm.1"""
    )


def test_report_of_another_compilation_is_one_finding(tmp_path: Path) -> None:
    paths = dict(find_set(SAME).paths)
    other = find_set(SWAP_2025).paths[FileKind.MEMORY_USAGE_REPORT]
    for kind, path in paths.items():
        copied = other if kind is FileKind.MEMORY_USAGE_REPORT else path
        (tmp_path / path.name).write_bytes(copied.read_bytes())
    found = analysis_of(tmp_path / SAME.name).findings
    assert [finding.problem for finding in found] == [Problem.FOREIGN_REPORT(3)]
    assert len(found[0].related) == 2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            FileKind.VALUES,
            """
error[undefined-value] This file belongs to another dump: 12 of its 12 used values are in no allocation.
<13 x.1 @0>
""",
        ),
        (
            FileKind.LIVE_RANGE,
            """
error[undefined-value] This file belongs to another dump: 10 of its 12 live ranges are of unknown values.
    x.1{}:0-9
""",
        ),
    ],
)
def test_reports_file_of_another_dump(kind: FileKind, expected: str) -> None:
    files = files_of(SPLIT) | {kind: files_of(TPU)[kind]}
    assert findings_text(analyse(files.values())) == expected.strip("\n")
