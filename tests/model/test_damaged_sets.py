"""Damaged dump sets with fixed seeds. `make fuzz` runs 200,000."""

import random
from pathlib import Path

import pytest

from fuzzing.sets import play_set
from fuzzing.texts import dump_sets
from samples import DUMPS, sweep

_DUMPS = dump_sets(DUMPS, 10**5)
_AT_ONCE = 50


@pytest.mark.parametrize("first", sweep(range(0, 2000, _AT_ONCE), 20))
def test_everything_about_damaged_sets_is_answered(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No test depends on how fast the machine is.
    monkeypatch.setattr("fuzzing.sets.MOST_SECONDS", 0.0)
    for seed in range(first, first + _AT_ONCE):
        assert play_set(random.Random(f"sets {seed}"), tmp_path / str(seed), _DUMPS) == 1
