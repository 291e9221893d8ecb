"""Annotations: findings and violated limits, each at a place that a continuous integration system can show.

A dump is a product of the build, and not part of the repository. So an annotation is at the line of the user's program
where that is known and in the repository, else at the dump.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.gates import Violation
from xla_lens.features.sources_of_findings import SourceLine
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.findings import Finding
from xla_lens.model.checks.problems import Problem
from xla_lens.records import dataclass
from xla_lens.render.diff.words import violation_rule, violation_text
from xla_lens.render.messages import message
from xla_lens.render.numbers import human
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position


@dataclass(frozen=True, slots=True)
class CiPlace:
    """A line of a file by its path in the repository, or else by any path. Lines and columns count from 1; they are
    None where only the file is known.
    """

    path: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
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


@dataclass(frozen=True, slots=True)
class Annotation:
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
    return sorted(annotations, key=lambda one: (_SEVERITIES.index(one.severity), -one.weight))


def fingerprints(annotations: Iterable[Annotation]) -> Iterator[str]:
    """Yield what identifies each annotation across runs: its rule, file, and message without numbers, because sizes,
    names and lines have others in each compilation. Equal ones are counted, so that all are different.
    """
    counts: Counter[str] = Counter()
    for one in annotations:
        # A dump outside of the repository may be in another folder each time.
        path = one.place.path.rpartition("/")[2] if one.place.path.startswith("/") else one.place.path
        text = _NUMBERS.sub("#", "\n".join((one.rule, path, one.checked, one.message)))
        counts[text] += 1
        yield hashlib.sha256(f"{text}\n{counts[text]}".encode("utf-8", "replace")).hexdigest()


_NUMBERS: Final = re.compile(r"\d[\d.,]*(?: [KMGT]?i?B\b)?")


def place_in_dump(finding: Finding) -> CiPlace:
    """Return the place of a finding in the dump."""
    row, column = to_position(finding.place.file.document, finding.place.start, Encoding.UTF32)
    return CiPlace(finding.place.file.label, row + 1, column + 1)


def finding_annotation(finding: Finding, meaning: str, checked: str, anchor: Anchor) -> Annotation:
    """Return the annotation of a finding."""
    words = message(finding)
    if anchor.line and anchor.line.size_bytes is not None:
        words += f" {_line_text(anchor)} owns the most, {human(anchor.line.size_bytes)}."
    if anchor.source:
        words += f" See {anchor.dump.path}:{anchor.dump.line}."
    weight = 0
    if finding.problem.kind in (Problem.MEMORY_ABOVE_LIMIT, Problem.PEAK_ABOVE_LIMIT):
        weight = finding.problem.facts["size_bytes"] - finding.problem.facts["limit_bytes"]
    return Annotation(finding.code.value, meaning, finding.severity, words, checked, anchor.place, weight)


def violation_annotation(one: Diff, violation: Violation, anchor: Anchor) -> Annotation:
    """Return the annotation of a violated limit."""
    rule, meaning = violation_rule(violation)
    words = f"{violation_text(one, violation)}."
    if anchor.line and anchor.line.size_bytes is not None and violation.sizes:
        words += f" {_line_text(anchor)} grew most at the peak, by {human(anchor.line.size_bytes)}."
    weight = violation.sizes.change if violation.sizes else 0
    checked = one.name or anchor.dump.path
    return Annotation(rule, meaning, Severity.ERROR, words, checked, anchor.place, weight)


def _line_text(anchor: Anchor) -> str:
    line = anchor.line
    if anchor.source or line is None:
        return "This line"
    return line.file + (f":{line.line}" if line.line is not None else "")
