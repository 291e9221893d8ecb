"""Semantic tokens of HLO modules."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from samples import BARE, SEED, WHILE, analysis_of, malformed_modules, module_of, module_of_text, modules
from xla_lens.features.hlo.tokens import tokens
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.mentions import meaning_of, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.model.places.tokens import Token, TokenType
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.lexical import operand_position
from xla_lens.syntax.hlo.words import MAX_WORDS_BYTES


def check(path: Path, first: str, last: str, expected: str) -> None:
    """Checks the tokens from one text to another, each behind its type: `!` marks a definition, `*` a value that is
    live at the peak.
    """
    module = module_of(path)
    start = module.data.index(first.encode())
    end = module.data.index(last.encode(), start) + len(last.encode())
    assert _text(module, tokens(analysis_of(path), module, start, end, 1000)) == expected.strip("\n")


def _text(module: HloModule, found: list[Token]) -> str:
    lines: dict[int, list[str]] = {}
    for token in found:
        marks = "!" * token.is_definition + "*" * token.is_live_at_peak
        word = module.data[token.start : token.end].decode()
        lines.setdefault(module.file.document.row(token.start), []).append(f"{token.type.name}{marks} {word}")
    return "\n".join(" | ".join(line) for line in lines.values())


def test_computations_have_tokens() -> None:
    check(
        WHILE,
        "%region_0.1 (",
        "%copy.4), control",
        """
COMPUTATION! %region_0.1 | VALUE* arg_tuple.1 | SHAPE s32[] | SHAPE f32[8] | SHAPE f32[8] | SHAPE s32[] | SHAPE f32[8] | SHAPE f32[8]
VALUE!* %arg_tuple.1 | SHAPE (s32[], f32[8]{0}, f32[8]{0}) | OPCODE parameter | PROPERTY metadata | PROPERTY op_name | STRING "jit(tuple_while)/while" | PROPERTY stack_frame_id
VALUE!* %constant.3 | SHAPE s32[] | OPCODE constant | PROPERTY metadata | PROPERTY op_name | STRING "jit(tuple_while)/while" | PROPERTY stack_frame_id
VALUE!* %copy.5 | SHAPE f32[8]{0} | OPCODE copy | VALUE* %arg_tuple.1#2 | PROPERTY metadata | PROPERTY op_name | STRING "jit(tuple_while)/while" | PROPERTY stack_frame_id
VALUE! %copy.4 | SHAPE f32[8]{0} | OPCODE copy | VALUE* %arg_tuple.1#1 | PROPERTY metadata | PROPERTY op_name | STRING "jit(tuple_while)/while" | PROPERTY stack_frame_id
VALUE! %wrapped_add | SHAPE s32[] | OPCODE fusion | VALUE* %arg_tuple.1#0 | VALUE* %constant.3 | PROPERTY kind | PROPERTY calls | COMPUTATION %wrapped_add_computation | PROPERTY metadata | PROPERTY op_name | STRING "jit(tuple_while)/while/body/add" | PROPERTY stack_frame_id
VALUE! %copy.8 | SHAPE f32[8]{0} | OPCODE copy | VALUE %copy.4 | PROPERTY control-predecessors
""",  # noqa: E501
    )


def test_instructions_without_values_are_not_marked_as_values() -> None:
    check(
        WHILE,
        "  ROOT %add.0",
        "metadata",
        "KEYWORD ROOT | INSTRUCTION! %add.0 | SHAPE f32[8]{0} | OPCODE add | INSTRUCTION %param_0 | "
        "INSTRUCTION %broadcast.0 | PROPERTY metadata",
    )


def test_names_without_a_sign_have_tokens() -> None:
    check(
        BARE,
        "ENTRY main",
        "to_apply=region_0.4",
        """
