"""Folding ranges of HLO modules."""

from pathlib import Path

import pytest

from samples import PALLAS, WHILE, malformed_modules, module_of, module_of_text, modules
from xla_lens.features.hlo.folding import folds
from xla_lens.model.hlo.module import HloModule


def _text(module: HloModule, limit: int) -> str:
    """The first and the last line of each fold."""
    document = module.file.document
    lines = (
        [document.data[slice(*document.line_span(document.row(place)))].decode() for place in fold]
        for fold in folds(module, limit)
    )
    return "".join(f"{first[:40]} … {last[:40]}\n" for first, last in lines)


def test_computations_and_tables_fold() -> None:
    assert (
        _text(module_of(WHILE), 100)
        == """\
FileNames … 3 "/home/user/programs/programs.py"
FunctionNames … 4 "nested_tuples.<locals>.tuple_while.<l
FileLocations … 6 {file_name_id=3 function_name_id=3 lin
StackFrames … 6 {file_location_id=6 parent_frame_id=3}
%fused_computation (param_0: f32[8]) ->  … }
%wrapped_add_computation (param_0.1: s32 … }
%region_0.1 (arg_tuple.1: (s32[], f32[8] … }
%wrapped_compare_computation (param_0.2: … }
%region_1.2 (arg_tuple.3: (s32[], f32[8] … }
%while.6_computation (tuple.5: (s32[], f … }
ENTRY %main.3 (x.1: f32[8]) -> (s32[], f … }
"""
    )


def test_limit_keeps_the_folds_with_the_most_lines() -> None:
    assert (
        _text(module_of(WHILE), 2)
        == """\
%region_0.1 (arg_tuple.1: (s32[], f32[8] … }
ENTRY %main.3 (x.1: f32[8]) -> (s32[], f … }
"""
    )


def test_instructions_that_span_lines_fold() -> None:
    lines = _text(module_of(PALLAS), 1000).split("\n")
    assert [line.partition(" = ")[0] for line in lines if " = " in line] == [
        "  %splash_mha_fwd_no_residuals.1",
        "  ROOT %pallas_call.1",
    ]


def _check(module: HloModule) -> int:
    document, open_lines = module.file.document, list[tuple[int, int]]()
    found = folds(module, 10**6)
    assert found == sorted(found, key=lambda fold: (fold[0], -fold[1]))
    for start, end in found:
        first, last = document.row(start), document.row(end)
        assert 0 <= first < last < document.line_count
        while open_lines and open_lines[-1][1] < first:
            open_lines.pop()
        assert not open_lines or last <= open_lines[-1][1]
        open_lines.append((first, last))
    assert set(folds(module, len(found) // 2)) <= set(found)
    return len(found)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_folds_nest_or_are_disjoint(path: Path) -> None:
    module = module_of(path)
    assert _check(module) >= len(module.columns.computations) + len(module.columns.stack_tables)


def test_folds_of_broken_modules_nest_or_are_disjoint() -> None:
    assert sum(_check(module_of_text(text)) for text in malformed_modules()) > 100
