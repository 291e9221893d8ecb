"""The command line, as people and programs run it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from commands import run
from goldens import SWAP
from samples import DUMPS, SEED, SPLIT, TPU, facts
from xla_lens.files import find_sets

NO_DUMPS = (
    "this folder contains no dumps. `xla-lens run COMMAND` writes them, or XLA with --xla_dump_to=DIR "
    "--xla_dump_hlo_as_text"
)


def run_json(*arguments: object) -> Any:
    status, out, err = run(*arguments, "--output-format", "json")
    assert not err
    return status, json.loads(out)


def test_counts_are_null_if_their_file_is_missing(tmp_path: Path) -> None:
    kinds = {"assignment": ("values", "allocations", "reserved_bytes"), "live-range": ("instructions",)}
    for kind, known in kinds.items():
        folder = tmp_path / kind
        folder.mkdir()
        path = next(SPLIT.parent.glob(f"module_0000*-{'buffer-' * (kind == 'assignment')}{kind}.txt"))
        (folder / path.name).write_bytes(path.read_bytes())
        _, (report,) = run_json("report", folder)
        known_names = {
            name for name in ("values", "allocations", "reserved_bytes", "instructions") if report[name] is not None
        }
        assert known_names == set(known)


def test_report_names_missing_files(tmp_path: Path) -> None:
    alone = tmp_path / SPLIT.name
    alone.write_bytes(SPLIT.read_bytes())
    status, out, _ = run("report", alone)
    assert status == 0
    assert "The peak of host memory is unknown: the live ranges are missing" in out
    assert "incomplete the live ranges are missing (" in out
    assert "incomplete the list of values is missing (" in out
    assert "reserved   ≥ 4.22 MiB in ≥ 30 allocations" in out
    _, (report,) = run_json("report", alone)
    assert {value for name, value in report["printed"].items() if name != "bounds"} == {None}
    assert report["complete"] is False
    assert report["bounds"]["reserved_bytes"] == "at_least"
    assert report["memory_spaces"][0]["peak_live_bytes"] is None
    assert report["memory_spaces"][0]["live_at_peak"] == []


@pytest.mark.parametrize("fact", facts(DUMPS), ids=lambda fact: fact["file"])
def test_report_as_json_has_the_numbers_of_the_dump(fact: dict[str, Any]) -> None:
    path = DUMPS / fact["file"]
    _, (report,) = run_json("report", path)
    assert report.keys() == {
        "module",
        "files",
        "complete",
        "incomplete",
        "left_out",
        "findings",
        "bounds",
        "instructions",
        "values",
        "allocations",
        "reserved_bytes",
        "printed",
        "device",
        "memory_spaces",
        "donation",
        "advice",
    }
    for key in ("instructions", "values", "allocations", "reserved_bytes"):
        assert report[key] == fact[key]
    assert {key: report["printed"][key] for key in fact["printed"]} == fact["printed"]
    for space, expected in zip(report["memory_spaces"], fact["memory_spaces"], strict=True):
        assert {key: space[key] for key in expected} == expected
        assert {"peak_instruction", "live_at_peak"} <= space.keys()
        sizes = [value["size_bytes"] for value in space["live_at_peak"]]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) >= (space["peak_live_bytes"] or 0)
        for value in space["live_at_peak"]:
            assert value["start_step"] <= space["peak_step"] <= value["end_step"]
    for kind, name in report["files"].items():
        assert Path(name).is_file()
        assert kind in {"buffer-assignment", "values", "live-range", "memory-usage-report", "hlo"}


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
            "A value outside of its allocation overwrites other memory.",
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


@pytest.mark.parametrize("command", ["report", "check"])
@pytest.mark.parametrize("suffix", ["-buffer-assignment.txt", "-live-range.txt", "-memory-usage-report.txt"])
def test_the_name_of_a_dump_without_a_regular_file_is_an_error(tmp_path: Path, command: str, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    assert run(command, path) == (2, "", f"xla-lens: {path}: cannot be read: No such file or directory\n")
    path.symlink_to(tmp_path / "nothing")
    assert run(command, path) == (2, "", f"xla-lens: {path}: cannot be read: No such file or directory\n")
    path.unlink()
    os.mkfifo(path)
    assert run(command, path) == (2, "", f"xla-lens: {path}: cannot be read: not a regular file\n")
    assert run(command, tmp_path) == (2, "", f"xla-lens: {path}: cannot be read: not a regular file\n")


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


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 5000, b"\xff\xfe\n" * 50, b"x" * 3_000_000, SEED.read_bytes()[:1700], b"allocation 0: size 9" * 9],
)
@pytest.mark.parametrize("name", ["x-buffer-assignment.txt", "x-live-range.txt", "x-memory-usage-report.txt"])
def test_bad_files_give_findings_and_no_traceback(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    status, findings = run_json("check", path)
    if content != SEED.read_bytes()[:1700]:
        assert status == 1
        assert findings[0]["code"] in ("syntax", "truncated-dump")
    shown, _, err = run("report", path)
    assert (shown, err) == (int(any(finding["severity"] == "error" for finding in findings)), "")


def test_html_is_the_memory_map_of_one_dump() -> None:
    status, out, err = run("report", SPLIT, "--output-format", "html")
    assert (status, err) == (0, "")
    assert out.startswith("<!DOCTYPE html>\n")
    assert out.endswith("</html>\n")
    assert "<title>jit_train_step: memory map</title>" in out
    assert run("report", SPLIT.parent, "--output-format", "html")[1] == out


def test_html_of_several_dumps_lists_them() -> None:
    status, out, err = run("report", SEED, SPLIT, "--output-format", "html")
    assert (status, err) == (0, "")
    assert "<title>2 paths: memory maps</title>" in out
    assert out.index('<a href="?">jit_train_step</a>') < out.index('<a href="?map=2">001_491faa5ce21a17c6</a>')
