"""Files that block, never end, unpack to gigabytes or cannot be read, beside healthy dumps. The memory is limited, and
the deadline is that of all tests.
"""

import gzip
import json
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from cli.test_schema import validator
from commands import run
from samples import SEED, SPLIT, TPU_LOG
from xla_lens.disk.sets import find_sets, walk_sets

_MEMORY = 1 << 30
"""Bytes of address space that a test may take."""

_DAMAGED = "cannot be decompressed; it is cut off, damaged or not made by gzip"
_FORMATS = ("text", "markdown", "json", "html")
_NAME = "module_{:04}.jit_{}.cpu_after_optimizations-buffer-assignment.txt"


@pytest.fixture(autouse=True)
def _limited() -> Iterator[None]:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


def _bomb(path: Path, size_bytes: int, *, is_one_member: bool = True) -> Path:
    """A compressed dump of a few megabytes at most that unpacks to `size_bytes`."""
    start, block = b"BufferAssignment:\n", b"\n" * (1 << 20)
    count = size_bytes // len(block) + 1
    if not is_one_member:
        path.write_bytes(gzip.compress(start) + gzip.compress(block) * count)
        return path
    # Compressing each of the equal blocks would take longer than the tests.
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH) for part in (start, block)]
    checksum = zlib.crc32(start)
    for _ in range(count):
        checksum = zlib.crc32(block, checksum)
    size = (len(start) + count * len(block)) & 0xFFFFFFFF
    head, end = b"\x1f\x8b\x08" + bytes(6) + b"\xff", packer.flush() + struct.pack("<II", checksum, size)
    path.write_bytes(head + parts[0] + parts[1] * count + end)
    return path


def _old(folder: Path) -> Path:
    """Make all files count as complete: commands wait for damaged ones that have just changed."""
    for path in folder.iterdir():
        if not path.is_symlink():
            os.utime(path, (1, 1))
    return folder


