"""Dump sets on disk: find the files that belong together, load them, and detect changes.

Reads the requested files and the files beside them with the same stem, and never leaves a requested folder. How a file
is read is in `reading`.
"""

import itertools
import os
import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.capacity import (
    Capacity,
    CapacitySource,
    LoggedSize,
    chip_capacity,
    flag_capacity,
    logged_capacity,
    logged_sizes,
)
from xla_lens.model.checks.problems import Problem
from xla_lens.model.chip import gpu_in, tpu_in
from xla_lens.model.dump_flags import formats_of_modules, left_out_by_flags
from xla_lens.model.flags import Flags, flags_in
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile, kind_of_content
from xla_lens.reading import (
    SMALL_FILE,
    DamagedFile,
    file_status,
    is_compressed,
    log_blocks,
    open_file,
    read_file,
    unpacked,
    unpacked_head,
    walk,
)
from xla_lens.syntax.file_names import (
    COMPRESSED,
    SUFFIXES,
    FileKind,
    FlagFile,
    changelist,
    is_from_cache,
    is_proto,
    module_name,
    module_prefix,
    split_name,
    uncompressed_name,
)
from xla_lens.syntax.hlo.module import read_module
from xla_lens.syntax.rows import end_of_lines, read_columns
from xla_lens.syntax.standard_output import PrintedFile, files_in_output, has_files
from xla_lens.syntax.tables import FileColumns
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document, IsCancelled, ReportProgress, document_of_file

_HEAD: Final = 4096

Opened: TypeAlias = Mapping[Path, Document]
"""The texts that are open in the editor, which take precedence over the files at their paths."""

Stamp: TypeAlias = tuple[int, int]
"""The modification time in ns and the size in bytes of a file, to detect changes."""


_READING: Final = 0.3
"""The share of reading in the time that a set takes to load. The analysis takes the rest."""


class NotADump(Exception):
    """Raised for a path that is not part of a dump set. The message is one line."""


@dataclass(frozen=True, slots=True)
class SetFiles:
    """The files of one dump set by kind. `stem` is the common start of their paths, or the path of a file that stands
    alone.
    """

    stem: Path
    paths: Mapping[FileKind, Path]

    @property
    def labels(self) -> dict[FileKind, str]:
        """The paths of the files as text."""
        return {kind: path.as_posix() for kind, path in self.paths.items()}

    @property
    def module(self) -> str | None:
        """The name of the HLO module, from the names of the files or else from the HLO file. None if neither has it."""
        name = next((name for label in self.labels.values() if (name := module_name(label))), None)
        return name or _name_in_header(self.paths.get(FileKind.HLO))


_HEADER: Final = re.compile(rb"\s*HloModule ([^\s,]+)")


def _name_in_header(path: Path | None) -> str | None:
    """The name at the start of an HLO file, None if it cannot be read."""
    with suppress(OSError, DamagedFile):
        header = _HEADER.match(_head(path, {})) if path else None
        return header[1].decode("utf-8", "replace") if header else None
    return None


def find_set(path: Path, opened: Opened = MappingProxyType({})) -> SetFiles:
    """Find the dump set that a file belongs to. Unsaved changes in the editor (`opened`) take precedence over the file
    on disk. Unreadable siblings are ignored, and so are compressed ones, which no editor shows, unless the file itself
    is compressed.

    Raises `NotADump` if the file is in no dump set, `OSError` if it cannot be read, and `DamagedFile` if its name does
    not tell what it is and its content cannot be decompressed.
    """
    if path not in opened:
        open_file(path).close()

    def is_there(sibling: Path) -> bool:
        return sibling in opened or (_is_readable(sibling) and (is_compressed(path) or not is_compressed(sibling)))

    return _set_of(path, opened, is_there)


def find_sets(path: Path) -> list[SetFiles]:
    """Find the dump set of a file, or all dump sets in a folder and its subfolders, also those whose files cannot be
    read. Any of the files may be compressed with gzip or zstd.

    Raises like `find_set`, and `NotADump` for a folder without dump sets.
    """
    if not path.is_dir():
        open_file(path).close()
        return [_set_of(path, {}, _is_readable)]
    found: list[SetFiles] = []
    for folder, _, names in walk(path):
        found += _sets_in(folder, names, lambda _: True, lambda: False)
    if not found:
        cached = cached_modules(path)
        raise NotADump(f"{cached[0]}: {CACHED}" if cached else _only_protos(path) or f"{path}: {_NO_DUMPS}")
    return found


