"""Finds the source files that a dump names by the paths of the machine that compiled.

Dumps are not trusted. No file is opened here: only its existence is checked, and the names in some folders are listed.
"""

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from xla_lens.text.paths import PATH_SEPARATOR, PathMapping, mapped, shared_parts

FILE_LIMIT: Final = 50_000
"""Maximum number of files to search; files in deeper folders are left out first."""

_FRESH_SECONDS: Final = 30.0
"""For at most how long the list of files is used without reading the folders again."""

_SKIPPED_FOLDERS: Final = frozenset(("node_modules", "__pycache__"))

FileIndex: TypeAlias = Mapping[str, Sequence[Path]]
"""Files by their names."""


def find_source(path: str, mapping: PathMapping, folders: tuple[Path, ...], version: object) -> Path | None:
    """Return the source file of a path in a dump, None if there is none.

    That is the mapped path or the path itself if the file exists, else the file in the folders with the most similar
    path. The folders are listed at the first search that needs it, and again for another version.
    """
    there = mapped(path, mapping)
    # Two leading slashes would name another host.
    there = f"/{there.lstrip('/')}" if there.startswith("/") else there
    candidates = [folder / there for folder in folders] or [Path(there)]
    absolute = next(filter(_is_file, candidates), candidates[0])
    if not absolute.is_absolute():
        return None
    if _is_file(absolute):
        return absolute
    return nearest(_listed(folders, version, time.monotonic() // _FRESH_SECONDS), path)


@lru_cache(maxsize=1)
def _listed(folders: tuple[Path, ...], _version: object, _period: float) -> FileIndex:
    return file_index(folders, FILE_LIMIT)


def _is_file(path: Path) -> bool:
    if str(path).startswith(("//", "\\\\")):
        return False
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def file_index(folders: Sequence[Path], limit: int) -> FileIndex:
    """List at most `limit` files in some folders, the least deep first, without links, hidden folders and packages."""
    found: dict[str, list[Path]] = {}
    waiting, count = deque(folders), 0
    while waiting and count < limit:
        try:
            with os.scandir(waiting.popleft()) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED_FOLDERS:
                    waiting.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and count < limit:
                found.setdefault(entry.name, []).append(Path(entry.path))
                count += 1
    return found


def nearest(files: FileIndex, path: str) -> Path | None:
    """Return the file with the same name whose path shares the most trailing parts with `path`, the least deep one if
    there are several. None if no file has the name.
    """
    parts = [part for part in PATH_SEPARATOR.split(path) if part]
    found = files.get(parts[-1], ()) if parts else ()
    return min(found, key=lambda file: (-shared_parts(file.parts, parts), len(file.parts), file), default=None)
