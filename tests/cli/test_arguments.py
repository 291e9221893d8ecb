"""Arguments: errors of one line with what is allowed, sizes, variables of the environment, help."""

import subprocess
import sys

import pytest

from commands import printed_json, run
from samples import SPLIT
from xla_lens.cli.arguments import parsers
from xla_lens.cli.parser import VARIABLES
from xla_lens.features.report.options import Part
from xla_lens.model.advice.codes import Rule
from xla_lens.model.checks.codes import Code

# ---------------------------------------------------------------- lists and sizes


def test_top_applies_to_the_budget() -> None:
    arguments = ("--part", "budget", "--budget", "2MiB")
    (plan,) = (one["memory_spaces"][0]["budget"] for one in printed_json("report", SPLIT, *arguments))
    assert plan["count"] == len(plan["values"]) == 5
    (cut,) = (one["memory_spaces"][0]["budget"] for one in printed_json("report", SPLIT, *arguments, "--top", 2))
    assert cut == plan | {"values": plan["values"][:2]}


# ---------------------------------------------------------------- the environment


def test_each_variable_stands_for_an_option() -> None:
    _, commands = parsers()
    options = {option for parser in commands.values() for action in parser.actions for option in action.option_strings}
    named = {f"--{name.removeprefix('XLA_LENS_').lower().replace('_', '-')}" for name in VARIABLES}
    # No option: it also applies to the server.
    assert named - options == {"--max-unpacked"}


# ---------------------------------------------------------------- help


def test_explain_lists_all_codes() -> None:
    status, out, _ = run("explain")
    assert status == 0
    assert [line.split("  ")[0] for line in out.splitlines()] == [*Code, *Rule]
    assert out.startswith("syntax                    A line does not belong to a dump, or stands in the wrong place\n")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_help_fits_and_breaks_no_name(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    _, commands = parsers()
    names = {*Code, *Part, *VARIABLES}
    names |= {option for parser in commands.values() for action in parser.actions for option in action.option_strings}
    for arguments in ([], *([name] for name in commands)):
        status, out, _ = run(*arguments, "--help")
        assert status == 0
        assert max(map(len, out.splitlines())) <= width
        assert not [line for line in out.splitlines() if line.rstrip().endswith("-") and not line.endswith(" -")]
    for line in run("check", "--help")[1].split("codes: ")[1].replace(",", "").split():
        assert line in names


def test_every_command_has_help() -> None:
    command = [sys.executable, "-m", "xla_lens"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split()[0] == "xla-lens"
    for arguments in ([], ["report"], ["check"], ["explain"], ["server"]):
        shown = subprocess.run([*command, *arguments, "--help"], capture_output=True, text=True, check=True).stdout
        assert shown.startswith("usage: xla-lens")
