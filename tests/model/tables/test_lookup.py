"""Searches in columns."""

import numpy as np
import pytest

from xla_lens.model.tables.lookup import biggest


@pytest.mark.parametrize("limit", [0, 1, 7, 99, 100, 101, 2999, 3000, 3001])
@pytest.mark.parametrize("sizes", [1, 2, 5, 1 << 40])
def test_first_rows_of_equal_sizes_are_the_biggest(sizes: int, limit: int) -> None:
    column = np.random.default_rng(sizes).integers(0, sizes, 3000)
    expected = sorted(range(3000), key=lambda row: (-column[row], row))[:limit]
    assert biggest(column, limit).tolist() == sorted(expected)
