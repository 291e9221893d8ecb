"""The columns of a file, compared with an independent parser of regular expressions."""

import sys

import numpy as np
import pytest

from samples import DUMPS, dump_paths, never
from xla_lens.syntax.columns import NONE, Kind, Texts, place_in
from xla_lens.syntax.rows import read_columns
from xla_lens.syntax.tables import FileColumns
from xla_lens.syntax.tree import Cancelled

_FILES = dump_paths(DUMPS)


def _columns(text: bytes) -> FileColumns:
    return read_columns(text, never)


def test_attributes_of_allocations_are_read() -> None:
    columns = _columns(
        b"allocation 0: size 8, color 1, page 0, parameter 2, shape |(f32[2])| at ShapeIndex {0,1}, "
        b"output shape is |f32[2]|, maybe-live-out:\n"
        b"allocation 1: 0xab, size 4, thread-local:\n value: <1 a @0> (size=4,offset=0): f32[]\n"
        b"allocation ?: size 4:\n value: <2 b @0> (size=4,offset=0): f32[]\n"
    )
    table = columns.allocations
    assert table.color.tolist() == [1, 0, NONE]
    assert table.kind.tolist() == [Kind.PARAMETER | Kind.OUTPUT | Kind.MAYBE_LIVE_OUT, Kind.THREAD_LOCAL, NONE]
    assert (table.parameter[0], columns.indices[table.parameter_index[0]]) == (2, b"{0,1}")
    assert table.index.tolist() == [0, 1, NONE]
    assert table.slice_count.tolist() == [0, 1, 1]
    assert columns.slices.allocation.tolist() == [1, 2]


def test_stack_traces_have_depths() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/*-live-range.txt"))
    text = path.read_bytes()
    traces = _columns(text).stack_traces
    names = [text[start:end].decode() for start, end in zip(traces.name_start, traces.name_end, strict=True)]
    assert traces.depth.tolist() == [0] + [1] * 12
    assert "jit(f)/new\nline\ttab/dot_general" in names
    assert "jit(f)/├── fake (50.0%, total: 4 bytes, current: 4 bytes, remaining: 0 bytes)/dot_general" in names
    assert traces.current_bytes.sum() == 27736


def test_depths_behind_branches_that_have_ended() -> None:
    text = """\
    main (1.0%, total: 9 bytes, current: 0 bytes, remaining: 9 bytes)
      ├── a (1.0%, total: 9 bytes, current: 0 bytes, remaining: 9 bytes)
      │   └── b (1.0%, total: 9 bytes, current: 0 bytes, remaining: 9 bytes)
      │       └── c (1.0%, total: 9 bytes, current: 0 bytes, remaining: 9 bytes)
      └── d (1.0%, total: 9 bytes, current: 0 bytes, remaining: 9 bytes)
          └── e (1.0%, total: 1 574 940 bytes, current: 0 bytes, remaining: 9 bytes)
""".encode()
    traces = _columns(text).stack_traces
    assert traces.depth.tolist() == [0, 1, 2, 3, 1, 2]
    assert traces.total_bytes[-1] == 1574940


def test_reading_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        read_columns(b"  a: 1 bytes\n  b\n" * 50_000, lambda: True)


def test_an_error_in_the_cancellation_check_ends_the_reading() -> None:
    with pytest.raises(ZeroDivisionError):
        read_columns(b"  a: 1 bytes\n  b\n" * 50_000, lambda: 1 // 0 > 0)


def test_text_is_released_after_reading() -> None:
    text = bytes(_FILES[0].read_bytes())
    before = sys.getrefcount(text)
    for _ in range(3):
        read_columns(text, never)
    assert sys.getrefcount(text) == before


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_numbers_of_any_size_have_a_place_in_a_column(dtype: type[np.signedinteger]) -> None:
    column = np.array([-3, 5, 5, 9], dtype)
    assert [place_in(column, number) for number in (-1 << 80, -3, 5, 1 << 40, 1 << 80)] == [0, 0, 1, 4, 4]
    assert [place_in(column, number, "right") for number in (-1 << 80, -3, 5, 1 << 40)] == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("step", "dtype"), [(7, np.int32), ((1 << 30) - 1, np.int32), (1 << 30, np.int64), ((1 << 50) + 1, np.int64)]
)
def test_columns_of_steps_are_as_wide_as_their_numbers(step: int, dtype: type[np.signedinteger]) -> None:
    schedule = _columns(b"HloLiveRange (max 9):\n  InstructionSequence:\n    0:first\n    %d:second\n" % step).schedule
    assert schedule.step.tolist() == [0, step]
    assert schedule.step.dtype == dtype


def test_sizes_always_have_64_bits() -> None:
    value = b" value: <7 a @0> (size=64,offset=0): f32[16]{0}\n"
    text = b"BufferAssignment:\nallocation 3: size 64, preallocated-temp:\n" + value
    columns = _columns(text)
    assert (columns.slices.id.tolist(), columns.slices.size_bytes.tolist()) == ([7], [64])
    sizes = (columns.allocations.size_bytes, columns.slices.size_bytes, columns.slices.offset)
    assert {column.dtype for column in sizes} == {np.dtype(np.int64)}
    assert columns.slices.id.dtype == np.int32


def test_texts_are_those_of_a_tuple() -> None:
    texts = Texts.of([b"ab", b"", b"c"])
    assert [texts[np.int32(number)] for number in range(len(texts))] == [*texts] == [b"ab", b"", b"c"]
    for number in (NONE, 3):
        with pytest.raises(IndexError):
            texts[number]
    assert texts.starts_with(Texts.of([b"ab", b""]))
    assert not texts.starts_with(Texts.of([b"a", b"b"]))
    assert not Texts.of([b"ab"]).starts_with(texts)
    assert [*Texts.of([])] == []
