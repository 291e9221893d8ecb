"""Standard output that is full, closed, a closed pipe, or has another encoding: no traceback, and an exit status."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from samples import SEED, SPLIT
from xla_lens.cli.main import main

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")

SIMILAR = str.maketrans("–·█▉▊▋▌▍▎▏", "--#####   ")

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


@pytest.mark.parametrize("arguments", COMMANDS[:8], ids=lambda arguments: " ".join(str(one)[-20:] for one in arguments))
def test_closed_output_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...]) -> None:
    expected = "xla-lens: standard output is closed. Redirect it to a file, or to /dev/null\n"
    assert _main(monkeypatch, arguments, None) == (2, expected)


@needs_full
def test_the_interpreter_exits_without_a_traceback() -> None:
    """It flushes standard output once more."""
    for arguments in (COMMANDS[0], COMMANDS[-1]):
        done = _run(arguments, "> /dev/full")
        expected = b"xla-lens: standard output: cannot be written: No space left on device\n"
        assert (done.returncode, done.stderr) == (2, expected)
        done = _run(arguments, "| head -c 1")
        assert (len(done.stdout), done.stderr) == (1, b"")
    assert _run(("check", SEED), ">&-").returncode == 2


@pytest.mark.parametrize("redirect", ["2>&-", pytest.param("2> /dev/full", marks=needs_full)])
def test_standard_error_that_is_closed_or_full_changes_nothing(redirect: str) -> None:
    done = _run(("check", SEED), redirect)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"1 dump checked: 1 information")
    done = _run(("report", "nothing"), redirect)
    assert (done.returncode, done.stdout) == (2, b"")


# ---------------------------------------------------------------- encodings


def test_what_an_encoding_lacks_becomes_similar_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("report", SPLIT, "--part", "live,curve,peak")
    expected = _printed(monkeypatch, "utf-8", *arguments).decode()
    assert {"–", "█"} <= set(expected)
    for encoding in ("ascii", "latin-1", "cp437"):
        printed = _printed(monkeypatch, encoding, *arguments).decode(encoding)
        assert printed.translate(SIMILAR) == expected.translate(SIMILAR)


def test_json_is_the_same_in_every_encoding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "größe.txt"
    shutil.copy(SEED, path)
    for command in ("report", "check"):
        arguments = (command, path, "--output-format", "json")
        expected = _printed(monkeypatch, "utf-8", *arguments).decode()
        assert "größe.txt" in expected
        for encoding in ("ascii", "latin-1", "cp1252"):
            assert json.loads(_printed(monkeypatch, encoding, *arguments).decode("ascii")) == json.loads(expected)


def test_a_page_is_in_utf_8_in_every_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _printed(monkeypatch, "utf-8", *COMMANDS[3])
    assert b'<meta charset="utf-8">' in expected
    assert _printed(monkeypatch, "ascii", *COMMANDS[3]) == expected


def test_names_of_files_that_are_not_utf_8_are_printed_byte_by_byte(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.txt"))
    path.write_bytes(SEED.read_bytes())
    for encoding in ("utf-8", "ascii"):
        printed = _printed(monkeypatch, encoding, "check", tmp_path)
        assert re.match(re.escape(os.fsencode(path)) + rb":\d+:\d+: ", printed)
        found = json.loads(_printed(monkeypatch, encoding, "check", tmp_path, "--output-format", "json"))
        assert found[0]["filename"] == str(path)
