"""Edit dumps, and compare what the checks report with what they should."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from mutations import EDITS, Mutation
from mutations.edits import ANY
from mutations.lines import HLO
from samples import dump_file, module_of_text
from xla_lens.disk.sets import find_sets
from xla_lens.model.analysis import analyse
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.problems import Finding
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind

ALARMS = (Severity.ERROR, Severity.WARNING)


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


def run(dump: Dump, edit: str, seed: int) -> str | None:
    """Make one edit and compare the findings with the expected ones. Returns what is wrong, an empty text if
    nothing is; None if the edit does not apply.

    One edit is one cause, so it may have only one code, and two findings, since either of two lines may be wrong.
    """
    mutation = EDITS[edit](random.Random(f"{dump.name} {edit} {seed}"), dump.files)
    if mutation is None:
        return None
    try:
        findings = dump.findings(mutation.files)
    except Exception as error:
        error.add_note(dump.name)
        raise
    known, new = Counter(dump.known), list[Finding]()
    for finding in findings:
        identity = _identity(finding)
        if known[identity]:
            known[identity] -= 1
        else:
            new.append(finding)
    alarms = [finding.code for finding in new if finding.severity in ALARMS]
    problems = {
        "it is not reported at its line": not _is_found(mutation, new),
        "false alarms": mutation.codes and ANY not in mutation.also and not {*alarms} <= mutation.codes | mutation.also,
        "more than two findings": sum(code in mutation.codes for code in alarms) > 2,
        "more than one code": len({*alarms}) > 1,
    }
    wrong = ", ".join(words for words, is_wrong in problems.items() if is_wrong)
    return f"{wrong}: {dump.name}\n{_details(dump, mutation, new)}" if wrong else ""


def _is_found(mutation: Mutation, findings: list[Finding]) -> bool:
    """Whether an expected code is at an expected line, or at another line that may just as well be the wrong one, with
    the expected line as a related location.
    """
    right = [finding for finding in findings if not mutation.codes or finding.code in mutation.codes]
    places = [(_row(finding.place), {_row(related.place) for related in finding.related}) for finding in right]
    return any(
        not mutation.places or row in mutation.places or (row in mutation.related and related & mutation.places)
        for row, related in places
    )


def _details(dump: Dump, mutation: Mutation, findings: Iterable[Finding]) -> str:
    parts = []
    for kind, after in mutation.files.items():
        rows = enumerate(zip_longest(dump.files[kind].split(b"\n"), after.split(b"\n")))
        parts += [f"  {kind}:{row} {old!r} → {new!r}" for row, (old, new) in rows if old != new][:1]
    parts.append(f"  expected {sorted(mutation.codes)} at {sorted(mutation.places)}, given")
    parts += [f"  {one.severity} {one.code} at {_row(one.place)} {one.problem}" for one in findings]
    return "\n".join(part[:400] for part in parts)
