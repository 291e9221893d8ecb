"""The output of `check` and `diff` for continuous integration (CI), with paths in the user's repository."""

import argparse
import os
import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from xla_lens.cli.ci_formats import (
    Anchor,
    Annotation,
    CiPlace,
    ci_text,
    finding_annotation,
    place_in_dump,
    violation_annotation,
)
from xla_lens.cli.sets import LoadedSet
from xla_lens.cli.sources_of_findings import SourceLine, source_of_finding, source_of_growth
from xla_lens.diff.compare import Diff, Violation
from xla_lens.disk.package_files import meaning
from xla_lens.model.checks.problems import Finding
from xla_lens.report.options import CiFormat
from xla_lens.text.paths import mapped


def ci_report(options: argparse.Namespace) -> "CiReport":
    """Return the report to fill. `options.output_format` is one of `CiFormat`."""
    here = Path(os.path.realpath(os.getcwd()))
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return CiReport(CiFormat(options.output_format), root, options.path_mapping)


class CiReport(Struct, eq=False):
    """The findings of all dumps, and the limits that comparisons violate. `root` is the repository around the current
    folder; without one, the current folder. `mapping` has the folders of `--path-mapping`.
    """

    output_format: CiFormat
    root: Path
    mapping: Sequence[tuple[str, str]]
    annotations: list[Annotation] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    def add_findings(self, loaded: LoadedSet, findings: Sequence[Finding]) -> None:
        """Add the findings of a dump."""
        name = loaded.files.stem.name
        self.checked.append(name)
        analysis = loaded.read_module() if findings else loaded.analysis
        for finding in findings:
            line = source_of_finding(analysis, finding)
            anchor = Anchor(self._dump(place_in_dump(finding)), self.source_place(line), line)
            self.annotations.append(finding_annotation(finding, meaning(finding.code), name, anchor))

    def add_violations(self, diff: Diff, violations: Iterable[Violation]) -> None:
        """Add the limits that a comparison violates."""
        dump = self._dump(CiPlace(next(iter(diff.new.files.values()))))
        self.checked.append(diff.name or dump.path)
        spaces = {space.id: space for space in diff.memory_spaces}
        for violation in violations:
            line = source_of_growth(spaces[violation.space])
            self.annotations.append(violation_annotation(diff, violation, Anchor(dump, self.source_place(line), line)))

    def text(self) -> str:
        """Return the report in its format."""
        return ci_text(self.annotations, self.checked, self.output_format)

    def source_place(self, line: SourceLine | None) -> CiPlace | None:
        """Return the place of a source line in the repository, None if its file is not there.

        The compiling machine may have had the repository in another folder. So this looks for the end of the path, and
        takes the file with the longest end that exists.
        """
        if line is None:
            return None
        path = posixpath.normpath(mapped(line.file, self.mapping).replace("\\", "/"))
        parts = [part for part in path.split("/") if part not in ("", "..")]
        ends = ("/".join(parts[start:]) for start in range(len(parts)))
        inside = next((end for end in ends if os.path.isfile(self.root / end)), None)
        return CiPlace(inside, line.line) if inside is not None else None

    def _dump(self, place: CiPlace) -> CiPlace:
        """The place of a dump with its path in the repository, or its absolute path if it is elsewhere."""
        absolute = os.path.abspath(place.path)
        paths = [Path(path) for path in (absolute, os.path.realpath(absolute))]
        inside = next((path.relative_to(self.root) for path in paths if path.is_relative_to(self.root)), paths[0])
        return CiPlace(inside.as_posix(), place.line, place.column)
