"""Shapes: their sizes, layouts and subshapes."""

import pytest

from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.shapes import byte_sizes, is_entry_shape, is_tuple, parse_shape, subshape_spans


@pytest.mark.parametrize(
    ("shape", "byte_size"),
    [
        ("f32[64,16]{1,0}", 4096),
        ("f32[]", 4),
        ("pred[3]", 3),
        ("bf16[8,1]{1,0:T(8,128)(2,1)}", 16),
        ("c128[2]{0}", 32),
        ("f8e4m3fn[10]", 10),
        ("s4[3,3]{1,0}", 9),
        ("s4[3,3]{1,0:E(4)}", 5),
        ("u2[7]{0:E(2)}", 2),
        ("f32[<=64]{0}", 256),
        ("f32[?,2]", None),
        ("f32[0,7]", 0),
        ("token[]", 0),
        ("opaque[]", 8),
        ("()", 0),
        ("(f32[100], (s32[], s32[]))", 16),
        ("newtype[4]", None),
        ("f32[--1]", None),
    ],
)
def test_byte_sizes_match_shape_util(shape: str, byte_size: int | None) -> None:
    assert byte_sizes([shape.encode()]).tolist() == [NONE if byte_size is None else byte_size]
    assert is_tuple(shape.encode()) is shape.startswith("(")


_BIG = "(f32[2]{0}, (s8[]{:T(128)}, token[]), f32[1]{0}, f32[2]{0}, f32[3]{0}, /*index=5*/f32[4]{0})"


@pytest.mark.parametrize(
    ("printed", "shape"),
    [
        # TensorFlow 2.10 to 2.13 print no blanks, and releases since 2023 comments.
        (_BIG.replace(" ", ""), _BIG),
        (_BIG.replace("/*index=5*/", ""), _BIG),
        # XLA for CPUs and GPUs.
        ("f32[8,4]{1,0:S(5)}", "f32[8,4]{1,0}"),
        ("(f32[8,4]{1,0}, f32[8,4]{1,0:S(6)})", "(f32[8,4]{1,0}, f32[8,4]{1,0})"),
        ("f32[8,4]{1,0}", "f32[8,4]{1,0:S(5)}"),
        ("f32[]{:S(5)}", "f32[]"),
        ("s4[8,4]{1,0:E(4)}", "s4[8,4]{1,0}"),
        ("s4[8,4]{1,0:E(4)S(5)}", "s4[8,4]{1,0:E(4)}"),
    ],
)
def test_texts_of_one_shape(printed: str, shape: str) -> None:
    assert is_entry_shape(printed.encode(), shape.encode())
    assert is_entry_shape(shape.encode(), printed.encode())


@pytest.mark.parametrize(
    ("printed", "shape"),
    [
        ("f32[8,4]{1,0}", "f32[8,5]{1,0}"),
        ("f32[8,4]{1,0}", "f32[8,<=4]{1,0}"),
        ("f32[8,4]{1,0}", "s32[8,4]{1,0}"),
        ("f32[8,4]{1,0}", "f32[8,4]{0,1}"),
        ("f32[8,4]{1,0:S(5)}", "f32[8,4]{1,0:S(6)}"),
        ("s4[8,4]{1,0:E(4)}", "s4[8,4]{1,0:E(2)}"),
        # On a TPU, nothing gets lost.
        ("f32[8,4]{1,0:T(8,128)}", "f32[8,4]{1,0:T(4,128)}"),
        ("f32[8,4]{1,0:T(8,128)}", "f32[8,4]{1,0}"),
        ("f32[8,4]{1,0:T(8,128)}", "f32[8,4]{1,0:T(8,128)S(5)}"),
        ("s4[8,4]{1,0:T(8,128)(8,1)E(4)}", "s4[8,4]{1,0:T(8,128)(8,1)}"),
        ("(f32[2]{0}, s32[])", "(f32[2]{0}, s32[], s32[])"),
        ("(f32[2]{0}, s32[])", "(f32[2]{0}, (s32[]))"),
        ("(f32[2]{0}, s32[])", "(f32[2]{0}, s8[])"),
        ("f32[2]{0}", "(f32[2]{0})"),
        ("<unknown>", "f32[2]{0}"),
    ],
)
def test_texts_of_two_shapes(printed: str, shape: str) -> None:
    assert not is_entry_shape(printed.encode(), shape.encode())
    assert not is_entry_shape(shape.encode(), printed.encode())


def test_layouts_give_tiles_memory_space_and_split() -> None:
    shape = parse_shape(b"bf16[2,1024]{1,0:T(8,128)(2,1)S(5)}")
    assert shape is not None
    assert (shape.dimensions, shape.minor_to_major) == ((2, 1024), (1, 0))
    assert (shape.tiles, shape.memory_space, shape.is_split) == (((8, 128), (2, 1)), 5, False)
    split = parse_shape(b"f32[64]{0:T(128)SC(0:32)}")
    assert split is not None
    assert split.is_split


@pytest.mark.parametrize("text", [b"", b"<unknown shape>", b"f32[", b"f32[2]{0} f32[2]{0}", b"\xff", b"f32[2]{0:Q(3)}"])
def test_invalid_shape_is_none(text: bytes) -> None:
    assert parse_shape(text) is None


def test_subshape_spans_cover_nested_tuples_and_buffers() -> None:
    shape = b"((s32[], /*index=1*/f32[2,3]{1,0:T(8,128)(2,1)S(1)}), (), b((f32[], u8[])), token[]) tuple(%a)"
    parts = {index: shape[start:end] for index, (start, end) in subshape_spans(shape).items()}
    assert parts == {
        b"{0,0}": b"s32[]",
        b"{0,1}": b"f32[2,3]{1,0:T(8,128)(2,1)S(1)}",
        b"{0}": b"(s32[], /*index=1*/f32[2,3]{1,0:T(8,128)(2,1)S(1)})",
        b"{1}": b"()",
        b"{2}": b"b((f32[], u8[]))",
        b"{3}": b"token[]",
        b"{}": shape[: shape.index(b" tuple")],
    }
    assert subshape_spans(b"f32[2]{0} add(%a)") == {b"{}": (0, 9)}
    assert subshape_spans(b"") == {}


@pytest.mark.parametrize("text", [b"", b"(", b"(f32[2]", b"(f32[2])b", b"f32[2])", b"f32[]"])
def test_what_is_no_tuple(text: bytes) -> None:
    assert not is_tuple(text)
