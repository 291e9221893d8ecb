"""Standard output that is full, closed, a closed pipe, or in another locale: no traceback, and an exit status."""

import errno
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from commands import run
from samples import SEED, SPLIT, TPU_LOG
from xla_lens.cli.main import main
from xla_lens.disk.sets import find_set

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")

COMMANDS = (
    ("report", SEED),
    ("report", SEED, "--output-format", "json"),
    ("report", SEED, "--output-format", "markdown"),
    ("report", SEED, "--output-format", "html"),
    ("check", SEED),
    ("check", SEED, "--output-format", "json"),
    ("explain",),
    ("explain", "syntax"),
    ("--help",),
    ("report", "--help"),
    ("--version",),
)


def _run(arguments: tuple[object, ...], redirect: str) -> subprocess.CompletedProcess[bytes]:
    command = f"exec {sys.executable} -m xla_lens {' '.join(map(str, arguments))} {redirect}"
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False)


def _main(monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], stdout: TextIO | None) -> tuple[int, str]:
    """Run a command with this standard output; return its exit status and its errors."""
    errors = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", errors)
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            status = int(exit_.code or 0)
    return status, errors.getvalue()


def _printed(monkeypatch: pytest.MonkeyPatch, encoding: str, *arguments: object) -> bytes:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding)
    _, errors = _main(monkeypatch, arguments, stdout)
    assert errors == ""
    output = stdout.detach()
    output.seek(0)
    return output.read()


@needs_full
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(str(one)[-20:] for one in arguments))
def test_a_full_disk_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...]) -> None:
    expected = "xla-lens: standard output: cannot be written: No space left on device\n"
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert _main(monkeypatch, arguments, full) == (2, expected)


@needs_full
def test_the_interpreter_exits_without_a_traceback() -> None:
    """It flushes standard output once more."""
    done = _run(COMMANDS[-1], "> /dev/full")
    expected = b"xla-lens: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, expected)
    done = _run(COMMANDS[0], "| head -c 1")
    assert (len(done.stdout), done.stderr) == (1, b"")
    assert _run(("check", SEED), ">&-").returncode == 2


@pytest.mark.parametrize("redirect", ["2>&-", pytest.param("2> /dev/full", marks=needs_full)])
def test_standard_error_that_is_closed_or_full_changes_nothing(redirect: str) -> None:
    done = _run(("check", SEED), redirect)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"1 dump checked: 1 information")
    done = _run(("report", "nothing"), redirect)
    assert (done.returncode, done.stdout) == (2, b"")


# ---------------------------------------------------------------- the encoding


def test_output_is_utf_8_in_every_locale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "größe.txt"
    shutil.copy(SEED, path)
    for arguments in (("report", SPLIT), ("report", path, "--output-format", "json"), COMMANDS[3]):
        expected = _printed(monkeypatch, "utf-8", *arguments)
        assert not expected.isascii()
        assert _printed(monkeypatch, "cp1252", *arguments) == expected


def test_names_of_files_that_are_not_utf_8_are_exact_in_json_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.txt"))
    path.write_bytes(SEED.read_bytes())
    printed = _printed(monkeypatch, "utf-8", "check", tmp_path).decode()
    assert re.match(re.escape(f"{tmp_path}/��.txt") + r":\d+:\d+: ", printed)
    found = json.loads(_printed(monkeypatch, "utf-8", "check", tmp_path, "--output-format", "json"))
    assert found[0]["filename"] == str(path)


# ---------------------------------------------------------------- files

REPORT = ("report", SEED, "--output-format", "json")


def _quiet(*arguments: object) -> tuple[int, str]:
    """Run a command that prints nothing on standard output; return its exit status and its errors."""
    status, out, err = run(*arguments)
    assert out == ""
    return status, err


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_output_file_is_kept_if_the_command_fails(tmp_path: Path) -> None:
    keep = tmp_path / "keep.json"
    keep.write_text("old")
    for command in (("report", "nothing"), ("diff", SEED, "nothing"), ("report", SEED, "--at", 10**9)):
        status, err = _quiet(*command, "--output-file", keep)
        assert (status, err.count("\n")) == (2, 1)
        # Neither does a new file appear.
        assert _quiet(*command, "--output-file", tmp_path / "new")[0] == 2
        assert (keep.read_text(), _names(tmp_path)) == ("old", ["keep.json"])


