"""Alignment of sequences: anchors stay in order, equal keys pair in order, and an insertion shifts nothing."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xla_lens.model.diff.alignment import Alignment, combined, common_axis, longest_chain
from xla_lens.syntax.columns import NONE

_LETTERS = st.lists(st.sampled_from("abcdef"), max_size=30)


def _keys(text: str) -> np.ndarray:
    return np.array([ord(letter) for letter in text], np.int64)


def _aligned(old: str, new: str) -> list[tuple[int, int]]:
    alignment = Alignment(len(old), len(new))
    alignment.align(_keys(old), _keys(new), 0)
    anchors = alignment.anchors()
    return list(zip(*(column.tolist() for column in anchors), strict=True))


@given(_LETTERS, _LETTERS)
def test_anchors_ascend_and_pair_equal_keys(old: list[str], new: list[str]) -> None:
    pairs = _aligned("".join(old), "".join(new))
    assert all(old[one] == new[other] for one, other in pairs)
    assert all(one < next_one and other < next_other for (one, other), (next_one, next_other) in pairwise(pairs))


@given(st.lists(st.integers(0, 20), unique=True, max_size=12))
def test_longest_chain_is_the_longest(numbers: list[int]) -> None:
    chain = longest_chain(np.array(numbers, np.int64)).tolist()
    assert [numbers[place] for place in chain] == sorted(numbers[place] for place in chain)
    assert chain == sorted(chain)
    lengths: list[int] = []
    for place, number in enumerate(numbers):
        lengths.append(1 + max((lengths[before] for before in range(place) if numbers[before] < number), default=0))
    assert len(chain) == max(lengths, default=0)


_NUMBERS = st.sampled_from((NONE, 0, 1, 2**40))


@given(st.lists(st.tuples(*[_NUMBERS] * 4), max_size=20))
def test_combined_keys_are_equal_where_all_columns_are(rows: list[tuple[int, ...]]) -> None:
    keys = combined([*np.array(rows, np.int64).reshape(-1, 4).T]).tolist()
    known = dict(zip(rows, keys, strict=True))
    assert [known[row] for row in rows] == keys
    assert len(set(keys)) == len(known)


@given(st.data(), st.integers(0, 40), st.integers(0, 40))
def test_aligned_steps_share_a_place_and_no_step_is_lost(data: st.DataObject, old_count: int, new_count: int) -> None:
    count = data.draw(st.integers(0, min(old_count, new_count)))
    old, new = (
        np.array(
            sorted(data.draw(st.sets(st.integers(0, max(0, steps - 1)), min_size=count, max_size=count))), np.int64
        )
        for steps in (old_count, new_count)
    )
    old_places, new_places = common_axis(old, new, old_count, new_count)
    assert old_places[old].tolist() == new_places[new].tolist()
    for places, steps in ((old_places, old_count), (new_places, new_count)):
        assert len(places) == steps + 1
        assert (np.diff(places) > 0).all()
        assert places[0] >= 0
    assert old_places[-1] == new_places[-1]
    # The axis is as long as the longer schedule in each gap, and no longer.
    assert old_places[-1] <= old_count + new_count
    if count == 0:
        assert old_places[-1] == max(old_count, new_count)
