"""Numbers in the text of dumps."""

import pytest

from xla_lens.syntax.numbers import GREATEST, integer


@pytest.mark.parametrize(
    ("digits", "number"),
    [
        ("0", 0),
        ("-7", -7),
        ("0012", 12),
        (str(GREATEST), GREATEST),
        (str(GREATEST + 1), GREATEST),
        (str(-GREATEST - 1), -GREATEST - 1),
        (str(-GREATEST - 2), -GREATEST - 1),
        ("1" + "0" * 19, GREATEST),
        ("-1" + "0" * 19, -GREATEST - 1),
        ("-1" + "0" * 25, -GREATEST - 1),
        ("1" * 5000, GREATEST),
        ("-" + "1" * 5000, -GREATEST - 1),
    ],
)
def test_integer_clamps_to_64_bits(digits: str, number: int) -> None:
    assert integer(digits) == integer(digits.encode()) == number
