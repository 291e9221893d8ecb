"""A comparison names a change that was planted into a program, in its first three lines.

The programs are compiled here. jax is too big to install for every test, so `make test-all` installs it into a folder
of its own.
"""

import subprocess
from pathlib import Path

import pytest

from planted.expected import EXPECTED
from samples import ROOT
from xla_lens.cli.main import main

_PYTHON = ROOT / ".venv-jax" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    # One worker compiles all programs once.
    pytest.mark.xdist_group("planted"),
    pytest.mark.skipif(not _PYTHON.is_file(), reason="needs jax: run `make .venv-jax/installed`"),
]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    programs = Path(__file__).parent / "programs.py"
    subprocess.run([str(_PYTHON), str(programs), str(folder)], check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def lines(dumps: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> list[str]:
    sides = (str(dumps / request.param / side) for side in ("old", "new"))
    assert main(["diff", *sides]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("lines", "expected"), EXPECTED.items(), ids=EXPECTED.keys(), indirect=["lines"])
def test_first_three_lines_name_the_change(lines: list[str], expected: tuple[str, ...]) -> None:
    first = "\n".join(lines[:3])
    assert [text for text in expected if text not in first] == [], first
