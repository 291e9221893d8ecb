"""How many functions Python calls for a dump of a given size, which no other load of the machine changes.

A pass over columns calls a few functions of numpy or C, whatever the number of rows is. A loop over rows calls several
functions for each row, so that a limit below fails when a pass becomes a loop.
"""

import cProfile
import math
from pathlib import Path

import pytest

from generated import write_update
from xla_lens.cli.main import main

_COUNTS = 300, 1200
"""The parameters of the two programs. Their dumps have 0.6 and 2.2 MB."""

_MOST_GROWTH = 1.15
"""The greatest exponent of the size with which the number of calls may grow."""


def _calls(*arguments: str) -> int:
    """The calls of functions of Python and C that a command makes in its main thread."""
    profile = cProfile.Profile()
    status = profile.runcall(main, arguments)
    assert status == 0
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize(
    ("command", "most_per_megabyte"),
    [
        ("check", 20_000),
        ("report --part totals,peak", 12_000),
        ("report", 400_000),
        ("report --output-format json", 450_000),
        ("advise", 220_000),
    ],
)
def test_calls_grow_with_the_size_and_stay_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, most_per_megabyte: int
) -> None:
    folders = [tmp_path / str(count) for count in _COUNTS]
    small_bytes, big_bytes = (write_update(folder, count) for folder, count in zip(folders, _COUNTS, strict=True))
    # The first run imports modules and compiles regular expressions.
    _calls(*command.split(), str(folders[0]))
    small, big = (_calls(*command.split(), str(folder)) for folder in folders)
    capsys.readouterr()
    assert big / (big_bytes / 1e6) <= most_per_megabyte
    assert math.log(big / small) / math.log(big_bytes / small_bytes) <= _MOST_GROWTH
