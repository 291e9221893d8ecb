"""Code lenses: their lines, titles and click targets."""

from itertools import groupby

from samples import SEED, SPLIT, TPU, analysis_of, analysis_of_text, on_dumps
from xla_lens.editor.annotations import lenses
from xla_lens.editor.page_kinds import SummaryPage
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind


def _lines(analysis: Analysis, file: DumpFile, limit: int) -> str:
    """Check the lines of a file with lenses, each below its lenses and their click targets."""
    lines: list[str] = []
    for start, group in groupby(lenses(analysis, file, limit), key=lambda lens: lens.offset):
        row = file.document.row(start)
        assert file.document.line_span(row)[0] == start
        for lens in group:
            click: object = lens.click
            if isinstance(click, Place):
                click = click.file.document.data[click.start : click.end].decode()
            lines.append(f"[{lens.title}] {click}")
        lines.append(file.document.data[slice(*file.document.line_span(row))].decode())
    return "\n".join(lines)


def check(analysis: Analysis, kind: FileKind, expected: str, limit: int = 500) -> None:
    (file,) = (file for file in analysis.dump.files if file.kind is kind)
    assert _lines(analysis, file, limit) == expected.strip("\n")


def test_allocations_have_lenses() -> None:
    check(
        analysis_of(TPU),
        FileKind.BUFFER_ASSIGNMENT,
        """
[HBM: needs 12.05 MiB, peak 12.00 MiB · VMEM: needs 4.00 MiB, peak 4.00 MiB · host memory: needs 4.00 MiB, peak 4.00 MiB · 1 more memory space] SummaryPage()
BufferAssignment:
[98.9 % live at once, 5 values] HistoryPage(allocation=2)
allocation 2: size 4243456, page 0, preallocated-temp:
[100.0 % live at once, 1 value] HistoryPage(allocation=3)
allocation 3: size 4194304, color 1, page 0, preallocated-temp:
[100.0 % live at once, 3 values] HistoryPage(allocation=4)
allocation 4: size 8, color 2, page 0, preallocated-temp:
[100.0 % live at once, 1 value] HistoryPage(allocation=5)
allocation 5: size 4194304, color 5, page 0, preallocated-temp:
""",  # noqa: E501
    )
    check(
        analysis_of(SPLIT),
        FileKind.BUFFER_ASSIGNMENT,
        """
[host memory: needs 4.21 MiB, peak 4.21 MiB] SummaryPage()
BufferAssignment:
[100.0 % live at once, 19 values] HistoryPage(allocation=29)
allocation 29: size 1869824, page 0, preallocated-temp:
""",
    )


def test_used_values_have_lenses() -> None:
    check(
        analysis_of(TPU),
        FileKind.VALUES,
        """
[HBM: needs 12.05 MiB, peak 12.00 MiB · VMEM: needs 4.00 MiB, peak 4.00 MiB · host memory: needs 4.00 MiB, peak 4.00 MiB · 1 more memory space] SummaryPage()
[lenses for the 4 largest only] None

[3 uses in 3 instructions] Value(row=0)
[33.3 % of the HBM peak] LiveSetPage(step=8)
<13 x.1 @0>
[2 uses in 2 instructions] Value(row=1)
<14 broadcast_multiply_fusion @0>
[3 uses in 3 instructions] Value(row=3)
[100.0 % of the host memory peak] LiveSetPage(step=3)
<16 copy-start{0} @5>
[2 uses in 2 instructions] Value(row=6)
[33.3 % of the HBM peak] LiveSetPage(step=8)
<19 copy-start.1{0} @0>
""",  # noqa: E501
        limit=4,
    )


def test_summary_counts_findings() -> None:
    text = SEED.read_text().replace("allocation 4: ", "allocation 4 ")
    analysis = analysis_of_text(text)
    found = lenses(analysis, analysis.dump.files[0])[0]
    assert found.title.endswith(" · 1 finding · dump has unreadable lines")


def test_incomplete_sets_have_lenses() -> None:
    for file in analysis_of(TPU).dump.files:
        analysis = analyse([file])
        titles = [lens.title for lens in lenses(analysis, file)]
        assert titles[0]
        assert len(titles) > 1 or file.kind is FileKind.MEMORY_USAGE_REPORT


@on_dumps
def test_every_lens_has_a_title(analysis: Analysis) -> None:
    count, limit = 0, 20
    for file in analysis.dump.files:
        found = lenses(analysis, file, limit)
        assert [lens.offset for lens in found] == sorted(lens.offset for lens in found)
        assert found[0].click == SummaryPage()
        assert len(found) <= 3 * limit + 40
        assert all(lens.title for lens in found)
        count += sum(isinstance(lens.click, Value) for lens in found)
    assert count
