"""Stack frames, resolved from the tables of modules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import DUMPS, SHARED_DUMPS, needs_shared_dumps, never
from xla_lens.model.hlo.stack_frames import MAX_FRAMES, CallStacks, StackFrame
from xla_lens.syntax.hlo.module import read_module
from xla_lens.text.document import Document


def _stack(text: str, frame_id: int) -> tuple[StackFrame, ...]:
    return CallStacks(read_module(Document(text.encode()), never), text.encode()).of(frame_id)


def _with_frames(rows: str) -> str:
    return (
        'HloModule f\n\nFileNames\n1 "a.py"\n2 "/x/site-packages/\\"b\\".py"\n\nFunctionNames\n1 "f"\n2 "g"\n\n'
        "FileLocations\n1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}\n"
        f"2 {{file_name_id=2 function_name_id=2 line=8}}\n\nStackFrames\n{rows}\n\nENTRY %e () -> f32[] {{\n}}\n"
    )


def test_parents_may_be_plain_ids() -> None:
    rows = "1 {file_location_id=1 parent_frame_id=0}\n2 {file_location_id=2 parent_frame_id=1}"
    assert _stack(_with_frames(rows), 2) == (
        StackFrame('/x/site-packages/"b".py', 8, None, "g"),
        StackFrame("a.py", 7, 3, "f"),
    )


@pytest.mark.parametrize(
    "rows",
    [
        "\n".join(f"{number} {{file_location_id=1 parent_frame_id={number + 1}}}" for number in (1, 2, 3)),
        "1 {file_location_id=1 parent_frame_id=3}\n2 {file_location_id=1 parent_frame_id=2}",
        "2 {file_location_id=9 parent_frame_id=9}",
        "1 {}\n2 {parent_frame_id=1}",
        "",
    ],
)
def test_stack_ends_in_tables_with_cycles_and_gaps(rows: str) -> None:
    for frame_id in range(-1, 5):
        assert len(_stack(_with_frames(rows), frame_id)) <= 3


def test_very_deep_stacks_have_their_inner_calls() -> None:
    rows = [f"{number} {{file_location_id={number % 2 + 1} parent_frame_id={number}}}" for number in range(1, 1000)]
    stack = _stack(_with_frames("\n".join(rows)), 999)
    assert len(stack) == MAX_FRAMES
    assert [frame.function for frame in stack[:2]] == ["g", "f"]
    # Calls at unknown places do not let the stack go on for ever.
    unknown = [re.sub(r"location_id=\d+", "location_id=9", row) for row in rows[500:]]
    assert len(_stack(_with_frames("\n".join(rows[:500] + unknown)), 520)) == MAX_FRAMES - 20


def test_ids_need_no_order() -> None:
    rows = ("7 {file_location_id=2 parent_frame_id=4}", "3 {file_location_id=1 parent_frame_id=1}")
    again = ("9 {file_location_id=2 parent_frame_id=1}", "3 {file_location_id=2 parent_frame_id=1}")
    assert [frame.function for frame in _stack(_with_frames("\n".join((*rows, *again))), 7)] == ["g", "f"]


def _spelled_out(text: str) -> Iterator[tuple[int, list[tuple[str, int, str]]]]:
    """Return the call stack of each frame, computed by an independent reader."""
    tables: dict[str, dict[int, str]] = {}
    rows: dict[int, str] = {}
    for line in text.split("\n"):
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            rows = tables.setdefault(line, {})
        elif match := re.fullmatch(r"(\d+) (.*)", line):
            rows[int(match[1])] = match[2]
    for frame_id in tables.get("StackFrames", {}):
        chain, number = [], frame_id
        while number:
            frame = dict(re.findall(r"(\w+)=(\d+)", tables["StackFrames"][number]))
            place = dict(re.findall(r"(\w+)=(\d+)", tables["FileLocations"][int(frame["file_location_id"])]))
            file = tables["FileNames"][int(place["file_name_id"])][1:-1]
            function = tables["FunctionNames"][int(place["function_name_id"])][1:-1]
            chain.append((file, int(place["line"]), function))
            number = int(frame["parent_frame_id"]) - 1
        yield frame_id, chain


def _check(path: Path) -> int:
    text = path.read_text()
    stacks = CallStacks(read_module(Document(text.encode()), never), text.encode())
    chains = dict(_spelled_out(text))
    for frame_id, chain in chains.items():
        assert [(frame.file, frame.line, frame.function) for frame in stacks.of(frame_id)] == chain
    # A module that XLA extracted from another has the ids of the original, but no tables.
    assert not chains or {int(number) for number in re.findall(r"stack_frame_id=(\d+)", text)} - {0} <= chains.keys()
    return len(chains)


def test_stacks_of_modules_match_an_independent_reader() -> None:
    assert sum(_check(path) for path in DUMPS.rglob("*_optimizations.txt")) > 50


@needs_shared_dumps
def test_stacks_of_all_modules_match_an_independent_reader() -> None:
    assert sum(_check(path) for path in SHARED_DUMPS.rglob("*_optimizations.txt")) > 500
