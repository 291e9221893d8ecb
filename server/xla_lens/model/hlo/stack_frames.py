"""Where in a program an instruction comes from: the Python calls that made it, innermost first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xla_lens.syntax.columns import NONE, Table
from xla_lens.syntax.hlo.lexical import unquoted
from xla_lens.syntax.hlo.module import ModuleColumns, Strings


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A call: the file as the machine that compiled names it, the line from 1 and the column from 0, as Python counts
    them, and the function. What is not told is None.
    """

    file: str
    line: int | None
    column: int | None = None
    function: str | None = None


def stack(columns: ModuleColumns, data: bytes, frame_id: int) -> tuple[StackFrame, ...]:
    """The calls that a frame stands for, the innermost first, as the tables of a module tell them; nothing for a frame
    that they do not have. What refers to itself ends there.
    """
    found: list[StackFrame] = []
    frames, seen = columns.stack_frames, set[int]()
    # XLA prints a parent as one more than its id, and 1 for none. Each module has an outermost frame, which tells.
    shift = 1 if len(frames) and frames.parent_frame_id.min() >= 1 else 0
    row = _row(frames, frame_id)
    while row != NONE and row not in seen:
        seen.add(row)
        frame = frame_at(columns, data, int(frames.file_location_id[row]))
        if frame:
            found.append(frame)
        row = _row(frames, int(frames.parent_frame_id[row]) - shift)
    return tuple(found)


def frame_at(columns: ModuleColumns, data: bytes, location_id: int) -> StackFrame | None:
    """The call at a place that the tables of a module tell by its id, None if they do not."""
    locations = columns.file_locations
    row = _row(locations, location_id)
    if row == NONE:
        return None
    file = _string(columns.file_names, data, int(locations.file_name_id[row]))
    if file is None:
        return None
    line, column = int(locations.line[row]), int(locations.column[row])
    return StackFrame(
        file,
        line if line != NONE else None,
        column if column != NONE else None,
        _string(columns.function_names, data, int(locations.function_name_id[row])),
    )


MAX_DIGITS: Final = 10
"""Digits of a line or an id that are too many."""


def metadata_frames(metadata: Mapping[str, str]) -> tuple[StackFrame, ...]:
    """The only call that the metadata of an instruction tells, as releases before jaxlib 0.8.2 do; none if they tell
    none.
    """
    line, file = metadata.get("source_line", ""), metadata.get("source_file")
    is_number = line.isdecimal() and len(line) < MAX_DIGITS
    return (StackFrame(file, int(line) if is_number else None),) if file else ()


def user_frame(frames: Sequence[StackFrame]) -> StackFrame | None:
    """The innermost call outside of libraries: a line that its author can change. If all are of libraries it is the
    innermost; None if there is none.
    """
    return next((frame for frame in frames if not is_library_file(frame.file)), frames[0] if frames else None)


_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python")


def is_file(file: str) -> bool:
    """Whether a source file may be one on a disk: ``<string>`` is none."""
    return not file.startswith("<")


def is_library_file(file: str) -> bool:
    """Whether a source file is no part of the user's program: an installed package, or none at all (``<string>``)."""
    path = file.replace("\\", "/")
    return not is_file(file) or any(folder in path for folder in _LIBRARIES)


def _row(table: Table, wanted: int) -> int:
    """The row of an id. They are counted from 1 without gaps, but who knows."""
    ids = table.id  # type: ignore[attr-defined]
    row = wanted - 1
    if 0 <= row < len(ids) and ids[row] == wanted:
        return row
    rows = (ids == wanted).nonzero()[0]
    return int(rows[0]) if len(rows) and wanted > 0 else NONE


def _string(table: Strings, data: bytes, number: int) -> str | None:
    row = _row(table, number)
    return unquoted(data[table.start[row] : table.end[row]]) if row != NONE else None
