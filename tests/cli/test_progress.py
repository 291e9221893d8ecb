"""The progress bar on a terminal."""

import io
import time

import pytest

from xla_lens.cli.sets import progress_bar

ERASED = "\r\x1b[K"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bar_appears_after_half_a_second_and_is_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now, terminal, file = 0.0, _Terminal(), io.StringIO()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setenv("COLUMNS", "44")
    bars = [progress_bar(terminal), progress_bar(file)]
    for now in (0.25, 0.5):
        for draw, _ in bars:
            draw("Reading a dump with a long name", 1, 2, now)
    for _, erase in bars:
        erase()
        erase()
    assert terminal.getvalue() == f"{ERASED}[{'#' * 22}{' ' * 8}]  75% Readi{ERASED}"
    assert file.getvalue() == ""


def test_a_search_shows_what_it_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    now, terminal = 0.0, _Terminal()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    draw, _ = progress_bar(terminal)
    now = 0.5
    draw("Looking for dumps in dumps/1", 0, 0, 0.0)
    assert terminal.getvalue() == f"{ERASED}Looking for dumps in dumps/1"
