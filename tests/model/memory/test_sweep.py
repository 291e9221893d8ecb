"""Coverage and collisions, compared with a count of every byte at every step."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from xla_lens.model.memory.sweep import Slots, collisions, coverage
from xla_lens.syntax.columns import Column

_slot = st.tuples(st.integers(0, 12), st.integers(1, 8), st.integers(0, 12), st.integers(0, 6))
_slots = st.lists(_slot, max_size=14)

_Slot = tuple[int, int, int, int]


def _table(slots: list[_Slot]) -> Slots:
    offset, size, start, length = (
        (np.array(column, np.int64) for column in zip(*slots, strict=True))
        if slots
        else (np.zeros(0, np.int64) for _ in range(4))
    )
    return Slots(np.arange(len(slots)), np.zeros(len(slots), np.int64), offset, offset + size, start, start + length)


def _collide(one: _Slot, other: _Slot) -> bool:
    """Whether two slots share bytes and steps, without the last step of each."""
    bytes_shared = one[0] < other[0] + other[1] and other[0] < one[0] + one[1]
    steps_shared = max(one[2], other[2]) < min(one[2] + one[3], other[2] + other[3])
    return bytes_shared and steps_shared


def _totals(steps: Column, deltas: Column) -> dict[int, int]:
    """The covered bytes after each step that has changes."""
    return dict(zip(steps.tolist(), accumulate(deltas.tolist()), strict=True))


def _in(pairs: list[tuple[int, int]]) -> set[int]:
    return {value for pair in pairs for value in pair}


@given(_slots)
def test_covered_bytes_match_a_count(slots: list[_Slot]) -> None:
    found = coverage(_table(slots))
    assert np.all(found.deltas != 0)
    assert np.all(found.steps[:-1] <= found.steps[1:])
    for step in range(22):
        live = [slot for slot in slots if slot[2] <= step <= slot[2] + slot[3]]
        covered = {byte for offset, size, *_ in live for byte in range(offset, offset + size)}
        assert found.deltas[found.steps <= step].sum() == len(covered)


@given(_slots, st.sets(st.integers(0, 13)))
def test_every_value_that_collides_is_in_a_pair(slots: list[_Slot], exempt: set[int]) -> None:
    pairs = collisions(_table(slots), exempt.__contains__)
    assert all(_collide(slots[one], slots[other]) for one, other in pairs)
    assert all(slots[value][2] >= slots[other][2] for value, other in pairs)
    assert len(set(pairs)) == len(pairs) <= 2 * len(slots)
    others = [number for number in range(len(slots)) if number not in exempt]
    expected = {one for one in others for other in others if one != other and _collide(slots[one], slots[other])}
    assert _in(pairs) == expected


_SHAPES = {
    "nested": lambda count: [(0, number + 1, number, count) for number in range(count)],
    "pyramid": lambda count: [(number, 2 * (count - number), number, 2 * count) for number in range(count)],
    "same": lambda count: [(0, 64, number, count) for number in range(count)],
    "beside": lambda count: [(number * 7919 % count, 1, number, count) for number in range(count)],
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_pairs_stay_few_however_many_slots_share_bytes(shape: str) -> None:
    count = 2000
    pairs = collisions(_table(_SHAPES[shape](count)), lambda _: False)
    assert len(pairs) <= 2 * count
    assert len(_in(pairs)) == (0 if shape == "beside" else count)


def test_a_value_and_its_successor_meet_without_a_collision() -> None:
    slots = _table([(0, 8, 0, 4), (0, 8, 4, 4)])
    found = coverage(slots)
    assert not collisions(slots, lambda _: False)
    assert list(zip(found.steps.tolist(), found.deltas.tolist(), strict=True)) == [(0, 8), (9, -8)]


def test_slots_that_end_before_they_start_cover_nothing() -> None:
    """The sum of an offset and a size can have more than 64 bits."""
    offset = np.array([(1 << 63) - 8, 0], np.int64)
    slots = replace(_table([(0, 16, 0, 3), (0, 16, 1, 2)]), offset=offset, end_offset=offset + 16)
    found = coverage(slots)
    assert _totals(found.steps, found.deltas) == {1: 16, 4: 0}
