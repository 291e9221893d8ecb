"""The stack frames of an HLO module: the Python calls that made its instructions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from xla_lens.syntax.columns import NONE, Table
from xla_lens.syntax.hlo.instruction import Metadata
from xla_lens.syntax.hlo.lexical import unquoted
from xla_lens.syntax.hlo.module import ModuleColumns, Strings


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A call: the file by its path on the compiling machine, the line from 1, the column from 0, and the function. None
    where the dump does not print it.
    """

    file: str
    line: int | None
    column: int | None = None
    function: str | None = None


Frames: TypeAlias = tuple[StackFrame, ...]
"""A stack of calls, the innermost first."""


def stack(columns: ModuleColumns, data: bytes, frame_id: int) -> Frames:
    """Resolve a frame id to its call stack with the tables of a module, innermost frame first. Empty for an unknown id.
    A cycle of parents ends where it would repeat.
    """
    found: list[StackFrame] = []
    frames, seen = columns.stack_frames, set[int]()
    # XLA prints one more than the parent's id, and 1 for no parent. A table without 0 is of that form, because each
    # module has an outermost frame.
    shift = 1 if len(frames) and frames.parent_frame_id.min() >= 1 else 0
    row = _row(frames, frame_id)
    while row != NONE and row not in seen:
        seen.add(row)
        frame = frame_at(columns, data, frames.file_location_id.item(row))
        if frame:
            found.append(frame)
        row = _row(frames, frames.parent_frame_id.item(row) - shift)
    return tuple(found)


def frame_at(columns: ModuleColumns, data: bytes, location_id: int) -> StackFrame | None:
    """Resolve a file location id with the tables of a module, None if it is unknown."""
    locations = columns.file_locations
    row = _row(locations, location_id)
    if row == NONE:
        return None
    file = _string(columns.file_names, data, locations.file_name_id.item(row))
    if file is None:
        return None
    line, column = locations.line.item(row), locations.column.item(row)
    return StackFrame(
        file,
        line if line != NONE else None,
        column if column != NONE else None,
        _string(columns.function_names, data, locations.function_name_id.item(row)),
    )


MAX_DIGITS: Final = 10
"""A line or an id with as many digits or more is not read."""


def metadata_frames(metadata: Metadata) -> Frames:
    """Return the call that an instruction's metadata contains until jaxlib 0.8.2; empty if there is none."""
    line, file = metadata.get("source_line", ""), metadata.get("source_file")
    is_number = line.isdecimal() and len(line) < MAX_DIGITS
    return (StackFrame(file, int(line) if is_number else None),) if file else ()


def user_frame(frames: Sequence[StackFrame]) -> StackFrame | None:
    """Return the innermost call outside of libraries, a line that the user can change. Falls back to the innermost
    call; None without frames.
    """
    return next((frame for frame in frames if not is_library_file(frame.file)), frames[0] if frames else None)


SOURCE_FIELDS: Final = ("stack_frame_id", "source_file", "source_line")
"""The fields of an instruction's metadata that lead to a source line."""


class Calls:
    """The calls in metadata, as `frames_of` reads them. Keeps what it reads: thousands of instructions share one."""

    def __init__(self, frames_of: Callable[[Metadata], Frames]) -> None:
        self._frames_of = frames_of
        self._known: dict[tuple[str | None, ...], tuple[Frames, StackFrame | None]] = {}

    def of(self, metadata: Metadata) -> tuple[Frames, StackFrame | None]:
        """Return the calls, innermost first, and the user frame among them without its column."""
        source = tuple(map(metadata.get, SOURCE_FIELDS))
        if source not in self._known:
            frames = self._frames_of(metadata)
            own = user_frame(frames)
            self._known[source] = frames, replace(own, column=None) if own else None
        return self._known[source]


_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python")


def is_file(file: str) -> bool:
    """Whether a source file may exist on disk. ``<string>`` does not."""
    return not file.startswith("<")


def is_library_file(file: str) -> bool:
    """Whether a source file belongs to an installed package or is not a file (``<string>``)."""
    path = file.replace("\\", "/")
    return not is_file(file) or any(folder in path for folder in _LIBRARIES)


def _row(table: Table, wanted: int) -> int:
    """The row of an id. Ids usually count from 1 without gaps; otherwise they are searched."""
    ids = table.id  # type: ignore[attr-defined]
    row = wanted - 1
    if 0 <= row < len(ids) and ids[row] == wanted:
        return row
    rows = (ids == wanted).nonzero()[0]
    return rows.item(0) if len(rows) and wanted > 0 else NONE


def _string(table: Strings, data: bytes, number: int) -> str | None:
    row = _row(table, number)
    return unquoted(data[table.start[row] : table.end[row]]) if row != NONE else None
