"""Each code of a finding is explained, in the same words everywhere."""

import re

import pytest

from samples import ROOT
from xla_lens.cli.main import main
from xla_lens.files import explanation_path
from xla_lens.model.checks.findings import Code, Severity

_FOLDER = explanation_path(Code.SYNTAX).parent


def _page(code: Code) -> str:
    return explanation_path(code).read_text(encoding="utf-8")


def _severities(code: Code) -> set[Severity]:
    """The severities that a page names behind its first sentence."""
    line = _page(code).split("\n")[2]
    found = re.fullmatch(r"\*\*.+\.\*\* Severity: (.+)\.", line)
    assert found, line
    return {Severity(part.split()[0]) for part in found[1].split("; ")}


@pytest.mark.parametrize("code", Code)
def test_a_page_has_its_parts(code: Code) -> None:
    lines = _page(code).split("\n")
    assert lines[0] == f"# {code}"
    assert [line for line in lines if line.startswith("## ")] == [
        "## The rule",
        "## What it usually means",
        "## What to look at",
    ]
    headings = [place for place, line in enumerate(lines) if line.startswith("## ")]
    assert all(lines[place + 2].strip() for place in headings)
    assert _severities(code)


def test_there_is_a_page_for_each_code_and_for_nothing_else() -> None:
    assert {path.name for path in _FOLDER.iterdir()} == {f"{code}.md" for code in Code}


def test_the_readme_lists_all_codes_with_the_severity_and_the_words_of_their_pages() -> None:
    text = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| \[`([a-z-]+)`\]\(([^)]+)\) \| ([a-z]+) \| (.+) \|$", text, re.MULTILINE)
    assert [code for code, *_ in rows] == list(Code)
    for code, target, severity, words in rows:
        assert (ROOT / target).resolve() == explanation_path(Code(code)).resolve()
        first = re.search(r"^\*\*(.+)\.\*\* Severity: ([a-z]+)", _page(Code(code)), re.MULTILINE)
        assert first
        assert (first[1][0].lower() + first[1][1:], first[2]) == (words, severity)


def test_findings_have_the_severities_that_their_pages_name() -> None:
    """Those in the tests of all findings."""
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "model" / "checks").glob("test_*.py"))
    found = re.findall(rf"\b({'|'.join(Severity)})\[([a-z-]+)\]", tests)
    assert {code: {Severity(severity) for severity, other in found if other == code} for code in Code} == {
        code: _severities(code) for code in Code
    }


@pytest.mark.parametrize("code", Code)
def test_explain_prints_the_page(capsys: pytest.CaptureFixture[str], code: Code) -> None:
    assert main(["explain", code]) == 0
    assert capsys.readouterr().out == _page(code)


def test_an_unknown_code_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-such-code"]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err == (
        "xla-lens: no-such-code: no finding has this code. `xla-lens explain --help` lists all codes\n"
    )
