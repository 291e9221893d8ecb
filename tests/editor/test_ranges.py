"""Folding and selection ranges of dump files and HLO modules."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from samples import (
    BARE,
    DUMPS,
    GLUED,
    PALLAS,
    PEAK_NAMES,
    SEED,
    WHILE,
    analysis_of,
    dump_file,
    malformed_modules,
    malformed_texts,
    module_of,
    module_of_text,
    modules,
    on_dumps,
)
from xla_lens.editor.structure import folds, selection
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.document import Document


def _file(path: Path, kind: FileKind) -> DumpFile:
    return next(file for file in analysis_of(path).dump.files if file.kind is kind)


# ---------------------------------------------------------------- folding


def _folds_text(document: Document, found: list[tuple[int, int]]) -> str:
    """The number of lines, the first and the last line of each fold, indented by nesting."""
    text = ""
    open_folds: list[int] = []
    for fold in found:
        first, last = map(document.row, fold)
        while open_folds and open_folds[-1] < first:
            open_folds.pop()
        lines = [document.data[slice(*document.line_span(row))].decode().strip() for row in (first, last)]
        shown = " … ".join(line if len(line) < 40 else f"{line[:36]}..." for line in lines)
        text += f"{'  ' * len(open_folds)}{last - first + 1}: {shown}\n"
        open_folds.append(last)
    return text


def check_folds(path: Path, kind: FileKind, expected: str) -> None:
    """The folds of a file of a dump set."""
    file = _file(path, kind)
    assert _folds_text(file.document, folds(file, None, 1000)) == expected.removeprefix("\n")


def test_line_shared_with_an_instruction_belongs_to_the_header() -> None:
    """The shared line belongs to the value of the header."""
    check_folds(
        DUMPS / "cpu-jaxlib0.4.30/zero_size/module_0003.jit__lambda_.cpu_after_optimizations-buffer-assignment.txt",
        FileKind.BUFFER_ASSIGNMENT,
        """
