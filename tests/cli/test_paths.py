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

from samples import DUMPS, SEED, SPLIT, facts
from xla_lens.cli.main import main
from xla_lens.files import find_sets

FOLDER = SPLIT.parent
SET = sorted(FOLDER.glob("module_0000*"))


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def _reports(capsys: pytest.CaptureFixture[str], *paths: object) -> Any:
    status, out, err = _run(capsys, "report", *paths, "--part", "peak", "--output-format", "json")
    assert (status, err) == (0, "")
    return json.loads(out)


def _peaks(reports: Any) -> list[list[int | None]]:
    return [[space["peak_live_bytes"] for space in report["memory_spaces"]] for report in reports]


def _expected_peaks(path: Path) -> list[int | None]:
    (fact,) = (fact for fact in facts(DUMPS) if DUMPS / fact["file"] == path)
    return [space["peak_live_bytes"] for space in fact["memory_spaces"]]


def _feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def _compressed(folder: Path, files: Sequence[Path]) -> list[Path]:
    paths = [folder / f"{file.name}.gz" for file in files]
    for file, path in zip(files, paths, strict=True):
        path.write_bytes(gzip.compress(file.read_bytes()))
    return paths


def test_several_paths_are_ranked_whatever_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert _peaks(_reports(capsys, SPLIT, SEED)) == [_expected_peaks(SPLIT), _expected_peaks(SEED)]
    assert _peaks(_reports(capsys, SEED, SPLIT)) == [_expected_peaks(SPLIT), _expected_peaks(SEED)]


def test_a_set_counts_once_however_it_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    (tmp_path / "link").symlink_to(FOLDER)
    for paths in (SET, [SPLIT, FOLDER], [Path(SPLIT.name), SPLIT], [FOLDER, FOLDER / ".." / FOLDER.name, "."]):
        assert len(_reports(capsys, *paths)) == 1
    assert len(_reports(capsys, SPLIT, tmp_path / "link" / SPLIT.name)) == 1
    assert len(_reports(capsys, DUMPS, FOLDER, SEED)) == len(find_sets(DUMPS))
    assert _run(capsys, "check", *SET, FOLDER)[1].endswith("\n1 dump checked: 1 information\n")


def test_files_that_a_glob_adds_are_skipped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for file in SET:
        shutil.copy(file, tmp_path)
    module = tmp_path / "module_0000.jit_train_step.before_optimizations.txt"
    module.write_text("HloModule jit_train_step\n")
    status, out, err = _run(capsys, "check", *sorted(tmp_path.iterdir()))
    assert (status, out.splitlines()[-1]) == (0, "1 dump checked: 1 information")
    assert err == f"xla-lens: skipped {module}: this HLO module has no *-buffer-assignment.txt file beside it\n"
    (tmp_path / "a.dot").write_text("digraph {}\n")
    (tmp_path / "z.html").write_text("<html>\n")
    status, out, err = _run(capsys, "check", *sorted(tmp_path.iterdir()))
    assert (status, out.splitlines()[-1]) == (0, "1 dump checked: 1 information")
    assert err.startswith(f"xla-lens: skipped {tmp_path}/a.dot: not an XLA dump.")
    assert err.endswith(", and 2 more files that are part of no dump\n")


@pytest.mark.parametrize("command", ["report", "check"])
def test_a_path_that_cannot_be_read_is_an_error_among_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    nothing, empty = tmp_path / "nothing.txt", tmp_path / "empty"
    empty.mkdir()
    status, out, err = _run(capsys, command, SPLIT, nothing)
    assert (status, out, err) == (2, "", f"xla-lens: {nothing}: cannot be read: No such file or directory\n")
    status, out, err = _run(capsys, command, SPLIT, empty)
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens: {empty}: this folder contains no dumps.")
    notes = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path in notes:
        path.write_text("hello\n")
    status, out, err = _run(capsys, command, *notes)
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens: {notes[0]}: not an XLA dump.")
    assert len(err.splitlines()) == 1


