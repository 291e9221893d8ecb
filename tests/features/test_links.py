"""Document links."""

from pathlib import Path

import pytest

from samples import (
    DUMPS,
    SEED,
    SPLIT,
    TPU,
    analysis_of,
    analysis_of_text,
    module_of,
    module_of_text,
    on_all_dumps,
    on_each_dump,
)
from xla_lens.features.links import frame_tooltip, links, module_links
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.places import Place


def check(analysis: Analysis, expected: str, limit: int = 100) -> None:
    """Return the links of all files: their texts and targets."""
    shown = []
    for file in analysis.dump.files:
        shown.append(f"{file.kind}:")
        for link in links(analysis.dump, None, file, limit):
            text = f"  {file.document.data[link.start : link.end].decode()} -> {link.tooltip}"
            if isinstance(place := link.target, Place):
                text += f" ({place.file.kind}: {place.file.document.data[place.start : place.end].decode()})"
            shown.append(text)
    assert "\n".join(shown) == expected.strip("\n")


def test_headers_link_to_other_files() -> None:
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


def test_op_names_link_to_sources() -> None:
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


def test_dump_in_one_file_links_to_its_report_only() -> None:
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


def test_module_with_source_files_and_lines_has_links() -> None:
    module = module_of(next(DUMPS.glob("cpu-jaxlib0.6.0/matmul/*-buffer-assignment.txt")))
    found = module_links(module, 10_000)
    assert len(found) == module.data.count(b'source_file="') > 2
    assert {link.tooltip for link in found} == {"/home/user/programs/programs.py:41"}


@pytest.mark.parametrize("wrong", ["stack_frame_id=99999", 'op_name="stack_frame_id=6"', "xstack_frame_id=6"])
def test_unknown_stack_frames_have_no_link(wrong: str) -> None:
    text = module_of(SPLIT).data.decode()
    first = text.index(" stack_frame_id=6") + 1
    data = (text[:first] + wrong + text[first + len("stack_frame_id=6") :]).encode()
    before, after = (len(module_links(module_of_text(text), 10_000)) for text in (text.encode(), data))
    assert after == before - 1


def test_single_file_has_no_links_to_others() -> None:
    assignment = analysis_of(TPU).dump.assignment
    assert assignment
    alone = analyse([assignment])
    assert not any(isinstance(link.target, Place) for link in links(alone.dump, None, assignment, 100))


def _source(text: str) -> list[tuple[str, StackFrame]]:
    """Return the links in a dump after the source of its first instruction with one was replaced."""
    dump = SEED.read_text().replace('source_file="test_auto_sharding_basic.py" source_line=53', text)
    analysis = analysis_of_text(dump)
    (file,) = analysis.dump.files
    found = links(analysis.dump, None, file, 100)
    return [
        (file.document.data[link.start : link.end].decode(), link.target)
        for link in found
        if isinstance(link.target, StackFrame) and link.target.file != "test_auto_sharding_basic.py"
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
def test_paths_are_unescaped(text: str, path: str, line: int | None) -> None:
    ((shown, target),) = _source(text)
    assert target == StackFrame(path, line)
    inner = text.removeprefix('source_file="')
    assert shown == (inner.rpartition('"')[0] if line is None else inner.partition(" source_end")[0])
    assert "\n" not in frame_tooltip(target)


@pytest.mark.parametrize(
    "text", ['source_file="" source_line=1', 'source_file="a', "source_file=a.py", 'op_type="source_file=\\"a\\""']
)
def test_other_texts_have_no_link(text: str) -> None:
    assert _source(text) == []


def _is_in_breakdown(analysis: Analysis, offset: int) -> bool:
    return bool((analysis.dump.stack_traces.name_start == offset).any())


def _check_links(analysis: Analysis) -> tuple[int, int]:
    """Return the number of links to sources and to other files."""
    sources, headers = 0, 0
    for file in analysis.dump.files:
        data, end = file.document.data, 0
        for link in links(analysis.dump, None, file, 10_000):
            assert end <= link.start < link.end
            end = link.end
            text = data[link.start : link.end].decode()
            assert "\n" not in text
            match link.target:
                case StackFrame(path, line) if file is analysis.dump.used and not _is_in_breakdown(
                    analysis, link.start
                ):
                    sources += 1
                    assert data[: link.start].endswith(b'source_file="')
                    assert text == (path if line is None else f'{path}" source_line={line}')
                case Place():
                    headers += 1
                    assert link.target.file is not file
                    assert link.target.file in analysis.dump.files
    return sources, headers


def _check_all_links(analysis: Analysis) -> tuple[int, int]:
    """Check all links, and that each source has one."""
    sources, headers = _check_links(analysis)
    used = analysis.dump.used
    if used and sources < 10_000:
        assert sources == used.document.data.count(b'source_file="')
    return sources, headers


@on_each_dump
def test_every_source_and_every_other_file_is_linked(path: Path) -> None:
    _, headers = _check_all_links(analysis_of(path))
    assert (headers > 0) == (len(analysis_of(path).dump.files) > 1)


@on_all_dumps(_check_all_links)
def test_all_dumps_have_links(of_all_dumps: dict[str, tuple[int, int]]) -> None:
    assert sum(sources for sources, _ in of_all_dumps.values()) > 1000
    assert sum(headers for _, headers in of_all_dumps.values()) > 500