def test_output_file_is_kept_if_the_disk_is_full(tmp_path: Path) -> None:
    """No file becomes larger than 4 KiB."""
    keep = tmp_path / "keep.json"
    keep.write_text("old")
    command = f"{sys.executable} -B -m xla_lens {' '.join(map(str, REPORT))} --output-file {keep}"
    done = subprocess.run(["bash", "-c", f"ulimit -f 4; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        f"xla-lens: {keep}: cannot be written: File too large. Choose another file\n",
    )
    assert (keep.read_text(), _names(tmp_path)) == ("old", ["keep.json"])


@pytest.mark.parametrize("how", ["itself", "link", "hard link", "link to a folder", "old report", "log"])
def test_a_file_that_the_command_reads_is_no_output_file(how: str, tmp_path: Path) -> None:
    dump = tmp_path / "folder" / SEED.name
    dump.parent.mkdir()
    shutil.copy(SEED, dump)
    output = dump
    command: tuple[object, ...] = ("report", dump)
    if how == "link":
        output = tmp_path / "output"
        output.symlink_to(dump)
    elif how == "hard link":
        output = tmp_path / "output"
        output.hardlink_to(dump)
    elif how == "link to a folder":
        (tmp_path / "other").symlink_to(dump.parent)
        output = tmp_path / "other" / dump.name
    elif how == "old report":
        output = tmp_path / "old.json"
        assert _quiet(*REPORT, "--output-file", output) == (0, "")
        command = ("diff", output, dump)
    elif how == "source":
        output = tmp_path / "test_auto_sharding_basic.py"
        output.write_text("f()\n" * 60)
        command = ("annotate", output, dump)
    elif how == "log":
        output = tmp_path / "log"
        shutil.copy(TPU_LOG, output)
        command = ("oom", output, dump.parent)
    before = output.read_bytes()
    names = _names(tmp_path)
    status, err = _quiet(*command, "--output-file", output)
    assert status == 2
    assert re.fullmatch(r"xla-lens: .*: the output cannot replace a dump or an argument. Choose another file\n", err)
    assert output.read_bytes() == before
    assert _names(tmp_path) == names


def test_no_file_of_a_dump_is_an_output_file(tmp_path: Path) -> None:
    for file in find_set(SPLIT).paths.values():
        shutil.copy(file, tmp_path)
    # The standard output of XLA, with the dump in it
    printed = tmp_path / "printed" / "output.txt"
    printed.parent.mkdir()
    printed.write_text(f"*** Begin {SEED.name} ***\n{SEED.read_text()}\n*** End {SEED.name} ***\n")
    for file in (*sorted(find_set(tmp_path / SPLIT.name).paths.values()), printed):
        before = file.read_bytes()
        status, err = _quiet("report", tmp_path, "--output-file", file)
        assert (status, err.count("\n"), file.read_bytes()) == (2, 1, before)
    # A report of an earlier run is no dump.
    for _ in range(2):
        assert _quiet("report", tmp_path, "--output-file", tmp_path / "report.txt") == (0, "")


def test_output_file_replaces_what_a_link_leads_to_and_keeps_permissions(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    link.symlink_to(target)
    for mode in (None, 0o600, 0o664):
        if mode is not None:
            target.chmod(mode)
        assert _quiet(*REPORT, "--output-file", link) == (0, "")
        assert link.is_symlink()
        assert json.loads(target.read_text())
        assert _names(tmp_path / "folder") == ["target"]
        new = tmp_path / "new"
        new.touch()
        assert stat.S_IMODE(target.stat().st_mode) == (stat.S_IMODE(new.stat().st_mode) if mode is None else mode)
        new.unlink()
    # A new file never appears in place of the old one where only the old one may be written.
    link.unlink()
    link.symlink_to(link)
    status, err = _quiet(*REPORT, "--output-file", link)
    assert (status, err) == (
        2,
        f"xla-lens: {link}: cannot be written: Too many levels of symbolic links. Choose another file\n",
    )


def test_a_file_that_cannot_be_replaced_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file in a read-only folder, or one that is mounted by itself."""

    def replace(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "replace", replace)
    file = tmp_path / "file"
    file.write_text("old" * 99_999)
    number = file.stat().st_ino
    assert _quiet(*REPORT, "--output-file", file) == (0, "")
    assert json.loads(file.read_text())
    assert (file.stat().st_ino, _names(tmp_path)) == (number, ["file"])


def test_output_files_that_are_no_regular_files(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = f"{sys.executable} -m xla_lens report {SEED} --output-file"
    plain = _run(("report", SEED), "").stdout
    for line in (
        f"{command} /dev/stdout | cat",
        f"cat {fifo} & {command} {fifo}; wait",
        f"echo first > {tmp_path}/out; {command} /dev/stdout >> {tmp_path}/out; tail -n +2 {tmp_path}/out",
        f"{command} /dev/stderr 2>&1 >/dev/null",
    ):
        done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain, b""), line
    # A reader does not wait for ever if the command fails.
    line = f"cat {fifo} & {command.replace(str(SEED), 'nothing')} {fifo}; wait"
    assert subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, check=False).stdout == b""
    if Path("/dev/full").exists():
        done = _run(("report", SEED, "--output-file", "/dev/full"), "")
        assert (done.returncode, done.stderr) == (
            2,
            b"xla-lens: /dev/full: cannot be written: No space left on device. Choose another file\n",
        )
