"""JUnit XML: one test case for each dump without errors and warnings, and one for each error and warning."""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from xla_lens.model.checks.codes import Severity
from xla_lens.render.ci.annotations import Annotation

_FAILURES: Final = (Severity.ERROR, Severity.WARNING)

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""

_LINE_FEEDS: Final = {"\r\n": "&#10;", "\n": "&#10;"}
"""Line feeds are escaped, so that no text of a dump can begin a line of the report."""


def junit_text(annotations: Sequence[Annotation], checked: Sequence[str]) -> str:
    """Return a report with one test suite. Findings that are neither errors nor warnings are left out."""
    failed = [one for one in annotations if one.severity in _FAILURES]
    names = {one.checked for one in failed}
    passed = [name for name in checked if name not in names]
    counts = f'tests="{len(failed) + len(passed)}" failures="{len(failed)}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="xla-lens" {counts}>',
        f'  <testsuite name="xla-lens" {counts} errors="0" skipped="0">',
        *(line for one in failed for line in _failure(one)),
        *(f'    <testcase classname={_attribute(name)} name="passed"/>' for name in passed),
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _failure(one: Annotation) -> Iterator[str]:
    place = one.place.path + (f":{one.place.line}" if one.place.line is not None else "")
    file, name = _attribute(one.place.path), _attribute(f"{one.rule} at {place}")
    yield f"    <testcase classname={_attribute(one.checked)} name={name} file={file}>"
    text = escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", f"{place}: {one.message}"), _LINE_FEEDS)
    yield f"      <failure type={_attribute(one.rule)} message={_attribute(one.message)}>{text}</failure>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
