"""Selection ranges in HLO modules."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from samples import BARE, WHILE, malformed_modules, module_of, module_of_text, modules
from xla_lens.features.hlo.selection import selection
from xla_lens.model.hlo.module import HloModule


def check(path: Path, marked: str, expected: str) -> None:
    """Checks the ranges at the `^` in a piece of text that occurs once. A range of several lines is shown as its first
    line with their number.
    """
    module = module_of(path)
    before, after = marked.encode().split(b"^")
    assert module.data.count(before + after) == 1
    found = selection(module, module.data.index(before + after) + len(before), 100)
    assert "\n".join(_shown(module.data[start:end].decode()) for start, end in found) == expected.strip("\n")


def _shown(text: str) -> str:
    first, *rest = text.split("\n")
    return f"{first[:40]} … ({len(rest) + 1} lines)" if rest else text if len(text) < 80 else f"{text[:60]} …"


def test_selection_grows_from_an_operand() -> None:
    check(
        WHILE,
        "fusion(%arg^_tuple.1#0, %constant.3)",
        """
%arg_tuple.1#0
%arg_tuple.1#0, %constant.3
(%arg_tuple.1#0, %constant.3)
fusion(%arg_tuple.1#0, %constant.3)
%wrapped_add = s32[] fusion(%arg_tuple.1#0, %constant.3)
%wrapped_add = s32[] fusion(%arg_tuple.1#0, %constant.3), ki …
%region_0.1 (arg_tuple.1: (s32[], f32[8] … (10 lines)
HloModule jit_tuple_while, is_scheduled= … (82 lines)
""",
    )


def test_selection_grows_from_an_attribute() -> None:
    check(
        BARE,
        "to_apply=regi^on_0.4",
        """
region_0.4
to_apply=region_0.4
reduce.8 = f32[] reduce(Arg_0.1, constant.2), dimensions={0} …
ENTRY main.10 { … (8 lines)
HloModule jit_s, is_scheduled=true, entr … (18 lines)
""",
    )


def test_selection_grows_from_the_head_of_a_computation_and_a_table_row() -> None:
    check(
        WHILE,
        "%region_1.2 (arg_^tuple.3: (",
        """
arg_tuple.3
arg_tuple.3:
arg_tuple.3: (s32[], f32[8], f32[8])
(arg_tuple.3: (s32[], f32[8], f32[8]))
%region_1.2 (arg_tuple.3: (s32[], f32[8], f32[8])) -> pred[] {
%region_1.2 (arg_tuple.3: (s32[], f32[8] … (5 lines)
HloModule jit_tuple_while, is_scheduled= … (82 lines)
""",
    )
    check(
        WHILE,
        "5 {file_location_id=5 parent_frame_i^d=4}",
        """
parent_frame_id
parent_frame_id=4
file_location_id=5 parent_frame_id=4
{file_location_id=5 parent_frame_id=4}
5 {file_location_id=5 parent_frame_id=4}
StackFrames … (7 lines)
HloModule jit_tuple_while, is_scheduled= … (82 lines)
""",
    )


def _check_places(module: HloModule, offsets: list[int]) -> None:
    for offset in offsets:
        found = selection(module, offset, 100)
        assert found[-1] == (0, len(module.data))
        assert found[0][0] <= offset <= found[0][1]
        for (start, end), (outer_start, outer_end) in pairwise(found):
            assert outer_start <= start <= end <= outer_end
            assert (start, end) != (outer_start, outer_end)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_each_range_lies_within_the_next(path: Path) -> None:
    module = module_of(path)
    _check_places(module, random.Random(0).sample(range(len(module.data)), 200))


def test_ranges_of_broken_modules_are_nested() -> None:
    chance = random.Random(0)
    for text in malformed_modules():
        _check_places(module_of_text(text), [chance.randrange(len(text) + 1) for _ in range(20)])
