"""Commands on made-up dumps of N and of 2N things: what Python does grows linearly.

The tests count the calls of functions, which do not depend on how fast the machine is. No real dump has as many of one
thing, but a file of a few megabytes can.
"""

import cProfile
import math
import os
import pstats
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commands import run
from samples import sweep

_STEM = "module_0001.jit_f.cpu_after_optimizations"

_MOST_GROWTH = 1.15
"""The greatest exponent of the number of calls. 1 is linear, 2 quadratic."""


def _set(folder: Path, count: int, colors: list[int], frames: list[int]) -> Path:
    """Write a set of `count` values that are live from their step to the end, in allocations of their own, with the
    parents of their stack frames, from 1.
    """
    rows = range(count)
    shape, size = "f32[64]{0}", 256
    metadata = ['metadata={op_name="jit(f)/x"' + f" stack_frame_id={row + 1}" * bool(frames) + "}" for row in rows]
    quotes = [f"%add.{row} = {shape} add(), {metadata[row]}" for row in rows]
    assignment = [
        f"allocation {row}: size {size}, color {colors[row]}, preallocated-temp:\n"
        f" value: <{row} add.{row} @{colors[row]}> (size={size},offset=0): {shape}"
        for row in rows
    ]
    values = [
        f"<{row} add.{row} @{colors[row]}>\n positions:\n  add.{row}\n uses:\n from instruction: {quotes[row]}"
        for row in rows
    ]
    parts = {
        "-buffer-assignment": ("BufferAssignment:", *assignment),
        "-buffer-assignment-values": (f"Total bytes used: {size * count} (0B)", "", "Used values:", *values),
        "-live-range": (
            f"HloLiveRange (max {count}):",
            "  InstructionSequence:",
            *(f"    {row}:add.{row}" for row in rows),
            "  BufferLiveRange:",
            *(f"    add.{row}{{}}:{row}-{count}" for row in rows),
        ),
        "": (
            "HloModule jit_f, is_scheduled=true",
            "",
            *_tables(frames),
            "ENTRY %main () -> f32[64] {",
            *quotes,
            "}",
            "",
        ),
    }
    folder.mkdir()
    for kind, lines in parts.items():
        path = folder / f"{_STEM}{kind}.txt"
        path.write_text("\n".join(lines) + "\n")
        # Commands wait for what XLA seems to be writing.
        os.utime(path, (1, 1))
    return folder


def _tables(parents: list[int]) -> Iterator[str]:
    yield from ("FileNames", '1 "/home/user/train.py"', "", "FunctionNames", '1 "f"', "", "FileLocations")
    for row in range(1, len(parents) + 1):
        yield f"{row} {{file_name_id=1 function_name_id=1 line={row} end_line={row} column=1 end_column=9}}"
    yield from ("", "StackFrames")
    for row, parent in enumerate(parents, 1):
        yield f"{row} {{file_location_id={row} parent_frame_id={parent}}}"
    yield ""


def _chained_frames(folder: Path, count: int) -> Path:
    # XLA prints one more than the id of the parent, and 1 for none.
    return _set(folder, count, [0] * count, [max(row, 1) for row in range(count)])


def _frames_that_call_themselves(folder: Path, count: int) -> Path:
    return _set(folder, count, [0] * count, [row + 2 for row in range(count)])


def _memory_spaces(folder: Path, count: int) -> Path:
    return _set(folder, count, [*range(count)], [])


def _calls(*arguments: object) -> int:
    profile = cProfile.Profile()
    profile.runcall(run, *arguments)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


_COMMANDS = (
    "report --stacks",
    "report --output-format json",
    "report --output-format html",
    "advise",
    "check",
    "diff",
)


@pytest.mark.parametrize("command", sweep(_COMMANDS, len(_COMMANDS)))
@pytest.mark.parametrize(
    ("make", "count"), sweep([(_chained_frames, 400), (_memory_spaces, 800), (_frames_that_call_themselves, 400)], 2)
)
def test_calls_grow_linearly(make: Callable[[Path, int], Path], count: int, command: str, tmp_path: Path) -> None:
    sets = [make(tmp_path / str(number), number) for number in (count, 2 * count)]
    given = [(*command.split(), *([one, one] if command == "diff" else [one])) for one in sets]
    # The first run imports.
    run(*given[0])
    few, many = (_calls(*one) for one in given)
    assert math.log2(many / few) < _MOST_GROWTH
