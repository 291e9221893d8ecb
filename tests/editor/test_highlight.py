"""Document highlights."""

import pytest

from samples import (
    SEED,
    SPLIT,
    WHILE,
    analysis_of,
    mark,
    module_of,
)
from xla_lens.editor.references import Highlight, highlights
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.mentions import hlo_mention_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile


def check(analysis: Analysis, marked: str, expected: str) -> None:
    """Check the highlights of a marked place: lines, and below them the word and its kind."""
    file, mention = mark(analysis, marked)
    assert mention is not None
    found = highlights(analysis.dump, None, file, mention, 100)
    lines = [_line(file, word) for word in sorted(found, key=lambda word: word.start)]
    assert "\n".join(lines) == expected.strip("\n")


def _line(file: DumpFile, word: Highlight) -> str:
    document = file.document
    start, end = document.line_span(document.row(word.start))
    before = " " * len(document.data[start : word.start].decode())
    kind = "" if word.kind == "Text" else f" {word.kind.lower()}"
    return f"{document.data[start:end].decode()}\n{before}{'^' * (word.end - word.start)}{kind}"


_GEMM = """
 value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}
        ^^^^^^^^^^^^^^^^^^^^ write
 from instruction:%negate.0 = f32[64,16]{1,0} negate(f32[64,16]{1,0} %cublas-gemm.1), metadata={op_type="neg" op_name="parallelize(func_shard_parallel)/neg" source_file="test_auto_sharding_basic.py" source_line=53}
                                                                     ^^^^^^^^^^^^^^ read
<4 cublas-gemm.1 @0>
^^^^^^^^^^^^^^^^^^^^ write
  cublas-gemm.1
  ^^^^^^^^^^^^^
  negate.0, operand 0
            ^^^^^^^^^ read
    4:cublas-gemm.1
      ^^^^^^^^^^^^^ write
    cublas-gemm.1{}:4-5
    ^^^^^^^^^^^^^^^
    cublas-gemm.1: 4096 bytes
    ^^^^^^^^^^^^^
"""  # noqa: E501


@pytest.mark.parametrize(
    "marked",
    [
        "    cublas-gemm.1{}:4-5\n     ^",
        "  negate.0, operand 0\n                ^",
        " value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n                  ^",
        "    4:cublas-gemm.1\n                   ^",
    ],
    ids=["live range", "operand", "row in the allocation", "schedule"],
)
def test_mentions_of_a_value_are_highlighted(marked: str) -> None:
    check(analysis_of(SEED), marked, _GEMM)


def test_mentions_of_a_step_are_highlighted() -> None:
    check(
        analysis_of(SEED),
        "    cublas-gemm.1{}:4-5\n                      ^",
        """
    5:negate.0
    ^ write
    negate.0{}:5-7
               ^
    cublas-gemm.1{}:4-5
                      ^
  Live ranges at 5 (peak):
  ^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_mentions_of_an_allocation_are_highlighted() -> None:
    check(
        analysis_of(SEED),
        "allocation 2: 0x399bf70, size 4096, maybe-live-out:\n     ^",
        """
allocation 2: 0x399bf70, size 4096, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ write
 value: <2 negate.0 @0> (size=4096,offset=0): f32[64,16]{1,0}
        ^^^^^^^^^^^^^^^
 value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}
        ^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_highlights_stay_in_one_file() -> None:
    analysis = analysis_of(SPLIT)
    check(
        analysis,
        "    x.1{}:0-40\n     ^",
        """
    6:x.1
      ^^^ write
    x.1{}:0-40
    ^^^^^
    x.1{}: 401408 bytes (cumulative: 5742592 bytes)
    ^^^^^
""",
    )
    check(
        analysis,
        " value: <222 x.1 @0> (size=401408,offset=0): f32[128,784]{1,0}\n          ^",
        """
 value: <222 x.1 @0> (size=401408,offset=0): f32[128,784]{1,0}
        ^^^^^^^^^^^^ write
""",
    )


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_limit_keeps_the_word_itself(limit: int) -> None:
    analysis = analysis_of(SEED)
    for marked in ("    cublas-gemm.1: 4096 bytes\n     ^", "  cublas-gemm.1, operand 1\n      ^"):
        file, mention = mark(analysis, marked)
        assert mention
        found = highlights(analysis.dump, None, file, mention, limit)
        assert len(found) == limit
        assert (mention.start, mention.end) in [(word.start, word.end) for word in found]


# ---------------------------------------------------------------- HLO modules


def _marked_in_module(module: HloModule, place: bytes, limit: int) -> list[str]:
    mention = hlo_mention_at(module, module.data.index(place) + 1)
    assert mention
    found = highlights(analyse([]).dump, module, module.file, mention, limit)
    return [f"{module.data[word.start : word.end].decode()}{'!' * (word.kind == 'Write')}" for word in found]


def test_highlights_of_an_instruction_include_its_elements() -> None:
    module = module_of(WHILE)
    expected = ["arg_tuple.1!", "%arg_tuple.1#2", "%arg_tuple.1#1", "%arg_tuple.1#0"]
    assert _marked_in_module(module, b"%arg_tuple.1#1", 100) == expected
    assert _marked_in_module(module, b"%arg_tuple.1 =", 100) == expected
    assert _marked_in_module(module, b"%arg_tuple.1 =", 2) == expected[:2]


def test_highlights_of_a_computation_are_its_calls() -> None:
    assert _marked_in_module(module_of(WHILE), b"%region_0.1, ", 100) == ["region_0.1!", "%region_0.1"]
