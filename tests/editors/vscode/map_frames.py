"""Measures how long the memory map of the largest dump takes to appear, and to draw a frame while zooming and panning.

    PYTHONPATH=tests python -m editors.vscode.map_frames [FILE]

Needs what `make test-editors` installs.
"""

import statistics
import tempfile
import time
from pathlib import Path

from editors.vscode.first_hints import biggest_dump
from editors.vscode.memory_map import Map, written_page
from editors.vscode.window import browsing

_SIZES = ((800, 800), (1600, 1000))
_WHEELS = 60
_DRAGS = 60


def main() -> None:
    """Measure and print."""
    with (
        tempfile.TemporaryDirectory() as name,
        biggest_dump(Path(name)) as dump,
        browsing() as browser,
    ):
        page = written_page(dump, Path(name))
        for width, height in _SIZES:
            start = time.perf_counter()
            with Map.of_file(browser, page, viewport={"width": width, "height": height}) as map:
                first = time.perf_counter() - start
                x, y = (side / 3 for side in (width, 1.6 * height))
                before = len(map.eval("map.frameMilliseconds"))
                _zoom(map, x, y, -120)
                _pan(map, x, y)
                _zoom(map, x, y, 120)
                frames = sorted(map.eval("map.frameMilliseconds")[before:])
                print(
                    f"{dump.name}, {width} x {height}: {map.eval('map.drawnCount'):,} rectangles, "
                    f"first drawn after {first:.1f} s; {len(frames)} frames, median "
                    f"{statistics.median(frames):.1f} ms, 95 % {frames[int(0.95 * len(frames))]:.1f} ms",
                    flush=True,
                )


def _zoom(map: Map, x: float, y: float, turn: float) -> None:
    map.page.mouse.move(x, y)
    for _ in range(_WHEELS):
        map.page.mouse.wheel(0, turn)
        map.page.wait_for_timeout(20)


def _pan(map: Map, x: float, y: float) -> None:
    map.page.mouse.down()
    for step in range(_DRAGS):
        map.page.mouse.move(x + 3 * step, y)
        map.page.wait_for_timeout(20)
    map.page.mouse.up()


if __name__ == "__main__":
    main()