# ---------------------------------------------------------------- standard input


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_dash_is_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, compress: Any
) -> None:
    _feed(monkeypatch, compress(SEED.read_bytes()))
    (report,) = reports = _reports(capsys, "-", "-")
    assert _peaks(reports) == [_expected_peaks(SEED)]
    assert report["files"] == {"buffer-assignment": "<stdin>"}
    _feed(monkeypatch, compress(SEED.read_bytes().replace(b"Total bytes used: 593928", b"Total bytes used: 1")))
    status, out, _ = _run(capsys, "check", "-")
    assert status == 1
    assert out.startswith("<stdin>:14:1: error[total-mismatch] The printed total is 1 byte")


def test_standard_input_holds_all_files_of_a_set_one_after_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `cat dumps/module_0000*` prints them."""
    texts = [file.read_bytes() for file in SET if not file.name.endswith("_optimizations.txt")]
    assert len(texts) == 4
    _feed(monkeypatch, b"".join(texts))
    assert _peaks(_reports(capsys, "-")) == [_expected_peaks(SPLIT)]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "<stdin>: not an XLA dump"),
        (b"hello\n", "<stdin>: not an XLA dump"),
        (b"HloModule jit_f\n", "<stdin>: an HLO module"),
        (gzip.compress(SEED.read_bytes())[:200], "-: standard input cannot be decompressed"),
    ],
)
def test_standard_input_without_a_dump_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: bytes, problem: str
) -> None:
    _feed(monkeypatch, data)
    status, out, err = _run(capsys, "report", "-")
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens: {problem}")
    assert len(err.splitlines()) == 1


def test_closed_standard_input_is_an_error() -> None:
    command = f"{sys.executable} -m xla_lens check - <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "xla-lens: -: standard input is closed. Pipe a dump into it, or name a file\n"


# ---------------------------------------------------------------- compressed files


def test_compressed_sets_have_the_same_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = _compressed(tmp_path, SET)
    options = ("--part", "line,peak,live", "--output-format", "json")
    (expected,) = json.loads(_run(capsys, "report", SPLIT, *options)[1])
    for given in ([tmp_path], [paths[0]], paths):
        (report,) = json.loads(_run(capsys, "report", *given, *options)[1])
        assert {kind: path.removesuffix(".gz") for kind, path in report["files"].items()} == {
            kind: f"{tmp_path}/{Path(path).name}" for kind, path in expected["files"].items()
        }
        # Files and findings name the files.
        assert report | {"files": {}, "findings": []} == expected | {"files": {}, "findings": []}
        assert [one["code"] for one in report["findings"]] == [one["code"] for one in expected["findings"]]


def test_a_set_that_is_there_compressed_and_uncompressed_counts_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    paths = _compressed(tmp_path, SET)
    shutil.copy(SPLIT, tmp_path)
    (report,) = _reports(capsys, tmp_path, *paths, tmp_path / SPLIT.name)
    assert report["files"]["buffer-assignment"] == f"{tmp_path}/{SPLIT.name}"
    assert report["files"]["live-range"].endswith("-live-range.txt.gz")
    assert _peaks([report]) == [_expected_peaks(SPLIT)]


@pytest.mark.parametrize("command", ["report", "check"])
def test_damaged_compressed_files_are_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    paths = _compressed(tmp_path, SET)
    live = next(path for path in paths if "live-range" in path.name)
    whole = live.read_bytes()
    for data in (whole[:-9], whole[: len(whole) // 2], whole[:300] + b"\xff" * 50 + whole[350:], b"hello\n"):
        live.write_bytes(data)
        for given in (tmp_path, paths[0], live):
            status, _, err = _run(capsys, command, given)
            assert status == 2
            assert err == f"xla-lens: {live}: cannot be decompressed; it is cut off, damaged or not made by gzip\n"
