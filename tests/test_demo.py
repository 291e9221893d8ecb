"""`make demo` fits on a screen, and what it names exists."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from samples import ROOT
from xla_lens.cli.main import main, parse_arguments

pytestmark = pytest.mark.xdist_group("demo")
"""Runs on one worker, because two demos at once would write the same files."""


@pytest.fixture(scope="module")
def demo() -> str:
    command = Path(sys.executable).parent / "xla-lens"
    if not command.exists():
        pytest.skip(f"needs {command}; run: make .venv/installed")
    done = subprocess.run([sys.executable, ROOT / "tests" / "demo.py"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_the_demo_fits_on_a_screen(demo: str) -> None:
    assert 24 <= len(demo.splitlines()) <= 40


def test_the_commands_of_the_demo_can_be_pasted(
    demo: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    commands = re.findall(r"^(?:\$|  )(?: *)(\S*xla-lens .*?)(?:  .*)?$", demo, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        program, *arguments = shlex.split(command)
        assert Path(program).is_file()
        if arguments[0] == "run":
            # It stands for the user's own program, and is the last command.
            assert (command, arguments[1:]) == (commands[-1], ["python", "train.py"])
            assert parse_arguments(arguments).command == "run"
            continue
        try:
            status = main(arguments)
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        assert (status, capsys.readouterr().err) == (0, ""), command
