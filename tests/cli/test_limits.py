"""`xla-lens check --max-memory --max-peak`, and how the command line reads sizes."""

import shutil
from pathlib import Path

import pytest

from commands import run
from samples import SPLIT
from xla_lens.words.numbers import parse_size


def _check(*arguments: object) -> tuple[int, list[str]]:
    status, out, _ = run("check", *arguments)
    return status, out.splitlines()


def test_unknown_sizes_are_an_error_if_there_is_a_limit(tmp_path: Path) -> None:
    alone = shutil.copy(SPLIT, tmp_path)
    status, lines = _check(alone, "--max-memory", "1GiB", "--max-peak", "1GiB")
    assert status == 1
    assert [line.split("error")[1] for line in lines] == [
        # Nothing shows whether the list of allocations was cut off.
        "[max-memory] The needed bytes cannot be compared with the limit of 1 GiB (1,073,741,824 bytes): the dump "
        "is incomplete or contradicts itself.",
        "[max-peak] The peak cannot be compared with the limit of 1 GiB (1,073,741,824 bytes): the dump has no live "
        "ranges or no allocations.",
        "s",
    ]
    live = next(SPLIT.parent.glob("module_0000*-live-range.txt"))
    (tmp_path / "other").mkdir()
    _, lines = _check(shutil.copy(live, tmp_path / "other"), "--max-memory", "1GiB")
    assert any("error[max-memory] The needed bytes cannot be compared with" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("4096", 4096),
        ("0", 0),
        ("16GiB", 16 << 30),
        ("16g", 16 << 30),
        ("1.5 MiB", 3 << 19),
        ("12B", 12),
        ("2TB", 2 * 10**12),
        ("2TiB", 2 << 40),
        ("2.3GB", 2_300_000_000),
        ("1.1 kB", 1100),
        ("15.75G", 63 << 28),
        ("", None),
        ("GiB", None),
        ("-1", None),
        ("1e9", None),
        ("16 GiB of it", None),
    ],
)
def test_sizes_with_a_decimal_unit_are_powers_of_1000_and_others_of_1024(text: str, size_bytes: int | None) -> None:
    assert parse_size(text) == size_bytes
