"""The progress bar on a terminal."""

import io
import time

import pytest

from xla_lens.cli.sets import ProgressBar

ERASED = "\r\x1b[K"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bar_appears_after_half_a_second_and_is_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now, terminal, file = 0.0, _Terminal(), io.StringIO()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setenv("COLUMNS", "44")
    bars = [ProgressBar(terminal), ProgressBar(file)]
    for now in (0.25, 0.5):
        for bar in bars:
            bar.draw("Reading a dump with a long name", 1, 2, now)
    for bar in bars:
        bar.erase()
    assert terminal.getvalue() == f"{ERASED}[{'#' * 22}{' ' * 8}]  75% Readi{ERASED}"
    assert file.getvalue() == ""
