"""The dump sets at the paths of a command, loaded one after another."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from io import BytesIO
from itertools import compress
from pathlib import Path
from typing import Final, TextIO, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.cli.output import CannotRun, print_error, unfiltered
from xla_lens.cli.processes import core_count, results_of_processes
from xla_lens.disk.loading import is_being_written, load_module_or_finding, load_set, unreadable_files
from xla_lens.disk.reading import GZIP, ZSTD, DamagedFile, file_size, is_compressed, unpacked
from xla_lens.disk.sets import NotADump, SetFiles, find_set, find_sets, is_output, printed_files, read_text
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.file_names import FileKind, uncompressed_name
from xla_lens.text.document import Document, document_of_file
from xla_lens.text.printable import printable
from xla_lens.words.numbers import counted

Result = TypeVar("Result")


class LoadedSet(Struct, frozen=True, eq=False):
    """A dump set, its files on disk, and the sets that it is one of. One of several stays usable if a file of it cannot
    be read: a finding says so.
    """

    files: SetFiles
    analysis: Analysis
    sets: "GivenDumpSets"

    def with_module(self) -> Analysis:
        """Return the analysis with the HLO module and the findings against that."""
        analysis = self.read_module()
        return analysis.with_module(analysis.module)

    def read_module(self) -> Analysis:
        """Return the analysis with the HLO module, or with a finding if that cannot be decompressed."""
        analysis = load_module_or_finding(self.files, self.sets.opened, self.analysis)
        self.reject_unreadable(analysis)
        return analysis

    def reject_unreadable(self, analysis: Analysis) -> None:
        """Raise `CannotRun` if a file of a set that is alone cannot be read."""
        if not self.sets.are_several and (unreadable := unreadable_files(analysis)):
            raise CannotRun(unreadable[0])


class GivenDumpSets(Struct, frozen=True, eq=False):
    """The dump sets at the paths of a command, each once. `opened` has the text of standard input, and of the files
    that XLA printed to standard output.
    """

    files: tuple[SetFiles, ...]
    opened: Mapping[Path, Document]
    are_several: bool = False

    def load(self, *, is_shown: bool = True, share: int = 1, is_checked: bool = False) -> Iterator[LoadedSet]:
        """Load one set after another, with a progress bar if `is_shown`, and with the findings against the HLO module
        if `is_checked`. `share` divides the limit of what a compressed file may unpack to. Raises `CannotRun` for a
        file that cannot be read, unless there are several sets.
        """
        draw, erase = progress_bar(sys.stderr if is_shown else None)
        for number, files in enumerate(self.files):
            try:
                draw_part = partial(draw, f"Reading {files.stem.name}", number, len(self.files))
                loaded = self._load(files, draw_part, share, is_checked=is_checked)
            finally:
                erase()
            loaded.reject_unreadable(loaded.analysis)
            yield loaded

    def map(
        self,
        function: Callable[[LoadedSet], Result],
        *,
        share: int = 1,
        note: Callable[[], str] = str,
        is_printed: bool = False,
    ) -> Iterator[tuple[LoadedSet | None, Result]]:
        """Load one set after another like `load`, and yield each with what a function returns for it. If many sets are
        small, other processes load these: they come without the set, and the function and its results are pickled.
        `note` returns the start of the title of the progress bar, which stays until the end unless something
        `is_printed` about each set.
        """
        are_elsewhere, process_count = self._shared_out()
        elsewhere = results_of_processes(
            partial(_result_elsewhere, function, share), compress(self.files, are_elsewhere), process_count
        )
        draw, erase = progress_bar(sys.stderr)
        with closing(elsewhere), ExitStack() as at_end:
            at_end.callback(erase)
            for number, (files, is_elsewhere) in enumerate(zip(self.files, are_elsewhere, strict=True)):
                draw_part = partial(draw, f"{note()}Reading {files.stem.name}", number, len(self.files))
                draw_part(0.0)
                received = next(elsewhere) if is_elsewhere else None
                loaded = None if received else self._load(files, draw_part, share, is_checked=False)
                if is_printed:
                    erase()
                if received:
                    yield None, received[0]
                elif loaded:
                    loaded.reject_unreadable(loaded.analysis)
                    yield loaded, function(loaded)

    def _shared_out(self) -> tuple[list[bool], int]:
        """Whether each set is loaded by another process, and the number of these processes."""
        costs = [_cost(files) for files in self.files]
        are_elsewhere = [not self.opened and cost <= _GREATEST_COST_ELSEWHERE for cost in costs]
        process_count = min(core_count(), sum(compress(costs, are_elsewhere)) // _COST_OF_PROCESS)
        return (are_elsewhere, process_count) if process_count > 1 else ([False] * len(costs), 0)

    def load_one(self, files: SetFiles, *, is_shown: bool = True, share: int = 1) -> LoadedSet:
        """Load one of the sets like `load`."""
        return next(replace(self, files=(files,)).load(is_shown=is_shown, share=share))

    def _load(self, files: SetFiles, draw: Callable[[float], None], share: int, *, is_checked: bool) -> LoadedSet:
        """Load a set; again while XLA seems to be writing it, for at most half a minute."""
        given_up = time.monotonic() + _LONGEST_WAIT
        while True:
            analysis = load_set(files, self.opened, {}, report_progress=draw, share=share)[1]
            loaded = LoadedSet(files, analysis, self)
            if is_checked:
                loaded = replace(loaded, analysis=loaded.with_module())
            # XLA writes the HLO module before the other files.
            if not is_being_written(loaded.analysis, may_be_edited=False) or time.monotonic() >= given_up:
                return loaded
            time.sleep(_BETWEEN_LOADS)
            # XLA may have added a file.
            with suppress(NotADump, OSError):
                files = find_sets(next(iter(files.paths.values())))[0]


_LONGEST_WAIT: Final = 30.0
_BETWEEN_LOADS: Final = 0.1
"""Seconds to wait for a dump that is being written, in all and between two loads."""


_COST_OF_PROCESS: Final = 64 << 20
"""Another process is started for each so many bytes of dumps, which take longer to load than it takes to start."""

_GREATEST_COST_ELSEWHERE: Final = 16 << 20
"""Sets of more bytes are loaded by the process of the command: they take much memory, and an interrupt waits for what
others load.
"""

_LEAST_COST: Final = 512 << 10
"""A small set takes as long as so many bytes of a big one."""

_UNPACKED: Final = 16
"""How many times bigger a compressed file is, about."""


def _cost(files: SetFiles) -> int:
    """About how long it takes to load a set, in bytes that take as long."""
    sizes = (file_size(path) * (_UNPACKED if is_compressed(path) else 1) for path in files.paths.values())
    return max(_LEAST_COST, sum(sizes))


def _result_elsewhere(function: Callable[[LoadedSet], Result], share: int, files: SetFiles) -> Result:
    """Load one of several sets in another process, and return what a function returns for it."""
    sets = GivenDumpSets((files,), {}, are_several=True)
    return function(sets._load(files, lambda _: None, share, is_checked=False))


def find_dumps(paths: Sequence[Path]) -> GivenDumpSets:
    """Find the dump sets at some paths, each once.

    A shell expands ``dumps/*`` to all files that XLA wrote. If any of them belongs to a dump, the others are skipped,
    which a line on standard error says. Raises `CannotRun` if nothing is a dump, and for a path that cannot be read or
    a folder without dumps.
    """
    found: dict[tuple[str, ...], SetFiles] = {}
    skipped: list[NotADump] = []
    opened: dict[Path, Document] = {}
    draw, erase = progress_bar(sys.stderr)
    for path in paths:
        try:
            with reading(path):
                sets = _sets_at(path, opened, lambda folder: draw(f"Looking for dumps in {folder}", 0, 0, 0.0))
        except NotADump as error:
            if path.is_dir() or path == STANDARD_INPUT:
                raise CannotRun(str(error)) from error
            skipped.append(error)
            continue
        finally:
            erase()
        for files in sets:
            # Links are followed, and compression does not count.
            paths_on_disk = (uncompressed_name(os.path.realpath(path)) for path in files.paths.values())
            found.setdefault(tuple(sorted(paths_on_disk)), files)
    if skipped and not found:
        raise CannotRun(str(skipped[0])) from skipped[0]
    if skipped:
        count = len(skipped) - 1
        more = (
            f", and {counted(count, 'more file')} that {'is' if count == 1 else 'are'} part of no dump" if count else ""
        )
        print_error(f"skipped {skipped[0]}{more}")
    return GivenDumpSets(tuple(found.values()), opened, are_several=len(found) > 1)


@contextmanager
def reading(name: object) -> Iterator[None]:
    """Raise `CannotRun` if a file, which the message calls `name`, cannot be read."""
    try:
        yield
    except DamagedFile as error:
        raise CannotRun(str(error)) from error
    except (OSError, ValueError) as error:
        raise CannotRun(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


# ---------------------------------------------------------------- standard input, and standard output of XLA

STANDARD_INPUT: Final = Path("-")


def _sets_at(path: Path, opened: dict[Path, Document], report_folder: Callable[[str], None]) -> list[SetFiles]:
    label = Path("<stdin>") if path == STANDARD_INPUT else path
    if path == STANDARD_INPUT and label not in opened:
        if sys.stdin is None:
            raise CannotRun("-: standard input is closed. Pipe a dump into it, or name a file")
        data = sys.stdin.buffer.read()
        is_packed = data.startswith((GZIP, ZSTD))
        opened[label] = document_of_file(unpacked(BytesIO(data), "-") if is_packed else data)
    try:
        sets = [find_set(label, opened)] if label in opened else find_sets(path, report_folder)
    except NotADump:
        # A program may print other lines before XLA does.
        if (label in opened or path.is_file()) and (sets := _printed_sets(label, opened)):
            return sets
        raise
    found: list[SetFiles] = []
    for files in sets:
        may_be_output = files.stem in opened or is_output(files)
        found += (may_be_output and _printed_sets(files.stem, opened)) or [files]
    if list(found[0].paths) == [FileKind.HLO]:
        raise NotADump(
            f"{found[0].stem}: an HLO module. Expected its *-buffer-assignment.txt file or a folder of dumps"
        )
    return found


def _printed_sets(path: Path, opened: dict[Path, Document]) -> list[SetFiles]:
    """The dump sets of all modules that XLA printed to a file, none for another file. `opened` gets their files."""
    data = (opened.get(path) or read_text(path)).data
    printed = {
        printed_path: document_of_file(data[file.start : file.end]) for printed_path, file in printed_files(path, data)
    }
    opened |= printed
    sets: dict[Path, SetFiles] = {}
    for printed_path in printed:
        with suppress(NotADump):
            files = find_set(printed_path, opened)
            sets.setdefault(files.stem, files)
    return list(sets.values())


# ---------------------------------------------------------------- progress


_DELAY: Final = 0.5
"""Seconds of work before the bar is drawn."""

_PERIOD: Final = 0.1
"""Seconds between two drawings."""

_BAR: Final = 30
"""Width of the bar in characters."""

_ERASE: Final = "\r\x1b[K"


def progress_bar(stream: TextIO | None) -> tuple[Callable[[str, int, int, float], None], Callable[[], None]]:
    """Return a function that draws a progress bar, and one that erases it before anything else is printed. The first
    takes a title, the number of parts that are done, the number of all parts, 0 if that is not known yet, and the
    fraction of the next one that is done. Nothing appears unless the stream is a terminal, nor before the work has
    taken half a second.
    """
    terminal = unfiltered(stream) if stream is not None and stream.isatty() else None
    following, is_drawn = time.monotonic() + _DELAY, False

    def write(text: str) -> None:
        nonlocal is_drawn
        if terminal is not None and (text or is_drawn):
            terminal.write(f"{_ERASE}{text}")
            terminal.flush()
            is_drawn = bool(text)

    def draw(title: str, number: int, count: int, done: float) -> None:
        nonlocal following
        if terminal is not None and time.monotonic() >= following:
            following = time.monotonic() + _PERIOD
            share = (number + done) / max(1, count)
            bar = f"[{'#' * int(_BAR * share):{_BAR}}] {share:4.0%} {title}" if count else title
            write(printable(bar)[: shutil.get_terminal_size().columns - 1])

    return draw, partial(write, "")
