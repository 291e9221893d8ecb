"""Document links."""

import pytest

from samples import (
    DUMPS,
    SEED,
    SPLIT,
    analysis_of,
    analysis_of_text,
    module_of,
    module_of_text,
    on_dumps,
)
from xla_lens.editor.links import SourceLink, frame_tooltip, links
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame


def check(analysis: Analysis, expected: str, limit: int = 100) -> None:
    """Return the links of all files: their texts and targets."""
    shown = []
    for file in analysis.dump.files:
        shown.append(f"{file.kind}:")
        for link in links(analysis.dump, None, file, limit):
            text = f"  {file.document.data[link.start : link.end].decode()} -> {frame_tooltip(link.target)}"
            shown.append(text)
    assert "\n".join(shown) == expected.strip("\n")


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


def _in_module(module: HloModule) -> list[SourceLink]:
    return links(analyse([]).dump, module, module.file, 10_000)


def test_module_with_source_files_and_lines_has_links() -> None:
    module = module_of(next(DUMPS.glob("cpu-jaxlib0.6.0/matmul/*-buffer-assignment.txt")))
    found = _in_module(module)
    assert len(found) == module.data.count(b'source_file="') > 2
    assert {frame_tooltip(link.target) for link in found} == {"/home/user/programs/programs.py:41"}


@pytest.mark.parametrize("wrong", ["stack_frame_id=99999", 'op_name="stack_frame_id=6"', "xstack_frame_id=6"])
def test_unknown_stack_frames_have_no_link(wrong: str) -> None:
    text = module_of(SPLIT).data.decode()
    first = text.index(" stack_frame_id=6") + 1
    data = (text[:first] + wrong + text[first + len("stack_frame_id=6") :]).encode()
    before, after = (len(_in_module(module_of_text(text))) for text in (text.encode(), data))
    assert after == before - 1


def _source(text: str) -> list[tuple[str, StackFrame]]:
    """Return the links in a dump after the source of its first instruction with one was replaced."""
    dump = SEED.read_text().replace('source_file="test_auto_sharding_basic.py" source_line=53', text)
    analysis = analysis_of_text(dump)
    (file,) = analysis.dump.files
    found = links(analysis.dump, None, file, 100)
    return [
        (file.document.data[link.start : link.end].decode(), link.target)
        for link in found
        if link.target.file != "test_auto_sharding_basic.py"
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


@on_dumps
def test_every_source_is_linked(analysis: Analysis) -> None:
    """Each source among the used values."""
    sources = 0
    for file in analysis.dump.files:
        data, end = file.document.data, 0
        for link in links(analysis.dump, None, file, 10_000):
            assert end <= link.start < link.end
            end, path, line = link.end, link.target.file, link.target.line
            text = data[link.start : end].decode()
            assert "\n" not in text
            if file is analysis.dump.used and not _is_in_breakdown(analysis, link.start):
                sources += 1
                assert data[: link.start].endswith(b'source_file="')
                assert text == (path if line is None else f'{path}" source_line={line}')
    used = analysis.dump.used
    assert not used or sources in (10_000, used.document.data.count(b'source_file="'))
