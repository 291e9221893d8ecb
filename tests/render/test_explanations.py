"""Each code has an explanation, and the documentation is generated from it."""

import re

import pytest

import findings_docs
from findings_docs import summary
from samples import ROOT
from xla_lens.cli.main import main
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.package_files import explanation_path

_FOLDER = explanation_path(Code.SYNTAX).parent


def _page(code: Code) -> str:
    return explanation_path(code).read_text(encoding="utf-8")


def _severities(code: Code) -> set[Severity]:
    """The severities that the first paragraph of a page lists."""
    return {Severity(part.split()[0]) for part in summary(code)[1].split("; ")}


@pytest.mark.parametrize("code", Code)
def test_each_explanation_has_all_sections(code: Code) -> None:
    lines = _page(code).split("\n")
    assert lines[0] == f"# {code}"
    assert [line for line in lines if line.startswith("## ")] == [
        "## Meaning",
        "## Likely causes",
        "## What to check",
    ]
    headings = [place for place, line in enumerate(lines) if line.startswith("## ")]
    assert all(lines[place + 2].strip() for place in headings)
    assert _severities(code)


def test_each_code_has_an_explanation() -> None:
    assert {path.name for path in _FOLDER.iterdir()} == {f"{code}.md" for code in Code}


def test_docs_list_all_codes() -> None:
    assert findings_docs.PAGE.read_text(encoding="utf-8") == findings_docs.text(), "run `make docs`"


def test_explanations_list_the_severities_of_their_findings() -> None:
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


def test_explain_rejects_unknown_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-such-code"]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err == (
        "xla-lens: no-such-code: no finding has this code. `xla-lens explain --help` lists all codes\n"
    )
