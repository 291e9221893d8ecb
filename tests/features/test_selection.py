"""Selection ranges."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from samples import DUMPS, GLUED, PALLAS, SEED, analysis_of, dump_file, malformed_texts, on_all_dumps, on_each_dump
from xla_lens.features.selection import selection
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.mentions import Role, mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind


def check(path: Path, before: str, after: str, expected: str, kind: FileKind = FileKind.BUFFER_ASSIGNMENT) -> None:
    """Check the selections between two adjacent pieces of text, which occur together once, smallest first. Selections
    over several lines are shown with their start, end and number of lines.
    """
    file = next(file for file in analysis_of(path).dump.files if file.kind is kind)
    text = file.document.data.decode()
    assert text.count(before + after) == 1
    offset = len(text[: text.index(before + after) + len(before)].encode())
    shown = (_shown(file.document.data[start:end].decode()) for start, end in selection(file, offset, 100))
    assert "\n".join(shown) == expected.strip("\n")


def _shown(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > 1:
        return f"{lines[0][:40]} … {lines[-1][-24:]} ({len(lines)} lines)"
    return text if len(text) < 80 else f"{text[:60]} … {text[-12:]}"


def test_selection_grows_around_a_value() -> None:
    check(
        SEED,
        " value: <4 cublas",
        "-gemm.1 @0>",
        """
cublas-gemm.1
<4 cublas-gemm.1 @0>
value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}
allocation 2: 0x399bf70, size 4096, mayb … fset=0): f32[64,16]{1,0} (3 lines)
BufferAssignment: … et=0): f32[64,1024]{1,0} (12 lines)
BufferAssignment: …  (78 lines)
""",
    )


def test_name_with_an_index_is_one_word() -> None:
    expected = """
tuple{}
tuple{}:6-7
BufferLiveRange: …     fusion{}:3-4 (7 lines)
HloLiveRange (max 7): … ublas-gemm.1: 4096 bytes (21 lines)
BufferAssignment: …  (78 lines)
"""
    check(SEED, "    tup", "le{}:6-7", expected)
    check(SEED, "    tuple{", "}:6-7", expected)
    check(SEED, "    tuple{}", ":6-7", expected)


def test_selection_grows_around_a_shape() -> None:
    check(
        SEED,
        "(size=8,offset=0): (f32[6",
        "4,16]{1,0})",
        """
64
64,16
[64,16]
f32[64,16]{1,0}
(f32[64,16]{1,0})
value: <3 tuple{} @0> (size=8,offset=0): (f32[64,16]{1,0})
allocation 3: 0x399c020, size 8, output  … et=0): (f32[64,16]{1,0}) (2 lines)
BufferAssignment: … et=0): f32[64,1024]{1,0} (12 lines)
BufferAssignment: …  (78 lines)
""",
    )


def test_selection_grows_around_an_allocation_header() -> None:
    check(
        SEED,
        "size 262144, parameter",
        " 0, shape",
        """
parameter
parameter 0, shape |f32[64,256,4]| at ShapeIndex {}
allocation 0: 0x399be10, size 262144, parameter 0, shape |f3 … apeIndex {}:
allocation 0: 0x399be10, size 262144, pa … 0): f32[64,256,4]{2,1,0} (2 lines)
BufferAssignment: … et=0): f32[64,1024]{1,0} (12 lines)
BufferAssignment: …  (78 lines)
""",
    )


def test_selection_grows_in_lists_of_a_used_value() -> None:
    around = """
<1 param.1 @0> … {devices=[1,4,1]0,1,2,3} (8 lines)
Used values: … asic.py" source_line=50} (39 lines)
BufferAssignment: …  (78 lines)
"""
    check(SEED, "  bit", "cast.1\n uses", "bitcast.1\npositions: …   bitcast.1 (3 lines)" + around)
    row = "1\ncublas-gemm.1, operand 1\nuses: … cublas-gemm.1, operand 1 (3 lines)"
    check(SEED, "  cublas-gemm.1, operand ", "1", row + around)


def test_selection_grows_in_an_instruction() -> None:
    around = """
