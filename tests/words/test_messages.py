"""Messages about two texts show where these differ."""

import pytest

from samples import DUMPS, analysis_of
from xla_lens.model.checks.problems import Problem, error
from xla_lens.model.places.places import Place
from xla_lens.words.messages import message
from xla_lens.words.numbers import differing_parts

_SAME = ", ".join(["f32[64,64]{1,0}"] * 8)


@pytest.mark.parametrize(
    ("one", "other", "first", "second"),
    [
        ("f32[8]{0}", "f32[9]{0}", "f32[8]{0}", "f32[9]{0}"),
        # The start shows the difference.
        (f"(s8[], {_SAME})", f"(u8[], {_SAME})", "(s8[], f32[64,6…", "(u8[], f32[64,6…"),
        (f"({_SAME}, s8[], {_SAME})", f"({_SAME}, u8[], {_SAME})", "…,0}, s8[], f32…", "…,0}, u8[], f32…"),
        # One text ends where they differ.
        (f"({_SAME})", f"({_SAME}, s8[])", "…64]{1,0})", "…64]{1,0}, s8[])"),
        (f"({_SAME})", "", "(f32[64,64]{1,0…", ""),
    ],
)
def test_long_texts_are_cut_around_their_difference(one: str, other: str, first: str, second: str) -> None:
    assert differing_parts(one, other, 16) == (first, second)


def test_message_shows_difference_far_behind_the_start() -> None:
    file = analysis_of(next(DUMPS.glob("cpu-tf2.8.4/*/*-buffer-assignment.txt"))).dump.files[0]
    shapes = f"({_SAME}, f32[7]{{0}})", f"({_SAME}, f32[7]{{0:S(5)}})"
    problem = Problem.SHAPE_MISMATCH("x", shapes[0], "one place", shapes[1], "the other")
    text = message(error(Place(file, 0, 0), problem))
    assert "f32[7]{0})` in one place" in text
    assert "f32[7]{0:S(5)})` in the other" in text
    printed = Problem.REPORT_MISMATCH(f"1 {_SAME}, 3", f"1 {_SAME}, 4")
    assert ", 3`" in message(error(Place(file, 0, 0), printed))
    assert ", 4`." in message(error(Place(file, 0, 0), printed))
