"""Dumps that are incomplete, or whose files are of several compilations: what they prove is shown, and nothing else.

`tests/field` has real ones.
"""

import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands import run
from samples import DUMPS, FIELD, SHARED_DUMPS, needs_shared_dumps
from xla_lens.disk.loading import load_set
from xla_lens.disk.sets import SetFiles, find_sets
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.reported import reported_spaces
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.syntax.file_names import FileKind

ONE_FILE = DUMPS / "cpu-jaxlib0.6.2" / "donation" / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"


def load(folder: Path) -> Analysis:
    (files,) = find_sets(folder)
    return load_set(files, {}, {})[1]


def report(*arguments: object) -> Any:
    (found,) = json.loads(run("report", *arguments, "--output-format", "json")[1])
    return found


def bound_of_reserved(folder: Path) -> Bound:
    return load(folder).warrants.of(Quantity.RESERVED).bound


# ---------------------------------------------------------------- allocations without values and live ranges

NO_ANALYSIS = FIELD / "no_analysis_mlp"


def test_allocations_that_a_total_confirms_are_exact() -> None:
    # 3 × 262,144 B of donated weights, 131,072 B of input, 24 B of a table and 786,432 B of temporaries.
    text = run("report", NO_ANALYSIS)[1]
    assert "It needs 1.63 MiB of host memory." in text
    (space,) = report(NO_ANALYSIS)["memory_spaces"]
    assert (space["needed_bytes"], space["reserved_bytes"], space["parameter_bytes"]) == (1703960, 1703960, 917504)
    assert space["bounds"] == {"peak_live_bytes": "unknown", "live_bytes_at_printed_peak": "unknown"}
    assert space["peak_live_bytes"] is None


@pytest.mark.parametrize(("limit", "status"), [("1703960", 0), ("1703959", 1)])
def test_exact_allocations_are_compared_with_a_limit(limit: str, status: int) -> None:
    found, text, _ = run("check", NO_ANALYSIS, "--max-memory", limit)
    assert found == status
    assert "cannot be compared" not in text


def test_live_bytes_stay_unknown_without_live_ranges() -> None:
    status, text, _ = run("check", NO_ANALYSIS, "--max-peak", "1TiB")
    assert (status, "cannot be compared" in text) == (1, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [("(color=0)\nTotal bytes: 1703960", "(color=0)\nTotal bytes: 1703961"), ("Memory Space", "Memory space")],
)
def test_allocations_that_no_total_confirms_are_bounds(tmp_path: Path, old: str, new: str) -> None:
    here = shutil.copytree(NO_ANALYSIS, tmp_path / "dump")
    (usage,) = here.glob("*memory-usage-report.txt")
    usage.write_text(usage.read_text().replace(old, new))
    assert bound_of_reserved(here) is not Bound.EXACT
    usage.unlink()
    assert bound_of_reserved(here) is Bound.AT_LEAST


def test_missing_allocations_are_not_confirmed_by_the_rest(tmp_path: Path) -> None:
    here = shutil.copytree(NO_ANALYSIS, tmp_path / "dump")
    (file,) = here.glob("*-buffer-assignment.txt")
    whole = file.read_text()
    # Cut off before the last allocation.
    file.write_text(whole[: whole.index("allocation 5:")])
    assert bound_of_reserved(here) is not Bound.EXACT
    # One allocation is gone, and another one has its bytes.
    start, end = whole.index("allocation 3:"), whole.index("allocation 4:")
    file.write_text((whole[:start] + whole[end:]).replace("size 24,", "size 131096,", 1))
    assert bound_of_reserved(here) is not Bound.EXACT


@pytest.mark.parametrize("end", ["Used values:\n", " positions:"])
def test_file_that_is_cut_off_behind_the_total_has_exact_allocations(tmp_path: Path, end: str) -> None:
    text = ONE_FILE.read_text()
    (tmp_path / ONE_FILE.name).write_text(text[: text.index(end)])
    found = report(tmp_path)
    assert found["bounds"] == {"instructions": "at_least", "values": "at_least"}
    assert found["printed"]["total_bytes"] == found["reserved_bytes"] == 25760
    (tmp_path / ONE_FILE.name).write_text(text[: text.index("Total bytes used")])
    assert bound_of_reserved(tmp_path) is Bound.AT_LEAST


# ---------------------------------------------------------------- files of several compilations

MIXED = FIELD / "mixed_compilations"


def test_files_of_two_compilations_are_one_finding() -> None:
    status, text, _ = run("check", MIXED)
    assert status == 1
    assert [line.partition(": ")[2] for line in text.splitlines() if not line.startswith(" ")][:-1] == [
        "error[total-mismatch] The list of values and the allocations differ in 6 places. The two files are of "
        "different compilations: copy all files of one compilation."
    ]


