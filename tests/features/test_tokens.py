"""Semantic tokens."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from samples import (
    BARE,
    DUMPS,
    PEAK_NAMES,
    SEED,
    TPU,
    WHILE,
    analysis_of,
    analysis_of_text,
    malformed_modules,
    module_of,
    module_of_text,
    modules,
)
from xla_lens.features.tokens import _DUMP_TYPES, Token, TokenType, tokens
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.mentions import meaning_of, values_of
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.syntax import excerpt
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.lexical import operand_position
from xla_lens.syntax.hlo.words import MAX_WORDS_BYTES
from xla_lens.text.document import Document


def check(analysis: Analysis, first: str, last: str, expected: str) -> None:
    """Check the tokens of a dump file from one text to another."""
    file = next(file for file in analysis.dump.files if first.encode() in file.document.data)
    _check_between(file.document, partial(tokens, analysis, file), first, last, expected)


def check_module(path: Path, first: str, last: str, expected: str) -> None:
    """Check the tokens of an HLO module from one text to another."""
    module = module_of(path)
    find = partial(tokens, replace(analysis_of(path), module=module), module.file)
    _check_between(module.file.document, find, first, last, expected)


_Find: TypeAlias = Callable[[tuple[int, int], int], list[Token]]
"""Returns the tokens between two bytes, up to a limit."""


def _check_between(document: Document, find: _Find, first: str, last: str, expected: str) -> None:
    """Check the tokens from one text to another, each behind its type, with `!` for a definition and `*` for a value
    live at the peak.
    """
    start = document.data.index(first.encode())
    end = document.data.index(last.encode(), start) + len(last.encode())
    lines: dict[int, list[str]] = {}
    for token in find((start, end), 1000):
        marks = "!" * token.is_definition + "*" * token.is_live_at_peak
        word = document.data[token.start : token.end].decode()
        lines.setdefault(document.row(token.start), []).append(f"{token.type.name}{marks} {word}")
    assert "\n".join(" | ".join(line) for line in lines.values()) == expected.strip("\n")


def _check_order(document: Document, found: list[Token], start: int, end: int) -> None:
    for token, following in pairwise(found):
        assert token.end <= following.start
    for token in found:
        assert 0 <= token.start < token.end <= len(document.data)
        assert token.start < end
        assert start < token.end
        assert token.end <= document.line_span(document.row(token.start))[1]


def _check_windows(document: Document, find: _Find) -> list[Token]:
    """Check that some lines have the same tokens as in the whole file. Return those of the whole file."""
    size = len(document.data)
    found = find((0, size), 10**6)
    _check_order(document, found, 0, size)
    chance = random.Random(size)
    for _ in range(6):
        start = chance.randrange(size + 1)
        end = min(size, start + chance.choice([0, 1, 40, 400, 2000]))
        inside = [token for token in found if token.start < end and start < token.end]
        assert find((start, end), 10**6) == inside
        assert find((start, end), 3) == inside[:3]
    return found


# ---------------------------------------------------------------- dump files


def test_allocations_have_tokens() -> None:
    check(
        analysis_of(SEED),
        "BufferAssignment:",
        "allocation 3:",
        """
SECTION BufferAssignment
KEYWORD allocation | ALLOCATION! 0 | NUMBER 0x399be10 | PROPERTY size | NUMBER 262144 | PROPERTY parameter | NUMBER 0 | PROPERTY shape | SHAPE f32[64,256,4] | PROPERTY at ShapeIndex | NUMBER {}
KEYWORD value | NUMBER 0 | VALUE!* param | NUMBER 0 | PROPERTY size | NUMBER 262144 | PROPERTY offset | NUMBER 0 | SHAPE f32[64,256,4]{2,1,0}
KEYWORD allocation | ALLOCATION! 1 | NUMBER 0x399bec0 | PROPERTY size | NUMBER 65536 | PROPERTY parameter | NUMBER 1 | PROPERTY shape | SHAPE f32[1024,4,4] | PROPERTY at ShapeIndex | NUMBER {}
KEYWORD value | NUMBER 1 | VALUE!* param.1 | NUMBER 0 | PROPERTY size | NUMBER 65536 | PROPERTY offset | NUMBER 0 | SHAPE f32[1024,4,4]{2,1,0}
KEYWORD allocation | ALLOCATION! 2 | NUMBER 0x399bf70 | PROPERTY size | NUMBER 4096 | KIND maybe-live-out
KEYWORD value | NUMBER 2 | VALUE! negate.0 | NUMBER 0 | PROPERTY size | NUMBER 4096 | PROPERTY offset | NUMBER 0 | SHAPE f32[64,16]{1,0}
KEYWORD value | NUMBER 4 | VALUE!* cublas-gemm.1 | NUMBER 0 | PROPERTY size | NUMBER 4096 | PROPERTY offset | NUMBER 0 | SHAPE f32[64,16]{1,0}
KEYWORD allocation | ALLOCATION! 3
""",  # noqa: E501
    )
    check(
        analysis_of(TPU),
        "allocation 4:",
        "u32[]{:S(2)}",
        """
