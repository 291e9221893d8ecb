"""The line of the user's program that a finding, or the growth of a memory space, is about."""

from typing import NamedTuple

from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import bytes_by_line
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.problems import Finding, Problem
from xla_lens.model.diff.breakdowns import By
from xla_lens.model.diff.comparison import SpaceComparison
from xla_lens.model.places.mentions import mention_at


class SourceLine(NamedTuple):
    """A line of the user's program by its path on the compiling machine. `size_bytes` is what the line owns at a peak,
    or by how much that grew; None where a finding is about a single instruction.
    """

    file: str
    line: int | None
    size_bytes: int | None = None


def source_of_finding(analysis: Analysis, finding: Finding) -> SourceLine | None:
    """Return the line that made the instruction a finding is about; for a peak above a limit, the line that owns most
    bytes of it. None if it is unknown, or if the finding is about the text of the dump.
    """
    if finding.problem.kind is Problem.PEAK_ABOVE_LIMIT:
        space, step = finding.problem.facts["space"], finding.problem.facts["peak_step"]
        lines = bytes_by_line(analysis.dump, analysis.module, step, space.color).lines
        frames = ((line.frame, line.size_bytes) for line in lines)
        return next((SourceLine(frame.file, frame.line, size) for frame, size in frames if frame), None)
    is_about_text = finding.code in (Code.SYNTAX, Code.TRUNCATED_DUMP)
    if is_about_text and finding.problem.kind is not Problem.MISSING_QUOTE:
        return None
    mention = mention_at(analysis.dump, finding.place.file, finding.place.start)
    origin = Origins(analysis.dump, analysis.module).of_target(mention.target) if mention else None
    frame = origin.line if origin else None
    return SourceLine(frame.file, frame.line) if frame else None


def source_of_growth(space: SpaceComparison) -> SourceLine | None:
    """Return the line whose bytes at the peak of a memory space grew most, None if none grew."""
    rows = space.breakdowns.get(By.LINE, ())
    grown = [row for row in rows if isinstance(row.key, str) and row.change > 0]
    if not grown:
        return None
    most = max(grown, key=lambda row: row.change)
    file, colon, line = str(most.key).rpartition(":")
    is_numbered = bool(colon) and line.isdecimal()
    return SourceLine(file if is_numbered else str(most.key), int(line) if is_numbered else None, most.change)
