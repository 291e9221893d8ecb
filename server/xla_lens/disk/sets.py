"""Dump sets on disk: find the files that belong together, load them, and detect changes.

Reads the requested files and the files beside them with the same stem, and never leaves a requested folder. How a file
is read is in `reading`.
"""

import itertools
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from xla_lens.disk.reading import (
    SMALL_FILE,
    DamagedFile,
    is_compressed,
    open_file,
    read_file,
    unpacked,
    unpacked_head,
    walk,
)
from xla_lens.model.dump_flags import formats_of_modules
from xla_lens.model.tables.dump_files import kind_of_content
from xla_lens.syntax.file_names import (
    COMPRESSED,
    SUFFIXES,
    FileKind,
    FlagFile,
    is_from_cache,
    is_proto,
    module_name,
    split_name,
    uncompressed_name,
)
from xla_lens.syntax.standard_output import PrintedFile, files_in_output, has_files
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document, IsCancelled, document_of_file
from xla_lens.text.patterns import lazy_pattern

HEAD: Final = 4096

Opened: TypeAlias = Mapping[Path, Document]
"""The texts that are open in the editor, which take precedence over the files at their paths."""


class NotADump(Exception):
    """Raised for a path that is not part of a dump set. The message is one line."""


class SetFiles(Struct, frozen=True):
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


_HEADER: Final = lazy_pattern(rb"\s*HloModule ([^\s,]+)")


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
        return sibling in opened or (is_readable(sibling) and (is_compressed(path) or not is_compressed(sibling)))

    return _set_of(path, opened, is_there)


def find_sets(path: Path, report_folder: Callable[[str], None] = lambda _: None) -> list[SetFiles]:
    """Find the dump set of a file, or all dump sets in a folder and its subfolders, also those whose files cannot be
    read. Any of the files may be compressed with gzip or zstd. `report_folder` is called with each folder.

    Raises like `find_set`, and `NotADump` for a folder without dump sets.
    """
    if not path.is_dir():
        open_file(path).close()
        return [_set_of(path, {}, is_readable)]
    found: list[SetFiles] = []
    for folder, _, names in walk(path):
        report_folder(folder)
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
        yield from _sets_in(folder, names, is_inside, is_cancelled, rest)


def is_part_of_a_dump(path: Path) -> bool:
    """Whether a file has the content of a dump, an HLO module, or the standard output of XLA. False if it cannot be
    read.
    """
    try:
        head = _head(path, {})
        return kind_of_content(head) is not None or has_files(head)
    except (OSError, DamagedFile):
        return False


# ---------------------------------------------------------------- files


def read_text(path: Path, share: int = 1) -> Document:
    """Read a file, which may be compressed. `share` divides the limit of what it may unpack to.

    Raises `OSError`, and `DamagedFile` if the file cannot be decompressed.
    """
    if not is_compressed(path):
        return document_of_file(read_file(path))
    with open_file(path) as file:
        return document_of_file(unpacked(file, str(path), share))


def _sets_in(
    folder: str,
    names: Iterable[str],
    is_wanted: Callable[[Path], bool],
    is_cancelled: IsCancelled,
    starts: Iterable[str] | None = None,
) -> Iterator[SetFiles]:
    """The dump sets of the files of a folder for which `is_wanted` is true; with `starts`, only those that one of these
    files belongs to. What is named like a dump but is no file, such as a FIFO, is a set of its own if no file belongs
    to the same set.
    """
    stems: set[Path] = set()
    listed = {name for name in names if uncompressed_name(name).endswith(SUFFIXES[FileKind.HLO])}
    texts = [Path(folder, name) for name in (names if starts is None else starts) if name in listed]
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
                files = _set_of(path, {}, lambda path: os.path.isfile(path) and is_wanted(path), listed)
                stems.add(files.stem)
                yield files
        elif kind:
            stems.add(stem)
            yield SetFiles(stem, {kind: path})


def _set_of(
    path: Path, opened: Opened, is_there: Callable[[Path], bool], listed: Container[str] | None = None
) -> SetFiles:
    """The set of a file. If another file is there both compressed and uncompressed, the set has the latter. With
    `listed`, the names of the files in the folder, the disk is not asked for any others.
    """
    stem, kind = split_name(path.name)
    kind = kind or _kind_of(path, opened)
    if kind is None:
        why = _PROTO if is_proto(path.name) else _NOT_A_DUMP
        raise NotADump(f"{path}: {why}")
    siblings: dict[FileKind, Path] = {}
    for other, suffix in itertools.product(FileKind, ("", *COMPRESSED)):
        name = f"{stem}{SUFFIXES[other]}{suffix}"
        if listed is not None and name not in listed:
            continue
        sibling = path.with_name(name)
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


def is_readable(path: Path) -> bool:
    """Whether a path is that of a file that this process may read."""
    # `is_file` returns false for names longer than the file system allows.
    return os.path.isfile(path) and os.access(path, os.R_OK)


def _kind_of(path: Path, opened: Opened) -> FileKind | None:
    """The kind of a file by its content, None if it is no part of a dump. If edits hide the kind of an open document,
    the file on disk decides. Raises `OSError` and `DamagedFile`.
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
        return opened[path].data[:HEAD]
    if is_compressed(path):
        return unpacked_head(path, HEAD)
    with open_file(path) as file:
        return file.read(HEAD)
