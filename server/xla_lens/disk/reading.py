"""Reading from disk: regular files only, and never more than a limit.

Folders of dumps are not trusted. A FIFO, a socket or a device that is named like a dump would block or never end, and a
compressed file of a few megabytes can stand for gigabytes. So all modules read files through this one.
"""

import codecs
import errno
import gzip
import itertools
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

from xla_lens.syntax.file_names import COMPRESSED
from xla_lens.words.numbers import human, parse_size

MAX_UNPACKED: Final = "XLA_LENS_MAX_UNPACKED"
"""The environment variable that limits what a compressed file may unpack to: ``8GiB``."""

_MOST_UNPACKED: Final = 2 << 30

OVERVIEW_SHARE: Final = 4
"""Divides the limit where many dumps are shown at once, in a ranking or a tree."""

SMALL_FILE: Final = 16 << 20
"""The most bytes of a file that is small by its nature, such as flags or the source code of a program."""

LARGEST_FILE: Final = 8 << 30
"""The most bytes of a file that is read whole. The largest real dumps have a few hundred megabytes."""

_AT_ONCE: Final = 128 << 20
"""Bytes to unpack before the rest is counted. What exceeds the limit then takes no more memory than that."""

_BLOCK: Final = 1 << 20


class DamagedFile(Exception):
    """Raised for a compressed file that cannot be decompressed. The message is one line: the name and the reason."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.reason = reason


# ---------------------------------------------------------------- files


def file_status(path: Path) -> os.stat_result:
    """Return the status of a file. Raises `OSError`, also for a path that no file can have."""
    try:
        return path.stat()
    except ValueError as error:
        raise OSError(errno.EINVAL, "not a path", str(path)) from error


Stamp: TypeAlias = tuple[int, int]
"""The modification time in ns and the size in bytes of a file, to detect changes."""


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file. Raises `OSError`."""
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


def open_file(path: Path, *, is_named: bool = False) -> BinaryIO:
    """Open a regular file for reading. The user may also have named a FIFO (`is_named`), as a shell does for
    ``<(command)``.

    Raises `OSError`, also for other kinds of files, which are not even opened: that could wait for ever or do harm.
    """
    _check_mode(file_status(path).st_mode, path, is_named=is_named)
    if is_named:
        return path.open("rb")
    # Another program may replace the file by a FIFO at any time.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_mode(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_mode(mode: int, path: Path, *, is_named: bool = False) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not (stat.S_ISREG(mode) or (is_named and stat.S_ISFIFO(mode))):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_file(path: Path, limit: int | None = None, *, is_named: bool = False) -> bytes:
    """Read a file whole. Raises `OSError` like `open_file`, and for a file with more bytes than the limit, which is
    `LARGEST_FILE` if it is None.
    """
    most = LARGEST_FILE if limit is None else limit
    with open_file(path, is_named=is_named) as file:
        # A sparse file claims more than the memory holds. It is not read at all.
        if os.fstat(file.fileno()).st_size <= most:
            # Some files of the system have nothing to read yet, which is None.
            try:
                data = file.read(-1 if limit is None else limit + 1) or b""
            except MemoryError as error:
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), str(path)) from error
            if len(data) <= most:
                return data
    raise OSError(errno.EFBIG, f"larger than {human(most)}", str(path))


