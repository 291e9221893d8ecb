"""The dump sets at the paths of a command, loaded one after another."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.output import print_error
from xla_lens.cli.progress import ProgressBar
from xla_lens.files import DamagedFile, NotADump, SetFiles, file_size, find_set, find_sets, load_module, load_set
from xla_lens.model.analysis import Analysis
from xla_lens.records import dataclass
from xla_lens.render.numbers import counted
from xla_lens.syntax.file_names import COMPRESSED, FileKind
from xla_lens.text.document import Document, document_of_file

if TYPE_CHECKING:
    from xla_lens.model.hlo.module import HloModule


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSet:
    """A dump set, and its files on disk."""

    files: SetFiles
    analysis: Analysis

    def module(self) -> "HloModule | None":
        """Load the HLO module; None if there is none that can be read."""
        try:
            loaded = load_module(self.files, {}, None, lambda: False)
        except DamagedFile as error:
            raise CannotRun(str(error)) from error
        return loaded.module if loaded else None


@dataclass(frozen=True, slots=True, eq=False)
class DumpSets:
    """The dump sets at the paths of a command, each once. `opened` has the text of standard input."""

    files: tuple[SetFiles, ...]
    opened: Mapping[Path, Document]

    def load(self, *, is_shown: bool = True) -> Iterator[LoadedSet]:
        """Load one set after another, with a progress bar if `is_shown`."""
        bar = ProgressBar(sys.stderr if is_shown else None)
        ends = list(accumulate((sum(map(file_size, files.paths.values())) for files in self.files), initial=0))
        for files, (start, end) in zip(self.files, pairwise(ends), strict=True):
            draw = bar.part(f"Reading {files.stem.name}", start / max(1, ends[-1]), end / max(1, ends[-1]))
            try:
                _, analysis = load_set(files, self.opened, {}, report_progress=draw)
            except DamagedFile as error:
                raise CannotRun(str(error)) from error
            finally:
                bar.erase()
            yield LoadedSet(files, analysis)


def load_sets(paths: Sequence[Path]) -> Iterator[LoadedSet]:
    """Load the dump sets at some paths, each once. Raises `CannotRun` like `find_dumps`."""
    return find_dumps(paths).load()


def find_dumps(paths: Sequence[Path]) -> DumpSets:
    """Find the dump sets at some paths, each once.

    A shell expands ``dumps/*`` to all files that XLA wrote. If any of them belongs to a dump, the others are skipped,
    which a line on standard error says. Raises `CannotRun` if nothing is a dump, and for a path that cannot be read or
    a folder without dumps.
    """
    found: dict[tuple[str, ...], SetFiles] = {}
    skipped: list[NotADump] = []
    opened: dict[Path, Document] = {}
    for path in paths:
        try:
            sets = _sets_at(path, opened)
        except NotADump as error:
            if path.is_dir() or path == STANDARD_INPUT:
                raise CannotRun(str(error)) from error
            skipped.append(error)
            continue
        except DamagedFile as error:
            raise CannotRun(str(error)) from error
        except (OSError, ValueError) as error:
            raise CannotRun(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
        found |= {_identity(files): files for files in sets if _identity(files) not in found}
    if skipped and not found:
        raise CannotRun(str(skipped[0])) from skipped[0]
    if skipped:
        print_error(_skipped(skipped))
    return DumpSets(tuple(found.values()), opened)


STANDARD_INPUT: Final = Path("-")
_LABEL_OF_INPUT: Final = Path("<stdin>")


def _sets_at(path: Path, opened: dict[Path, Document]) -> list[SetFiles]:
    if path != STANDARD_INPUT:
        sets = find_sets(path)
    else:
        if _LABEL_OF_INPUT not in opened:
            opened[_LABEL_OF_INPUT] = document_of_file(_read_input())
        sets = [find_set(_LABEL_OF_INPUT, opened)]
    if list(sets[0].paths) == [FileKind.HLO]:
        raise NotADump(f"{sets[0].stem}: an HLO module. Expected its *-buffer-assignment.txt file or a folder of dumps")
    return sets


def _read_input() -> bytes:
    if sys.stdin is None:
        raise CannotRun("-: standard input is closed. Pipe a dump into it, or name a file")
    data = sys.stdin.buffer.read()
    if not data.startswith(b"\x1f\x8b"):
        return data
    import gzip
    import zlib

    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise CannotRun("-: standard input cannot be decompressed: it is cut off or damaged") from error


def _identity(files: SetFiles) -> tuple[str, ...]:
    """What two paths to the same files have in common: links are followed, and compression does not count."""
    return tuple(sorted(os.path.realpath(path).removesuffix(COMPRESSED) for path in files.paths.values()))


def _skipped(skipped: Sequence[NotADump]) -> str:
    more = f", and {counted(len(skipped) - 1, 'more file')} that {'is' if len(skipped) == 2 else 'are'} part of no dump"
    return f"xla-lens: skipped {skipped[0]}{more if len(skipped) > 1 else ''}"
