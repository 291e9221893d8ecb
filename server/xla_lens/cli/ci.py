"""The output of `check` and `diff` for continuous integration (CI)."""

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from xla_lens.cli.sets import LoadedSet
from xla_lens.features.report.options import CiFormat
from xla_lens.model.checks.findings import Finding
from xla_lens.package_files import meaning

if TYPE_CHECKING:
    # Most runs need none of it.
    from xla_lens.cli.repository import Repository
    from xla_lens.features.diff.facts import Diff, Violation
    from xla_lens.render.ci import Annotation


def ci_report(options: argparse.Namespace) -> "CiReport | None":
    """Return the report to fill; None if the output has another format."""
    if options.output_format not in set(CiFormat):
        return None
    from xla_lens.cli.repository import find_repository

    return CiReport(CiFormat(options.output_format), find_repository(options))


class CiReport:
    """The findings of all dumps, and the limits that comparisons violate."""

    def __init__(self, output_format: CiFormat, repository: "Repository") -> None:
        self._format = output_format
        self._repository = repository
        self._annotations: list[Annotation] = []
        self._checked: list[str] = []

    def add_findings(self, loaded: LoadedSet, findings: Sequence[Finding]) -> None:
        """Add the findings of a dump."""
        from xla_lens.features.sources_of_findings import source_of_finding
        from xla_lens.render.ci import Anchor, finding_annotation, place_in_dump

        repository, name = self._repository, loaded.files.stem.name
        self._checked.append(name)
        module = loaded.module() if findings else None
        for finding in findings:
            line = source_of_finding(loaded.analysis, module, finding)
            anchor = Anchor(repository.dump(place_in_dump(finding)), repository.place(line), line)
            self._annotations.append(finding_annotation(finding, meaning(finding.code), name, anchor))

    def add_violations(self, one: "Diff", violations: "Iterable[Violation]") -> None:
        """Add the limits that a comparison violates."""
        from xla_lens.features.sources_of_findings import source_of_growth
        from xla_lens.render.ci import Anchor, CiPlace, violation_annotation

        repository = self._repository
        dump = repository.dump(CiPlace(next(iter(one.new.files.values()))))
        self._checked.append(one.name or dump.path)
        spaces = {space.id: space for space in one.memory_spaces}
        for violation in violations:
            line = source_of_growth(spaces[violation.space])
            anchor = Anchor(dump, repository.place(line), line)
            self._annotations.append(violation_annotation(one, violation, anchor))

    def text(self) -> str:
        """Return the report in its format."""
        from xla_lens.render.ci import ci_text

        return ci_text(self._annotations, self._checked, self._format)