def read_source(path: Path, *, is_named: bool = False) -> str:
    """Read a file of the program, with universal line ends. Raises `OSError` like `read_file`."""
    text = read_file(path, SMALL_FILE, is_named=is_named).decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def walk(folder: Path | str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield a folder and its subfolders, with the sorted names of the folders and of the other files in each. Folders
    that the caller removes from the list are not entered, nor are links and what cannot be read.

    `os.walk` of Python 3.11 fails where folders are nested a thousand deep.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        here = waiting.pop()
        is_folder: dict[str, bool] = {}
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    is_folder[entry.name] = False
                    with suppress(OSError):
                        is_folder[entry.name] = entry.is_dir()
        except OSError:
            continue
        folders, names = ([name for name in sorted(is_folder) if is_folder[name] is kind] for kind in (True, False))
        yield here, folders, names
        paths = (os.path.join(here, name) for name in reversed(folders))
        waiting += itertools.filterfalse(os.path.islink, paths)


# ---------------------------------------------------------------- compressed files

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
"""What compressed files begin with."""


def is_compressed(path: Path) -> bool:
    """Whether the name of a file says that it is compressed."""
    return path.suffix in COMPRESSED


def most_unpacked(share: int = 1) -> int:
    """Return the most bytes that a compressed file may unpack to: the limit divided by `share`."""
    size = parse_size(os.environ.get(MAX_UNPACKED, ""))
    return (_MOST_UNPACKED if size is None else size) // share


def unpacked_head(path: Path, size: int) -> bytes:
    """Return the first bytes in a compressed file. Raises like `unpacked`."""
    with open_file(path) as file:
        return _unpack(file, str(path), lambda content: content.read(size))


def unpacked(stream: BinaryIO, name: str, share: int = 1) -> bytes:
    """Return what a stream contains that is compressed with gzip or zstd. Messages call the stream `name`.

    Raises `OSError`, and `DamagedFile` if the stream cannot be decompressed or unpacks to more than `most_unpacked`.
    """
    limit = most_unpacked(share)

    def read(content: Any) -> bytes:
        first: bytes = content.read(min(limit, _AT_ONCE) + 1)
        size = len(first)
        if size <= min(limit, _AT_ONCE):
            return first
        del first
        while size <= limit and (block := content.read(_BLOCK)):
            size += len(block)
        if size > limit:
            raise _too_big(name, limit, " of an overview of several dumps" if share > 1 else "")
        content.seek(0)
        whole: bytes = content.read(size)
        return whole

    return _unpack(stream, name, read)


def _too_big(name: str, limit: int, where: str = "") -> DamagedFile:
    reason = f"unpacks to more than {human(limit)}, the limit{where}. Decompress it first, or set {MAX_UNPACKED}"
    return DamagedFile(name, reason)


def _unpack(stream: BinaryIO, name: str, read: Callable[[Any], bytes]) -> bytes:
    is_zstd = stream.read(len(ZSTD)) == ZSTD or name.endswith(".zst")
    stream.seek(0)
    try:
        # The standard library has zstd since Python 3.14.
        program: Any = import_module("compression.zstd") if is_zstd else gzip
    except ImportError as error:
        reason = "cannot be decompressed: zstd needs Python 3.14 or later. Decompress it first, with zstd -d"
        raise DamagedFile(name, reason) from error
    errors = (program.ZstdError,) if is_zstd else (zlib.error, program.BadGzipFile)
    try:
        with program.open(stream) as file:
            return read(file)
    except (EOFError, *errors) as error:
        reason = f"cannot be decompressed; it is cut off, damaged or not made by {'zstd' if is_zstd else 'gzip'}"
        raise DamagedFile(name, reason) from error


# ---------------------------------------------------------------- logs


def log_blocks(stream: BinaryIO, name: str, limit: int | None = None) -> Iterator[bytes]:
    """Read a log in blocks as UTF-8. It may be compressed with gzip, or in UTF-16, as PowerShell writes it. With a
    limit, the log ends after so many bytes.

    Raises `OSError`, and `DamagedFile` if the log, which is called `name` there, cannot be decompressed.
    """
    first = stream.read(_BLOCK)
    blocks: Iterable[bytes] = itertools.chain((first,), iter(lambda: stream.read(_BLOCK), b""))
    if first.startswith(GZIP):
        return _unpacked_blocks(blocks, name, limit)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return (text.encode() for text in codecs.iterdecode(blocks, "utf-16", "replace"))
    return iter(blocks)


def _unpacked_blocks(blocks: Iterable[bytes], name: str, limit: int | None) -> Iterator[bytes]:
    most, size = most_unpacked() if limit is None else limit, 0
    gzip_format = 31
    part = zlib.decompressobj(gzip_format)
    try:
        for block in blocks:
            rest = block
            while rest:
                # A block of compressed zeros can stand for a gigabyte.
                text = part.decompress(rest, _BLOCK)
                size += len(text)
                if size > most:
                    if limit is None:
                        raise _too_big(name, most)
                    return
                yield text
                rest = part.unconsumed_tail
                if part.eof:
                    rest, part = part.unused_data, zlib.decompressobj(gzip_format)
    except zlib.error as error:
        raise DamagedFile(name, "cannot be decompressed; it is damaged or not made by gzip") from error
