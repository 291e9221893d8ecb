"""Where the source files of a program are, which a dump names as the machine that compiled had them.

A dump is not trusted. Nothing of such a path is opened: what is looked at is whether there is a file, and which names
the folders of the workspace hold. To open it is up to the editor, when its user has asked for it.
"""

import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from xla_lens.lsp.sync import uri_of
from xla_lens.lsp.threads import in_thread

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

FILE_LIMIT: Final = 50_000
"""Files of the workspace among which one is looked for, at most: those in the folders that lie deepest are left out."""

_LASTS: Final = 30.0
"""Seconds for which the names of files are taken as they are on disk."""

_PACKAGES: Final = frozenset(("node_modules", "__pycache__"))

_SEPARATOR: Final = re.compile(r"[/\\]+")

FileIndex: TypeAlias = Mapping[str, Sequence[Path]]
"""Files by their names."""


@dataclass(frozen=True, slots=True)
class _Index:
    """The files in some folders, as they were read at a time."""

    folders: tuple[Path, ...]
    read_at: float
    files: FileIndex


class SourceFinder:
    """Finds source files for one server. What it knows of the workspace is read when it is first asked for."""

    def __init__(self, server: "XlaLensServer") -> None:
        self._server = server
        self._index: _Index | None = None

    async def address(self, path: str, line: int | None) -> str | None:
        """The address of a line of a source file: of the one that the user's mapping or the dump itself tells, if it is
        there, else of a file in the workspace whose path ends most like it; if there is none, of where it would be.
        None for what is no path.
        """
        mapping, folders = self._server.settings.path_mapping, tuple(self._server.folders)
        found = await in_thread(self._find, mapped(path, mapping), path, folders)
        if found is None:
            return None
        return uri_of(found) + (f"#L{line}" if line is not None else "")

    def forget(self) -> None:
        """Files in the folders have changed."""
        self._index = None

    def _find(self, path: str, told: str, folders: tuple[Path, ...]) -> Path | None:
        """Runs in a worker thread."""
        absolute = _absolute(path, folders)
        if absolute is None or _is_file(absolute):
            return absolute
        return nearest(self._files(folders), told) or absolute

    def _files(self, folders: tuple[Path, ...]) -> FileIndex:
        known = self._index
        if known is None or known.folders != folders or time.monotonic() - known.read_at > _LASTS:
            self._index = known = _Index(folders, time.monotonic(), file_index(folders, FILE_LIMIT))
        return known.files


def mapped(path: str, mapping: Sequence[tuple[str, str]]) -> str:
    """A path with the longest folder that it is in replaced as the user wants it."""
    for there, here in sorted(mapping, key=lambda pair: -len(pair[0])):
        folder = there.rstrip("/\\")
        rest = path.removeprefix(folder)
        if path.startswith(folder) and (not rest or rest[0] in "/\\"):
            return "/".join((here.rstrip("/\\"), *filter(None, _SEPARATOR.split(rest)))) or "/"
    return path


def _absolute(path: str, folders: Sequence[Path]) -> Path | None:
    # Two slashes would lead to another host.
    path = f"/{path.lstrip('/')}" if path.startswith("/") else path
    absolute = next((folder / path for folder in folders if _is_file(folder / path)), None)
    absolute = absolute or next((folder / path for folder in folders), Path(path))
    return absolute if absolute.is_absolute() else None


def _is_file(path: Path) -> bool:
    if str(path).startswith(("//", "\\\\")):
        return False
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def file_index(folders: Sequence[Path], limit: int) -> FileIndex:
    """The files in some folders and below, at most so many, those that lie deepest left out. Hidden folders and those
    of packages are passed over; no link is followed, and nothing but names is read.
    """
    found: dict[str, list[Path]] = {}
    for count, path in enumerate(_walk(folders)):
        if count >= limit:
            break
        found.setdefault(path.name, []).append(path)
    return found


def _walk(folders: Sequence[Path]) -> Iterator[Path]:
    waiting = deque(folders)
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _PACKAGES:
                    waiting.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def nearest(files: FileIndex, path: str) -> Path | None:
    """The file whose path has the longest end in common with another path, by its parts; of several the one that lies
    least deep. None if none has even the same name.
    """
    parts = [part for part in _SEPARATOR.split(path) if part]
    found = files.get(parts[-1], ()) if parts else ()
    return min(found, key=lambda file: (-_in_common(file.parts, parts), len(file.parts), file), default=None)


def _in_common(parts: Sequence[str], others: Sequence[str]) -> int:
    pairs = zip(reversed(parts), reversed(others), strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(parts), len(others)))
