"""Mentions in memory usage reports, in both forms."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from samples import DUMPS, analysis_of, assignments, mark, on_all_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.mentions import Allocation, Value, mention_at
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.numbers import human_size


def _check_rows(analysis: Analysis) -> int:
    """Check that each row means a value at its offset with its size."""
    dump = analysis.dump
    (report,) = (file for file in dump.files if file.kind is FileKind.MEMORY_USAGE_REPORT)
    rows = report.columns.report_rows
    for start, end, offset in zip(rows.start.tolist(), rows.end.tolist(), rows.offset.tolist(), strict=True):
        mention = mention_at(dump, report, start + 1)
        assert mention
        assert isinstance(mention.target, Value)
        value = mention.target.row
        assert dump.values.offset[value] == offset
        size = human_size(int(dump.values.size_bytes[value])).decode()
        assert report.document.data[start:end].decode().split(";")[1].strip() == size
    return len(rows)


def test_report_rows_mean_values() -> None:
    analyses = [analysis_of(path) for path in assignments()]
    with_report = [
        analysis for analysis in analyses if FileKind.MEMORY_USAGE_REPORT in {file.kind for file in analysis.dump.files}
    ]
    assert sum(map(_check_rows, with_report)) > 200


def _check(analysis: Analysis) -> int | None:
    has_report = FileKind.MEMORY_USAGE_REPORT in {file.kind for file in analysis.dump.files}
    return _check_rows(analysis) if has_report else None


@on_all_dumps(_check)
def test_report_rows_mean_values_on_all_dumps(of_all_dumps: Mapping[str, int | None]) -> None:
    assert sum(rows is not None for rows in of_all_dumps.values()) > 190


@pytest.mark.parametrize("folder", ["cpu-jaxlib0.6.2", "cpu-jaxlib0.8.3"])
def test_report_headers_mean_allocations(folder: str) -> None:
    report: Path = sorted((DUMPS / folder).rglob("*-memory-usage-report.txt"))[0]
    line = next(line for line in report.read_text().split("\n") if line.startswith("allocation "))
    _, mention = mark(analysis_of(report), f"{line}\n  ^")
    assert mention
    assert isinstance(mention.target, Allocation)