def set_key(path: Path, document: Document | None) -> Path:
    """Return what identifies the set of a file: the stem of its files, or the path of a file that stands alone."""
    stem, kind = split_name(path.name)
    if kind or (document and _kind_of(path, {path: document}) is FileKind.HLO):
        return path.parent / stem
    return path


def set_files(path: Path, texts: Opened) -> SetFiles:
    """Return the files of the set of a file. `texts` are the open documents of the set; if none of them is recognised,
    they still form a set. Reads the disk and never raises.
    """
    # Prefer a file whose name gives its kind: it leads to its siblings.
    path = min(texts or [path], key=lambda path: split_name(path.name)[1] is None)
    try:
        return find_set(path, texts)
    except NotADump:
        kind = kind_of_content(texts[path].data) if path in texts else None
        return SetFiles(path, {kind if kind is FileKind.HLO else FileKind.BUFFER_ASSIGNMENT: path})
    except (DamagedFile, OSError):
        return SetFiles(path, {})


_NO_DUMPS: Final = (
    "this folder contains no dumps. `xla-lens run COMMAND` writes them, or XLA with --xla_dump_to=DIR "
    "--xla_dump_hlo_as_text"
)
_NOT_A_DUMP: Final = "not an XLA dump. Expected a *-buffer-assignment.txt file or a folder of dumps"
_PROTO: Final = "a protocol buffer. XLA Lens reads the texts that XLA writes with --xla_dump_hlo_as_text"
_WITHOUT_ASSIGNMENT: Final = "this HLO module has no *-buffer-assignment.txt file beside it"
CACHED: Final = (
    "loaded from JAX's compilation cache. XLA did not compile it, so it wrote no buffer assignment. Run the program "
    "again with JAX_ENABLE_COMPILATION_CACHE=false"
)


def is_cached_module(path: Path) -> bool:
    """Whether a file is an HLO module that was loaded from JAX's compilation cache, by the files beside it."""
    # What XLA printed to its standard output is in no folder.
    return is_from_cache(path.name, os.listdir(path.parent) if os.path.isdir(path.parent) else ())


def cached_modules(folder: Path) -> list[Path]:
    """Return the HLO modules in a folder and its subfolders that were loaded from JAX's compilation cache, for which
    XLA writes no buffer assignment.
    """
    return [Path(below, name) for below, _, names in walk(folder) for name in names if is_from_cache(name, names)]


def _only_protos(folder: Path) -> str | None:
    """What a folder and its subfolders without texts lack, if XLA wrote protocol buffers there, None if it did not."""
    for below, _, names in walk(folder):
        if proto := next((name for name in sorted(names) if is_proto(name)), None):
            path, flags = Path(below, proto), [name for name in names if name.endswith(f".{FlagFile.DEBUG_OPTIONS}")]
            return f"{path}: {_why_no_text(Path(below, min(flags)) if flags else None)}"
    return None


def _why_no_text(flags: Path | None) -> str:
    """Why a folder has only protocol buffers, by the flags of a module in it."""
    formats: list[str] = []
    with suppress(OSError):
        formats = formats_of_modules(read_file(flags, SMALL_FILE).decode("utf-8", "replace")) if flags else []
    protos = "this folder has protocol buffers but no texts, which XLA Lens reads"
    if not flags or not formats:
        return f"{protos}. Run the program again with --xla_dump_hlo_as_text"
    if "xla_dump_hlo_as_text" in formats:
        return f"{protos}. By {flags.name}, XLA wrote texts, too: copy them"
    ran_with = " ".join(f"--{name}" for name in formats)
    return f"{protos}. By {flags.name}, XLA ran with {ran_with}. Run the program again with --xla_dump_hlo_as_text"


def printed_files(path: Path, data: bytes) -> Iterator[tuple[Path, PrintedFile]]:
    """Yield the files in a text that has the standard output of XLA (`--xla_dump_to=-`), under the names that XLA
    printed, in a folder with the name of the text. A name that appears again is from another run of the program, which
    gets a folder of its own.
    """
    folder, run = path, 1
    names: set[str] = set()
    for file in files_in_output(data):
        if file.name in names:
            run += 1
            folder, names = path.with_name(f"{path.name} ({run})"), set()
        names.add(file.name)
        yield folder / file.name, file


