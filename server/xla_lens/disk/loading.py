"""Load the files of a dump set, and detect changes."""

import time
from collections.abc import Container, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.disk.device import device_beside, has_folder, text_beside
from xla_lens.disk.measured import measured_beside
from xla_lens.disk.reading import DamagedFile, Stamp, file_size, file_time, stamp_of
from xla_lens.disk.sets import Opened, SetFiles, read_text
from xla_lens.disk.tried import tried_beside
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.problems import Problem
from xla_lens.model.dump_flags import left_out_by_flags
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind, FlagFile
from xla_lens.syntax.hlo.module import read_module
from xla_lens.syntax.rows import end_of_lines, read_columns
from xla_lens.syntax.tables import FileColumns
from xla_lens.text.document import Document, IsCancelled, ReportProgress

_READING: Final = 0.3
"""The share of reading in the time that a set takes to load. The analysis takes the rest."""


class LoadedFile(Struct, frozen=True, eq=False):
    """A parsed file, its stamp, None for an open document, and the module in it if it was read as one."""

    dump_file: DumpFile
    stamp: Stamp | None
    module: HloModule | None = None


def stamps(files: SetFiles, modules: Container[Path] = ()) -> dict[Path, Stamp]:
    """Return the stamps of the files of a set, and of its HLO module if it is in `modules`. Deleted files are left
    out.
    """
    found: dict[Path, Stamp] = {}
    for kind, path in files.paths.items():
        if kind is not FileKind.HLO or path in modules:
            with suppress(OSError):
                found[path] = stamp_of(path)
    return found


def load_set(
    files: SetFiles,
    opened: Opened,
    known: Mapping[Path, LoadedFile],
    is_cancelled: IsCancelled = lambda: False,
    report_progress: ReportProgress = lambda _: None,
    *,
    before: Analysis | None = None,
    share: int = 1,
) -> tuple[dict[Path, LoadedFile], Analysis]:
    """Load and analyse the files of a set like `load_files`. `report_progress` is called with the fraction that is
    done. The analysis is `before` if that is of the same files and none of them has changed.

    Raises `Cancelled`.
    """
    loaded = load_files(files, opened, known, is_cancelled, lambda done: report_progress(_READING * done), share=share)
    chip, capacity = device_beside(files)
    left_out = left_out_by_flags(text_beside(files, FlagFile.DEBUG_OPTIONS)[0]) if has_folder(files) else {}
    measured = measured_beside(files)
    found = chip, capacity, measured, left_out
    is_same = before and (before.chip, before.capacity, before.measured, before.left_out) == found
    dump_files = [file.dump_file for file in loaded.values()]
    tried = tried_beside(files, dump_files) if has_folder(files) else None
    if before and is_same and {*dump_files} == {*before.dump.files}:
        return loaded, before if before.tried == tried else replace(before, tried=tried)
    analysis = analyse(
        dump_files,
        is_cancelled,
        lambda done: report_progress(_READING + (1 - _READING) * done),
        left_out,
    )
    analysis = replace(analysis, name=files.module, chip=chip, capacity=capacity, measured=measured, tried=tried)
    return loaded, analysis


def is_being_written(analysis: Analysis, *, may_be_edited: bool) -> bool:
    """Return whether a file that is cut off or does not fit the others has changed just now: more may follow. Any error
    may be due to what will follow, but one that a user has just made in an editor has to be told.
    """
    labels = {
        finding.place.file.label
        for finding in analysis.findings
        if finding.problem.kind in _UNFINISHED or (not may_be_edited and finding.severity.is_alarm)
    }
    return any(0 <= time.time() - file_time(Path(label)) < _RECENT_SECONDS for label in labels)


_UNFINISHED: Final = (
    Problem.TRUNCATED_FILE,
    Problem.EMPTY_FILE,
    Problem.NO_DUMP_LINES,
    Problem.FOREIGN_FILE,
    Problem.FOREIGN_MODULE,
)


_RECENT_SECONDS: Final = 2.0
"""XLA writes a file at once, and all files of a set within a second."""


