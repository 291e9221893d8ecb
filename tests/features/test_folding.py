"""Folding ranges."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from samples import DUMPS, PALLAS, PEAK_NAMES, SEED, analysis_of, dump_file, malformed_texts, on_all_dumps, on_each_dump
from xla_lens.features.folding import Fold, folds
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.blocks import BlockKind
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind


def _lines(file: DumpFile, fold: Fold) -> tuple[int, int]:
    return file.document.row(fold.start), file.document.row(fold.end)


def _text(file: DumpFile, found: list[Fold]) -> str:
    """Return each fold with its kind, number of lines, first and last line, indented by nesting."""
    text = ""
    open_folds: list[int] = []
    for fold in found:
        first, last = _lines(file, fold)
        while open_folds and open_folds[-1] < first:
            open_folds.pop()
        lines = [file.document.data[slice(*file.document.line_span(row))].decode().strip() for row in (first, last)]
        shown = " … ".join(line if len(line) < 40 else f"{line[:36]}..." for line in lines)
        text += f"{'  ' * len(open_folds)}{fold.kind.name} {last - first + 1}: {shown}\n"
        open_folds.append(last)
    return text


def check(path: Path, kind: FileKind, expected: str) -> None:
    """The folds of a file of a dump set."""
    file = next(file for file in analysis_of(path).dump.files if file.kind is kind)
    assert _text(file, folds(file, 1000)) == expected.removeprefix("\n")


def test_parts_of_a_dump_in_one_file_fold() -> None:
    check(
        SEED,
        FileKind.BUFFER_ASSIGNMENT,
        """
