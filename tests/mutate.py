"""Edit dumps, and compare what the checks report with what they should."""

import random
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from mutations import EDITS, Mutation
from mutations.edits import ANY
from mutations.lines import HLO
from samples import dump_file, module_of_text
from xla_lens.files import find_sets
from xla_lens.model.analysis import analyse
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.findings import Finding
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind

ALARMS = (Severity.ERROR, Severity.WARNING)


@dataclass(frozen=True)
class Result:
    """The outcome of one edit of one dump.

    `unrelated` counts false alarms, `places` counts findings with an expected code, and `codes` are those of all new
    errors and warnings. One edit is one cause, so it may have only one code.
    """

    edit: str
    dump: str
    seed: int
    outcome: str
    unrelated: int
    places: int = 0
    codes: tuple[str, ...] = ()
    details: str = field(repr=False, default="")

    @property
    def is_good(self) -> bool:
        is_found = self.outcome in ("found", "related")
        return is_found and not self.unrelated and not self.has_many_findings and len(self.codes) < 2

    @property
    def has_many_findings(self) -> bool:
        """Whether one edit has more than two findings. Two are allowed, since either of two lines may be wrong."""
        return self.places > 2


@dataclass(frozen=True)
class Dump:
    """A dump set with its parsed files, its HLO module and the findings that it has without edits."""

    name: str
    files: Mapping[str, bytes]
    parsed: Mapping[str, DumpFile]
    module: HloModule | None
    known: Counter[tuple[str, str, bytes]]

    def findings(self, files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        """The findings after an edit. Parses only the changed files again."""
        analysis = analyse(
            self.parsed[kind] if data is self.files[kind] or data == self.files[kind] else _parsed(kind, data)
            for kind, data in files.items()
            if kind != HLO
        )
        text = files.get(HLO)
        module = self.module if text == self.files.get(HLO) else module_of_text(text or b"")
        return analysis.with_module(module).findings if module else analysis.findings


def _parsed(kind: str, data: bytes) -> DumpFile:
    return dump_file(data, FileKind(kind))


def dump_sets(paths: Iterable[Path], *, has_modules: bool = False) -> list[dict[str, Path]]:
    """The paths of the files of all dump sets in the folders, with their HLO modules if `has_modules`."""
    return [
        {str(kind): path for kind, path in found.paths.items() if has_modules or kind is not FileKind.HLO}
        for folder in paths
        for found in find_sets(folder)
    ]


def load(paths: Mapping[str, Path]) -> Dump:
    """Read a dump set from disk."""
    files = {kind: path.read_bytes() for kind, path in paths.items()}
    parsed = {kind: _parsed(kind, data) for kind, data in files.items() if kind != HLO}
    module = module_of_text(files[HLO]) if HLO in files else None
    analysis = analyse(parsed.values())
    findings = analysis.with_module(module).findings if module else analysis.findings
    path = next(iter(paths.values()))
    name = f"{path.parent.parent.name}/{path.parent.name}/{path.name}"
    return Dump(name, files, parsed, module, Counter(map(_identity, findings)))


def _identity(finding: Finding) -> tuple[str, str, bytes]:
    """The code, file and line of a finding, to recognize findings that the dump had before the edit."""
    document = finding.place.file.document
    start, end = document.line_span(document.row(finding.place.start))
    return finding.code, finding.place.file.kind, document.data[start:end]


def _row(place: Place) -> tuple[str, int]:
    return str(place.file.kind), place.file.document.row(place.start)


def run(dump: Dump, edit: str, seed: int) -> Result | None:
    """Make one edit and compare the findings with the expected ones; None if the edit does not apply."""
    mutation = EDITS[edit](random.Random(f"{dump.name} {edit} {seed}"), dump.files)
    if mutation is None:
        return None
    try:
        findings = dump.findings(mutation.files)
    except Exception:
        return Result(edit, dump.name, seed, "failed", 0, 0, (), _details(dump, mutation, [], traceback.format_exc()))
    known = Counter(dump.known)
    new = []
    for finding in findings:
        identity = _identity(finding)
        if known[identity]:
            known[identity] -= 1
        else:
            new.append(finding)
    outcome = _outcome(mutation, new)
    unrelated = [
        finding
        for finding in new
        if finding.severity in ALARMS
        and mutation.codes
        and finding.code not in mutation.codes | mutation.also
        and ANY not in mutation.also
    ]
    codes = tuple(sorted({str(finding.code) for finding in new if finding.severity in ALARMS}))
    places = sum(finding.code in mutation.codes for finding in new if finding.severity in ALARMS)
    return Result(edit, dump.name, seed, outcome, len(unrelated), places, codes, _details(dump, mutation, new))


def _outcome(mutation: Mutation, findings: list[Finding]) -> str:
    """How the checks reported an edit.

    - `found`: the expected code, at the expected line
    - `related`: the expected code, at another line that may just as well be the wrong one, with the expected line as a
      related location
    - `elsewhere`: the expected code, at another line
    - `missed`: no expected code
    """
    right = [finding for finding in findings if not mutation.codes or finding.code in mutation.codes]
    if not right:
        return "missed"
    if not mutation.places or any(_row(finding.place) in mutation.places for finding in right):
        return "found"
    for finding in right:
        names = {_row(related.place) for related in finding.related}
        if _row(finding.place) in mutation.related and names & mutation.places:
            return "related"
    return "elsewhere"


def _details(dump: Dump, mutation: Mutation, findings: Iterable[Finding], failure: str = "") -> str:
    parts = []
    for kind, after in mutation.files.items():
        old, new = dump.files[kind].split(b"\n"), after.split(b"\n")
        if old != new:
            row = next(row for row, (one, two) in enumerate(zip_longest(old, new)) if one != two)
            parts += [
                f"  {kind}:{row}",
                *(f"    {sign} {_line(lines, row)}" for sign, lines in (("-", old), ("+", new))),
            ]
    places = ", ".join(f"{kind}:{row}" for kind, row in sorted(mutation.places)) or "any line"
    parts.append(f"  expected {' | '.join(sorted(mutation.codes)) or 'anything'} at {places}")
    for finding in findings:
        kind, row = _row(finding.place)
        parts.append(f"  given {finding.severity} {finding.code} at {kind}:{row} {finding.problem}")
    return "\n".join([*(part[:300] for part in parts), *failure.splitlines()])


def _line(lines: list[bytes], row: int) -> str:
    return lines[row].decode(errors="replace") if row < len(lines) else "(end of the file)"
