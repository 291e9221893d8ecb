"""A progress bar on standard error for commands that take a while."""

import shutil
import time
from collections.abc import Callable
from typing import Final, TextIO

from xla_lens.cli.output import unfiltered
from xla_lens.text.printable import printable

_DELAY: Final = 0.5
"""Seconds of work before the bar is drawn."""

_PERIOD: Final = 0.1
"""Seconds between two drawings."""

_BAR: Final = 30
"""Width of the bar in characters."""

_ERASE: Final = "\r\x1b[K"


class ProgressBar:
    """A progress bar. Draws nothing unless the stream is a terminal, nor before the work has taken half a second."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = unfiltered(stream) if stream is not None and stream.isatty() else None
        self._clock = clock
        self._next = clock() + _DELAY
        self._is_drawn = False

    def draw(self, title: str, done: float) -> None:
        """Show what is being done and the fraction that is done."""
        if self._stream is None or self._clock() < self._next:
            return
        self._next = self._clock() + _PERIOD
        width = shutil.get_terminal_size().columns - 1
        bar = f"[{'#' * int(_BAR * done):{_BAR}}] {done:4.0%} "
        self._stream.write(f"{_ERASE}{printable(f'{bar}{title}')[:width]}")
        self._stream.flush()
        self._is_drawn = True

    def part(self, title: str, start: float, end: float) -> Callable[[float], None]:
        """Return a function that draws the progress of a part of the work, from fraction `start` to `end`."""
        return lambda done: self.draw(title, start + (end - start) * done)

    def erase(self) -> None:
        """Remove the bar, before anything else is printed. `draw` shows it again."""
        if self._stream is not None and self._is_drawn:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._is_drawn = False