def is_output(files: SetFiles) -> bool:
    """Whether the only file of a set is the standard output of XLA, with the files of all modules. False if it cannot
    be read: loading it tells why.
    """
    with suppress(OSError, DamagedFile):
        return list(files.paths.values()) == [files.stem] and has_files(_head(files.stem, {}))
    return False


def walk_sets(folders: Iterable[Path], is_cancelled: IsCancelled) -> Iterator[SetFiles]:
    """Find the dump sets in some folders and their subfolders, each once, also those whose files cannot be read. Hidden
    subfolders, package folders and the output of XLA are skipped. Compressed files count for sets that have no others.
    Links to folders are not followed; links to files are, if they stay in one of the folders.

    Raises `Cancelled`.
    """
    folders = list(folders)
    roots = [os.path.realpath(folder) for folder in folders]
    walked: set[str] = set()

    def is_inside(path: Path) -> bool:
        return not os.path.islink(path) or any(Path(os.path.realpath(path)).is_relative_to(root) for root in roots)

    for folder, below, names in itertools.chain.from_iterable(map(walk, folders)):
        if is_cancelled():
            raise Cancelled
        real = os.path.realpath(folder)
        if real in walked:
            below.clear()
            continue
        walked.add(real)
        below[:] = [name for name in below if not name.startswith(".") and name != "node_modules"]
        found = [*_sets_in(folder, names, lambda path: not is_compressed(path) and is_inside(path), is_cancelled)]
        yield from itertools.filterfalse(is_output, found)
        stems = {files.stem for files in found}
        rest = [name for name in names if name.endswith(COMPRESSED) and Path(folder, split_name(name)[0]) not in stems]
        yield from _sets_in(folder, rest, is_inside, is_cancelled)


def read_flags(files: SetFiles) -> Flags:
    """Return the flags and the device of the module of a set, from the files beside it that can be read."""
    texts = {}
    for file in FlagFile:
        with suppress(OSError):
            texts[file] = read_file(_beside(files, file), SMALL_FILE).decode("utf-8", "replace")
    return flags_in(texts)


def _beside(files: SetFiles, file: FlagFile) -> Path:
    """The path of a file that XLA writes for the module of a set."""
    name = files.stem.name
    prefix = module_prefix(name)
    number = changelist(name)
    if number is not None and name.startswith(f"{prefix}cl_{number}."):
        prefix += f"cl_{number}."
    if file in (FlagFile.COMPILE_OPTIONS, FlagFile.TOPOLOGY):
        return files.stem.parent / prefix.rstrip(".") / file
    return files.stem.with_name(prefix + file)


def is_part_of_a_dump(path: Path) -> bool:
    """Whether a file has the content of a dump, an HLO module, or the standard output of XLA. False if it cannot be
    read.
    """
    try:
        head = _head(path, {})
        return kind_of_content(head) is not None or has_files(head)
    except (OSError, DamagedFile):
        return False


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFile:
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
                found[path] = _stamp(path)
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
    chip, capacity = _device_beside(files)
    left_out = left_out_by_flags(_text_beside(files, FlagFile.DEBUG_OPTIONS)[0]) if _has_folder(files) else {}
    is_same = before and (before.chip, before.capacity, before.left_out) == (chip, capacity, left_out)
    if before and is_same and {file.dump_file for file in loaded.values()} == {*before.dump.files}:
        return loaded, before
    analysis = analyse(
        (file.dump_file for file in loaded.values()),
        is_cancelled,
        lambda done: report_progress(_READING + (1 - _READING) * done),
        left_out,
    )
    return loaded, replace(analysis, name=files.module, chip=chip, capacity=capacity)


# ---------------------------------------------------------------- dumps that are being written


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


# ---------------------------------------------------------------- the device


def _device_beside(files: SetFiles) -> tuple[str | None, Capacity | None]:
    """The name of the chip and the capacity of the device that the files beside the dump state. What the compiler says
    counts more than the size of the chip, because it is what programs may use.
    """
    if not _has_folder(files):
        return None, None
    chip, of_chip = _chip_beside(files)
    flag = flag_capacity(*_text_beside(files, FlagFile.TPU_ENVIRONMENT))
    if flag and of_chip and flag.size_bytes >= of_chip.size_bytes:
        # libtpu takes the memory of the chip then.
        flag = None
    found = flag or _capacity_in_logs(files) or of_chip
    return chip, replace(found, chip=chip) if found else None


