"""What commands are given: dump sets, loaded one after another, numbers and sizes."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xla_lens.cli.errors import CannotRun
from xla_lens.files import NotADump, SetFiles, find_sets, load_files
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.render.numbers import parse_size


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSet:
    """A dump set, and its files on disk."""

    files: SetFiles
    analysis: Analysis


def load_sets(paths: list[Path]) -> Iterator[LoadedSet]:
    """Loads the sets at some paths, each once. Raises `CannotRun` if a path is no dump or has none."""
    for files in sets_at(paths):
        loaded = load_files(files, {}, {}, lambda: False)
        yield LoadedSet(files, analyse(file.dump_file for file in loaded.values()))


def sets_at(paths: list[Path]) -> list[SetFiles]:
    """The sets at some paths, each once. Raises `CannotRun` if a path is no dump or has none."""
    found: dict[Path, SetFiles] = {}
    for path in paths:
        try:
            found.update({files.stem: files for files in find_sets(path)})
        except NotADump as error:
            raise CannotRun(str(error)) from error
        except (OSError, ValueError) as error:
            raise CannotRun(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return list(found.values())


def count_of(text: str) -> int:
    """A number on the command line, from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number: {text!r}")
    return int(text)


def size_of(text: str) -> int:
    """The bytes of a size on the command line, such as ``15.9GiB``."""
    size_bytes = parse_size(text)
    if size_bytes is None:
        raise argparse.ArgumentTypeError(f"not a size such as 16GiB: {text!r}")
    return size_bytes