def test_allocations_and_usage_report_of_one_compilation_prove_the_needed_bytes(tmp_path: Path) -> None:
    assert "It needs 24.0 KiB of host memory." in run("report", MIXED)[1]
    found = report(MIXED)
    assert found["memory_spaces"][0]["needed_bytes"] == 24576
    assert found["values"] is None
    here = shutil.copytree(MIXED, tmp_path / "dump")
    next(here.glob("*memory-usage-report.txt")).unlink()
    # Now nothing tells which of the files are of one compilation.
    assert report(here)["memory_spaces"][0]["needed_bytes"] is None


# ---------------------------------------------------------------- names

LONG_NAME = FIELD / "long_name"
NAME = f"jit_{'a' * 300}"


def test_name_that_is_too_long_for_a_file_is_in_the_module(tmp_path: Path) -> None:
    assert report(LONG_NAME)["module"] == NAME
    title = run("report", LONG_NAME)[1].splitlines()[0]
    assert title.startswith("jit_aaaa")
    assert len(title) < len(NAME)
    shutil.copytree(LONG_NAME, tmp_path / "long")
    shutil.copytree(NO_ANALYSIS, tmp_path / "short")
    ranked = json.loads(run("report", tmp_path, "--output-format", "json")[1])
    assert sorted(one["module"] for one in ranked) == [NAME, "jit_f"]
    assert "1.63 MiB" not in run("report", tmp_path, "--module", "jit_aa")[1]


def test_modules_with_long_names_are_compared_by_name(tmp_path: Path) -> None:
    for run_, number in (("old", "0000"), ("new", "0004")):
        for path in LONG_NAME.glob("module_*"):
            (tmp_path / run_ / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / run_ / path.parent.name / path.name.replace("0000", number))
        shutil.copytree(NO_ANALYSIS, tmp_path / run_ / "other")
    text = run("diff", tmp_path / "old", tmp_path / "new")[1]
    assert text.startswith("2 modules in both, ")


@pytest.mark.parametrize(
    "stage", ["cl_1014260217.after_optimizations", "sm_9.0a_gpu_after_optimizations", "gfx942_gpu_after_optimizations"]
)
def test_stage_is_not_taken_for_a_name(tmp_path: Path, stage: str) -> None:
    for path in LONG_NAME.glob("module_*.txt"):
        shutil.copy(path, tmp_path / path.name.replace("cpu_after_optimizations", stage))
    assert load(tmp_path).name == NAME
    next(tmp_path.glob("*_optimizations.txt")).unlink()
    assert load(tmp_path).name is None


# ---------------------------------------------------------------- folders without text


PROTOS = "this folder has protocol buffers but no texts, which XLA Lens reads."


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (None, "Run the program again with --xla_dump_hlo_as_text"),
        (
            "xla_dump_hlo_as_proto: true\nxla_dump_hlo_as_dot: true\n",
            "By module_0000.jit_f.debug_options, XLA ran with --xla_dump_hlo_as_proto --xla_dump_hlo_as_dot. Run the "
            "program again with --xla_dump_hlo_as_text",
        ),
        (
            "xla_dump_hlo_as_proto: true\nxla_dump_hlo_as_text: true\n",
            "By module_0000.jit_f.debug_options, XLA wrote texts, too: copy them",
        ),
    ],
)
def test_folder_with_protos_names_the_missing_flag(tmp_path: Path, flags: str | None, why: str) -> None:
    proto = tmp_path / "module_0000.jit_f.cpu_after_optimizations.hlo.pb"
    proto.write_bytes(b"\n\x00")
    if flags:
        (tmp_path / "module_0000.jit_f.debug_options").write_text(flags)
    assert run("report", tmp_path) == (2, "", f"xla-lens: {proto}: {PROTOS} {why}\n")
    assert "--xla_dump_hlo_as_text" in run("report", proto)[2]


# ---------------------------------------------------------------- a memory usage report alone

USAGE = FIELD / "usage_report_alone"


def test_usage_report_alone_bounds_what_the_program_needs() -> None:
    text = run("report", USAGE)[1]
    # Which buffers are thread-local is unknown, so it may be less.
    assert "It needs ≤ 813.86 MiB of HBM." in text
    assert "The peak of HBM is unknown: the buffer assignment is missing" in text
    assert re.search(r"^  VMEM +15\.30 MiB +15\.30 MiB$", text, re.MULTILINE)
    assert len(re.findall(r"^ +195\.31 MiB +HBM +1 +f32\[4000,100,100\]$", text, re.MULTILINE)) == 4
    found = report(USAGE)
    hbm, vmem, _ = found["memory_spaces"]
    assert (hbm["needed_bytes"], hbm["bounds"]["needed_bytes"]) == (853397504, "at_most")
    assert (vmem["needed_bytes"], vmem["bounds"].get("needed_bytes")) == (16039936, None)
    assert hbm["peak_live_bytes"] is None
    assert hbm["parameter_bytes"] is None
    # All that several values take at several offsets is not thread-local: 819,232,768 B and the last 512 B.
    needed = found["usage_report"]["memory_spaces"][0]["needed"]
    assert needed == {"least_bytes": 819233280, "most_bytes": 853397504}


