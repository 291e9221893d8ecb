"""Findings and violated limits in the formats that continuous integration (CI) systems read.

An annotation is a finding or a violated limit at a place that a CI system can show. A dump is a product of the build,
and not part of the repository. So an annotation is at the line of the user's program where that is known and in the
repository, else at the dump.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from xla_lens import __version__
from xla_lens.cli.sources_of_findings import SourceLine
from xla_lens.diff.compare import Diff, Violation
from xla_lens.diff.words import violation_rule, violation_text
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.problems import Finding, Problem
from xla_lens.report.options import CiFormat
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.json_types import Json
from xla_lens.words.messages import message
from xla_lens.words.numbers import human


class CiPlace(NamedTuple):
    """A line of a file by its path in the repository, or else by any path. Lines and columns count from 1; they are
    None where only the file is known.
    """

    path: str
    line: int | None = None
    column: int | None = None


class Anchor(NamedTuple):
    """Where an annotation can be: at `dump`, or at `source` if the file of that line is in the repository. `line` is
    the source line by its path on the compiling machine.
    """

    dump: CiPlace
    source: CiPlace | None
    line: SourceLine | None

    @property
    def place(self) -> CiPlace:
        """The place to show."""
        return self.source or self.dump


class Annotation(NamedTuple):
    """A finding or a violated limit.

    `rule` is its stable name and `meaning` what the rule says. `checked` is the dump or the module that it is about.
    `weight` orders those of one severity: the bytes that are too many, where there are any.
    """

    rule: str
    meaning: str
    severity: Severity
    message: str
    checked: str
    place: CiPlace
    weight: int = 0


_SEVERITIES: Final = tuple(Severity)


def worst_first(annotations: Iterable[Annotation]) -> list[Annotation]:
    """Order annotations: errors come before warnings, and the most bytes first. GitHub shows only ten of a kind."""
    return sorted(annotations, key=lambda annotation: (_SEVERITIES.index(annotation.severity), -annotation.weight))


def fingerprints(annotations: Iterable[Annotation]) -> Iterator[str]:
    """Yield what identifies each annotation across runs: its rule, file, and message without numbers, because sizes,
    names and lines have others in each compilation. Equal ones are counted, so that all are different.
    """
    counts: Counter[str] = Counter()
    for annotation in annotations:
        # A dump outside of the repository may be in another folder each time.
        path = annotation.place.path
        path = path.rpartition("/")[2] if path.startswith("/") else path
        text = _NUMBERS.sub("#", "\n".join((annotation.rule, path, annotation.checked, annotation.message)))
        counts[text] += 1
        yield hashlib.sha256(f"{text}\n{counts[text]}".encode("utf-8", "replace")).hexdigest()


_NUMBERS: Final = lazy_pattern(r"\d[\d.,]*(?: [KMGT]?i?B\b)?")


def place_in_dump(finding: Finding) -> CiPlace:
    """Return the place of a finding in the dump."""
    file = finding.place.file
    return CiPlace(file.label, *finding.place.position_from_1.values())


def finding_annotation(finding: Finding, meaning: str, checked: str, anchor: Anchor) -> Annotation:
    """Return the annotation of a finding."""
    words, facts = message(finding), finding.problem.facts
    if anchor.line and anchor.line.size_bytes is not None:
        words += f" {_line_text(anchor)} owns the most, {human(anchor.line.size_bytes)}."
    if anchor.source:
        words += f" See {anchor.dump.path}:{anchor.dump.line}."
    is_limit = finding.problem.kind in (Problem.MEMORY_ABOVE_LIMIT, Problem.PEAK_ABOVE_LIMIT)
    weight = facts["size_bytes"] - facts["limit_bytes"] if is_limit else 0
    return Annotation(finding.code.value, meaning, finding.severity, words, checked, anchor.place, weight)


def violation_annotation(diff: Diff, violation: Violation, anchor: Anchor) -> Annotation:
    """Return the annotation of a violated limit."""
    rule, meaning = violation_rule(violation)
    words = f"{violation_text(diff, violation)}."
    if anchor.line and anchor.line.size_bytes is not None and violation.sizes:
        words += f" {_line_text(anchor)} grew most at the peak, by {human(anchor.line.size_bytes)}."
    weight = violation.sizes.change if violation.sizes else 0
    checked = diff.name or anchor.dump.path
    return Annotation(rule, meaning, Severity.ERROR, words, checked, anchor.place, weight)


def _line_text(anchor: Anchor) -> str:
    line = anchor.line
    return "This line" if anchor.source or line is None else _colon(line.file, line.line)


def _colon(path: str, line: int | None) -> str:
    return path if line is None else f"{path}:{line}"


# ---------------------------------------------------------------- formats


def ci_text(annotations: Sequence[Annotation], checked: Sequence[str], output_format: CiFormat) -> str:
    """Return annotations in a format, the worst first. `checked` are the names of all dumps that were checked."""
    ordered = worst_first(annotations)
    match output_format:
        case CiFormat.GITHUB:
            return "".join(f"{_command(annotation)}\n" for annotation in ordered)
        case CiFormat.JUNIT:
            return "".join(f"{line}\n" for line in _junit_lines(ordered, checked))
        case CiFormat.GITLAB:
            data: object = _gitlab_report(ordered)
        case CiFormat.SARIF:
            data = _sarif_log(ordered)
    return f"{json.dumps(data, indent=2)}\n"


_LEVELS: Final = {
    Severity.ERROR: ("error", "critical", "error"),
    Severity.WARNING: ("warning", "major", "warning"),
    Severity.INFORMATION: ("notice", "info", "note"),
    Severity.HINT: ("notice", "info", "note"),
}
"""The severities as GitHub, GitLab and SARIF call them."""


_ESCAPES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_PROPERTIES: Final = str.maketrans({**_ESCAPES, ":": "%3A", ",": "%2C"})
_OF_DATA: Final = str.maketrans(_ESCAPES)


def _command(annotation: Annotation) -> str:
    """A workflow command of GitHub Actions: ``::error file=train.py,line=31,title=max-peak::…``."""
    place = annotation.place
    found = {"file": place.path, "line": place.line, "col": place.column, "title": f"xla-lens: {annotation.rule}"}
    given = (f"{name}={str(part).translate(_OF_PROPERTIES)}" for name, part in found.items() if part is not None)
    properties = ",".join(given)
    return f"::{_LEVELS[annotation.severity][0]} {properties}::{annotation.message.translate(_OF_DATA)}"


def _gitlab_report(annotations: Sequence[Annotation]) -> list[Json]:
    """Return a code quality report of GitLab."""
    return [
        {
            "description": annotation.message,
            "check_name": annotation.rule,
            "fingerprint": fingerprint,
            "severity": _LEVELS[annotation.severity][1],
            # GitLab requires a line.
            "location": {"path": annotation.place.path, "lines": {"begin": annotation.place.line or 1}},
        }
        for annotation, fingerprint in zip(annotations, fingerprints(annotations), strict=True)
    ]


_NOT_XML: Final = lazy_pattern("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""

_LINE_FEEDS: Final = {"\r\n": "&#10;", "\n": "&#10;"}
"""Line feeds are escaped, so that no text of a dump can begin a line of the report."""


def _junit_lines(annotations: Sequence[Annotation], checked: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a report in JUnit's XML with one test suite: its failures are errors and warnings."""
    failed = [annotation for annotation in annotations if annotation.severity.is_alarm]
    passed = [name for name in checked if name not in {annotation.checked for annotation in failed}]
    counts = f'tests="{len(failed) + len(passed)}" failures="{len(failed)}"'
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield f'<testsuites name="xla-lens" {counts}>'
    yield f'  <testsuite name="xla-lens" {counts} errors="0" skipped="0">'
    for annotation in failed:
        place = _colon(annotation.place.path, annotation.place.line)
        file, name = _attribute(annotation.place.path), _attribute(f"{annotation.rule} at {place}")
        yield f"    <testcase classname={_attribute(annotation.checked)} name={name} file={file}>"
        text = escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", f"{place}: {annotation.message}"), _LINE_FEEDS)
        kind, words = _attribute(annotation.rule), _attribute(annotation.message)
        yield f"      <failure type={kind} message={words}>{text}</failure>"
        yield "    </testcase>"
    yield from (f'    <testcase classname={_attribute(name)} name="passed"/>' for name in passed)
    yield "  </testsuite>"
    yield "</testsuites>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


