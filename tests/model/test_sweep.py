"""The sweep, against a count of every byte at every step."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xla_lens.model.sweep import Slots, sweep

_slot = st.tuples(st.integers(0, 12), st.integers(1, 8), st.integers(0, 12), st.integers(0, 6))
_slots = st.lists(_slot, max_size=14)

_Slot = tuple[int, int, int, int]


def _table(slots: list[_Slot]) -> Slots:
    offset, size, start, length = (
        (np.array(column, np.int64) for column in zip(*slots, strict=True))
        if slots
        else (np.zeros(0, np.int64) for _ in range(4))
    )
    return Slots(np.arange(len(slots)), offset, offset + size, start, start + length)


def _collide(one: _Slot, other: _Slot) -> bool:
    """Bytes and steps in common, the last step of each left out."""
    bytes_shared = one[0] < other[0] + other[1] and other[0] < one[0] + one[1]
    steps_shared = max(one[2], other[2]) < min(one[2] + one[3], other[2] + other[3])
    return bytes_shared and steps_shared


@given(_slots)
def test_covered_bytes_are_those_of_a_count(slots: list[_Slot]) -> None:
    coverage = sweep(_table(slots), lambda _: False)
    for step in range(22):
        live = [slot for slot in slots if slot[2] <= step <= slot[2] + slot[3]]
        covered = {byte for offset, size, *_ in live for byte in range(offset, offset + size)}
        changes = zip(coverage.steps, coverage.deltas, strict=True)
        assert sum(delta for at, delta in changes if at <= step) == len(covered)


@given(_slots)
def test_collisions_are_found_where_there_are_some(slots: list[_Slot]) -> None:
    collisions = sweep(_table(slots), lambda _: False).collisions
    assert all(_collide(slots[one], slots[other]) for one, other in collisions)
    expected = {
        one
        for one in range(len(slots))
        if any(_collide(slots[one], slots[other]) for other in range(len(slots)) if other != one)
    }
    # Each that collides is told of, or stands as the other in what is told.
    told = {value for pair in collisions for value in pair}
    assert bool(told) == bool(expected)
    assert told <= expected


@given(_slots, st.sets(st.integers(0, 13)))
def test_what_is_exempt_does_not_collide(slots: list[_Slot], exempt: set[int]) -> None:
    collisions = sweep(_table(slots), exempt.__contains__).collisions
    assert not {value for pair in collisions for value in pair} & exempt
    others = [number for number in range(len(slots)) if number not in exempt]
    expected = any(_collide(slots[one], slots[other]) for one in others for other in others if one < other)
    assert bool(collisions) == expected


def test_a_value_and_its_successor_meet_without_a_collision() -> None:
    coverage = sweep(_table([(0, 8, 0, 4), (0, 8, 4, 4)]), lambda _: False)
    assert not coverage.collisions
    assert list(zip(coverage.steps, coverage.deltas, strict=True)) == [(0, 8), (9, -8)]