def _has_folder(files: SetFiles) -> bool:
    """Whether a set may have other files beside it. Standard input and unsaved documents are in no folder."""
    return any(map(_is_readable, files.paths.values()))


def _chip_beside(files: SetFiles) -> tuple[str | None, Capacity | None]:
    """The name and the capacity of the chip that XLA compiled for."""
    (config, gpu_file), (arguments, tpu_file), (topology, topology_file) = (
        _text_beside(files, file) for file in (FlagFile.TARGET_CONFIG, FlagFile.TARGET_ARGUMENTS, FlagFile.TOPOLOGY)
    )
    if chip := gpu_in(config) if config else None:
        return chip.name, chip_capacity(chip, CapacitySource.TARGET_CONFIG, gpu_file)
    if chip := tpu_in(arguments, topology) if arguments or topology else None:
        return chip.name, chip_capacity(chip, CapacitySource.LIBTPU, tpu_file if arguments else topology_file)
    return None, None


def _text_beside(files: SetFiles, file: FlagFile) -> tuple[str, str]:
    """The text of a file beside a set, empty if it cannot be read, and its path."""
    path = _beside(files, file)
    try:
        return read_file(path, SMALL_FILE).decode("utf-8", "replace"), str(path)
    except OSError:
        return "", str(path)


def _capacity_in_logs(files: SetFiles) -> Capacity | None:
    """The capacity that the logs beside a set state for its module, None if they state none, or several."""
    try:
        logs = _logs_in(files.stem.parent, files.stem.parent.stat().st_mtime_ns)
        found = [logged_capacity(_sizes_in(path, _stamp(path)), files.module, str(path)) for path in logs]
    except OSError:
        return None
    stated = [one for one in found if one]
    return stated[0] if len({one.size_bytes for one in stated}) == 1 else None


_LOG_NAME: Final = re.compile(
    r"(?i).*\.(?:log|err|out)|(?:.*[\W_])?(?:errors?|stderr|logs?|oom|out[\W_]?of[\W_]?memory)(?:[\W_].*)?\.txt"
)
_LONGEST_LOG: Final = 4 << 20
_MOST_LOGS: Final = 16
"""A file beside a dump is read as a log if its name is that of a log, such as ``train.log`` or ``error_3.txt``, it has
at most so many bytes, and the folder has at most so many such files.
"""


@lru_cache(maxsize=64)
def _logs_in(folder: Path, _stamp_of_folder: int) -> tuple[Path, ...]:
    """The files of a folder whose names say that they are logs. Cached until the folder changes."""
    with os.scandir(folder) as entries:
        logs = (
            Path(entry.path)
            for entry in entries
            if _LOG_NAME.fullmatch(entry.name) and not (module_prefix(entry.name) or split_name(entry.name)[1])
            if entry.is_file() and entry.stat().st_size <= _LONGEST_LOG
        )
        found = sorted(itertools.islice(logs, _MOST_LOGS + 1))
    return () if len(found) > _MOST_LOGS else tuple(found)


@lru_cache(maxsize=256)
def _sizes_in(path: Path, _stamp_of_file: Stamp) -> tuple[LoggedSize, ...]:
    """The sizes of HBM in a file that may be a log. Cached until the file changes."""
    try:
        with open_file(path) as stream:
            if kind_of_content(stream.read(_HEAD)):
                return ()
            stream.seek(0)
            return tuple(logged_sizes(b"".join(log_blocks(stream, str(path), SMALL_FILE))))
    except (OSError, DamagedFile):
        # A file that merely looks like a log has nothing to do with the dump.
        return ()


# ---------------------------------------------------------------- files


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
            stamp = None if path in opened else _stamp(path)
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
    remaining = {path: one for path, one in loaded.items() if one.stamp or path in opened}
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
        stamp = None if path in opened else _stamp(path)
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


