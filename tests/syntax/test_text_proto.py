"""Reading of protocol buffers in text format."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xla_lens.syntax.text_proto import Message, read_text_proto


def test_fields_are_read_in_every_notation() -> None:
    text = r"""
    # a comment: not a field
    version: TPU_VERSION_VIPERFISH variant: "lite"
    numbers: [1, -2.5e+3, inf] dims: 3 dims: 4
    bounds { x: 2 inner <z: 1> } bounds: { x: 5 };
    path: 'it\'s' escaped: "a\n\"b\" \303\x41"
    """
    read = read_text_proto(text)
    assert read == {
        "version": ["TPU_VERSION_VIPERFISH"],
        "variant": ["lite"],
        "numbers": ["1", "-2.5e+3", "inf"],
        "dims": ["3", "4"],
        "bounds": [{"x": ["2"], "inner": [{"z": ["1"]}]}, {"x": ["5"]}],
        "path": ["it's"],
        "escaped": ['a\n"b" ÃA'],
    }
    assert read.text("dims") == "4"
    assert read.text("bounds", "x") == "5"
    assert read.message("bounds") == {"x": ["5"]}
    assert list(read.message("bounds").texts()) == [("x", "5")]
    for path in (("bounds",), ("nothing",), ("dims", "x"), ("bounds", "inner", "z")):
        assert read.text(*path) is None
    assert read.message("dims") == read.message("nothing", "x") == Message()


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("a: 1\nb {\nc: 2\n", {"a": ["1"], "b": [{"c": ["2"]}]}),
        ("} a: 1 } b: 2", {"a": ["1"], "b": ["2"]}),
        ('a: "no end\nb: 2', {"b": ["2"]}),
        ("a: b: 1", {"a": ["b"]}),
        ("a: [1, 2\nb: 3 4", {"a": ["1", "2"], "b": ["3"]}),
        ("\0\1\2 a: 1 \ufffd", {"a": ["1"]}),
    ],
)
def test_damaged_texts_give_what_can_be_read(text: str, fields: dict[str, object]) -> None:
    assert read_text_proto(text) == fields


@given(st.text(alphabet="ab:{}<>[],\"'\\# \n1.", max_size=60))
def test_any_text_gives_a_message(text: str) -> None:
    assert isinstance(read_text_proto(text), Message)


@pytest.mark.parametrize("part", ["a{", "a<b{", "a:[", 'a:"', "a ", "\\", '"', "#", "["])
def test_messages_nest_no_deeper_than_protocol_buffers_do(part: str) -> None:
    """Without a limit, a hostile message would exceed the depth of Python's stack."""
    repr(read_text_proto(part * 100_000))


def test_bytes_of_any_kind_give_a_message() -> None:
    data = random.Random(7).randbytes(100_000)
    assert isinstance(read_text_proto(data.decode("utf-8", "replace")), Message)
