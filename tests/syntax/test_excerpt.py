"""Lines that are parsed on their own have the same words as within the whole file."""

import random
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path

import pytest
from msgspec.structs import replace
from tree_sitter import Parser

from samples import dump_file, malformed_texts, never, on_each_file, sweep
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.excerpt import _words_below, words
from xla_lens.syntax.rows import read_columns
from xla_lens.syntax.tree import XLA_DUMP

_OTHER_GRAMMARS = ("instruction", "other_text")


def _instructions(file: DumpFile) -> list[tuple[int, int]]:
    used = file.columns.used_values
    spans = zip(used.instruction_start.tolist(), used.instruction_end.tolist(), strict=True)
    return [span for span in spans if span[0] != NONE]


def _windows(text: bytes) -> Iterator[tuple[int, int]]:
    chance = random.Random(len(text))
    yield 0, len(text)
    for _ in range(12):
        start = chance.randrange(len(text) + 1)
        yield start, min(len(text), start + chance.choice([0, 1, 40, 400, 2000]))


def _check(file: DumpFile) -> None:
    """Compares the words of some lines with those in the tree of the whole file."""
    text, instructions = file.document.data, _instructions(file)
    whole = _words_below(Parser(XLA_DUMP).parse(text).root_node)
    without_value = [word for word in whole if word[0] == "instruction" and word[1:] not in instructions]
    for start, end in _windows(text):
        found = words(file.document, file.columns, start, end)
        assert found == sorted(found, key=itemgetter(1))
        first = text.rfind(b"\n", 0, start) + 1
        last = (text + b"\n").index(b"\n", end)
        if any(word_start < first < word_end for _, word_start, word_end in without_value):
            continue  # An instruction without a value has no row.
        inner, expected = (
            [word for word in some if first < word[2] and word[1] < last and word[0] not in _OTHER_GRAMMARS]
            for some in (found, whole)
        )
        assert [word for word in inner if not any(a <= word[1] < b for a, b in instructions)] == expected


@on_each_file
def test_lines_have_the_words_of_the_whole_file(path: Path) -> None:
    _check(dump_file(path.read_bytes()))
    _check(dump_file(path.read_bytes().replace(b"\n", b"\r\n")))


@pytest.mark.parametrize("every", sweep([4, 1], 2))
def test_lines_of_broken_dumps_have_the_words_of_the_whole_file(every: int) -> None:
    for text in islice(malformed_texts(), 0, None, every):
        # Loaded files have no rows of a last line that is cut off.
        _check(replace(dump_file(text), columns=read_columns(text, never)))


def test_lines_of_standard_output_belong_to_their_file() -> None:
    dump = b"BufferAssignment:\nallocation 0: size 4, constant:\n value: <1 a @0> (size=4,offset=0): f32[]\n"
    text = b""
    for name, content in (
        (b"module_0001.f.cpu_after_optimizations.txt", b"HloModule f\n  a\n" * 99),
        (b"module_0001.f.cpu_after_optimizations-buffer-assignment.txt", dump),
        (b"module_0001.f.ir.ll", b"  b\n    1:c\n}\n" * 99),
    ):
        text += b"*** Begin %s ***\n%s*** End %s ***\n" % (name, content, name)
    file = dump_file(text)
    _check(file)
    found = [text[start:end] for _, start, end in words(file.document, file.columns, 0, len(text))]
    assert b"a" in found
    assert b"b" not in found
