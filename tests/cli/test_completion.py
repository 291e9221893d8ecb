"""Completion in real shells."""

import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from commands import printed
from xla_lens.cli.arguments import parsers
from xla_lens.features.report.options import Part
from xla_lens.model.checks.codes import Code

COMMANDS = set(parsers()[1])

CASES: list[tuple[str, set[str]]] = [
    ("rep", {"report"}),
    ("report --output-format ", {"text", "markdown", "json", "html"}),
    ("report --part to", {"totals"}),
    ("report --part peak,to", {"peak,totals"}),
    ("check --select syntax,peak-", {f"syntax,{code}" for code in Code if code.startswith("peak-")}),
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


def test_fish_completes(tmp_path: Path) -> None:
    fish = _needs("fish")
    script = _script(tmp_path, "fish")
    for line, expected in CASES:
        program = f"source {script}; complete -C 'xla-lens {line}'"
        done = subprocess.run([fish, "-N", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stderr == ""
        assert {entry.split("\t")[0].rstrip("/") for entry in done.stdout.splitlines()} == expected, line


def test_zsh_completes(tmp_path: Path) -> None:
    zsh, pty = _needs("zsh"), pytest.importorskip("pty")
    script = _script(tmp_path, "zsh")
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb", "PS1": "> "}
    with subprocess.Popen(
        [zsh, "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=tmp_path
    ) as shell:
        os.close(theirs)
        try:
            set_up = f"autoload -U compinit; compinit -u -D; eval \"$(<{script})\"; unsetopt list_beep; print read''y\n"
            _type(ours, set_up, "ready")
            for line, expected in (
                ("xla-lens rep", "xla-lens report "),
                ("xla-lens report --part to", "--part totals"),
                ("xla-lens report --part peak,to", "--part peak,totals"),
                ("xla-lens explain overl", "explain overlapping-slices"),
                ("xla-lens report dum", "report dumps/"),
                ("xla-lens report --output-fi", "--output-file"),
                ("xla-lens check --color nev", "--color never"),
            ):
                _type(ours, f"{line}\t", expected)
                # Clears the line.
                _type(ours, "\x15print nex''t\n", "next")
        finally:
            shell.kill()
            os.close(ours)


def _type(terminal: int, text: str, expected: str) -> None:
    """Type into a terminal, and wait for what it shows."""
    os.write(terminal, text.encode())
    shown, end = "", time.monotonic() + 30
    while expected not in re.sub(r"\r+|.\x08", "", shown):
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_part_and_code_is_offered(shell: str) -> None:
    words = set(re.split(r"[\s'\":()\\]+", printed("completion", shell)))
    assert {*COMMANDS, *Part, *Code} - words == set()