SECTION 12: BufferAssignment: … value: <5 fusion @0> (size=262144,of...
  ALLOCATION 2: allocation 0: 0x399be10, size 262144... … value: <0 param @0> (size=262144,off...
  ALLOCATION 2: allocation 1: 0x399bec0, size 65536,... … value: <1 param.1 @0> (size=65536,of...
  ALLOCATION 3: allocation 2: 0x399bf70, size 4096, ... … value: <4 cublas-gemm.1 @0> (size=40...
  ALLOCATION 2: allocation 3: 0x399c020, size 8, out... … value: <3 tuple{} @0> (size=8,offset...
  ALLOCATION 2: allocation 4: 0x399c0d0, size 262144... … value: <5 fusion @0> (size=262144,of...
SECTION 39: Used values: … from instruction:%fusion = f32[64,10...
  VALUE 6: <0 param @0> … from instruction:%param = f32[64,256...
  VALUE 8: <1 param.1 @0> … from instruction:%param.1 = f32[1024...
    POSITIONS 3: positions: … bitcast.1
    USES 3: uses: … cublas-gemm.1, operand 1
  VALUE 7: <2 negate.0 @0> … from instruction:%negate.0 = f32[64,...
    POSITIONS 3: positions: … tuple {0}
  VALUE 5: <3 tuple{} @0> … from instruction:%tuple = (f32[64,16...
  VALUE 6: <4 cublas-gemm.1 @0> … from instruction:%cublas-gemm.1 = f3...
  VALUE 6: <5 fusion @0> … from instruction:%fusion = f32[64,10...
SECTION 21: HloLiveRange (max 7): … cublas-gemm.1: 4096 bytes
  SECTION 8: InstructionSequence: … 6:tuple
  SECTION 7: BufferLiveRange: … fusion{}:3-4
  SECTION 5: Live ranges at 5 (peak): … cublas-gemm.1: 4096 bytes
""",
    )


def test_line_shared_with_an_instruction_belongs_to_the_header() -> None:
    """The shared line belongs to the value of the header."""
    check(
        DUMPS / "cpu-jaxlib0.4.30/zero_size/module_0003.jit__lambda_.cpu_after_optimizations-buffer-assignment.txt",
        FileKind.BUFFER_ASSIGNMENT,
        """
SECTION 5: BufferAssignment: … value: <0 Arg_0.1 @0> (size=0,offset...
  ALLOCATION 2: allocation 0: size 0, output shape i... … value: <1 copy @0> (size=0,offset=0)...
  ALLOCATION 2: allocation 1: size 0, parameter 0, s... … value: <0 Arg_0.1 @0> (size=0,offset...
SECTION 11: Used values: … from instruction: %copy = f32[0,3]{1...
  VALUE 5: <0 Arg_0.1 @0> … copy, operand 0
  VALUE 5: from instruction: %Arg_0.1 = f32[0,3... … from instruction: %copy = f32[0,3]{1...
SECTION 9: HloLiveRange (max 2): … Arg_0.1: 0 bytes
  SECTION 3: InstructionSequence: … 1:copy
  SECTION 3: BufferLiveRange: … copy{}:1-2
  SECTION 2: Live ranges at 0 (peak): … Arg_0.1: 0 bytes
""",
    )


def test_instruction_over_several_lines_folds() -> None:
    file = next(file for file in analysis_of(PALLAS).dump.files if file.kind is FileKind.VALUES)
    assert (
        _text(file, folds(file, 1000)[-3:])
        == """\
VALUE 9: <10 splash_mha_fwd_no_residuals.1{3}... … }}, metadata={op_name="jit(sp)/vmap(...
  POSITIONS 3: positions: … pallas_call.1
  INSTRUCTION 3: from instruction: %splash_mha_fwd_no... … }}, metadata={op_name="jit(sp)/vmap(...
"""
    )


def test_stack_trace_folds() -> None:
    """One name is printed over two lines."""
    check(
        PEAK_NAMES,
        FileKind.LIVE_RANGE,
        """
SECTION 80: HloLiveRange (max 24): … └── tuple.1 (0.3%, total: 88 bytes, ...
  SECTION 25: InstructionSequence: … 23:tuple.1
  SECTION 25: BufferLiveRange: … tuple.1{}:23-24
  SECTION 14: Live ranges at 23 (peak): … tuple.1{}: 88 bytes (cumulative: 277...
  SECTION 15: Stack trace breakdown for peak usage... … └── tuple.1 (0.3%, total: 88 bytes, ...
    STACK_TRACE 14: main.1 (100.0%, total: 27 736 bytes,... … └── tuple.1 (0.3%, total: 88 bytes, ...
      STACK_TRACE 2: ├── jit(f)/new … line\ttab/dot_general (8.3%, total: 2...
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
        _text(file, folds(file, 1000))
        == """\
SECTION 9: HloLiveRange (max 1): … other (0.0%, total: 0 bytes)
  SECTION 8: Stack trace breakdown for peak usage... … other (0.0%, total: 0 bytes)
    STACK_TRACE 6: main (100.0%, total: 9 bytes) … └── e (10.0%, total: 1 bytes)
      STACK_TRACE 4: ├── a (100.0%, total: 9 bytes) … │       └── d (50.0%, total: 4 bytes)
        STACK_TRACE 2: │   └── c (50.0%, total: 4 bytes) … │       └── d (50.0%, total: 4 bytes)
"""
    )


def test_tables_of_a_report_fold() -> None:
    """Tables have the header of their allocation; since 2026 XLA prints none."""
    check(
        next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/*jit_dbg*-buffer-assignment.txt")),
        FileKind.MEMORY_USAGE_REPORT,
        """
SECTION 11: Allocations sorted by size: … 208B(100%);         0B; allocation 5...
SECTION 14: Allocations sorted by size with thei... … allocation 5: size 4B, thread-local:
  TABLE 6: allocation 6: size 64B, preallocated... … 4B(100%);         0B;           64; ...
""",
    )
    check(
        next(DUMPS.glob("tpu-v5e2x2-*/host_offload/*roundtrip*-buffer-assignment.txt")),
        FileKind.MEMORY_USAGE_REPORT,
        """
SECTION 16: Memory Space: default (color=0) … 4.00MiB(100%);    4.00MiB;          ...
  TABLE 6: cumulative_size;       size;       o... … 4.00MiB(100%);       512B;          ...
  TABLE 3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
  TABLE 3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
SECTION 5: Memory Space: vmem (color=1) … 4.00MiB(100%);    4.00MiB;          ...
  TABLE 3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
SECTION 6: Memory Space: smem (color=2) … 8B(100%);         4B;            0; ...
  TABLE 4: cumulative_size;       size;       o... … 8B(100%);         4B;            0; ...
SECTION 5: Memory Space: cmem (color=5) … 4.00MiB(100%);    4.00MiB;          ...
  TABLE 3: cumulative_size;       size;       o... … 4.00MiB(100%);    4.00MiB;          ...
""",
    )


@pytest.mark.parametrize("kind", FileKind)
def test_other_text_has_no_folds(kind: FileKind) -> None:
    module = next(DUMPS.glob("cpu-jaxlib0.12.0.1/mlp_train/module_0000*_optimizations.txt"))
    for text in (b"", b"a\n  b\n\n    c\n", module.read_bytes()):
        assert folds(dump_file(text, kind), 1000) == []


def test_limit_keeps_the_longest_folds_in_order() -> None:
    file = analysis_of(SEED).dump.files[0]
    assert (
        _text(file, folds(file, 5))
        == """\
SECTION 12: BufferAssignment: … value: <5 fusion @0> (size=262144,of...
SECTION 39: Used values: … from instruction:%fusion = f32[64,10...
  VALUE 8: <1 param.1 @0> … from instruction:%param.1 = f32[1024...
SECTION 21: HloLiveRange (max 7): … cublas-gemm.1: 4096 bytes
  SECTION 8: InstructionSequence: … 6:tuple
"""
    )


def _check_nesting(file: DumpFile) -> list[Fold]:
    found = folds(file, 20_000)
    open_folds: list[tuple[int, int]] = []
    places = [(fold.start, -fold.end) for fold in found]
    assert places == sorted(places)
    for fold in found:
        assert 0 <= fold.start <= fold.end <= len(file.document.data)
        first, last = _lines(file, fold)
        assert first < last
        while open_folds and open_folds[-1][1] < first:
            open_folds.pop()
        if open_folds:
            assert open_folds[-1][0] <= first
            assert last <= open_folds[-1][1]
            assert open_folds[-1] != (first, last)
        open_folds.append((first, last))
    return found


def _check(analysis: Analysis) -> Counter[BlockKind]:
    counts: Counter[BlockKind] = Counter()
    for file in analysis.dump.files:
        found = _check_nesting(file)
        counts.update(fold.kind for fold in found)
        fewer = folds(file, len(found) // 2)
        assert len(fewer) == len(found) // 2
        if len(found) < 20_000:
            assert set(fewer) <= set(found)
    return counts


@on_each_dump
def test_every_block_folds(path: Path) -> None:
    dump = analysis_of(path).dump
    counts = _check(analysis_of(path))
    assert counts[BlockKind.ALLOCATION] == np.count_nonzero(dump.allocations.slice_count)
    assert counts[BlockKind.VALUE] == len(dump.used_values)
    assert counts[BlockKind.POSITIONS] == np.count_nonzero(dump.used_values.position_count > 1)
    assert counts[BlockKind.USES] == np.count_nonzero(dump.used_values.use_count > 1)
    assert counts[BlockKind.TABLE] == sum(len(file.columns.report_tables) for file in dump.files)


@on_all_dumps(_check)
def test_folds_of_all_dumps_nest_or_are_disjoint(of_all_dumps: Mapping[str, Counter[BlockKind]]) -> None:
    assert len(of_all_dumps) == 286
    assert all(counts[BlockKind.SECTION] and counts[BlockKind.ALLOCATION] for counts in of_all_dumps.values())


def test_folds_of_broken_dumps_nest_or_are_disjoint() -> None:
    assert sum(len(_check_nesting(dump_file(text))) for text in malformed_texts()) > 1000
