"""The sweep, against a count of every byte at every step."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xla_lens.model.memory import sweep as module
from xla_lens.model.memory.sweep import Coverage, Slots, sweep

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


@contextmanager
def _crowded(is_crowded: bool) -> Iterator[None]:
    """Where all slots are looked at together, or none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_VISITS", 0)
        patch.setattr(module, "_FEW", -1)
        patch.setattr(module, "_ALWAYS_VISITED", -1 if is_crowded else 10**6)
        yield


def _swept(slots: list[_Slot], exempt: set[int]) -> Coverage:
    """What is found by one way, which is asserted to be as good as the other."""
    with _crowded(is_crowded=False):
        walked = sweep(_table(slots), exempt.__contains__)
    with _crowded(is_crowded=True):
        together = sweep(_table(slots), exempt.__contains__)
    assert (together.steps, together.deltas) == (walked.steps, walked.deltas)
    assert _told(together) == _told(walked)
    assert len(together.collisions) <= 2 * len(slots)
    assert all(slots[value][2] >= slots[other][2] for value, other in together.collisions)
    return walked


def _told(coverage: Coverage) -> set[int]:
    return {value for pair in coverage.collisions for value in pair}


@given(_slots)
def test_covered_bytes_are_those_of_a_count(slots: list[_Slot]) -> None:
    coverage = _swept(slots, set())
    for step in range(22):
        live = [slot for slot in slots if slot[2] <= step <= slot[2] + slot[3]]
        covered = {byte for offset, size, *_ in live for byte in range(offset, offset + size)}
        changes = zip(coverage.steps, coverage.deltas, strict=True)
        assert sum(delta for at, delta in changes if at <= step) == len(covered)


@given(_slots, st.sets(st.integers(0, 13)))
def test_each_that_collides_is_told(slots: list[_Slot], exempt: set[int]) -> None:
    coverage = _swept(slots, exempt)
    assert all(_collide(slots[one], slots[other]) for one, other in coverage.collisions)
    assert all(slots[value][2] >= slots[other][2] for value, other in coverage.collisions)
    assert len(set(coverage.collisions)) == len(coverage.collisions)
    others = [number for number in range(len(slots)) if number not in exempt]
    expected = {one for one in others for other in others if one != other and _collide(slots[one], slots[other])}
    assert _told(coverage) == expected


@given(st.lists(_slot, max_size=40), st.sets(st.integers(0, 39)))
def test_each_is_told_though_only_few_others_are(slots: list[_Slot], exempt: set[int]) -> None:
    everything = _swept(slots, exempt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOLD", 1)
        few = _swept(slots, exempt)
    assert _told(few) == _told(everything)
    assert set(few.collisions) <= set(everything.collisions)
    assert len(few.collisions) <= 2 * len(slots)


@pytest.mark.parametrize("is_crowded", [False, True])
@given(slots=_slots, exempt=st.sets(st.integers(0, 13)))
def test_only_what_would_collide_is_asked_about(is_crowded: bool, slots: list[_Slot], exempt: set[int]) -> None:
    asked: list[int] = []

    def may_overlap(value: int) -> bool:
        asked.append(value)
        return value in exempt

    with _crowded(is_crowded):
        sweep(_table(slots), may_overlap)
    for one in set(asked):
        # Who shares bytes with one that stays for no step at all may be asked about, too.
        beside = [(*slot[:3], max(slot[3], 1)) for slot in slots]
        assert any(_collide(beside[one], beside[other]) for other in range(len(slots)) if other != one)


_SHAPES = {
    "nested": lambda count: [(0, number + 1, number, count) for number in range(count)],
    "pyramid": lambda count: [(number, 2 * (count - number), number, 2 * count) for number in range(count)],
    "same": lambda count: [(0, 64, number, count) for number in range(count)],
    "beside": lambda count: [(number * 7919 % count, 1, number, count) for number in range(count)],
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_the_work_is_bounded_whatever_the_slots_are(shape: str) -> None:
    """Segments that are looked at are those of ranges."""
    count, slots = 2000, _SHAPES[shape](2000)
    visits = 0

    def counted(first: int, last: int) -> range:
        nonlocal visits
        visits += last - first
        return range(first, last)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "range", counted, raising=False)
        coverage = sweep(_table(slots), lambda _: False)
    assert visits > count
    # The last one that is put down may be on all segments.
    assert visits <= module._VISITS * count * count.bit_length() + 2 * count * (1 + module._FEW)
    assert len(coverage.collisions) <= (module._TOLD + 1) * count
    assert len(_told(coverage)) == (0 if shape == "beside" else count)


def test_a_value_and_its_successor_meet_without_a_collision() -> None:
    coverage = _swept([(0, 8, 0, 4), (0, 8, 4, 4)], set())
    assert not coverage.collisions
    assert list(zip(coverage.steps, coverage.deltas, strict=True)) == [(0, 8), (9, -8)]
