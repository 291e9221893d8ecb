"""The stack frames of an HLO module: the Python calls that made its instructions."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.syntax.columns import NONE, FileTable
from xla_lens.syntax.hlo.instruction import Metadata
from xla_lens.syntax.hlo.lexical import unquoted
from xla_lens.syntax.hlo.module import ModuleColumns, Strings
from xla_lens.text.patterns import lazy_pattern


class StackFrame(Struct, frozen=True):
    """A call: the file by its path on the compiling machine, the line from 1, the column from 0, and the function. None
    where the dump does not print it.
    """

    file: str
    line: int | None
    column: int | None = None
    function: str | None = None


Frames: TypeAlias = tuple[StackFrame, ...]
"""A stack of calls, the innermost first."""


MAX_FRAMES: Final = 64
"""The most calls of a stack, the innermost ones. Without a limit, a chain of N frames that each made a value would have
N²/2 calls. JAX itself prints 10 by default.
"""


class CallStacks:
    """The call stacks of a module, by the ids in the metadata of its instructions. Keeps what it resolves: stacks share
    their calls, and thousands of instructions share one stack.
    """

    def __init__(self, columns: ModuleColumns, data: bytes) -> None:
        self._columns, self._data = columns, data
        self._locations: dict[int, StackFrame | None] = {}
        self._stacks: dict[int, Frames] = {}
        tables = columns.stack_frames, columns.file_locations, columns.file_names, columns.function_names
        self._frame_rows, self._location_rows, self._file_rows, self._function_rows = map(_rows_of_ids, tables)
        # XLA prints one more than the parent's id, and 1 for no parent. A table without 0 is of that form, because each
        # module has an outermost frame.
        self._shift = 1 if columns.stack_frames.parent_frame_id.min(initial=1) >= 1 else 0

    def of(self, frame_id: int) -> Frames:
        """Resolve a frame id to its call stack, innermost frame first, without the calls around the first `MAX_FRAMES`.
        Empty for an unknown id. A cycle of parents ends where it would repeat.
        """
        if frame_id not in self._stacks:
            self._stacks[frame_id] = tuple(frame for row in self._chain(frame_id) if (frame := self._frame(row)))
        return self._stacks[frame_id]

    def _chain(self, frame_id: int) -> list[int]:
        """The rows of the frame with an id and of the frames around it."""
        frames = self._columns.stack_frames
        # A dictionary, because a list would be searched for each frame.
        chain: dict[int, None] = {}
        row = self._frame_rows(frame_id)
        while row != NONE and row not in chain and len(chain) < MAX_FRAMES:
            chain[row] = None
            row = self._frame_rows(frames.parent_frame_id.item(row) - self._shift)
        return [*chain]

    def _frame(self, row: int) -> StackFrame | None:
        return self.frame_at(self._columns.stack_frames.file_location_id.item(row))

    def frame_at(self, location_id: int) -> StackFrame | None:
        """Resolve a file location id, None if it is unknown."""
        if location_id not in self._locations:
            self._locations[location_id] = self._read(self._location_rows(location_id))
        return self._locations[location_id]

    def _read(self, location: int) -> StackFrame | None:
        if location == NONE:
            return None
        columns, locations = self._columns, self._columns.file_locations
        file = self._string(columns.file_names, self._file_rows(locations.file_name_id.item(location)))
        if file is None:
            return None
        line, column = locations.line.item(location), locations.column.item(location)
        function = self._function_rows(locations.function_name_id.item(location))
        return StackFrame(
            file,
            line if line != NONE else None,
            column if column != NONE else None,
            self._string(columns.function_names, function),
        )

    def _string(self, table: Strings, row: int) -> str | None:
        return unquoted(self._data[table.start[row] : table.end[row]]) if row != NONE else None


MAX_DIGITS: Final = 10
"""A line or an id with as many digits or more is not read."""


def metadata_frames(metadata: Metadata) -> Frames:
    """Return the call that an instruction's metadata contains until jaxlib 0.8.2; empty if there is none."""
    line, file = metadata.get("source_line", ""), metadata.get("source_file")
    is_number = line.isdecimal() and len(line) < MAX_DIGITS
    return (StackFrame(file, int(line) if is_number else None),) if file else ()


def user_frame(frames: Sequence[StackFrame]) -> StackFrame | None:
    """Return the innermost call outside of libraries, a line that the user can change. None if there is none: a line of
    a framework, as TensorFlow gives to all that it traces, says nothing about the program.
    """
    return next((frame for frame in frames if not is_library_file(frame.file)), None)


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


_LIBRARIES: Final = ("/site-packages/", "/dist-packages/", "/lib/python")

_FRAMEWORK: Final = lazy_pattern(
    r"/(?:site|dist)-packages/(?:jax|flax|haiku|equinox|optax)/"
    r"|/(?:jax/_src|flax/(?:core|linen|nnx)|haiku/_src|equinox/(?:_\w+|nn)|optax/(?:_src|contrib|transforms))/"
)
"""The files of frameworks, wherever they are: a checkout of one, or what Bazel runs, is in no folder of packages."""


def is_file(file: str) -> bool:
    """Whether a source file may exist on disk. ``<string>`` does not."""
    return not file.startswith("<")


def is_library_file(file: str) -> bool:
    """Whether a source file belongs to an installed package or to a framework, or is not a file (``<string>``)."""
    path = file.replace("\\", "/")
    return not is_file(file) or any(folder in path for folder in _LIBRARIES) or is_framework_file(file)


@lru_cache(maxsize=1 << 12)
def is_framework_file(file: str) -> bool:
    """Whether a source file belongs to JAX or a framework on top of it, whose functions their users do not change."""
    return _FRAMEWORK.search(file.replace("\\", "/")) is not None


def package_of(file: str) -> str | None:
    """Return the name of the installed package that a source file belongs to, None if it belongs to none."""
    match = _PACKAGE.search(file.replace("\\", "/"))
    return match[1] if match else None


_PACKAGE: Final = lazy_pattern(r"/(?:site|dist)-packages/([^/.]+)")


def _rows_of_ids(table: FileTable) -> Callable[[int], int]:
    """Return a function that finds the row of an id, NONE if there is none. Ids usually count from 1 without gaps: then
    no index is built.
    """
    ids = table.id  # type: ignore[attr-defined]
    known: dict[int, int] = {}

    def row_of(wanted: int) -> int:
        row = wanted - 1
        if 0 <= row < len(ids) and ids[row] == wanted:
            return row
        if not known and len(ids):
            # The first row of an id counts.
            known.update(zip(reversed(ids.tolist()), range(len(ids) - 1, -1, -1), strict=True))
        return known.get(wanted, NONE) if wanted > 0 else NONE

    return row_of
