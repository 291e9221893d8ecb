"""The progress bar on a terminal."""

import io

import pytest

from xla_lens.cli.sets import ProgressBar

ERASED = "\r\x1b[K"


class _Terminal(io.StringIO):
    """A terminal, and a clock that the test sets."""

    now = 0.0

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    monkeypatch.setenv("COLUMNS", "60")
    return _Terminal()


def test_bar_appears_after_half_a_second_and_is_erased(terminal: _Terminal) -> None:
    bar = ProgressBar(terminal, lambda: terminal.now)
    bar.draw("Reading a", 0.1)
    bar.erase()
    assert terminal.getvalue() == ""
    terminal.now = 0.5
    bar.draw("Reading a", 0.5)
    bar.erase()
    bar.erase()
    assert terminal.getvalue() == f"{ERASED}[{'#' * 15}{' ' * 15}]  50% Reading a{ERASED}"


def test_parts_add_up_and_long_names_are_cut(terminal: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    bar = ProgressBar(terminal, lambda: terminal.now)
    for number, name in enumerate(("a", "a dump with a long name")):
        terminal.now += 1.0
        bar.part(f"Reading {name}", number / 2, number / 2 + 0.5)(0.5)
        monkeypatch.setenv("COLUMNS", "44")
    shown = [text.split("]")[1] for text in terminal.getvalue().split(ERASED)[1:]]
    assert shown == ["  25% Reading a", "  75% Readi"]


def test_nothing_is_drawn_into_a_file() -> None:
    file = io.StringIO()
    times = iter(range(100))
    bar = ProgressBar(file, lambda: next(times))
    bar.draw("Reading a", 0.5)
    bar.erase()
    assert file.getvalue() == ""
