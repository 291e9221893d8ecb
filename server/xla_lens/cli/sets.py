"""Arguments that several commands share: dump sets, loaded one after another, lists of names, numbers and sizes."""

import argparse
import textwrap
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


def paragraphs(*texts: str) -> str:
    """Wrap texts for `argparse.RawDescriptionHelpFormatter` without breaking codes at their hyphens."""
    return "\n\n".join(textwrap.fill(text, 79, break_on_hyphens=False) for text in texts)


def names_in(text: str) -> list[str]:
    """Return the names in a list that is separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def number_argument(text: str) -> int:
    """Return a number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; expected 0, 1, 2, ...")
    return int(text)


def size_argument(text: str) -> int:
    """Return a size such as ``15.9GiB`` in bytes."""
    size_bytes = parse_size(text)
    if size_bytes is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; expected bytes or a size such as 16GiB or 512MiB")
    return size_bytes
