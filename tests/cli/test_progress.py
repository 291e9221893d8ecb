"""The progress bar on a terminal."""

import io

import pytest

from xla_lens.cli.progress import ProgressBar


class _Terminal(io.StringIO):
    """A terminal, and a clock that the test sets."""

    now = 0.0

    def isatty(self) -> bool:
        return True


def _bar(terminal: _Terminal) -> ProgressBar:
    return ProgressBar(terminal, lambda: terminal.now)


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


def test_bar_appears_after_half_a_second() -> None:
    terminal = _Terminal()
    bar = _bar(terminal)
    bar.draw("Reading a", 0.1)
    bar.erase()
    assert terminal.getvalue() == ""
    terminal.now = 0.5
    bar.draw("Reading a", 0.5)
    assert terminal.getvalue() == f"\r\x1b[K[{'#' * 15}{' ' * 15}]  50% Reading a"


def test_bar_is_drawn_ten_times_a_second() -> None:
    terminal = _Terminal()
    bar = _bar(terminal)
    for step in range(2001):
        terminal.now = step / 1000
        bar.draw("Reading a", step / 2000)
    assert terminal.getvalue().count("\r") in (15, 16)


def test_bar_is_erased_before_the_output() -> None:
    terminal = _Terminal()
    bar = _bar(terminal)
    terminal.now = 1.0
    bar.draw("Reading a", 1.0)
    bar.erase()
    bar.erase()
    assert terminal.getvalue().endswith("100% Reading a\r\x1b[K")
    assert terminal.getvalue().count("\x1b[K") == 2


def test_parts_add_up() -> None:
    terminal = _Terminal()
    bar = _bar(terminal)
    terminal.now = 1.0
    bar.part("Reading a", 0.0, 0.5)(0.5)
    terminal.now = 2.0
    bar.part("Reading b", 0.5, 1.0)(0.5)
    assert [text.split("]")[1] for text in terminal.getvalue().split("\r\x1b[K")[1:]] == [
        "  25% Reading a",
        "  75% Reading b",
    ]


def test_bar_fits_into_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    terminal = _Terminal()
    bar = _bar(terminal)
    terminal.now = 1.0
    bar.draw("Reading a dump with a long name", 0.25)
    assert terminal.getvalue().removeprefix("\r\x1b[K") == f"[{'#' * 7}{' ' * 23}]  25% Readi"


def test_nothing_is_drawn_into_a_file() -> None:
    file = io.StringIO()
    times = iter(range(100))
    bar = ProgressBar(file, lambda: next(times))
    bar.draw("Reading a", 0.5)
    bar.erase()
    assert file.getvalue() == ""
