"""Semantic tokens."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from msgspec.structs import replace

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
from xla_lens.editor.tokens import _TYPES, Token, tokens
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
        lines.setdefault(document.row(token.start), []).append(f"{token.type}{marks} {word}")
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
namespace BufferAssignment
keyword allocation | class! 0 | number 0x399be10 | property size | number 262144 | property parameter | number 0 | property shape | type f32[64,256,4] | property at ShapeIndex | number {}
keyword value | number 0 | variable!* param | number 0 | property size | number 262144 | property offset | number 0 | type f32[64,256,4]{2,1,0}
keyword allocation | class! 1 | number 0x399bec0 | property size | number 65536 | property parameter | number 1 | property shape | type f32[1024,4,4] | property at ShapeIndex | number {}
keyword value | number 1 | variable!* param.1 | number 0 | property size | number 65536 | property offset | number 0 | type f32[1024,4,4]{2,1,0}
keyword allocation | class! 2 | number 0x399bf70 | property size | number 4096 | enumMember maybe-live-out
keyword value | number 2 | variable! negate.0 | number 0 | property size | number 4096 | property offset | number 0 | type f32[64,16]{1,0}
keyword value | number 4 | variable!* cublas-gemm.1 | number 0 | property size | number 4096 | property offset | number 0 | type f32[64,16]{1,0}
keyword allocation | class! 3
""",  # noqa: E501
    )
    check(
        analysis_of(TPU),
        "allocation 4:",
        "u32[]{:S(2)}",
        """
keyword allocation | class! 4 | property size | number 8 | property color | number 2 | property page | number 0 | enumMember preallocated-temp
keyword value | number 17 | variable!* copy-start{2} | number 2 | property size | number 4 | property offset | number 4 | type u32[]{:S(2)}
""",  # noqa: E501
    )


def test_stack_traces_have_tokens() -> None:
    """A name over two lines is a token in each; a frame without an op_name has the name of a value."""
    check(
        analysis_of(PEAK_NAMES),
        "      ├── jit(f)/new",
        "line\ttab",
        """
string jit(f)/new
string line	tab/dot_general
""",
    )
    check(
        analysis_of(PEAK_NAMES),
        "      └── tuple.1",
        "remaining",
        """
variable tuple.1 | number 0.3 | property total | number 88 | property bytes | property current | number 88 | property bytes | property remaining
""",  # noqa: E501
    )


def test_reports_have_tokens() -> None:
    report = analysis_of(next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/*jit_pure*-buffer-assignment.txt")))
    check(
        report,
        "Allocations sorted by size:",
        "allocation 0: size 64B",
        """
namespace Allocations sorted by size
comment cumulative_size; total_size - cumulative_size; allocation
comment ------------------------------------------------------------------------------
number 64B | number 50 | number 64B | keyword allocation | class 0 | property size | number 64B
""",
    )
    check(
        analysis_of(next(DUMPS.glob("cpu-jaxlib0.12.0.1/mlp_train/module_0000*-buffer-assignment.txt"))),
        "Memory Space:",
        "f32[784,512]",
        """
namespace Memory Space | string default | property color | number 0
namespace Total bytes | number 4419760 | number 4.21MiB
comment cumulative_size;       size;       offset; used_by_n_values; shapes_list
comment ------------------------------------------------------------
number 1.53MiB | number 55 | number 1.53MiB | number 0 | number 2 | type f32[512,256], f32[784,512]
""",
    )


def test_without_used_values_a_value_is_defined_in_its_allocation() -> None:
    text = SEED.read_text()
    text = text[: text.index("Total bytes used")] + text[text.index("HloLiveRange") :]
    row = "keyword value | number 5 | variable!* fusion | number 0"
    check(analysis_of_text(text), " value: <5 fusion", "@0", row)


def test_other_names_are_defined_in_the_schedule() -> None:
    text = SEED.read_text().replace("    3:fusion", "    3:after-all")
    check(analysis_of_text(text), "    3:after-all", "all", "number 3 | function! after-all")


def test_name_in_a_string_is_part_of_the_string() -> None:
    text = SEED.read_text().replace('"__cublas$gemm"', '"before %param, after"')
    expected = 'property custom_call_target | string "before %param, after" | property metadata'
    check(analysis_of_text(text), "custom_call_target", "metadata", expected)


def test_grammar_knows_all_words() -> None:
    kinds = {kind for kind, _, _ in excerpt._KINDS.values()}
    in_hlo_text = {"key", "opcode", "string", "keyword", "module", "computation", "number", "comment"}
    assert set(_TYPES) - kinds == in_hlo_text


# ---------------------------------------------------------------- HLO modules


def test_instructions_without_values_are_not_marked_as_values() -> None:
    check_module(
        WHILE,
        "  ROOT %add.0",
        "metadata",
        "keyword ROOT | function! %add.0 | type f32[8]{0} | macro add | function %param_0 | "
        "function %broadcast.0 | property metadata",
    )


def test_names_without_a_sign_have_tokens() -> None:
    check_module(
        BARE,
        "ENTRY main",
        "to_apply=region_0.4",
        """
keyword ENTRY | class! main.10
variable!* Arg_0.1 | type f32[10]{0} | macro parameter | property metadata | property op_name | string "x"
variable! constant.2 | type f32[] | macro constant
variable!* reduce.8 | type f32[] | macro reduce | variable* Arg_0.1 | variable constant.2 | property dimensions | property to_apply | class region_0.4
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
    assert counts["class", True] == len(columns.computations)
    defined = counts["variable", True] + counts["function", True]
    assert defined == len(columns.instructions) == counts["macro", False]
    for token in found:
        if token.type in ("variable", "function"):
            name = module.data[token.start : token.end].removeprefix(b"%")
            bare, index = operand_position(name)
            values = values_of(dump, bare)
            if index:
                value = dump.value_at(dump.name_number(bare), dump.index_number(index))
                values = [value] if value != NONE else []
            assert (token.type == "variable") >= (meaning_of(dump, bare, index) in dump.values.id)
            assert token.is_live_at_peak >= bool(live_at_peak(dump, analysis.memory, np.array(values, np.int64)).any())


def test_ranges_of_broken_modules_have_the_tokens_of_the_whole() -> None:
    found = []
    for one in map(module_of_text, malformed_modules()):
        analysis = replace(analysis_of(SEED), module=one)
        found.append(_check_windows(one.file.document, partial(tokens, analysis, one.file)))
    assert sum(map(len, found)) > 10_000
