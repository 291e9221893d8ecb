"""`xla-lens diff`: what it prints in each format, how it pairs the modules of folders, and its exit status."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commands import printed, run
from samples import DUMPS, ROOT, SHARED_DUMPS, SPLIT, TPU, fact_of, needs_shared_dumps

SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "diff.schema.json").read_text(encoding="utf-8")))

OLD = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt"))
NEW = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/*jit_f.*-buffer-assignment.txt"))
NO_LIVE_RANGES = next(DUMPS.glob("cpu-tf2.5.3/while/*-buffer-assignment.txt"))


def _data(*arguments: object) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads(printed("diff", *arguments, "--output-format", "json"))
    SCHEMA.validate(data)
    return data


def test_peak_without_live_ranges_is_unknown() -> None:
    new = next(DUMPS.glob("cpu-tf2.8.4/while/*-buffer-assignment.txt"))
    text = printed("diff", NO_LIVE_RANGES, new)
    assert "host memory peak unknown → 3.0 KiB" in text.splitlines()[0]
    assert "no live ranges" in text.splitlines()[1]
    (data,) = _data(NO_LIVE_RANGES, new)
    assert data["memory_spaces"][0]["peak_live_bytes"] is None
    assert data["memory_spaces"][0]["breakdowns"] is None
    assert data["memory_spaces"][0]["reserved_bytes"] == {"old": 3104, "new": fact_of(new)["reserved_bytes"]}
    assert data["values"]["moved"] == 0


def test_other_flags_come_first(tmp_path: Path) -> None:
    """Those about dumps do not count, and neither do equal ones."""
    flags = {
        "old": 'xla_cpu_enable_fast_min_max: false\nxla_dump_to: "/a"\n',
        "new": 'xla_cpu_enable_fast_min_max: false\nxla_dump_to: "/b"\nxla_backend_optimization_level: 0\n'
        'xla_backend_extra_options {\n  key: "xla_cpu_use_x"\n  value: "1"\n}\n',
    }
    for side, text in flags.items():
        shutil.copytree(NEW.parent, tmp_path / side)
        (tmp_path / side / f"{NEW.name.partition('cpu_after')[0]}debug_options").write_text(text)
    sides = [tmp_path / side / NEW.name for side in flags]
    lines = printed("diff", *sides).splitlines()
    assert lines[1] == "  Flags: xla_backend_optimization_level default → 0, xla_cpu_use_x default → 1."
    assert _data(*sides[::-1])[0]["warnings"] == [
        "Flags: xla_backend_optimization_level 0 → default, xla_cpu_use_x 1 → default."
    ]
    assert "Flags" not in printed("diff", sides[0], sides[0])
    # Without those of one side, nothing is known.
    assert "Flags" not in printed("diff", NEW, sides[1])


@needs_shared_dumps
@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (
            "cpu-vit/default",
            "cpu-vit/ynn_off",
            "Fusions: YNNPACK executes none now, 130 before (xla_cpu_experimental_ynn_fusion_type).",
        ),
        (
            "cpu-vit/ynn_off",
            "cpu-vit/default",
            "Fusions: YNNPACK executes 130 fusions now, none before (xla_cpu_experimental_ynn_fusion_type).",
        ),
        (
            "gpu-fsdp/default",
            "gpu-fsdp/no_latency_hiding",
            "Flags: xla_gpu_enable_latency_hiding_scheduler default → false.",
        ),
        ("gpu-fsdp/default", "gpu-fsdp/device_of_100_MiB", "Device: memory 79.11 GiB → 100.00 MiB."),
        ("tpu-gpt/default", "tpu-gpt/max_hbm_1300", "Flags: xla_tpu_max_hbm_size_mib 0 → 1300."),
        ("tpu-gpt/max_hbm_1300", "tpu-gpt/default", "Flags: xla_tpu_max_hbm_size_mib 1300 → 0."),
    ],
)
def test_flag_or_device_is_the_first_cause(old: str, new: str, cause: str) -> None:
    lines = printed("diff", *(SHARED_DUMPS / "flags" / side for side in (old, new))).splitlines()
    assert lines[1] == f"  {cause}"


@pytest.mark.parametrize(("folder", "file"), [(TPU, "tpu_comp_env.txt"), (NEW, "compile_options.textproto")])
def test_every_file_with_flags_is_found(tmp_path: Path, folder: Path, file: str) -> None:
    """On TPUs, their names contain the changelist of libtpu; some are in a folder of the module."""
    prefix = re.sub(r"(cpu_)?after_optimizations.*", "", folder.name)
    texts = {
        "tpu_comp_env.txt": (
            "# xla_tpu_a in the current tpu_comp_env has a non-default value. Default flag value: 1\nxla_tpu_a: 2\n",
            "xla_tpu_a: 1\n",
            "Flags: xla_tpu_a 2 → 1.",
        ),
        "compile_options.textproto": (
            "executable_build_options { debug_options { xla_a: x xla_a: y } }",
            "executable_build_options { debug_options { } }",
            "Flags: xla_a x, y → default.",
        ),
    }
    *sides, cause = texts[file]
    for side, text in zip(("old", "new"), sides, strict=True):
        shutil.copytree(folder.parent, tmp_path / side)
        path = tmp_path / side / (f"{prefix.rstrip('.')}/{file}" if file.endswith("proto") else f"{prefix}{file}")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert printed("diff", *(tmp_path / side / folder.name for side in ("old", "new"))).splitlines()[1] == f"  {cause}"


def test_another_chip_is_named(tmp_path: Path) -> None:
    """Everything else differs, too, and is left out."""
    prefix = TPU.name.partition("after_optimizations")[0]
    text = 'tpu_topology_args {{ version: TPU_VERSION_VIPERFISH variant: "{}" host_bounds {{ x: {} }} }}'
    for side, values in (("old", ("lite", 1)), ("new", ("", 2)), ("larger", ("", 4))):
        shutil.copytree(TPU.parent, tmp_path / side)
        (tmp_path / side / f"{prefix}target_arguments.txt").write_text(text.format(*values))
    old, new, larger = (tmp_path / side / TPU.name for side in ("old", "new", "larger"))
    assert printed("diff", old, new).splitlines()[1] == "  Device: TPU v5e → TPU v5p."
    assert printed("diff", new, larger).splitlines()[1] == "  Device: host_bounds.x 2 → 4."


def test_other_release_of_libtpu_is_named(tmp_path: Path) -> None:
    number = re.search(r"\.cl_(\d+)\.", TPU.name)
    assert number
    for path in TPU.parent.iterdir():
        shutil.copy(path, tmp_path / path.name.replace(number[0], ".cl_7."))
    other = tmp_path / TPU.name.replace(number[0], ".cl_7.")
    lines = printed("diff", other, TPU).splitlines()
    assert lines[1] == f"  Compiler: libtpu of changelist 7 before, {number[1]} now."
    assert "Compiler" not in printed("diff", TPU, TPU)


def test_parts_and_top_limit_json() -> None:
    (data,) = _data(OLD, NEW, "--part", "group,values", "--top", "2")
    assert [*data["memory_spaces"][0]["breakdowns"]] == ["group"]
    assert len(data["memory_spaces"][0]["breakdowns"]["group"]) == len(data["values"]["changes"]) == 2
    assert "padding_bytes" not in data["memory_spaces"][0]


# ---------------------------------------------------------------- folders


def test_modules_of_one_folder_only_are_listed(tmp_path: Path) -> None:
    shutil.copytree(OLD.parent, tmp_path / "old")
    for file in (tmp_path / "old").glob("*jit_swap*"):
        file.unlink()
    shutil.copytree(OLD.parent, tmp_path / "new")
    for file in (tmp_path / "new").glob("*jit_same*"):
        file.unlink()
    text = printed("diff", tmp_path / "old", tmp_path / "new")
    assert "2 modules in both, 0 changed" in text
    assert "1 module only in the old dumps\n  module_0003.jit_same" in text
    assert "1 module only in the new dumps\n  module_0002.jit_swap" in text
    data = _data(tmp_path / "old", tmp_path / "new")
    assert [one["module"] for one in data if one["new"] is None] == ["jit_same"]
    assert [one["module"] for one in data if one["old"] is None] == ["jit_swap"]


def test_modules_of_one_name_are_paired_by_their_parameters(tmp_path: Path) -> None:
    """Both modules are called `jit_f`; in the new folder, they are numbered the other way round."""
    other = next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/module_0000.jit_f.*-buffer-assignment.txt"))
    numbers = {("old", OLD): "module_0000", ("old", other): "module_0001"}
    numbers |= {("new", OLD): "module_0001", ("new", other): "module_0000"}
    for (side, path), number in numbers.items():
        folder = tmp_path / side
        folder.mkdir(exist_ok=True)
        stem = path.name.removesuffix("-buffer-assignment.txt")
        for file in path.parent.glob(f"{stem}*"):
            shutil.copy(file, folder / file.name.replace("module_0000", number))
    for one in _data(tmp_path / "old", tmp_path / "new"):
        assert one["is_unchanged"]


def test_single_modules_of_two_folders_are_paired_whatever_their_names() -> None:
    (data,) = _data(DUMPS / "cpu-tf2.16.2", DUMPS / "cpu-tf2.8.4")
    assert data["old"]["module"] != data["new"]["module"]


# ---------------------------------------------------------------- several runs


def test_several_runs_name_modules_that_are_not_in_all() -> None:
    text = printed("diff", OLD.parent, NEW.parent, OLD.parent)
    assert "  2 more modules with the same sizes in all runs.\n" in text
    text = printed("diff", OLD.parent, NEW, OLD.parent)
    assert re.search(rf"not there +{re.escape(NEW.as_posix())}", text)
    error = "xla-lens: limits compare two dumps, OLD and NEW; give no other\n"
    assert run("diff", OLD, NEW, OLD, "--max-peak-increase", "1%") == (2, "", error)


def test_a_folder_of_runs_stands_for_its_folders(tmp_path: Path) -> None:
    runs = [tmp_path / "runs" / name for name in ("train-1", "train-2", "train-3")]
    for path, source in zip(runs, (OLD, NEW, OLD), strict=True):
        shutil.copytree(source.parent, path / "process-1")
    assert printed("diff", tmp_path / "runs") == printed("diff", *runs)
    shutil.rmtree(runs[1])
    assert printed("diff", tmp_path / "runs") == printed("diff", runs[0], runs[2])
    for path, reason in ((runs[0], "not two folders with dumps in it"), (OLD, "not a folder of runs")):
        advice = "Give OLD and NEW, or a folder of runs"
        assert run("diff", path) == (2, "", f"xla-lens: {path}: {reason}. {advice}\n")


# ---------------------------------------------------------------- limits


def test_limits_hold_for_all_modules_of_folders() -> None:
    status, out, err = run("diff", OLD.parent, NEW.parent, "--max-peak-increase", "0", "--output-format", "json")
    SCHEMA.validate(json.loads(out))
    assert (status, err.count("\n")) == (1, 1)


# ---------------------------------------------------------------- baselines


def _baseline(tmp_path: Path, *arguments: object) -> Path:
    """The JSON report of a dump, in a file."""
    path = tmp_path / "baseline.json"
    path.write_text(run("report", *arguments, "--output-format", "json")[1], encoding="utf-8")
    return path


@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), (SPLIT, OLD), (TPU, SPLIT), (SPLIT, SPLIT)], ids=str)
def test_report_of_a_dump_gives_the_same_breakdowns_as_the_dump(tmp_path: Path, old: Path, new: Path) -> None:
    (of_report,) = _data(_baseline(tmp_path, old), new)
    (of_dump,) = _data(old, new)
    for one, other in zip(of_report["memory_spaces"], of_dump["memory_spaces"], strict=True):
        assert one["breakdowns"] == other["breakdowns"]
        for key in ("color", "peak_live_bytes", "peak_step", "reserved_bytes"):
            assert one[key] == other[key]
    assert of_report["values"] is None


def test_report_as_old_side_has_the_same_first_lines(tmp_path: Path) -> None:
    baseline = _baseline(tmp_path, OLD)
    text = printed("diff", baseline, NEW)
    assert text.splitlines()[:4] == printed("diff", OLD, NEW).splitlines()[:4]
    assert f"  old        baseline.json in {tmp_path.as_posix()}" in text
    assert "Values" not in text
    status, _, err = run("diff", baseline, NEW, "--max-peak-increase", "199")
    assert status == 1
    assert "grew by +200 B" in err


def test_line_that_moved_and_grew_is_one_row(tmp_path: Path) -> None:
    """The line has three buffers more than before, so nothing shows by itself which line it was."""
    (data,) = _data(_baseline(tmp_path, OLD), NEW)
    rows = data["memory_spaces"][0]["breakdowns"]["line"]
    (grown,) = (row for row in rows if row["key"] and not row["key"].startswith("parameters "))
    text = NEW.read_text().replace("source_line=277", "source_line=281")
    other = tmp_path / NEW.name
    other.write_text(text)
    # The copies have the line of what they copy, which only the module tells.
    module = NEW.with_name(NEW.name.replace("-buffer-assignment", ""))
    (tmp_path / module.name).write_text(module.read_text().replace("source_line=277", "source_line=281"))
    (data,) = _data(_baseline(tmp_path, OLD), other)
    (row,) = (row for row in data["memory_spaces"][0]["breakdowns"]["line"] if row["key"])
    assert row == grown | {"key": grown["key"].replace(":277", ":281")}


def test_html_page_has_both_maps_and_of_folders_the_module_that_changed_most(tmp_path: Path) -> None:
    page = printed("diff", OLD, NEW, "--output-format", "html")
    assert page.startswith("<!DOCTYPE html>\n")
    assert (
        "<h1><code>jit_f</code>: host memory peak 24.9 KiB → 25.1 KiB, +200 B (+0.8 %); needs 25.2 KiB as before</h1>"
        in page
    )
    assert page.count('type="application/octet-stream;base64,gzip"') == 1
    folders = printed("diff", OLD.parent, NEW.parent, "--output-format", "html")
    assert "<h1>4 modules in both, 2 changed</h1>" in folders
    assert folders[folders.index("<h1><code>jit_f") :] == page[page.index("<h1><code>jit_f") :]
    # A report has no values to draw.
    baseline = printed("diff", _baseline(tmp_path, OLD), NEW, "--output-format", "html")
    assert "+200 B (+0.8 %); needs 25.2 KiB as before</h1>" in baseline
    assert "<script" not in baseline


def test_limited_report_has_only_totals(tmp_path: Path) -> None:
    (data,) = _data(_baseline(tmp_path, SPLIT, "--top", "1", "--part", "live,source"), SPLIT)
    (space,) = data["memory_spaces"]
    assert space["peak_live_bytes"]["old"] == space["peak_live_bytes"]["new"]
    assert space["breakdowns"] == {}


def test_report_of_a_dump_that_is_cut_off_has_no_exact_peak(tmp_path: Path) -> None:
    text = OLD.read_bytes()
    cut = tmp_path / OLD.name
    cut.write_bytes(text[: text.index(b"BufferLiveRange") + 60])
    (data,) = _data(_baseline(tmp_path, cut), NEW)
    assert data["memory_spaces"][0]["peak_live_bytes"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "contains no dumps"),
        ("{}", "contains no dumps"),
        ("3", "not a report"),
        ("[1]", "not a report"),
        ('[{"module": "jit_f"}]', "not a report"),
        ('[{"module": null, "files": {}, "memory_spaces": [{"color": 0}]}]', "not a report"),
    ],
)
def test_json_that_is_no_report_is_one_line_and_status_2(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    status, _, err = run("diff", tmp_path / "bad.json", NEW)
    assert (status, err.count("\n")) == (2, 1)
    assert message in err


# ---------------------------------------------------------------- bad input


def test_report_can_only_be_the_old_side(tmp_path: Path) -> None:
    baseline = _baseline(tmp_path, OLD)
    error = f"xla-lens: {baseline}: only OLD, the first argument, can be a report. Expected a dump\n"
    assert run("diff", NEW, baseline) == (2, "", error)