@pytest.mark.parametrize(
    ("limit", "finding"),
    [
        ("853397504", ""),
        ("853397503", "cannot be compared with the limit"),
        ("819233280", "cannot be compared with the limit"),
        ("819233279", "the program needs at least 781.28 MiB (819,233,280 bytes) of HBM, more than the limit of"),
    ],
)
def test_usage_report_alone_is_compared_with_a_limit_as_far_as_it_proves(limit: str, finding: str) -> None:
    status, text, _ = run("check", USAGE, "--max-memory", limit)
    assert status == int(bool(finding))
    assert finding in text


def test_usage_report_with_kinds_has_exact_bytes(tmp_path: Path) -> None:
    # 25,760 B without thread-local allocations, as the allocations beside it say.
    (usage,) = ONE_FILE.parent.glob("module_0001*memory-usage-report.txt")
    shutil.copy(usage, tmp_path)
    expected = report(ONE_FILE)["memory_spaces"][0]
    found = report(tmp_path)
    (space,) = found["memory_spaces"]
    assert space["needed_bytes"] == expected["needed_bytes"] == 25760
    assert "needed_bytes" not in space["bounds"]
    kinds = {
        one["kind"]: (one["least_bytes"], one["most_bytes"])
        for one in found["usage_report"]["memory_spaces"][0]["kinds"]
    }
    least, most = kinds["parameter"]
    assert least <= expected["parameter_bytes"] <= most
    assert run("check", tmp_path, "--max-memory", "25760")[0] == 0
    assert run("check", tmp_path, "--max-memory", "25759")[0] == 1


@pytest.mark.slow
@needs_shared_dumps
def test_usage_reports_bound_the_allocations_of_all_dumps() -> None:
    count = 0
    for usage in sorted(SHARED_DUMPS.rglob("*-memory-usage-report.txt")):
        assignment = usage.with_name(usage.name.replace("memory-usage-report", "buffer-assignment"))
        if not assignment.exists() or "mixed_compilations" in str(usage):
            continue
        whole, alone = (
            load_set(SetFiles(path, {kind: path}), {}, {})[1]
            for path, kind in ((assignment, FileKind.BUFFER_ASSIGNMENT), (usage, FileKind.MEMORY_USAGE_REPORT))
        )
        spaces = {space.color: space for space in reported_spaces(alone.dump)}
        for one in (part for space in whole.memory.spaces for part in space.colors):
            reserved, needed, _ = spaces[one.color][1:]
            assert reserved.least <= one.reserved_bytes <= reserved.most, usage
            assert needed.least <= one.needed_bytes <= needed.most, usage
            count += 1
    assert count > 700


def test_damaged_usage_reports_are_no_error(tmp_path: Path) -> None:
    (usage,) = USAGE.glob("*")
    text = usage.read_text()
    chance = random.Random(0)
    for _ in range(200):
        start, end = sorted(chance.randrange(len(text)) for _ in range(2))
        edits = text[:end], text[:start] + text[end:], text[:start] + text[start:end].replace(";", "", 3) + text[end:]
        (tmp_path / usage.name).write_text(chance.choice(edits))
        # The command waits for a recent file, which XLA may still be writing.
        os.utime(tmp_path / usage.name, (1, 1))
        status, _, error = run("report", tmp_path)
        assert status in (0, 1, 2), error


# ---------------------------------------------------------------- flags that leave something out


def test_flag_that_leaves_out_values_and_live_ranges_is_named() -> None:
    flag = "--xla_dump_buffer_assignment_analysis=false"
    assert f"the list of values is missing; XLA ran with {flag}" in run("report", NO_ANALYSIS)[1]
    gaps = report(NO_ANALYSIS)["incomplete"]
    assert {(gap["file"], gap["flag"]) for gap in gaps} == {("values", flag), ("live-range", flag)}


def test_flag_that_leaves_out_source_lines_is_named(tmp_path: Path) -> None:
    here = shutil.copytree(FIELD / "no_metadata", tmp_path / "dump")
    flag = "--xla_dump_disable_metadata=true"
    text = "32.0 KiB have a source line that the dump does not contain: XLA ran with {}."
    assert text.format(flag) in run("report", here)[1]
    assert report(here, "--part", "line")["memory_spaces"][0]["lines"]["left_out_by"] == flag
    next(here.glob("*.debug_options")).unlink()
    assert "the HLO module contains, and that file is missing or lacks the line." in run("report", here)[1]
    assert report(here, "--part", "line")["memory_spaces"][0]["lines"]["left_out_by"] is None