def _healthy(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / _NAME.format(1, "healthy")
    shutil.copy(SEED, path)
    return path


def _unreadable(folder: Path) -> dict[str, str]:
    """Fill a folder with dumps that cannot be read. Returns the reason by the name of the module."""
    packed = gzip.compress(SEED.read_bytes())
    for number, (name, data) in enumerate(
        (("cut", packed[:-20]), ("flipped", packed[:100] + b"\xff" * 9 + packed[109:]), ("text", b"no")), 10
    ):
        (folder / (_NAME.format(number, name) + ".gz")).write_bytes(data)
    (folder / (_NAME.format(20, "zstd") + ".zst")).write_bytes(b"\x28\xb5\x2f\xfd no")
    os.mkfifo(folder / _NAME.format(30, "fifo"))
    (folder / _NAME.format(31, "device")).symlink_to("/dev/zero")
    (folder / _NAME.format(32, "gone")).symlink_to("nowhere")
    (folder / _NAME.format(33, "loop")).symlink_to(_NAME.format(33, "loop"))
    for number, name, size in ((35, "sparse", 9 << 30), (36, "memory", 4 << 30)):
        with (folder / _NAME.format(number, name)).open("wb") as file:
            file.truncate(size)
    # The path of a socket must be short.
    with socket.socket(socket.AF_UNIX) as one, chdir(folder):
        one.bind(_NAME.format(34, "socket"))
    return {
        "cut": _DAMAGED,
        "flipped": _DAMAGED,
        "text": _DAMAGED,
        "zstd": "cannot be decompressed",
        "fifo": "cannot be read: not a regular file",
        "device": "cannot be read: not a regular file",
        "gone": "cannot be read: No such file or directory",
        "loop": "cannot be read: Too many levels of symbolic links",
        "socket": "cannot be read: not a regular file",
        "sparse": "cannot be read: larger than 8.00 GiB",
        "memory": "cannot be read: Cannot allocate memory",
    }


# ---------------------------------------------------------------- one file that cannot be read, in a folder


@pytest.mark.parametrize(
    ("command", "output_format"),
    [*(("report", name) for name in _FORMATS), *(("advise", name) for name in _FORMATS[:-1])],
)
def test_files_that_cannot_be_read_are_rows_of_a_ranking(tmp_path: Path, command: str, output_format: str) -> None:
    _healthy(tmp_path)
    reasons = _unreadable(tmp_path)
    status, out, err = run(command, _old(tmp_path), "--output-format", output_format)
    assert (status, err) == (1, "")
    if output_format == "json":
        reports: Any = json.loads(out)
        validator("reports").validate(reports)
        assert [one["module"] for one in reports] == ["jit_healthy", *sorted(f"jit_{name}" for name in reasons)]
        assert reports[0]["complete"]
        assert not any(one["complete"] for one in reports[1:])
        messages = {one["module"].removeprefix("jit_"): one["findings"][0]["message"] for one in reports[1:]}
        assert all(reason in messages[name] for name, reason in reasons.items())
    else:
        assert f"{len(reasons)} files cannot be read." in out
        assert "580.0 KiB" in out
        assert all(f"jit_{name}" in out and reason in out for name, reason in reasons.items())


@pytest.mark.parametrize("output_format", ["text", "json", "github", "sarif", "junit", "gitlab"])
def test_files_that_cannot_be_read_are_findings(tmp_path: Path, output_format: str) -> None:
    _healthy(tmp_path)
    reasons = _unreadable(tmp_path)
    status, out, err = run("check", _old(tmp_path), "--output-format", output_format)
    assert (status, err) == (1, "")
    assert all(f"jit_{name}" in out and reason in out for name, reason in reasons.items())
    if output_format == "text":
        assert out.splitlines()[-1] == "12 dumps checked: 11 errors, 1 information"


@pytest.mark.parametrize("output_format", _FORMATS)
def test_files_that_cannot_be_read_do_not_prevent_other_comparisons(tmp_path: Path, output_format: str) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        path = _healthy(folder)
        (folder / _NAME.format(2, "other")).write_bytes(SEED.read_bytes())
    shutil.copy(min(SEED.parent.iterdir()), path)
    damaged = new / f"{_NAME.format(3, 'cut')}.gz"
    damaged.write_bytes(gzip.compress(SEED.read_bytes())[:-20])
    shutil.copy(SEED, old / _NAME.format(3, "cut"))
    _old(new)
    status, out, err = run("diff", old, new, "--output-format", output_format)
    assert (status, err.splitlines()[-1]) == (1, f"xla-lens: {damaged}: {_DAMAGED}")
    if output_format == "json":
        (one,) = (one for one in json.loads(out) if one["module"] == "jit_cut")
        assert one["warnings"][0] == f"{damaged} {_DAMAGED}."
    else:
        assert "jit_healthy" in out


def test_a_damaged_file_of_a_set_does_not_hide_its_other_files(tmp_path: Path) -> None:
    _healthy(tmp_path)
    for file in find_sets(SPLIT)[0].paths.values():
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    for end in ("-values.txt.gz", "_optimizations.txt.gz"):
        (path,) = (one for one in tmp_path.iterdir() if one.name.endswith(end))
        path.write_bytes(path.read_bytes()[:-30])
        status, out, _ = run("report", _old(tmp_path), "--all", "--output-format", "json")
        (report,) = (one for one in json.loads(out) if one["module"] == "jit_train_step")
        assert status == 1
        assert report["memory_spaces"]
        messages = [one["message"] for one in report["findings"] if one["filename"] == str(path)]
        assert messages == [f"This file {_DAMAGED}."]
        path.unlink()


# ---------------------------------------------------------------- files that unpack to gigabytes


@pytest.mark.slow
@pytest.mark.parametrize("is_one_member", [True, False])
def test_a_small_file_that_unpacks_to_gigabytes_takes_little_memory(
    tmp_path: Path, is_one_member: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy = _healthy(tmp_path)
    bomb = _bomb(tmp_path / (_NAME.format(2, "bomb") + ".gz"), 3 << 30, is_one_member=is_one_member)
    assert bomb.stat().st_size < 16 << 20
    _old(tmp_path)
    reason = "unpacks to more than {} GiB, the limit. Decompress it first, or set XLA_LENS_MAX_UNPACKED"
    two = reason.format("2.00")
    assert run("report", bomb) == (2, "", f"xla-lens: {bomb}: {two}\n")
    assert run("diff", healthy, bomb)[::2] == (2, f"xla-lens: {bomb}: {two}\n")
    with bomb.open() as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        assert run("report", "-") == (2, "", f"xla-lens: -: {two}\n")
    status, out, _ = run("check", tmp_path)
    assert status == 1
    assert f"This file {two}." in out
    status, out, _ = run("report", tmp_path, "--output-format", "markdown")
    assert status == 1
    assert "unpacks to more than 512.00 MiB, the limit of an overview of several dumps" in out
    assert "580.0 KiB" in out


def test_the_limit_is_one_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _healthy(tmp_path)
    for number in (2, 3):
        bomb = _bomb(tmp_path / (_NAME.format(number, "bomb") + ".gz"), (number - 1) * (3 << 20))
    _old(tmp_path)
    assert "unpacks" not in run("report", tmp_path)[1]
    monkeypatch.setenv("XLA_LENS_MAX_UNPACKED", "4MiB")
    assert "unpacks to more than 4.00 MiB" in run("report", bomb)[2]
    assert run("report", tmp_path)[1].count("unpacks to more than 1.00 MiB") == 2
    monkeypatch.setenv("XLA_LENS_MAX_UNPACKED", "lots")
    status, out, err = run("report", tmp_path)
    assert (status, out) == (2, "")
    assert "XLA_LENS_MAX_UNPACKED: not a size: 'lots'; expected for example 8GiB" in err


def test_a_log_that_unpacks_to_gigabytes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _bomb(tmp_path / "train.log.gz", 6 << 20)
    monkeypatch.setenv("XLA_LENS_MAX_UNPACKED", "4MiB")
    status, out, err = run("oom", log)
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens: {log}: unpacks to more than 4.00 MiB")
    # Beside a dump, a log is only read for its messages.
    _healthy(tmp_path)
    log.rename(tmp_path / "train.log")
    status, out, _ = run("report", _old(tmp_path))
    assert (status, "needs 580.0 KiB" in out) == (0, True)


# ---------------------------------------------------------------- files beside a dump


def _block(path: Path, kind: str) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "link":
            os.mkfifo(path.with_name(f"{path.name}.fifo"))
            path.symlink_to(f"{path.name}.fifo")
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case _:
            with path.open("wb") as file:
                file.truncate(8 << 30)


@pytest.mark.parametrize("kind", ["fifo", "link", "device", "folder", "huge"])
def test_files_beside_a_dump_never_block(tmp_path: Path, kind: str) -> None:
    dump = _healthy(tmp_path)
    for name in ("module_0001.jit_healthy.debug_options", "module_0001.gpu_target_config.pbtxt"):
        _block(tmp_path / name, kind)
    for name in ("train.log", "a.txt", "b.out", "c.err", "d-values.txt", "module_0001.debug_options"):
        _block(tmp_path / name, kind)
    stem = dump.name.removesuffix("-buffer-assignment.txt")
    if kind != "huge":
        for end in ("-live-range.txt", "-memory-usage-report.txt", ".txt"):
            _block(tmp_path / f"{stem}{end}", kind)
    for line in ("report {0}", "report {1}", "check {0}", "diff {0} {0}", "diff {1} {1}", "oom {2} {1}"):
        arguments = line.format(dump, tmp_path, TPU_LOG).split()
        status, out, _ = run(*arguments)
        assert status in (0, 1)
        assert "580.0 KiB" in out or arguments[0] in ("check", "diff", "oom")


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_arguments_that_are_no_files_are_errors(tmp_path: Path, kind: str) -> None:
    dump, odd = _healthy(tmp_path), tmp_path / "odd.txt"
    _block(odd, kind)
    (tmp_path / "odd.json").symlink_to("/dev/zero")
    lines = ["report {1}", "check {1}", "diff {0} {1}", "diff {1} {0}"]
    if kind == "device":
        lines += ["oom {1}", "annotate {1} {0}", f"diff {tmp_path}/odd.json {{0}}"]
    for line in lines:
        status, out, err = run(*line.format(dump, odd).split())
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.endswith(": cannot be read: not a regular file\n")


def test_a_named_pipe_is_read_where_the_user_names_it() -> None:
    line = f"{sys.executable} -m xla_lens oom <(cat {TPU_LOG})"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert b"log        /dev/fd/" in done.stdout
    assert done.stdout.splitlines()[2:] == run("oom", TPU_LOG)[1].encode().splitlines()[2:]


# ---------------------------------------------------------------- folders


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that pytest does not remove, because it cannot remove folders that are nested so deep."""
    made = Path(tempfile.mkdtemp())
    yield made
    subprocess.run(["rm", "-r", str(made)], check=True)


def _nest(folder: Path, depth: int) -> Path:
    """Make folders in folders, with a dump in the deepest, and return that."""
    with chdir(folder):
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        shutil.copy(SEED, _NAME.format(2, "deep"))
    return folder.joinpath(*["d"] * depth)


def test_folders_nested_deep_are_searched(folder: Path) -> None:
    _healthy(folder)
    (folder / "same").symlink_to(folder)
    deep = _nest(folder, 1100)
    assert [one.stem.parent for one in find_sets(folder)] == [folder, deep]
    assert [one.stem.parent for one in walk_sets([folder], lambda: False)] == [folder, deep]
    for command in ("report", "check"):
        status, out, _ = run(command, folder)
        assert (status, "2 " in out) == (0, True)
    assert run("diff", folder, folder)[0] == 0
