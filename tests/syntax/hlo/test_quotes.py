"""The reader of many quoted instructions gives the same results as the reader of one."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from samples import analysis_of, assignments, on_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.columns import NONE, Texts
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.quotes import (
    DifferingPart,
    QuoteParts,
    Quotes,
    differences,
    read_quotes,
)
from xla_lens.syntax.texts import number_texts


def _quotes_of(texts: list[bytes], names: Texts, parts: QuoteParts = QuoteParts.OPERANDS) -> Quotes:
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = ends - np.array([len(text) for text in texts], np.int64)
    return read_quotes(b"".join(texts), starts, ends, parts, names)


def _differences(texts: list[bytes], names: Texts) -> Iterator[str]:
    """Compare all texts with the reader of one. Everything that is read must be right."""
    quotes = _quotes_of(texts, names)
    number = {name: row for row, name in enumerate(names)}
    operands, starts = quotes.operands.tolist(), np.cumsum([0, *map(len, texts)])
    for row, (text, start) in enumerate(zip(texts, starts.tolist(), strict=False)):
        expected = read_instruction(text)
        if expected is None:
            if quotes.shape_start[row] != NONE:
                yield f"{text!r}: no instruction"
            continue
        if quotes.name[row] not in (NONE, number.get(expected.name, NONE)):
            yield f"{text!r}: name"
        if quotes.shape_start[row] != NONE:
            shape = text[quotes.shape_start[row] - start : quotes.shape_end[row] - start]
            if shape != expected.shape:
                yield f"{text!r}: shape {shape!r}"
            opcode = text[quotes.opcode_start[row] - start : quotes.opcode_end[row] - start]
            if opcode != expected.opcode:
                yield f"{text!r}: opcode {opcode!r}"
        if quotes.parameter[row] not in (NONE, expected.parameter_number):
            yield f"{text!r}: parameter"
        if quotes.operand_count[row] != NONE:
            found, operands = operands[: quotes.operand_count[row]], operands[quotes.operand_count[row] :]
            if found != [number.get(operand.name, NONE) for operand in expected.operands()]:
                yield f"{text!r}: operands"
    if operands:
        yield "more operands than their counts"


@on_dumps
def test_quotes_match_the_reader_of_one_instruction(analysis: Analysis) -> None:
    dump = analysis.dump
    rows = np.unique(dump.first_quote[dump.first_quote != NONE])
    rows = rows if len(rows) < 5000 else rows[:: len(rows) // 5000]
    texts = [text for row in rows.tolist() if (text := dump.instruction_text(row))]
    assert list(_differences(texts, dump.names))[:3] == []
    quotes = _quotes_of(texts, dump.names)
    assert not (quotes.operand_count == NONE).any(), "all instructions of XLA are of the usual form"


def _analysis_with_quotes() -> Analysis:
    return max(map(analysis_of, assignments()), key=lambda analysis: len(analysis.dump.quoting_rows[0]))


def test_damaged_quotes_are_read_alike_or_not_at_all() -> None:
    dump, chance = _analysis_with_quotes().dump, random.Random(0)
    pieces = [
        b"%",
        b"(",
        b")",
        b" ",
        b"  ",
        b"\t",
        b"null",
        b"=",
        b"{",
        b"}",
        b"[",
        b",",
        b'"',
        b"\0",
        b"\xff",
        b"a",
        b"9",
    ]
    pieces += [b"((((((%a))))))", b"ROOT ", b"f32[] add(", b" = ", b"/*index=5*/", b"parameter(99999999999999999999)"]
    quotes = [text for row in range(len(dump.used_values)) if (text := dump.instruction_text(row))]
    texts = []
    for _ in range(4000):
        text = chance.choice(quotes)[:300]
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(text) + 1)
            text = text[:place] + chance.choice(pieces) + text[place + chance.choice((0, 0, 1, 5)) :]
        texts.append(text)
    assert list(_differences(texts, dump.names)) == []
    read = _quotes_of(texts, dump.names)
    assert 0 < (read.operand_count == NONE).sum() < len(texts)


def test_parts_that_are_not_asked_for_are_not_read() -> None:
    texts, names = (
        [b"%a = f32[2]{0} add(f32[] %b, %c)", b"%b = (s32[], (f32[1], u8[])) parameter(3)"],
        Texts.of((b"a", b"c")),
    )
    quotes = _quotes_of(texts, names)
    assert quotes.name.tolist() == [0, NONE]
    assert quotes.parameter.tolist() == [NONE, 3]
    assert (quotes.operand_count.tolist(), quotes.operands.tolist()) == ([2, 0], [NONE, 1])
    heads = _quotes_of(texts, names, QuoteParts.HEADS)
    assert heads.shape_end.tolist() == quotes.shape_end.tolist()
    assert (heads.operand_count.tolist(), heads.operands.tolist()) == ([NONE, NONE], [])
    only_names = _quotes_of(texts, names, QuoteParts.NAMES)
    assert (only_names.name.tolist(), only_names.shape_start.tolist()) == ([0, NONE], [NONE, NONE])


def test_names_may_begin_like_a_deleted_operand() -> None:
    texts = [b"%a = f32[2]{0} add(%null.1, %nullable)", b"%a = f32[2]{0} add(%null.1, null)"]
    quotes = _quotes_of(texts, Texts.of((b"null.1", b"nullable")))
    assert (quotes.operand_count.tolist(), quotes.operands.tolist()) == ([2, NONE], [0, 1])


@pytest.mark.parametrize("spans", [([0], [4]), ([-1], [2]), ([2], [1]), ([0, 1], [1])])
def test_spans_outside_of_the_text_are_refused(spans: tuple[list[int], list[int]]) -> None:
    start, end = (np.array(part, np.int64) for part in spans)
    with pytest.raises(ValueError, match=r"spans outside of the text|same shape"):
        number_texts(b"abc", start, end)
    with pytest.raises(ValueError, match=r"spans outside of the text|same shape"):
        read_quotes(b"abc", start, end, QuoteParts.NAMES)


def test_texts_are_numbered_by_their_first_occurrence() -> None:
    start, end = np.array([4, 0, 2, 6, 8]), np.array([6, 2, 4, 8, 8])
    number, rows = number_texts(b"ababcdab", start, end)
    assert (number.tolist(), rows.tolist()) == ([0, 1, 1, 1, 2], [0, 1, 4])


@pytest.mark.parametrize(
    ("quote", "in_module", "expected"),
    [
        ("%a = f32[2] add(%b), metadata={x}", "%a = f32[2] add(%b), metadata={x}", DifferingPart.NONE),
        ("%a = f32[2]{0} add(%b, %c)", 'a = f32[2]{0} add(b, c), metadata={op_name="x"}', DifferingPart.REST),
        ("%a = f32[2] add(f32[2] %b, (s32[], f32[2]) %c)", "ROOT %a = f32[2] add(%b, %c)", DifferingPart.REST),
        (
            "%a = f32[2] add(%b, /*index=5*/%c), calls=%f",
            "a = f32[2] add(b, /*index=5*/c), calls=f",
            DifferingPart.REST,
        ),
        ("%a = f32[2] slice-start(%b), slice={[0:2]}", "%a = f32[2] async-start(%b), calls=%c", DifferingPart.REST),
        ("%a = f32[2] add(%e.1, %c)", "%a = f32[2] add(%t#0, %c)", DifferingPart.REST),
        ("%a = f32[] constant(1)", "%a = f32[] constant({...})", DifferingPart.REST),
        (
            "%a = f32[2] add(%b), k=1, backend_config={x}",
            "%a = f32[2] add(%b), k=1, backend_config={y}",
            DifferingPart.REST,
        ),
        ("%a = f32[2]{0} add(%b, %c)", "%a = f32[3]{0} add(%b, %c)", DifferingPart.SHAPE),
        ("%a = f32[2] add(%b, %c)", "%a = f32[2] multiply(%b, %c)", DifferingPart.OPCODE),
        ("%a = f32[2] add(%b, %c)", "%a = f32[2] add(%c, %b)", DifferingPart.OPERANDS),
        ("%a = f32[2] add(%b, %c)", "a = f32[2] add(b)", DifferingPart.OPERANDS),
        ("%a = f32[2] add()", "a = f32[2] add(b)", DifferingPart.OPERANDS),
        ("%a = f32[2] parameter(0)", "a = f32[2] parameter(1)", DifferingPart.OPERANDS),
        ("%a = f32[2] fusion(%b), calls=%f", "%a = f32[2] fusion(%b), calls=%g", DifferingPart.ATTRIBUTES),
        (
            "%a = f32[2] fusion(%b), calls=%f",
            "%a = f32[2] fusion(%b), calls=%f, k=1, metadata={}",
            DifferingPart.ATTRIBUTES,
        ),
        ("%a = f32[2] fusion(%b), calls=%f", "%a = f32[2] fusion(%b)", DifferingPart.ATTRIBUTES),
    ],
)
def test_differences_of_quotes_and_modules(quote: str, in_module: str, expected: DifferingPart) -> None:
    texts = quote.encode(), in_module.encode()
    spans = [(np.array([0]), np.array([len(text)])) for text in texts]
    assert differences(texts[0], spans[0], texts[1], spans[1]).tolist() == [expected]
    # No byte behind the end counts.
    longer = texts[0] + b"1, k=1", texts[1] + b")}"
    assert differences(longer[0], spans[0], longer[1], spans[1]).tolist() == [expected]
