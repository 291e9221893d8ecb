"""Each code has an explanation, and the documentation is generated from it."""

import re

import pytest

import findings_docs
from commands import printed
from findings_docs import summary
from goldens import all_goldens
from xla_lens.advice.actions import Certainty
from xla_lens.advice.advise import SUGGESTIONS
from xla_lens.advice.codes import Rule
from xla_lens.disk.package_files import explanation_path
from xla_lens.model.checks.codes import Code, Severity

_FOLDER = explanation_path(Code.SYNTAX).parent


def _page(code: Code | Rule) -> str:
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


@pytest.mark.parametrize("rule", Rule)
def test_each_explanation_of_an_action_has_all_sections(rule: Rule) -> None:
    lines = _page(rule).split("\n")
    assert lines[0] == f"# {rule}"
    assert [line for line in lines if line.startswith("## ")] == [
        "## Why it takes memory",
        "## What to do",
        "## How the peak is computed",
        "## Tried",
    ]
    certainty = summary(rule)[1]
    if any(row.rule is rule for row in SUGGESTIONS):
        assert certainty == "measured on other programs"
    else:
        assert {Certainty(word) for word in re.split(", | or ", certainty)}


def test_each_code_has_an_explanation() -> None:
    assert {path.name for path in _FOLDER.iterdir()} == {f"{code}.md" for code in (*Code, *Rule)}


def test_docs_list_all_rules() -> None:
    assert findings_docs.ADVICE.read_text(encoding="utf-8") == findings_docs.advice_text(), "run `make docs`"


def test_docs_list_all_codes() -> None:
    assert findings_docs.PAGE.read_text(encoding="utf-8") == findings_docs.text(), "run `make docs`"


def test_explanations_list_the_severities_of_their_findings() -> None:
    """Those in the tests of all findings."""
    found = re.findall(rf"\b({'|'.join(Severity)})\[([a-z-]+)\]", all_goldens())
    assert {code: {Severity(severity) for severity, other in found if other == code} for code in Code} == {
        code: _severities(code) for code in Code
    }


@pytest.mark.parametrize("code", [*Code, *Rule])
def test_explain_prints_the_page(code: Code | Rule) -> None:
    assert printed("explain", code) == _page(code)