KEYWORD allocation | ALLOCATION! 4 | PROPERTY size | NUMBER 8 | PROPERTY color | NUMBER 2 | PROPERTY page | NUMBER 0 | KIND preallocated-temp
KEYWORD value | NUMBER 17 | VALUE!* copy-start{2} | NUMBER 2 | PROPERTY size | NUMBER 4 | PROPERTY offset | NUMBER 4 | SHAPE u32[]{:S(2)}
""",  # noqa: E501
    )


def test_stack_traces_have_tokens() -> None:
    """A name over two lines is a token in each; a frame without an op_name has the name of a value."""
    check(
        analysis_of(PEAK_NAMES),
        "      ├── jit(f)/new",
        "line\ttab",
        """
STRING jit(f)/new
STRING line	tab/dot_general
""",
    )
    check(
        analysis_of(PEAK_NAMES),
        "      └── tuple.1",
        "remaining",
        """
VALUE tuple.1 | NUMBER 0.3 | PROPERTY total | NUMBER 88 | PROPERTY bytes | PROPERTY current | NUMBER 88 | PROPERTY bytes | PROPERTY remaining
""",  # noqa: E501
    )


def test_reports_have_tokens() -> None:
    report = analysis_of(next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/*jit_pure*-buffer-assignment.txt")))
    check(
        report,
        "Allocations sorted by size:",
        "allocation 0: size 64B",
        """
SECTION Allocations sorted by size
COMMENT cumulative_size; total_size - cumulative_size; allocation
COMMENT ------------------------------------------------------------------------------
NUMBER 64B | NUMBER 50 | NUMBER 64B | KEYWORD allocation | ALLOCATION 0 | PROPERTY size | NUMBER 64B
""",
    )
    check(
        analysis_of(next(DUMPS.glob("cpu-jaxlib0.12.0.1/mlp_train/module_0000*-buffer-assignment.txt"))),
        "Memory Space:",
        "f32[784,512]",
        """
SECTION Memory Space | STRING default | PROPERTY color | NUMBER 0
SECTION Total bytes | NUMBER 4419760 | NUMBER 4.21MiB
COMMENT cumulative_size;       size;       offset; used_by_n_values; shapes_list
COMMENT ------------------------------------------------------------
NUMBER 1.53MiB | NUMBER 55 | NUMBER 1.53MiB | NUMBER 0 | NUMBER 2 | SHAPE f32[512,256], f32[784,512]
""",
    )


def test_without_used_values_a_value_is_defined_in_its_allocation() -> None:
    text = SEED.read_text()
    text = text[: text.index("Total bytes used")] + text[text.index("HloLiveRange") :]
    row = "KEYWORD value | NUMBER 5 | VALUE!* fusion | NUMBER 0"
    check(analysis_of_text(text), " value: <5 fusion", "@0", row)


def test_other_names_are_defined_in_the_schedule() -> None:
    text = SEED.read_text().replace("    3:fusion", "    3:after-all")
    check(analysis_of_text(text), "    3:after-all", "all", "STEP 3 | INSTRUCTION! after-all")


def test_name_in_a_string_is_part_of_the_string() -> None:
    text = SEED.read_text().replace('"__cublas$gemm"', '"before %param, after"')
    expected = 'PROPERTY custom_call_target | STRING "before %param, after" | PROPERTY metadata'
    check(analysis_of_text(text), "custom_call_target", "metadata", expected)


def test_grammar_knows_all_words() -> None:
    kinds = {kind for kind, _, _ in excerpt._KINDS.values()}
    assert set(_DUMP_TYPES) - kinds == {"key", "opcode", "string"}, "these types occur in instructions only"


# ---------------------------------------------------------------- HLO modules


def test_instructions_without_values_are_not_marked_as_values() -> None:
    check_module(
        WHILE,
        "  ROOT %add.0",
        "metadata",
        "KEYWORD ROOT | INSTRUCTION! %add.0 | SHAPE f32[8]{0} | OPCODE add | INSTRUCTION %param_0 | "
        "INSTRUCTION %broadcast.0 | PROPERTY metadata",
    )


def test_names_without_a_sign_have_tokens() -> None:
    check_module(
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


def test_long_instruction_has_tokens_in_its_first_part() -> None:
    module = module_of(WHILE)
    text = module.data.replace(b"tuple(%copy.10", b"tuple(" + b"%copy.10, " * MAX_WORDS_BYTES)
    changed = module_of_text(text)
    found = tokens(replace(analysis_of(WHILE), module=changed), changed.file, (0, len(text)), 100_000)
    names = sum(text[token.start : token.end] == b"%copy.10" for token in found)
    assert MAX_WORDS_BYTES / 10 - 20 < names < MAX_WORDS_BYTES / 10 + 20
    assert text[found[-1].start : found[-1].end] == b"stack_frame_id", "the line after it has tokens"


def test_strings_in_backend_configurations_have_no_tokens() -> None:
    module = module_of(WHILE)
    text = module.data
    line = next(line for line in text.split(b"\n") if b"backend_config={" in line)
    assert b':{"' in line
    start = text.index(line)
    found = tokens(replace(analyse([]), module=module), module.file, (start, start + len(line)), 1000)
    assert text[found[-1].start : found[-1].end] == b"backend_config"


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_tokens_of_names_say_whether_they_have_values(path: Path) -> None:
    module = module_of(path)
    analysis = replace(analysis_of(path), module=module)
    dump, columns = analysis.dump, module.columns
    found = _check_windows(module.file.document, partial(tokens, analysis, module.file))
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
    found = []
    for one in map(module_of_text, malformed_modules()):
        analysis = replace(analysis_of(SEED), module=one)
        found.append(_check_windows(one.file.document, partial(tokens, analysis, one.file)))
    assert sum(map(len, found)) > 10_000
