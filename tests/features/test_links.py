"""Links out of a dump, and between the files of a set."""

from pathlib import Path

import pytest

from samples import DUMPS, SEED, TPU, analysis_of, analysis_of_text, assignments, damaged, on_all_dumps
from xla_lens.features.links import SectionHeader, SourceLine, links
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.render.links import link_tooltip


def check(analysis: Analysis, expected: str, limit: int = 100) -> None:
    """The links of all files: what they stand on, and where they lead."""
    shown = []
    for member in analysis.dump.members:
        shown.append(f"{member.kind}:")
        for link in links(analysis.dump, member, limit):
            text = f"  {member.document.data[link.start : link.end].decode()} -> {link_tooltip(link.target)}"
            if isinstance(link.target, SectionHeader):
                place = link.target.place
                text += f" ({place.member.kind}: {place.member.document.data[place.start : place.end].decode()})"
            shown.append(text)
    assert "\n".join(shown) == expected.strip("\n")


def test_from_file_to_file() -> None:
    check(
        analysis_of(TPU),
        """
buffer-assignment:
  BufferAssignment -> Used values (values: Used values:)
values:
  Total bytes used -> Memory usage report (memory-usage-report: Memory Space: default (color=0))
  Used values -> Live ranges (live-range: HloLiveRange (max 9):)
live-range:
  HloLiveRange -> Buffer assignment (buffer-assignment: BufferAssignment:)
  InstructionSequence -> Used values (values: Used values:)
  BufferLiveRange -> Buffer assignment (buffer-assignment: BufferAssignment:)
memory-usage-report:
  Memory Space -> Buffer assignment (buffer-assignment: BufferAssignment:)
  Memory Space -> Buffer assignment (buffer-assignment: BufferAssignment:)
  Memory Space -> Buffer assignment (buffer-assignment: BufferAssignment:)
  Memory Space -> Buffer assignment (buffer-assignment: BufferAssignment:)
""",
    )


def test_source() -> None:
    check(
        analysis_of(SEED),
        """
buffer-assignment:
  test_auto_sharding_basic.py" source_line=53 -> test_auto_sharding_basic.py:53
  test_auto_sharding_basic.py" source_line=52 -> test_auto_sharding_basic.py:52
  test_auto_sharding_basic.py" source_line=50 -> test_auto_sharding_basic.py:50
""",
    )
    check(
        analysis_of(SEED),
        """
buffer-assignment:
  test_auto_sharding_basic.py" source_line=53 -> test_auto_sharding_basic.py:53
""",
        limit=1,
    )


def test_a_dump_in_one_file_leads_to_its_report_only() -> None:
    check(
        analysis_of(next(DUMPS.glob("cpu-jaxlib0.6.0/matmul/*-buffer-assignment.txt"))),
        """
buffer-assignment:
  Total bytes used -> Memory usage report (memory-usage-report: Allocations sorted by size:)
  /home/user/programs/programs.py" source_line=41 -> /home/user/programs/programs.py:41
  /home/user/programs/programs.py" source_line=41 -> /home/user/programs/programs.py:41
memory-usage-report:
  Allocations sorted by size -> Buffer assignment (buffer-assignment: BufferAssignment:)
  Allocations sorted by size -> Buffer assignment (buffer-assignment: BufferAssignment:)
""",
        limit=2,
    )


def test_a_file_alone_leads_to_no_other() -> None:
    assignment = analysis_of(TPU).dump.assignment
    assert assignment
    alone = analyse([assignment])
    assert not any(isinstance(link.target, SectionHeader) for link in links(alone.dump, assignment, 100))


def _source(text: str) -> list[tuple[str, SourceLine]]:
    """The links in a dump whose first instruction with a source has another."""
    dump = SEED.read_text().replace('source_file="test_auto_sharding_basic.py" source_line=53', text)
    analysis = analysis_of_text(dump)
    (member,) = analysis.dump.members
    found = links(analysis.dump, member, 100)
    return [
        (member.document.data[link.start : link.end].decode(), link.target)
        for link in found
        if isinstance(link.target, SourceLine) and link.target.path != "test_auto_sharding_basic.py"
    ]


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ('source_file="a.py" source_line=9', "a.py", 9),
        ('source_file="a.py" source_line=9 source_end_line=11', "a.py", 9),
        ('source_file="a.py"', "a.py", None),
        ('source_file="a.py" stack_frame_id=9', "a.py", None),
        ('source_file="a.py" source_line=0', "a.py", 0),
        ('source_file="a.py" source_line=12345678901234567890', "a.py", None),
        ('source_file="/a b/\\"c\\".py" source_line=1', '/a b/"c".py', 1),
        ('source_file="C:\\\\a\\\\b.py" source_line=1', "C:\\a\\b.py", 1),
        ('source_file="/gr\\303\\266\\303\\237e.py" source_line=1', "/größe.py", 1),
        ('source_file="/größe.py" source_line=1', "/größe.py", 1),
        ('source_file="command:run" source_line=1', "command:run", 1),
        ('source_file="\\n" source_line=1', "\n", 1),
    ],
)
def test_paths_are_read_as_they_were(text: str, path: str, line: int | None) -> None:
    ((shown, target),) = _source(text)
    assert target == SourceLine(path, line)
    inner = text.removeprefix('source_file="')
    assert shown == (inner.rpartition('"')[0] if line is None else inner.partition(" source_end")[0])
    assert "\n" not in link_tooltip(target)


@pytest.mark.parametrize(
    "text", ['source_file="" source_line=1', 'source_file="a', "source_file=a.py", 'op_type="source_file=\\"a\\""']
)
def test_what_is_no_path_has_no_link(text: str) -> None:
    assert _source(text) == []


def _check_links(analysis: Analysis) -> tuple[int, int]:
    """How many links lead to source, and to other files."""
    sources, headers = 0, 0
    for member in analysis.dump.members:
        data, end = member.document.data, 0
        for link in links(analysis.dump, member, 10_000):
            assert end <= link.start < link.end
            end = link.end
            text = data[link.start : link.end].decode()
            assert "\n" not in text
            match link.target:
                case SourceLine(path, line):
                    sources += 1
                    assert data[: link.start].endswith(b'source_file="')
                    assert text == (path if line is None else f'{path}" source_line={line}')
                case SectionHeader(_, place):
                    headers += 1
                    assert place.member is not member
                    assert place.member in analysis.dump.members
    return sources, headers


def _check_all_links(analysis: Analysis) -> tuple[int, int]:
    """The same, and that no source is left out."""
    sources, headers = _check_links(analysis)
    used = analysis.dump.used
    if used and sources < 10_000:
        assert sources == used.document.data.count(b'source_file="')
    return sources, headers


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_every_source_and_every_other_file_is_linked(path: Path) -> None:
    _, headers = _check_all_links(analysis_of(path))
    assert (headers > 0) == (len(analysis_of(path).dump.members) > 1)


@on_all_dumps(_check_all_links)
def test_on_all_dumps(of_all_dumps: dict[str, tuple[int, int]]) -> None:
    assert sum(sources for sources, _ in of_all_dumps.values()) > 1000
    assert sum(headers for _, headers in of_all_dumps.values()) > 500


def test_damaged_dumps_have_links() -> None:
    counts = [_check_links(analysis_of_text(text.decode())) for _, text in damaged(SEED.read_bytes())]
    assert max(counts) == (3, 0)
