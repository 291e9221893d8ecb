"""Arguments: errors of one line with what is allowed, sizes, variables of the environment, help."""

import pytest

from commands import run
from xla_lens.advice.codes import Rule
from xla_lens.cli.main import parsers
from xla_lens.cli.parser import VARIABLES
from xla_lens.model.checks.codes import Code
from xla_lens.report.options import Part

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


@pytest.mark.parametrize("width", [80, 120])
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
