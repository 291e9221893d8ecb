"""Arguments: errors of one line with what is allowed, sizes, variables of the environment, help."""

import json
import subprocess
import sys

import pytest

from commands import run
from samples import SEED, SPLIT
from xla_lens.cli.arguments import parsers
from xla_lens.cli.parser import VARIABLES
from xla_lens.features.report.options import Part
from xla_lens.model.advice.codes import Rule
from xla_lens.model.checks.codes import Code

PARTS = ", ".join(Part)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("", ": expected a command: run, report, advise, check, "),
        (
            "reprot x",
            ": unknown command 'reprot'; did you mean 'report'? The commands are run, report, advise, ",
        ),
        ("--versoin", ": unknown option '--versoin'; did you mean '--version'? The options are --help, --version"),
        ("report", " report: the following arguments are required: PATH; see `xla-lens report --help`"),
        ("report x --top -1", " report: --top: '-1' is not allowed; expected a whole number from 0 on"),
        ("report x --top 1.5", " report: --top: '1.5' is not allowed; expected a whole number from 0 on"),
        ("report x --at -3", " report: --at: '-3' is not allowed; expected a whole number from 0 on"),
        ("report x --top", " report: --top: expected one argument; see `xla-lens report --help`"),
        ("report x --part lnie", f" report: --part: unknown part 'lnie'; did you mean 'line'? The parts are {PARTS}"),
        ("report x --part peak,xyz", f" report: --part: unknown part 'xyz'. The parts are {PARTS}\n"),
        ("report x --part ,", f" report: --part: no part given. The parts are {PARTS}"),
        (
            "report x --part peak,budget",
            " report: --part budget needs a size; add --budget SIZE, such as --budget 16GiB",
        ),
        (
            "report x --budget 16X",
            " report: --budget: '16X' is not a size; expected for example 16GiB, 16GB or 17179869184",
        ),
        (
            "report x --output-format jsn",
            " report: --output-format: unknown format 'jsn'; did you mean 'json'? "
            "The formats are text, markdown, json, html",
        ),
        (
            "check x --output-format html",
            " check: --output-format: unknown format 'html'. "
            "The formats are text, json, github, gitlab, sarif, junit\n",
        ),
        (
            "check x --select overlaping-slice",
            " check: --select: unknown code 'overlaping-slice'; did you mean 'overlapping-slices'? "
            "`xla-lens explain` lists all",
        ),
        ("check x --ignore zzz", " check: --ignore: unknown code 'zzz'. `xla-lens explain` lists all"),
        (
            "check x --max-paek 3",
            " check: unknown option '--max-paek'; did you mean '--max-peak'? The options are --help, ",
        ),
        ("check x --max-peak=-1", " check: --max-peak: '-1' is not a size; expected for example 16GiB, "),
        ("explain total-mismatc", " explain: CODE: unknown code 'total-mismatc'; did you mean 'total-mismatch'?"),
        ("server now", " server: unexpected argument 'now'; see `xla-lens server --help`"),
        ("server --tcp nowhere", " server: --tcp: 'nowhere' is not HOST:PORT; expected for example 127.0.0.1:2087"),
    ],
)
def test_wrong_arguments_are_one_line_with_what_is_allowed(command: str, error: str) -> None:
    status, out, err = run(*command.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens{error}")
    assert len(err.splitlines()) == 1


# ---------------------------------------------------------------- lists and sizes


def test_top_applies_to_the_budget() -> None:
    arguments = ("report", SPLIT, "--part", "budget", "--budget", "2MiB")
    _, out, _ = run(*arguments)
    (plan,) = (one["memory_spaces"][0]["budget"] for one in json.loads(run(*arguments, "--output-format", "json")[1]))
    assert plan["count"] == len(plan["values"]) == 5
    assert "... and" not in out
    lines = run(*arguments, "--top", 2)[1].splitlines()
    assert [line.split()[2] for line in lines[-3:-1]] == [value["name"] for value in plan["values"][:2]]
    assert lines[-1] == "  ... and 3 more buffers"
    (cut,) = (
        one["memory_spaces"][0]["budget"]
        for one in json.loads(run(*arguments, "--top", 2, "--output-format", "json")[1])
    )
    assert cut == plan | {"values": plan["values"][:2]}


def test_top_applies_to_trees() -> None:
    assert run("report", SPLIT, "--part", "source", "--top", 1)[1].endswith(
        """\
Host memory peak by op_name: 4.21 MiB
 2.29 MiB  54.4 %    jit(train_step)  8 values
 1.78 MiB  42.3 %      transpose(jvp())  3 values
 1.53 MiB  36.3 %        transpose  1 value
258.0 KiB   6.0 %        (smaller)
523.0 KiB  12.1 %      (smaller)
 1.92 MiB  45.6 %    (smaller)
Host memory peak by opcode: 4.21 MiB
1.92 MiB  45.6 %    parameter  4 values
2.29 MiB  54.4 %    (smaller)
Host memory peak by kind: 4.21 MiB
2.43 MiB  57.7 %    parameter  8 values
1.78 MiB  42.3 %    (smaller)
"""
    )


@pytest.mark.parametrize(
    ("budget", "shown", "budget_bytes"),
    [
        ("5GiB", "5 GiB", 5 << 30),
        ("4.50 MiB", "4.50 MiB", 9 << 19),
        ("5MB", "5 MB (4.77 MiB)", 5_000_000),
        ("5g", "5g", 5 << 30),
        ("5000000", "5,000,000 bytes", 5_000_000),
    ],
)
def test_budget_is_shown_as_given(budget: str, shown: str, budget_bytes: int) -> None:
    arguments = ("report", SPLIT, "--part", "budget", "--budget", budget)
    assert run(*arguments)[1].endswith(f"The program fits into {shown} of host memory already\n")
    (report,) = json.loads(run(*arguments, "--output-format", "json")[1])
    assert report["memory_spaces"][0]["budget"]["budget_bytes"] == budget_bytes


# ---------------------------------------------------------------- the environment


def test_variables_are_defaults_of_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_LENS_MAX_PEAK", "500KB")
    monkeypatch.setenv("XLA_LENS_IGNORE", "peak-understated")
    monkeypatch.setenv("XLA_LENS_TOP", "")
    status, out, _ = run("check", SEED)
    assert status == 1
    assert "error[max-peak]" in out
    assert "more than the limit of 500 KB (500,000 bytes)." in out
    assert "peak-understated" not in out
    # Options take precedence.
    assert run("check", SEED, "--max-peak", "1GiB")[:2] == (0, "1 dump checked, no findings\n")
    monkeypatch.setenv("XLA_LENS_TOP", "1")
    monkeypatch.setenv("XLA_LENS_BUDGET", "1GiB")
    out = run("report", SEED)[1]
    assert "  ... and 3 smaller values\n" in out
    assert "The program fits into 1 GiB of HBM already" in out


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("XLA_LENS_MAX_PEAK", "much", "XLA_LENS_MAX_PEAK: 'much' is not a size; expected for example 16GiB, "),
        ("XLA_LENS_IGNORE", "sintax", "XLA_LENS_IGNORE: unknown code 'sintax'; did you mean 'syntax'?"),
        ("XLA_LENS_MAX_PEEK", "1GiB", "unknown variable XLA_LENS_MAX_PEEK; did you mean XLA_LENS_MAX_PEAK?"),
    ],
)
def test_wrong_variables_are_errors(monkeypatch: pytest.MonkeyPatch, name: str, value: str, error: str) -> None:
    monkeypatch.setenv(name, value)
    status, out, err = run("check", SEED)
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-lens check: {error}")
    assert len(err.splitlines()) == 1


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