_ROOT: Final = "%SRCROOT%"
"""The folder of the repository, as SARIF's own examples and GitHub name it."""


def _sarif_log(annotations: Sequence[Annotation]) -> Json:
    """Return a log in SARIF 2.1.0 with one run, whose rules are those of its results."""
    rules = {annotation.rule: annotation for annotation in annotations}
    driver = {
        "name": "XLA Lens",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": annotation.meaning},
                "help": {"text": f"Run `xla-lens {f'explain {rule}' if rule in set(Code) else 'diff --help'}`."},
                "defaultConfiguration": {"level": _LEVELS[annotation.severity][2]},
            }
            for rule, annotation in rules.items()
        ],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [*_results(annotations, [*rules])]}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _results(annotations: Sequence[Annotation], rules: Sequence[str]) -> Iterator[Json]:
    for annotation, fingerprint in zip(annotations, fingerprints(annotations), strict=True):
        yield {
            "ruleId": annotation.rule,
            "ruleIndex": rules.index(annotation.rule),
            "level": _LEVELS[annotation.severity][2],
            "message": {"text": annotation.message},
            "locations": [{"physicalLocation": _location(annotation.place)}],
            "partialFingerprints": {"xlaLens/v1": fingerprint},
        }


def _location(place: CiPlace) -> Json:
    path = quote(place.path.encode("utf-8", "surrogateescape"))
    artifact = {"uri": f"file://{path}"} if path.startswith("/") else {"uri": path, "uriBaseId": _ROOT}
    if place.line is None:
        return {"artifactLocation": artifact}
    column = {"startColumn": place.column} if place.column is not None else {}
    return {"artifactLocation": artifact, "region": {"startLine": place.line, **column}}