def load_files(
    files: SetFiles,
    opened: Opened,
    known: Mapping[Path, LoadedFile],
    is_cancelled: IsCancelled,
    report_progress: ReportProgress = lambda _: None,
    *,
    share: int = 1,
) -> dict[Path, LoadedFile]:
    """Read and parse the files of a set, except the HLO module. A file that cannot be read has no text, but says why.
    Files that were deleted meanwhile are left out, unless all of them were. Files in `known` that have not changed are
    reused. `report_progress` is called with the fraction of the bytes that is read. `share` divides the limit for
    compressed files (`reading.most_unpacked`).

    Raises `Cancelled`.
    """
    kinds = {path: kind for kind, path in files.paths.items() if kind is not FileKind.HLO}
    loaded: dict[Path, LoadedFile] = {}
    # The biggest comes first, to free its peak memory early.
    sizes = {path: len(opened[path].data) if path in opened else file_size(path) for path in kinds}
    read_bytes, all_bytes = 0, max(1, sum(sizes.values()))

    def report_read(size_bytes: int) -> None:
        report_progress(min(1.0, (read_bytes + size_bytes) / all_bytes))

    for path in sorted(kinds, key=lambda path: (path not in opened, -sizes[path])):
        stamp, unreadable, document = None, "", Document(b"")
        before = known.get(path)
        try:
            stamp = None if path in opened else stamp_of(path)
            if before and stamp and before.stamp == stamp:
                document, unreadable = before.dump_file.document, before.dump_file.unreadable
            else:
                document = opened.get(path) or read_text(path, share)
        except DamagedFile as error:
            unreadable = error.reason
        except OSError as error:
            unreadable = f"cannot be read: {error.strerror or error}"
        if unreadable:
            file = DumpFile(kinds[path], str(path), document, FileColumns.empty(), unreadable)
        elif before and not before.dump_file.unreadable and before.dump_file.document.data == document.data:
            file = before.dump_file
        else:
            # A last line without a line end is cut off, perhaps in the middle of a number or a name.
            whole_lines = document.data[: end_of_lines(document.data)]
            columns = read_columns(whole_lines, is_cancelled, report_read)
            file = DumpFile(kinds[path], str(path), document, columns)
        loaded[path] = LoadedFile(file, stamp)
        read_bytes += len(document.data)
    remaining = {path: file for path, file in loaded.items() if file.stamp or path in opened}
    return remaining or loaded


def load_module(
    files: SetFiles,
    opened: Opened,
    known: LoadedFile | None,
    is_cancelled: IsCancelled,
    report_progress: ReportProgress = lambda _: None,
    *,
    share: int = 1,
) -> LoadedFile | None:
    """Read the HLO module of a set, None if there is no readable one. If `known` has not changed, it is reused.
    `report_progress` is called with the fraction that is done.

    Raises `Cancelled`, and `DamagedFile` if the module cannot be decompressed.
    """
    path = files.paths.get(FileKind.HLO)
    if path is None:
        return None
    if known and known.dump_file.label != str(path):
        known = None
    try:
        stamp = None if path in opened else stamp_of(path)
        if known and stamp and known.stamp == stamp:
            return known
        document = opened.get(path) or read_text(path, share)
    except OSError:
        return None
    if known and known.dump_file.document.data == document.data:
        return replace(known, stamp=stamp)
    file = DumpFile(FileKind.HLO, str(path), document, FileColumns.empty())
    return LoadedFile(file, stamp, HloModule(file, read_module(document, is_cancelled, report_progress)))


def load_module_or_finding(
    files: SetFiles, opened: Opened, analysis: Analysis, is_cancelled: IsCancelled = lambda: False, *, share: int = 1
) -> Analysis:
    """Return the analysis of a set with its HLO module, or with a finding if that cannot be decompressed. Raises
    `Cancelled`.
    """
    try:
        loaded = load_module(files, opened, None, is_cancelled, share=share)
    except DamagedFile as error:
        path = str(files.paths[FileKind.HLO])
        file = DumpFile(FileKind.HLO, path, Document(b""), FileColumns.empty(), error.reason)
        return analysis.with_unreadable(file)
    return replace(analysis, module=loaded.module if loaded else None)


def unreadable_files(analysis: Analysis) -> list[str]:
    """Return one line for each file of a set that cannot be read: its name and the reason."""
    return [f"{file.label}: {file.unreadable}" for file in analysis.unreadable]
