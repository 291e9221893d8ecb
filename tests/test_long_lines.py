"""The time to read a line grows linearly with its length."""

import subprocess
import sys
from pathlib import Path

import pytest


def _read(folder: Path, seed: int, cases: int, size_bytes: int, seconds: int) -> None:
    """Read the dumps in a separate process, because a slow regular expression would hold this interpreter's lock."""
    command = [sys.executable, "-m", "fuzzing.long_lines", str(folder), str(seed), str(cases), str(size_bytes)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=Path(__file__).parent, check=False
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        pytest.fail(f"this took too long: {output.decode().splitlines()[-1:]} of {command}")
    assert done.stdout.endswith("done\n"), (done.stdout[-200:], done.stderr[-2000:])


@pytest.mark.slow
def test_long_lines_are_read_in_linear_time(tmp_path: Path) -> None:
    # Takes 5 seconds. One quadratic regular expression takes 100.
    _read(tmp_path, 0, 3, 300_000, 90)


@pytest.mark.parametrize(("cases", "seconds"), [(1, 60), pytest.param(40, 800, marks=pytest.mark.slow)])
def test_lines_of_megabytes_are_read_in_linear_time(tmp_path: Path, cases: int, seconds: int) -> None:
    # One case takes 3 seconds.
    _read(tmp_path, 1000, cases, 3_000_000, seconds)