%negate.0 = f32[64,16]{1,0} negate(f32[64,16]{1,0} %cublas-g … rce_line=53}
from instruction:%negate.0 = f32[64,16]{1,0} negate(f32[64,1 … rce_line=53}
<2 negate.0 @0> … asic.py" source_line=53} (7 lines)
Used values: … asic.py" source_line=50} (39 lines)
BufferAssignment: …  (78 lines)
"""
    operand = """
%cublas-gemm.1
f32[64,16]{1,0} %cublas-gemm.1
(f32[64,16]{1,0} %cublas-gemm.1)
negate(f32[64,16]{1,0} %cublas-gemm.1)
%negate.0 = f32[64,16]{1,0} negate(f32[64,16]{1,0} %cublas-gemm.1)"""
    check(SEED, "negate(f32[64,16]{1,0} %", "cublas-gemm.1)", operand + around)
    attribute = """
neg
parallelize(func_shard_parallel)/neg
"parallelize(func_shard_parallel)/neg"
op_name="parallelize(func_shard_parallel)/neg"
op_type="neg" op_name="parallelize(func_shard_parallel)/neg" … urce_line=53
{op_type="neg" op_name="parallelize(func_shard_parallel)/neg … rce_line=53}
metadata={op_type="neg" op_name="parallelize(func_shard_para … rce_line=53}"""
    check(SEED, '"parallelize(func_shard_parallel)/ne', 'g"', attribute + around)


def test_selection_grows_in_a_frame_over_two_lines() -> None:
    check(
        next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/*-buffer-assignment.txt")),
        "line\ttab/dot",
        "_general",
        """
jit(f)/new … line\ttab/dot_general (2 lines)
├── jit(f)/new … remaining: 11 608 bytes) (2 lines)
main.1 (100.0%, total: 27 736 bytes, cur … tes, remaining: 0 bytes) (14 lines)
Stack trace breakdown for peak usage: 27 … tes, remaining: 0 bytes) (15 lines)
HloLiveRange (max 24): … tes, remaining: 0 bytes) (80 lines)
HloLiveRange (max 24): …  (81 lines)
""",
        FileKind.LIVE_RANGE,
    )


def test_selection_grows_in_an_instruction_over_several_lines() -> None:
    text = PALLAS.with_name(PALLAS.name.replace(".txt", "-values.txt")).read_text()
    before = text[text.index("<10 splash") : text.index('"xprof', text.index("<10 splash")) + 3]
    check(
        PALLAS,
        before,
        "rof_metadata",
        r"""
xprof_metadata
"xprof_metadata"
"xprof_metadata":"{\"block_q\": 128, \"block_kv\": 128, \"bl … ayout\": 1}"
{ … } (3 lines)
kernel_metadata={ … } (3 lines)
{kernel_metadata={ … }} (3 lines)
frontend_attributes={kernel_metadata={ … }} (3 lines)
%splash_mha_fwd_no_residuals.1 = (f32[2, … _operands":{"lists":[]}} (3 lines)
from instruction: %splash_mha_fwd_no_res … _operands":{"lists":[]}} (3 lines)
<10 splash_mha_fwd_no_residuals.1{3} @0> … _operands":{"lists":[]}} (9 lines)
Used values: … _operands":{"lists":[]}} (78 lines)
 …  (82 lines)
""",
        FileKind.VALUES,
    )


def test_selection_separates_a_header_from_the_instruction_before() -> None:
    check(
        GLUED,
        "<1 Arg",
        "_1.2 @0>\n positions:",
        """
Arg_1.2
<1 Arg_1.2 @0>
<1 Arg_1.2 @0> … , metadata={op_name="b"} (5 lines)
Used values: … 2[0,7,3]{2,1,0} %copy.4) (76 lines)
BufferAssignment: …  (152 lines)
""",
    )


@pytest.mark.parametrize("text", [b"", b"a", b"\n\n", b"HloModule a\n\nENTRY %a () -> f32[] {\n}\n"])
def test_other_text_is_selected_as_a_whole(text: bytes) -> None:
    for offset in range(len(text) + 1):
        assert selection(dump_file(text), offset, 100)[-1] == (0, len(text))


def _check_chain(file: DumpFile, offset: int) -> list[tuple[int, int]]:
    chain = selection(file, offset, 100)
    assert chain[-1] == (0, len(file.document.data))
    assert all(start <= offset <= end for start, end in chain)
    for (start, end), (around_start, around_end) in pairwise(chain):
        assert around_start <= start < end <= around_end
        assert (start, end) != (around_start, around_end)
    return chain


def _places(file: DumpFile, count: int) -> Iterator[int]:
    """Return some bytes of a file, evenly spread over its rows regardless of their length."""
    chance = random.Random(len(file.document.data))
    for _ in range(count):
        start, end = file.document.line_span(chance.randrange(file.document.line_count))
        yield chance.randint(start, min(end, start + 400))


def _check(analysis: Analysis) -> Counter[Role]:
    """Check that a mention is one of the selections around it, and a name with its index the first."""
    seen: Counter[Role] = Counter()
    for file in analysis.dump.files:
        for offset in _places(file, 40):
            chain = _check_chain(file, offset)
            mention = mention_at(analysis.dump, file, offset)
            if mention is None or mention.role is Role.OPERAND or not mention.start <= offset <= mention.end:
                continue  # the words `operand 0` are no part of a row, and a whole row may mean a value in it
            text = file.document.data[mention.start : mention.end]
            span = (mention.start, mention.end)
            assert span in chain
            is_word = mention.role in (Role.LIVE_RANGE, Role.PEAK) and b"{" in text
            assert not is_word or span == chain[0]
            seen[mention.role] += 1
    return seen


@on_each_dump
def test_mentions_can_be_selected(path: Path) -> None:
    assert sum(_check(analysis_of(path)).values())


@on_all_dumps(_check)
def test_mentions_can_be_selected_on_all_dumps(of_all_dumps: Mapping[str, Counter[Role]]) -> None:
    assert len(of_all_dumps) == 286
    assert sum(of_all_dumps.values(), Counter()).keys() == set(Role) - {Role.OPERAND}


def test_damaged_dumps_have_selections() -> None:
    for text in malformed_texts():
        file = dump_file(text)
        for offset in (0, len(text), *_places(file, 20)):
            _check_chain(file, offset)