KEYWORD ENTRY | COMPUTATION! main.10
VALUE!* Arg_0.1 | SHAPE f32[10]{0} | OPCODE parameter | PROPERTY metadata | PROPERTY op_name | STRING "x"
VALUE! constant.2 | SHAPE f32[] | OPCODE constant
VALUE!* reduce.8 | SHAPE f32[] | OPCODE reduce | VALUE* Arg_0.1 | VALUE constant.2 | PROPERTY dimensions | PROPERTY to_apply | COMPUTATION region_0.4
""",  # noqa: E501
    )


def test_header_and_tables_have_tokens() -> None:
    check(WHILE, "HloModule", "is_scheduled", "KEYWORD HloModule | SECTION jit_tuple_while | PROPERTY is_scheduled")
    check(
        WHILE,
        '4 "nested',
        "1 {file_name_id=1",
        """
NUMBER 4 | STRING "nested_tuples.<locals>.tuple_while.<locals>.<lambda>"
SECTION FileLocations
NUMBER 1 | PROPERTY file_name_id
""",
    )


def test_long_instruction_has_tokens_in_its_first_part() -> None:
    module = module_of(WHILE)
    text = module.data.replace(b"tuple(%copy.10", b"tuple(" + b"%copy.10, " * MAX_WORDS_BYTES)
    found = tokens(analysis_of(WHILE), module_of_text(text), 0, len(text), 100_000)
    names = sum(text[token.start : token.end] == b"%copy.10" for token in found)
    assert MAX_WORDS_BYTES / 10 - 20 < names < MAX_WORDS_BYTES / 10 + 20
    assert text[found[-1].start : found[-1].end] == b"stack_frame_id", "the line after it has tokens"


def test_strings_in_backend_configurations_have_no_tokens() -> None:
    text = module_of(WHILE).data
    line = next(line for line in text.split(b"\n") if b"backend_config={" in line)
    assert b':{"' in line
    start = text.index(line)
    found = tokens(analyse([]), module_of(WHILE), start, start + len(line), 1000)
    assert text[found[-1].start : found[-1].end] == b"backend_config"


def _check_order(module: HloModule, found: list[Token], start: int, end: int) -> None:
    document = module.file.document
    for token, following in pairwise(found):
        assert token.end <= following.start
    for token in found:
        assert 0 <= token.start < token.end <= len(module.data)
        assert token.start < end
        assert start < token.end
        assert token.end <= document.line_span(document.row(token.start))[1]


def _check_windows(analysis: Analysis, module: HloModule) -> list[Token]:
    """Checks that a range has the tokens that it has within the whole module."""
    size = len(module.data)
    found = tokens(analysis, module, 0, size, 10**6)
    _check_order(module, found, 0, size)
    chance = random.Random(size)
    for _ in range(6):
        start = chance.randrange(size + 1)
        end = min(size, start + chance.choice([0, 1, 40, 400, 2000]))
        inside = [token for token in found if token.start < end and start < token.end]
        assert tokens(analysis, module, start, end, 10**6) == inside
        assert tokens(analysis, module, start, end, 3) == inside[:3]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_tokens_of_names_say_whether_they_have_values(path: Path) -> None:
    analysis, module = analysis_of(path), module_of(path)
    dump, columns = analysis.dump, module.columns
    found = _check_windows(analysis, module)
    counts = Counter((token.type, token.is_definition) for token in found)
    assert counts[TokenType.COMPUTATION, True] == len(columns.computations)
    defined = counts[TokenType.VALUE, True] + counts[TokenType.INSTRUCTION, True]
    assert defined == len(columns.instructions) == counts[TokenType.OPCODE, False]
    for token in found:
        if token.type in (TokenType.VALUE, TokenType.INSTRUCTION):
            name = module.data[token.start : token.end].removeprefix(b"%")
            bare, index = operand_position(name)
            values = values_of(dump, bare)
            if index:
                value = dump.value_at(dump.name_number(bare), dump.index_number(index))
                values = [value] if value != NONE else []
            assert (token.type is TokenType.VALUE) >= (meaning_of(dump, bare, index) in dump.values.id)
            assert token.is_live_at_peak >= bool(live_at_peak(dump, analysis.memory, np.array(values, np.int64)).any())


def test_ranges_of_broken_modules_have_the_tokens_of_the_whole() -> None:
    texts = [*malformed_modules()]
    assert sum(len(_check_windows(analysis_of(SEED), module_of_text(text))) for text in texts) > 10_000