def read_text(path: Path, share: int = 1) -> Document:
    """Read a file, which may be compressed. `share` divides the limit of what it may unpack to.

    Raises `OSError`, and `DamagedFile` if the file cannot be decompressed.
    """
    if not is_compressed(path):
        return document_of_file(read_file(path))
    with open_file(path) as file:
        return document_of_file(unpacked(file, str(path), share))


def _stamp(path: Path) -> Stamp:
    status = file_status(path)
    return status.st_mtime_ns, status.st_size


def file_size(path: Path) -> int:
    """Return the size of a file in bytes, 0 if it cannot be read."""
    try:
        return file_status(path).st_size
    except OSError:
        return 0


def file_time(path: Path) -> float:
    """Return when a file was last changed, in seconds since 1970; 0 if it cannot be read."""
    try:
        return file_status(path).st_mtime
    except OSError:
        return 0.0


def _sets_in(
    folder: str, names: Iterable[str], is_wanted: Callable[[Path], bool], is_cancelled: IsCancelled
) -> Iterator[SetFiles]:
    """The dump sets of the files of a folder for which `is_wanted` is true. What is named like a dump but is no file,
    such as a FIFO, is a set of its own if no file belongs to the same set.
    """
    stems: set[Path] = set()
    texts = [Path(folder, name) for name in names if uncompressed_name(name).endswith(SUFFIXES[FileKind.HLO])]
    regular = set(filter(os.path.isfile, texts))
    for path in sorted(texts, key=lambda path: path not in regular):
        if is_cancelled():
            raise Cancelled
        name, kind = split_name(path.name)
        stem = path.parent / name
        if stem in stems or not is_wanted(path):
            continue
        if path in regular:
            with suppress(NotADump, DamagedFile, OSError):
                files = _set_of(path, {}, lambda path: os.path.isfile(path) and is_wanted(path))
                stems.add(files.stem)
                yield files
        elif kind:
            stems.add(stem)
            yield SetFiles(stem, {kind: path})


def _set_of(path: Path, opened: Opened, is_there: Callable[[Path], bool]) -> SetFiles:
    """The set of a file. If another file is there both compressed and uncompressed, the set has the latter."""
    stem, kind = split_name(path.name)
    kind = kind or _kind_of(path, opened)
    if kind is None:
        why = _PROTO if is_proto(path.name) else _NOT_A_DUMP
        raise NotADump(f"{path}: {why}")
    siblings: dict[FileKind, Path] = {}
    for other, suffix in itertools.product(FileKind, ("", *COMPRESSED)):
        sibling = path.with_name(f"{stem}{SUFFIXES[other]}{suffix}")
        if (
            (other not in siblings or sibling == path)
            and is_there(sibling)
            and _matches_its_name(other, sibling, opened)
        ):
            siblings[other] = sibling
    if path not in siblings.values():
        # A file with an unusual name has no siblings.
        return SetFiles(path, {kind: path})
    if set(siblings) == {FileKind.HLO}:
        raise NotADump(f"{path}: {CACHED if is_cached_module(path) else _WITHOUT_ASSIGNMENT}")
    return SetFiles(path.parent / stem, siblings)


def _is_readable(path: Path) -> bool:
    # `is_file` returns false for names longer than the file system allows.
    return os.path.isfile(path) and os.access(path, os.R_OK)


def _kind_of(path: Path, opened: Opened) -> FileKind | None:
    """What a file is by its content, None if that is nothing of a dump. An open document whose edits hide what it is
    remains what it is on disk. Raises `OSError` and `DamagedFile`.
    """
    kind = kind_of_content(_head(path, opened))
    if kind is None and path in opened:
        with suppress(OSError, DamagedFile):
            return kind_of_content(_head(path, {}))
    return kind


def _matches_its_name(kind: FileKind, path: Path, opened: Opened) -> bool:
    """Whether a file is what its name says. Any text file can have the suffix of an HLO module."""
    try:
        if kind is not FileKind.HLO or _kind_of(path, opened) is FileKind.HLO:
            return True
        # A module may be cut off in its first word.
        return b"HloModule ".startswith(_head(path, opened))
    except DamagedFile:
        # Loading it tells what is wrong.
        return True
    except OSError:
        return False


def _head(path: Path, opened: Opened) -> bytes:
    if path in opened:
        return opened[path].data[:_HEAD]
    if is_compressed(path):
        return unpacked_head(path, _HEAD)
    with open_file(path) as file:
        return file.read(_HEAD)