5: BufferAssignment: … value: <0 Arg_0.1 @0> (size=0,offset...
  2: allocation 0: size 0, output shape i... … value: <1 copy @0> (size=0,offset=0)...
  2: allocation 1: size 0, parameter 0, s... … value: <0 Arg_0.1 @0> (size=0,offset...
11: Used values: … from instruction: %copy = f32[0,3]{1...
  5: <0 Arg_0.1 @0> … copy, operand 0
    2: positions: … Arg_0.1
    2: uses: … copy, operand 0
  5: from instruction: %Arg_0.1 = f32[0,3... … from instruction: %copy = f32[0,3]{1...
    2: positions: … copy
9: HloLiveRange (max 2): … Arg_0.1: 0 bytes
  3: InstructionSequence: … 1:copy
  3: BufferLiveRange: … copy{}:1-2
  2: Live ranges at 0 (peak): … Arg_0.1: 0 bytes
""",
    )


def test_instruction_over_several_lines_folds() -> None:
    file = _file(PALLAS, FileKind.VALUES)
    assert (
        _folds_text(file.document, folds(file, None, 1000)[-4:])
        == """\
9: <10 splash_mha_fwd_no_residuals.1{3}... … }}, metadata={op_name="jit(sp)/vmap(...
  3: positions: … pallas_call.1
  2: uses: … pallas_call.1, operand 0 {3}
  3: from instruction: %splash_mha_fwd_no... … }}, metadata={op_name="jit(sp)/vmap(...
"""
    )


def test_stack_trace_folds() -> None:
    """One name is printed over two lines."""
    check_folds(
        PEAK_NAMES,
        FileKind.LIVE_RANGE,
        """
80: HloLiveRange (max 24): … └── tuple.1 (0.3%, total: 88 bytes, ...
  25: InstructionSequence: … 23:tuple.1
  25: BufferLiveRange: … tuple.1{}:23-24
  14: Live ranges at 23 (peak): … tuple.1{}: 88 bytes (cumulative: 277...
  15: Stack trace breakdown for peak usage... … └── tuple.1 (0.3%, total: 88 bytes, ...
    14: main.1 (100.0%, total: 27 736 bytes,... … └── tuple.1 (0.3%, total: 88 bytes, ...
      2: ├── jit(f)/new … line\ttab/dot_general (8.3%, total: 2...
""",
    )


def test_frames_fold_their_callees() -> None:
    tree = (
        "HloLiveRange (max 1):\n  Stack trace breakdown for peak usage: 9 bytes\n"
        "    main (100.0%, total: 9 bytes)\n"
        "      ├── a (100.0%, total: 9 bytes)\n"
        "      │   ├── b (50.0%, total: 4 bytes)\n"
        "      │   └── c (50.0%, total: 4 bytes)\n"
        "      │       └── d (50.0%, total: 4 bytes)\n"
        "      └── e (10.0%, total: 1 bytes)\n"
        "    other (0.0%, total: 0 bytes)\n"
    )
    file = dump_file(tree.encode())
    assert (
        _folds_text(file.document, folds(file, None, 1000))
        == """\
9: HloLiveRange (max 1): … other (0.0%, total: 0 bytes)
  8: Stack trace breakdown for peak usage... … other (0.0%, total: 0 bytes)
    6: main (100.0%, total: 9 bytes) … └── e (10.0%, total: 1 bytes)
      4: ├── a (100.0%, total: 9 bytes) … │       └── d (50.0%, total: 4 bytes)
        2: │   └── c (50.0%, total: 4 bytes) … │       └── d (50.0%, total: 4 bytes)
"""
    )


def test_tables_of_a_report_fold() -> None:
    """Tables have the header of their allocation; since 2026 XLA prints none."""
    check_folds(
        next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/*jit_dbg*-buffer-assignment.txt")),
        FileKind.MEMORY_USAGE_REPORT,
        """
11: Allocations sorted by size: … 208B(100%);         0B; allocation 5...
  9: cumulative_size; total_size - cumula... … 208B(100%);         0B; allocation 5...
14: Allocations sorted by size with thei... … allocation 5: size 4B, thread-local:
  6: allocation 6: size 64B, preallocated... … 4B(100%);         0B;           64; ...
    4: cumulative_size;       size;       o... … 4B(100%);         0B;           64; ...
""",
    )
    check_folds(
        next(DUMPS.glob("tpu-v5e2x2-*/host_offload/*roundtrip*-buffer-assignment.txt")),
        FileKind.MEMORY_USAGE_REPORT,
        """
16: Memory Space: default (color=0) … 4.00MiB(100%);    4.00MiB;          ...
  15: Total bytes: 12632064 (12.05MiB) … 4.00MiB(100%);    4.00MiB;          ...
    6: cumulative_size;       size;       o... … 4.00MiB(100%);       512B;          ...
    3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
    3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
5: Memory Space: vmem (color=1) … 4.00MiB(100%);    4.00MiB;          ...
  4: Total bytes: 4194304 (4.00MiB) … 4.00MiB(100%);    4.00MiB;          ...
    3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
6: Memory Space: smem (color=2) … 8B(100%);         4B;            0; ...
  5: Total bytes: 8 (8B) … 8B(100%);         4B;            0; ...
    4: cumulative_size;       size;       o... … 8B(100%);         4B;            0; ...
5: Memory Space: cmem (color=5) … 4.00MiB(100%);    4.00MiB;          ...
  4: Total bytes: 4194304 (4.00MiB) … 4.00MiB(100%);    4.00MiB;          ...
    3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
""",
    )


def test_instructions_of_a_module_that_span_lines_fold() -> None:
    module = module_of(PALLAS)
    lines = _folds_text(module.file.document, folds(module.file, module, 1000)).split("\n")
    assert sum(" = " in line for line in lines) == 2


def _check_folds(document: Document, fold: Callable[[int], list[tuple[int, int]]]) -> int:
    """Check that folds nest or are disjoint, also the biggest half of them. Return their number."""
    found = fold(20_000)
    fewer = fold(max(1, len(found) // 2))
    assert len(found) == 20_000 or len(fewer) <= max(1, len(found) // 2)
    for spans in (found, fewer):
        _check_nesting(document, spans)
    return len(found)


def _check_nesting(document: Document, found: list[tuple[int, int]]) -> None:
    open_folds = list[tuple[int, int]]()
    assert found == sorted(found, key=lambda span: (span[0], -span[1]))
    for start, end in found:
        assert 0 <= start <= end <= len(document.data)
        first, last = document.row(start), document.row(end)
        assert first < last
        while open_folds and open_folds[-1][1] < first:
            open_folds.pop()
        assert not open_folds or (open_folds[-1][0] <= first and last <= open_folds[-1][1])
        open_folds.append((first, last))


def _check_file_folds(file: DumpFile) -> int:
    return _check_folds(file.document, lambda limit: folds(file, None, limit))


def _check_module_folds(module: HloModule) -> int:
    return _check_folds(module.file.document, lambda limit: folds(module.file, module, limit))


@on_dumps
def test_every_block_folds(analysis: Analysis) -> None:
    dump = analysis.dump
    used = dump.used_values
    least = int(np.count_nonzero(dump.allocations.slice_count)) + len(used)
    least += int(np.count_nonzero(used.position_count > 1) + np.count_nonzero(used.use_count > 1))
    assert sum(map(_check_file_folds, dump.files)) > min(least, 10_000)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_folds_of_modules_nest_or_are_disjoint(path: Path) -> None:
    module = module_of(path)
    assert _check_module_folds(module) >= len(module.columns.computations) + len(module.columns.stack_tables)


def test_folds_of_broken_files_nest_or_are_disjoint() -> None:
    assert sum(_check_file_folds(dump_file(text)) for text in malformed_texts()) > 1000
    assert sum(_check_module_folds(module_of_text(text)) for text in malformed_modules()) > 100


# ---------------------------------------------------------------- selection


def check(path: Path, before: str, after: str, expected: str, kind: FileKind = FileKind.BUFFER_ASSIGNMENT) -> None:
    """Check the selections between two adjacent pieces of text, which occur together once, smallest first. Selections
    over several lines are shown with their start, end and number of lines.
    """
    file = _file(path, kind)
    text = file.document.data.decode()
    assert text.count(before + after) == 1
    offset = len(text[: text.index(before + after) + len(before)].encode())
    shown = (_shown(file.document.data[start:end].decode()) for start, end in selection(file, None, offset, 100))
    assert "\n".join(shown) == expected.strip("\n")


def _shown(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > 1:
        return f"{lines[0][:40]} … {lines[-1][-24:]} ({len(lines)} lines)"
    return text if len(text) < 80 else f"{text[:60]} … {text[-12:]}"


def check_module(path: Path, marked: str, expected: str) -> None:
    """Check the selections at the `^` in a piece of text of a module that occurs once."""
    module = module_of(path)
    before, after = marked.encode().split(b"^")
    assert module.data.count(before + after) == 1
    found = selection(module.file, module, module.data.index(before + after) + len(before), 100)
    assert "\n".join(_shown(module.data[start:end].decode()) for start, end in found) == expected.strip("\n")


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


def test_selection_grows_around_a_name_with_an_index() -> None:
    expected = """
tuple
tuple{}:6-7
BufferLiveRange: …     fusion{}:3-4 (7 lines)
HloLiveRange (max 7): … ublas-gemm.1: 4096 bytes (21 lines)
BufferAssignment: …  (78 lines)
"""
    check(SEED, "    tup", "le{}:6-7", expected)


def test_selection_grows_around_a_shape() -> None:
    check(
        SEED,
        "(size=8,offset=0): (f32[6",
        "4,16]{1,0})",
        """
64
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
(f32[64,16]{1,0} %cublas-gemm.1)"""
    check(SEED, "negate(f32[64,16]{1,0} %", "cublas-gemm.1)", operand + around)
    attribute = """
neg
parallelize(func_shard_parallel)/neg
"parallelize(func_shard_parallel)/neg"
op_name="parallelize(func_shard_parallel)/neg"
metadata={op_type="neg" op_name="parallelize(func_shard_para … rce_line=53}"""
    check(SEED, '"parallelize(func_shard_parallel)/ne', 'g"', attribute + around)


def test_selection_grows_in_a_frame_over_two_lines() -> None:
    check(
        next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/*-buffer-assignment.txt")),
        "line\ttab/dot",
        "_general",
        """
dot_general
line\ttab/dot_general (8.3%, total: 2 304 bytes, current: 2 3 … 1 608 bytes)
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
from instruction: %Arg_0.1 = f32[0]{0} p …  uses: (4 lines)
Used values: … 2[0,7,3]{2,1,0} %copy.4) (76 lines)
BufferAssignment: …  (152 lines)
""",
    )


def test_selection_grows_from_an_operand_of_a_module() -> None:
    check_module(
        WHILE,
        "fusion(%arg^_tuple.1#0, %constant.3)",
        """
%arg_tuple.1#0
(%arg_tuple.1#0, %constant.3)
%wrapped_add = s32[] fusion(%arg_tuple.1#0, %constant.3), ki … _frame_id=4}
%region_0.1 (arg_tuple.1: (s32[], f32[8] … } (10 lines)
HloModule jit_tuple_while, is_scheduled= …  (82 lines)
""",
    )


def test_selection_grows_from_an_attribute_of_a_module() -> None:
    check_module(
        BARE,
        "to_apply=regi^on_0.4",
        """
region_0.4
to_apply=region_0.4
reduce.8 = f32[] reduce(Arg_0.1, constant.2), dimensions={0} … ce_line=385}
ENTRY main.10 { … } (8 lines)
HloModule jit_s, is_scheduled=true, entr …  (18 lines)
""",
    )


def test_selection_grows_from_the_head_of_a_computation_and_a_table_row() -> None:
    check_module(
        WHILE,
        "%region_1.2 (arg_^tuple.3: (",
        """
arg_tuple.3
arg_tuple.3: (s32[], f32[8], f32[8])
(arg_tuple.3: (s32[], f32[8], f32[8]))
%region_1.2 (arg_tuple.3: (s32[], f32[8], f32[8])) -> pred[] {
%region_1.2 (arg_tuple.3: (s32[], f32[8] … } (5 lines)
HloModule jit_tuple_while, is_scheduled= …  (82 lines)
""",
    )
    check_module(
        WHILE,
        "5 {file_location_id=5 parent_frame_i^d=4}",
        """
parent_frame_id
5 {file_location_id=5 parent_frame_id=4}
StackFrames … _id=6 parent_frame_id=3} (7 lines)
HloModule jit_tuple_while, is_scheduled= …  (82 lines)
""",
    )


@pytest.mark.parametrize("text", [b"", b"a", b"\n\n", b"HloModule a\n\nENTRY %a () -> f32[] {\n}\n"])
def test_other_text_is_selected_as_a_whole(text: bytes) -> None:
    for offset in range(len(text) + 1):
        assert selection(dump_file(text), None, offset, 100)[-1] == (0, len(text))


def _check_chain(found: list[tuple[int, int]], offset: int, size: int) -> None:
    """Check that spans are around a byte, each within the next, up to the whole file."""
    assert found[-1] == (0, size)
    assert all(start <= offset <= end for start, end in found)
    for (start, end), (around_start, around_end) in pairwise(found):
        assert around_start <= start <= end <= around_end
        assert (start, end) != (around_start, around_end)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_each_range_of_a_module_lies_within_the_next(path: Path) -> None:
    module = module_of(path)
    for offset in random.Random(0).sample(range(len(module.data)), 200):
        _check_chain(selection(module.file, module, offset, 100), offset, len(module.data))
