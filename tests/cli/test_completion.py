"""Completion in real shells."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import printed
from xla_lens.cli.main import parsers
from xla_lens.model.checks.codes import Code
from xla_lens.report.options import Part

COMMANDS = set(parsers()[1])

CASES: list[tuple[str, set[str]]] = [
    ("rep", {"report"}),
    ("report --output-format ", {"text", "markdown", "json", "html"}),
    ("report --part to", {"totals"}),
    ("check --select peak-", {*(code for code in Code if code.startswith("peak-"))}),
    ("explain overl", {"overlapping-slices"}),
    ("check x --max-", {"--max-peak", "--max-memory"}),
    ("report dum", {"dumps"}),
    ("diff dumps dum", {"dumps"}),
    ("completion ", {"bash", "zsh", "fish"}),
]


def _script(folder: Path, shell: str) -> Path:
    path = folder / f"xla-lens.{shell}"
    path.write_text(printed("completion", shell))
    (folder / "dumps").mkdir()
    return path


def _needs(shell: str) -> str:
    found = shutil.which(shell)
    if not found:
        pytest.skip(f"needs {shell}")
    return found


def _options(command: str) -> set[str]:
    return {option for action in parsers()[1][command].actions for option in action.option_strings}


def test_bash_completes(tmp_path: Path) -> None:
    bash = _needs("bash")
    script = _script(tmp_path, "bash")
    cases: list[tuple[str, set[str]]] = [
        *CASES,
        ("", COMMANDS),
        ("report --", {option for option in _options("report") if option.startswith("--")}),
        ("report --budget ", set()),
    ]
    for line, expected in cases:
        words = f"xla-lens {line}".split(" ")
        array = " ".join(f"'{word}'" for word in words)
        program = (
            f"compopt() {{ :; }}; source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _shtab_xla_lens; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stderr == ""
        assert set(done.stdout.split()) == expected, line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_part_and_code_is_offered(shell: str) -> None:
    words = set(re.split(r"[\s'\":()\\]+", printed("completion", shell)))
    assert {*COMMANDS, *Part, *Code} - words == set()
