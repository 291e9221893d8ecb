"""The command line, as people and programs run it."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import run
from goldens import SWAP
from samples import DUMPS, SEED, SPLIT, TPU
from xla_lens.disk.sets import find_sets

NO_DUMPS = (
    "this folder contains no dumps. `xla-lens run COMMAND` writes them, or XLA with --xla_dump_to=DIR "
    "--xla_dump_hlo_as_text"
)


def run_json(*arguments: object) -> Any:
    status, out, err = run(*arguments, "--output-format", "json")
    assert not err
    return status, json.loads(out)


def test_report_of_a_folder_covers_each_dump_once() -> None:
    _, reports = run_json("report", DUMPS)
    # One object for each `-buffer-assignment.txt` file, and one for each seed.
    assert len(reports) == len(list(DUMPS.rglob("*-buffer-assignment.txt"))) + 5
    _, out, _ = run("report", TPU.parent)
    assert out.startswith("jit_roundtrip\n")


def test_check_prints_findings_and_a_summary(tmp_path: Path) -> None:
    status, out, _ = run("check", DUMPS)
    assert status == 0
    lines = out.splitlines()
    understated = [line for line in lines if not line.startswith("  ")][:-1]
    assert all("information[peak-understated] The printed peak is not the real one: " in line for line in understated)
    assert lines[-1] == f"{len(find_sets(DUMPS))} dumps checked: {len(understated)} information"
    broken = tmp_path / "x-buffer-assignment.txt"
    broken.write_text(SEED.read_text().replace("Total bytes used: 593928", "Total bytes used: 1"))
    status, out, _ = run("check", SEED, broken, "--ignore", "peak-understated")
    assert status == 1
    assert out == (
        f"{broken}:14:1: error[total-mismatch] The printed total is 1 byte, but the 5 allocations add up to "
        "593,928 bytes, 580.0 KiB more.\n"
        "2 dumps checked: 1 error\n"
    )
    # Errors come first, wherever they are.
    findings = [line for line in run("check", DUMPS, SEED, broken)[1].splitlines() if not line.startswith("  ")]
    assert [f"{broken}:" in line for line in findings[:3]] == [True, False, False]


def test_check_as_json_prints_findings(tmp_path: Path) -> None:
    broken = tmp_path / "x-buffer-assignment.txt"
    broken.write_text(
        SEED.read_text().replace("size=262144,offset=0): f32[64,1024]", "size=262145,offset=0): f32[64,1024]")
    )
    status, findings = run_json("check", broken)
    assert status == 1
    assert findings == [
        {
            "code": "slice-out-of-bounds",
            "severity": "error",
            "message": "`fusion` has 262,145 bytes at offset 0, but allocation 4 has 262,144 bytes. "
            "A value lies inside of its allocation, at a multiple of 4 bytes.",
            "filename": str(broken),
            "location": {"row": 12, "column": 2},
            "end_location": {"row": 12, "column": 64},
            "related": [{"filename": str(broken), "location": {"row": 11, "column": 1}, "message": "Allocation"}],
        }
    ]


@pytest.mark.parametrize("command", ["report", "check"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        (b"", "not an XLA dump"),
        (b"hello\n", "not an XLA dump"),
        (b"\x00\xff" * 1000, "not an XLA dump"),
        (b"HloModule jit_f\n", "has no *-buffer-assignment.txt file beside it"),
    ],
)
def test_errors_are_one_line_with_the_file_and_the_problem(
    tmp_path: Path, command: str, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "x.txt"
    if content is not None:
        path.write_bytes(content)
    status, out, err = run(command, path)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("xla-lens: ")
    assert reason in err


def test_check_reads_files_with_the_longest_possible_names(tmp_path: Path) -> None:
    suffix = "-buffer-assignment.txt"
    path = tmp_path / ("x" * (255 - len(suffix)) + suffix)
    path.write_bytes(SWAP.read_bytes())
    assert run("check", path) == (0, "1 dump checked, no findings\n", "")
    assert run("check", tmp_path) == (0, "1 dump checked, no findings\n", "")


@pytest.mark.parametrize("command", ["report", "check"])
def test_a_folder_without_dumps_is_an_error(tmp_path: Path, command: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert run(command, tmp_path) == (2, "", f"xla-lens: {tmp_path}: {NO_DUMPS}\n")


def test_html_is_the_memory_map_of_one_dump() -> None:
    status, out, err = run("report", SPLIT, "--output-format", "html")
    assert (status, err) == (0, "")
    assert out.startswith("<!DOCTYPE html>\n")
    assert out.endswith("</html>\n")
    assert "<title>jit_train_step: memory map</title>" in out
    assert run("report", SPLIT.parent, "--output-format", "html")[1] == out
