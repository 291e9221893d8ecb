"""Which dumps a command reads: any number of paths, standard input, compressed files, each set once."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commands import run
from samples import DUMPS, GLUED, SEED, SPLIT, TPU, fact_of, space_facts
from xla_lens.disk.sets import cached_modules, find_sets

FOLDER = SPLIT.parent
SET = sorted(FOLDER.glob("module_0000*"))


def _reports(*paths: object) -> Any:
    status, out, err = run("report", *paths, "--part", "peak", "--output-format", "json")
    assert (status, err) == (0, "")
    return json.loads(out)


def _peaks(reports: Any) -> list[list[int | None]]:
    return [[space["peak_live_bytes"] for space in report["memory_spaces"]] for report in reports]


def _expected_peaks(path: Path) -> list[int | None]:
    return [space["peak_live_bytes"] for space in space_facts(fact_of(path))]


def _feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def _compressed(folder: Path, files: Sequence[Path]) -> list[Path]:
    paths = [folder / f"{file.name}.gz" for file in files]
    for file, path in zip(files, paths, strict=True):
        path.write_bytes(gzip.compress(file.read_bytes()))
    return paths


def test_a_set_counts_once_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    (tmp_path / "link").symlink_to(FOLDER)
    for paths in (SET, [SPLIT, FOLDER], [Path(SPLIT.name), SPLIT], [FOLDER, FOLDER / ".." / FOLDER.name, "."]):
        assert len(_reports(*paths)) == 1
    assert len(_reports(SPLIT, tmp_path / "link" / SPLIT.name)) == 1
    assert len(_reports(DUMPS, FOLDER, SEED)) == len(find_sets(DUMPS))
    assert run("check", *SET, FOLDER)[1].endswith("\n1 dump checked: 1 information\n")


def test_files_that_a_glob_adds_are_skipped(tmp_path: Path) -> None:
    for file in SET:
        shutil.copy(file, tmp_path)
    module = tmp_path / "module_0000.jit_train_step.before_optimizations.txt"
    module.write_text("HloModule jit_train_step\n")
    status, out, err = run("check", *sorted(tmp_path.iterdir()))
    assert (status, out.splitlines()[-1]) == (0, "1 dump checked: 1 information")
    assert err == f"xla-lens: skipped {module}: this HLO module has no *-buffer-assignment.txt file beside it\n"
    (tmp_path / "a.dot").write_text("digraph {}\n")
    (tmp_path / "z.html").write_text("<html>\n")
    status, out, err = run("check", *sorted(tmp_path.iterdir()))
    assert (status, out.splitlines()[-1]) == (0, "1 dump checked: 1 information")
    assert err.startswith(f"xla-lens: skipped {tmp_path}/a.dot: not an XLA dump.")
    assert err.endswith(", and 2 more files that are part of no dump\n")


# ---------------------------------------------------------------- standard input


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, compress: Any) -> None:
    _feed(monkeypatch, compress(SEED.read_bytes()))
    (report,) = reports = _reports("-", "-")
    assert _peaks(reports) == [_expected_peaks(SEED)]
    assert report["files"] == {"buffer-assignment": "<stdin>"}
    _feed(monkeypatch, compress(SEED.read_bytes().replace(b"Total bytes used: 593928", b"Total bytes used: 1")))
    status, out, _ = run("check", "-")
    assert status == 1
    assert out.startswith("<stdin>:14:1: error[total-mismatch] The printed total is 1 byte")


def test_standard_input_holds_all_files_of_a_set_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `cat dumps/module_0000*` prints them."""
    texts = [file.read_bytes() for file in SET if not file.name.endswith("_optimizations.txt")]
    assert len(texts) == 4
    _feed(monkeypatch, b"".join(texts))
    assert _peaks(_reports("-")) == [_expected_peaks(SPLIT)]


def _printed(*folders: Path) -> bytes:
    """What XLA prints with `--xla_dump_to=-` (DumpToFileInDirOrStdoutImpl)."""
    text = "compiling...\n" * 5
    for file in (file for folder in folders for file in sorted(folder.glob("module_*.txt"))):
        text += f"*** Begin {file.name} ***\n{file.read_text()}\n*** End {file.name} ***\n"
    return text.encode()


_FOLDERS = (FOLDER, GLUED.parent, TPU.parent)


def test_output_of_xla_holds_all_of_its_modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = _reports(*_FOLDERS)
    assert len(expected) >= 5
    log = tmp_path / "train.log"
    log.write_bytes(_printed(*_FOLDERS))
    _feed(monkeypatch, log.read_bytes())
    for given, label in ((log, str(log)), ("-", "<stdin>")):
        reports = _reports(given)
        assert _peaks(reports) == _peaks(expected)
        assert [[*report["files"]] for report in reports] == [[*report["files"]] for report in expected]
        assert all(path.startswith(f"{label}/module_") for report in reports for path in report["files"].values())
    # The HLO module is there, which has the source lines.
    options = ("--all", "--part", "line", "--output-format", "json")
    printed, written = (json.loads(run("report", *paths, *options)[1]) for paths in ((log,), _FOLDERS))
    for one, other in zip(printed, written, strict=True):
        assert one | {"files": {}, "findings": []} == other | {"files": {}, "findings": []}


