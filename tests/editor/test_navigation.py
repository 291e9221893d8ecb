"""Go to definition, declaration, type definition and implementation."""

import pytest

from samples import DUMPS, SEED, analysis_of, analysis_of_text, lines_with_marks, mark
from xla_lens.editor.navigation import declaration, definition, implementation, type_definition
from xla_lens.model.analysis import Analysis


def check(analysis: Analysis, marked: str, **expected: str) -> None:
    """Return the targets of the named features from a marked place: lines with marks below the places."""
    _, mention = mark(analysis, marked)
    assert mention is not None
    found = {
        "definition": definition(analysis.dump, None, mention, 100),
        "declaration": declaration(analysis.dump, None, mention, 100),
        "type_definition": type_definition(analysis.dump, None, mention, 100),
        "implementation": implementation(analysis.dump, None, mention, 100),
    }
    for feature, places in expected.items():
        assert lines_with_marks(found[feature]) == places.strip("\n"), feature


_HEADER = """
<4 cublas-gemm.1 @0>
^^^^^^^^^^^^^^^^^^^^
"""

_ROW = """
 value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}
        ^^^^^^^^^^^^^^^^^^^^
"""

_ALLOCATION = """
allocation 2: 0x399bf70, size 4096, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""


_ENTRY = """
    4:cublas-gemm.1
      ^^^^^^^^^^^^^
"""


def _instruction(name: str, operand: str) -> str:
    """Return the line that quotes an instruction of the seed, with a mark below one of its operands."""
    start = f" from instruction:%{name} = "
    line = next(line for line in SEED.read_text().splitlines() if line.startswith(start))
    return f"{line}\n{' ' * line.index(f'%{operand}', len(start))}^"


@pytest.mark.parametrize(
    "marked",
    [
        " value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n           ^",
        " value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n                   ^",
        " value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n                                 ^",
        "  cublas-gemm.1, operand 1\n     ^",
        "  negate.0, operand 0\n            ^",
        "    cublas-gemm.1{}:4-5\n     ^",
        "    cublas-gemm.1: 4096 bytes\n     ^",
        "    4:cublas-gemm.1\n         ^",
        _instruction("negate.0", "cublas-gemm.1"),
    ],
    ids=[
        "name in the allocation",
        "end of the value in the allocation",
        "size in the allocation",
        "instruction that uses another value",
        "operand of a use",
        "live range",
        "printed peak without indices",
        "schedule",
        "operand in the text of an instruction",
    ],
)
def test_value_has_a_target_for_each_jump(marked: str) -> None:
    places = {"definition": _HEADER, "declaration": _ROW, "type_definition": _ALLOCATION, "implementation": _ENTRY}
    check(analysis_of(SEED), marked, **places)


def test_header_of_a_value_leads_to_its_row() -> None:
    marked = "<4 cublas-gemm.1 @0>\n  ^"
    check(analysis_of(SEED), marked, definition=_ROW, declaration=_ROW, type_definition=_ALLOCATION)


@pytest.mark.parametrize(
    "marked",
    [
        "    1:bitcast.1\n       ^",
        "  bitcast.1\n   ^",
        "  bitcast.1, operand 0\n   ^",
        _instruction("cublas-gemm.1", "bitcast.1"),
    ],
)
def test_alias_leads_to_the_value_with_its_bytes(marked: str) -> None:
    header = """
<1 param.1 @0>
^^^^^^^^^^^^^^
"""
    entry = """
    1:bitcast.1
      ^^^^^^^^^
"""
    check(analysis_of(SEED), marked, definition=header, implementation=entry)


def test_unscheduled_instructions_have_no_implementation() -> None:
    text = SEED.read_text().replace("    4:cublas-gemm.1\n", "")
    check(analysis_of_text(text), "    cublas-gemm.1{}:4-5\n     ^", definition=_HEADER, implementation="")


def test_header_of_an_allocation_leads_to_its_values() -> None:
    marked = "allocation 2: 0x399bf70, size 4096, maybe-live-out:\n           ^"
    rows = """
 value: <2 negate.0 @0> (size=4096,offset=0): f32[64,16]{1,0}
        ^^^^^^^^^^^^^^^
 value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}
        ^^^^^^^^^^^^^^^^^^^^
"""
    places = {"definition": rows, "declaration": _ALLOCATION, "type_definition": _ALLOCATION, "implementation": ""}
    check(analysis_of(SEED), marked, **places)


def test_allocation_in_a_report_leads_to_its_header() -> None:
    analysis = analysis_of(next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/*jit_pure*-buffer-assignment.txt")))
    marked = """
      128B(100%);         0B; allocation 1: size 64B, parameter 0, shape |f32[16]| at ShapeIndex {}:
                                    ^
"""
    header = """
allocation 1: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
    check(analysis, marked, definition=header, declaration=header, type_definition=header)


@pytest.mark.parametrize(
    "marked",
    [
        "    5:negate.0\n    ^",
        "  Live ranges at 5 (peak):\n        ^",
        "    cublas-gemm.1{}:4-5\n                      ^",
    ],
    ids=["schedule", "printed peak", "end of a live range"],
)
def test_step_leads_to_its_instruction(marked: str) -> None:
    entry = """
    5:negate.0
      ^^^^^^^^
"""
    places = {"definition": entry, "declaration": entry, "type_definition": "", "implementation": entry}
    check(analysis_of(SEED), marked, **places)


def test_name_without_a_value_leads_to_the_schedule() -> None:
    text = (
        SEED.read_text()
        .replace("    3:fusion", "    3:after-all")
        .replace("  fusion, operand 0", "  after-all, operand 0")
    )
    entry = """
    3:after-all
      ^^^^^^^^^
"""
    check(
        analysis_of_text(text), "  after-all, operand 0\n   ^", definition=entry, declaration=entry, type_definition=""
    )


@pytest.mark.parametrize("marked", ["BufferAssignment:\n    ^", "Used values:\n  ^", "  InstructionSequence:\n     ^"])
def test_other_words_lead_nowhere(marked: str) -> None:
    assert mark(analysis_of(SEED), marked)[1] is None


def test_name_in_the_stack_trace_leads_to_its_row() -> None:
    analysis = analysis_of(next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/*-buffer-assignment.txt")))
    marked = """
      └── tuple.1 (0.3%, total: 88 bytes, current: 88 bytes, remaining: 0 bytes)
            ^
"""
    row = """
 value: <78 tuple.1{} @0> (size=88,offset=0): (f32[24,24]{1,0}, f32[24,24]{1,0}, f32[24,24]{1,0}, f32[24,24]{1,0}, f32[24,24]{1,0}, /*index=5*/f32[24,24]{1,0}, f32[24,24]{1,0}, f32[24,24]{1,0}, f32[24,24]{1,0}, f32[24,24]{1,0}, /*index=10*/f32[24,24]{1,0})
        ^^^^^^^^^^^^^^^^^
"""  # noqa: E501
    check(analysis, marked, declaration=row)
