"""Arguments that several commands share: dump sets, loaded one after another, lists of names, numbers and sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xla_lens.cli.errors import CannotRun
from xla_lens.files import NotADump, SetFiles, find_sets, load_files
from xla_lens.model.analysis import Analysis, analyse


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSet:
    """A dump set, and its files on disk."""

    files: SetFiles
    analysis: Analysis


def load_sets(paths: list[Path]) -> Iterator[LoadedSet]:
    """Load the dump sets at some paths, each once. Raises `CannotRun` if a path is no dump and contains none."""
    for files in sets_at(paths):
        loaded = load_files(files, {}, {}, lambda: False)
        yield LoadedSet(files, analyse(file.dump_file for file in loaded.values()))


def sets_at(paths: list[Path]) -> list[SetFiles]:
    """Return the dump sets at some paths, each once. Raises `CannotRun` if a path is no dump and contains none."""
    found: dict[Path, SetFiles] = {}
    for path in paths:
        try:
            found.update({files.stem: files for files in find_sets(path)})
        except NotADump as error:
            raise CannotRun(str(error)) from error
        except (OSError, ValueError) as error:
            raise CannotRun(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return list(found.values())
