"""Lines, positions and edits, compared with plain Python on strings."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xla_lens.text.document import Document, document_of_file
from xla_lens.text.edits import TextEdit, backward, forward, merged
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import decode, encode, to_offset, to_position, to_positions

_texts = st.text(st.sampled_from("aé名🚀\n\r\ud800\t"), max_size=30)
_encodings = st.sampled_from(list(Encoding))


def _lines(text: str) -> list[str]:
    return re.split("\r\n|\r|\n", text)


def _units(text: str, encoding: Encoding) -> int:
    match encoding:
        case Encoding.UTF8:
            return len(encode(text))
        case Encoding.UTF16:
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        case Encoding.UTF32:
            return len(text)


@given(_texts)
def test_lines_end_as_the_protocol_defines(text: str) -> None:
    document = Document(encode(text))
    spans = [document.line_span(row) for row in range(document.line_count)]
    assert [document.data[start:end] for start, end in spans] == [encode(line) for line in _lines(text)]


@given(_texts, _encodings)
def test_positions_and_offsets_are_inverse(text: str, encoding: Encoding) -> None:
    document = Document(encode(text))
    for row, line in enumerate(_lines(text)):
        start, _ = document.line_span(row)
        for column in range(len(line) + 1):
            offset = start + len(encode(line[:column]))
            position = (row, _units(line[:column], encoding))
            assert to_position(document, offset, encoding) == position
            assert to_offset(document, *position, encoding) == offset


@given(_texts, _encodings, st.lists(st.integers(0, 30)))
def test_to_positions_agrees_with_to_position(text: str, encoding: Encoding, characters: list[int]) -> None:
    document = Document(encode(text))
    offsets = [len(encode(text[:character])) for character in characters]
    rows, columns = to_positions(document, np.array(offsets, np.int64), encoding)
    expected = [to_position(document, offset, encoding) for offset in offsets]
    assert [*zip(rows.tolist(), columns.tolist(), strict=True)] == expected


@given(_texts, _encodings, st.integers(0, 40), st.integers(0, 40))
def test_positions_outside_of_the_text_are_clamped(text: str, encoding: Encoding, row: int, column: int) -> None:
    document = Document(encode(text))
    offset = to_offset(document, row, column, encoding)
    if row >= document.line_count:
        assert offset == len(document.data)
    else:
        start, end = document.line_span(row)
        assert start <= offset <= end
        assert _units(_lines(text)[row], encoding) > column or offset == end


def test_positions_within_a_character_count_as_its_start() -> None:
    document = Document(encode("🚀x"))
    assert to_offset(document, 0, 1, Encoding.UTF16) == 0
    assert to_offset(document, 0, 2, Encoding.UTF16) == 4
    assert [to_offset(document, 0, column, Encoding.UTF8) for column in range(7)] == [0, 0, 0, 0, 4, 5, 5]


@given(_texts, st.integers(0, 30), st.integers(0, 30), _texts)
def test_replaced_updates_the_line_table(text: str, start: int, length: int, inserted: str) -> None:
    before = text[:start]
    after = text[start + length :]
    first, last = len(encode(before)), len(encode(text)) - len(encode(after))
    document = Document(encode(text))
    document.line_starts  # noqa: B018
    edited = document.replaced(first, max(first, last), encode(inserted))
    assert edited.data == encode(before) + encode(inserted) + encode(after)
    assert edited.line_starts.tolist() == Document(edited.data).line_starts.tolist()


@given(st.binary(max_size=40))
def test_invalid_utf8_is_replaced_as_in_editors(data: bytes) -> None:
    document = document_of_file(data)
    assert document.data.decode() == data.decode("utf-8", "replace")
    assert decode(data) == data.decode("utf-8", "replace")


_edits = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5), st.integers(0, 5)), max_size=5)


@given(st.integers(1, 60), _edits)
def test_offsets_outside_of_edits_map_forward_and_back(length: int, raw: list[tuple[int, int, int]]) -> None:
    """Each byte that survives all edits keeps its identity, which a list of identities tracks."""
    identities: list[int | None] = list(range(length))
    edits = []
    for start, removed, inserted in raw:
        first, last = min(start, len(identities)), min(start + removed, len(identities))
        identities[first:last] = [None] * inserted
        edits.append(TextEdit(first, last, inserted))
    for now, before in enumerate(identities):
        if before is not None:
            assert backward(edits, now) == before
            assert forward(edits, before) == now
        assert 0 <= backward(edits, now) <= length


@given(st.integers(1, 60), _edits.filter(bool))
def test_merged_edit_maps_offsets_as_all_edits_do(length: int, raw: list[tuple[int, int, int]]) -> None:
    """Holds for offsets outside of the text that the merged edit replaces."""
    edits, size = [], length
    for start, removed, inserted in raw:
        first, last = min(start, size), min(start + removed, size)
        edits.append(TextEdit(first, last, inserted))
        size += inserted - (last - first)
    one = merged(edits)
    assert length + one.length - (one.end - one.start) == size
    assert 0 <= one.start <= one.end <= length
    for offset in (*range(one.start), *range(one.end, length + 1)):
        assert forward([one], offset) == forward(edits, offset)
    for offset in (*range(one.start), *range(one.start + one.length, size + 1)):
        assert backward([one], offset) == backward(edits, offset)


@pytest.mark.parametrize("encoding", Encoding)
def test_empty_text_has_one_line(encoding: Encoding) -> None:
    assert to_position(Document(b""), 0, encoding) == (0, 0)
    assert to_offset(Document(b""), 5, 5, encoding) == 0


@pytest.mark.parametrize(
    "text", [b"", b" ", b"a", b"a\n", b"\na \r\n", b"\n" * 5000, b"a" + b" " * 1023, b"b" + b"\n" * 3000]
)
def test_content_end_excludes_trailing_white_space(text: bytes) -> None:
    assert Document(text).content_end == len(text.rstrip())