def test_output_of_two_runs_holds_both(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(_printed(FOLDER) + _printed(FOLDER))
    one, both = _reports(FOLDER), _reports(log)
    assert _peaks(both) == sorted(2 * _peaks(one), reverse=True)
    assert {Path(report["files"]["live-range"]).parent.name for report in both} == {"train.log", "train.log (2)"}


def test_findings_in_output_of_xla_name_the_printed_file(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    printed = _printed(FOLDER, GLUED.parent)
    assert run("check", "--select", "total-mismatch", FOLDER, log)[0] == 2
    log.write_bytes(printed.replace(b"Total bytes used: ", b"Total bytes used: 1"))
    status, out, _ = run("check", "--select", "total-mismatch", log)
    totals = {f"{log}/{path.name}" for path in (*FOLDER.glob("*-values.txt"), *GLUED.parent.glob("*-assignment.txt"))}
    assert status == 1
    assert {line.partition(":")[0] for line in out.splitlines()[:-1]} == totals


def test_folder_for_each_module_and_process(tmp_path: Path) -> None:
    """`--xla_dump_hlo_to_subfolder` writes to DIR/MODULE/HOST_PID/."""
    for process in ("host_12", "host_345"):
        for file in FOLDER.glob("module_*.txt"):
            folder = tmp_path / file.name.split(".")[1] / process
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder)
    reports = _reports(tmp_path)
    assert _peaks(reports) == sorted(2 * _peaks(_reports(FOLDER)), reverse=True)
    assert {Path(report["files"]["hlo"]).parent.name for report in reports} == {"host_12", "host_345"}


def test_module_from_the_compilation_cache_is_named(tmp_path: Path) -> None:
    """XLA writes these two files for a program that comes from JAX's compilation cache."""
    module = tmp_path / "module_0008.jit_train_step.after_optimizations.txt"
    shutil.copy(next(file for file in SET if file.name.endswith("_optimizations.txt")), module)
    (tmp_path / "module_0008.jit_train_step.debug_options").touch()
    for given in (tmp_path, module):
        status, out, err = run("report", given)
        assert (status, out) == (2, "")
        assert err.startswith(f"xla-lens: {module}: loaded from JAX's compilation cache.")
        assert err.endswith("Run the program again with JAX_ENABLE_COMPILATION_CACHE=false\n")
    assert cached_modules(tmp_path) == [module]
    # Older releases of XLA have no prefix of the backend, and write this file only when they compile.
    (tmp_path / "module_0008.jit_train_step.before_optimizations.txt").touch()
    assert cached_modules(tmp_path) == []
    assert "has no *-buffer-assignment.txt file beside it" in run("report", module)[2]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "<stdin>: not an XLA dump"),
        (b"hello\n", "<stdin>: not an XLA dump"),
        (b"HloModule jit_f\n", "<stdin>: an HLO module"),
        (gzip.compress(SEED.read_bytes())[:200], "-: cannot be decompressed"),
    ],
)
def test_standard_input_without_a_dump_is_an_error(monkeypatch: pytest.MonkeyPatch, data: bytes, problem: str) -> None:
    _feed(monkeypatch, data)
    status, out, err = run("report", "-")
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens: {problem}")
    assert len(err.splitlines()) == 1


def test_closed_standard_input_is_an_error() -> None:
    command = f"{sys.executable} -m xla_lens check - <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "xla-lens: -: standard input is closed. Pipe a dump into it, or name a file\n"


# ---------------------------------------------------------------- compressed files


def test_compressed_sets_have_the_same_report(tmp_path: Path) -> None:
    paths = _compressed(tmp_path, SET)
    options = ("--part", "line,peak,live", "--output-format", "json")
    (expected,) = json.loads(run("report", SPLIT, *options)[1])
    for given in ([tmp_path], [paths[0]], paths):
        (report,) = json.loads(run("report", *given, *options)[1])
        assert {kind: path.removesuffix(".gz") for kind, path in report["files"].items()} == {
            kind: f"{tmp_path}/{Path(path).name}" for kind, path in expected["files"].items()
        }
        # Files and findings name the files.
        assert report | {"files": {}, "findings": []} == expected | {"files": {}, "findings": []}
        assert [one["code"] for one in report["findings"]] == [one["code"] for one in expected["findings"]]


def test_zstd_is_read_where_python_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if sys.version_info >= (3, 14):
        from compression import zstd

        for file in SET:
            (tmp_path / f"{file.name}.zst").write_bytes(zstd.compress(file.read_bytes()))
        assert _peaks(_reports(tmp_path)) == [_expected_peaks(SPLIT)]
        _feed(monkeypatch, zstd.compress(SEED.read_bytes()))
        assert _peaks(_reports("-")) == [_expected_peaks(SEED)]
        path = tmp_path / f"{SPLIT.name}.zst"
        whole = path.read_bytes()
        # Without a checksum, zstd does not notice other bytes.
        for data in (whole[:-9], whole[: len(whole) // 2], b"hello\n"):
            path.write_bytes(data)
            status, _, err = run("report", tmp_path)
            assert (status, len(err.splitlines())) == (2, 1)
            assert err.startswith(
                f"xla-lens: {path}: cannot be decompressed; it is cut off, damaged or not made by zstd"
            )
    else:
        path = tmp_path / f"{SPLIT.name}.zst"
        path.write_bytes(b"\x28\xb5\x2f\xfd")
        problem = "cannot be decompressed: zstd needs Python 3.14 or later. Decompress it first, with zstd -d"
        for given in (tmp_path, path):
            assert run("report", given) == (2, "", f"xla-lens: {path}: {problem}\n")
