"""The file beside a dump that keeps what a compiler said about changes of its program: ``STEM-tried.json``.

`xla-lens try`, `xla-lens run --try` and `Capture.try_advice` write it as `xla-lens try --output-format json` prints it.
It is about the dump as it was then: the file has the digest of that.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from xla_lens.disk.reading import SMALL_FILE, Stamp, read_file, stamp_of
from xla_lens.disk.sets import SetFiles
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tried import Tried
from xla_lens.syntax.file_names import FileKind

_SUFFIX: Final = "-tried.json"


def tried_path(stem: Path) -> Path:
    """Return the path of the file of a set of dumps."""
    return stem.with_name(stem.name + _SUFFIX)


def tried_stamp(stem: Path) -> Stamp | None:
    """Return the stamp of the file, None if there is none."""
    with suppress(OSError):
        return stamp_of(tried_path(stem))
    return None


def dump_digest(files: Iterable[DumpFile]) -> str | None:
    """Return the SHA-256 of the buffer assignment of a dump, as `sha256sum` prints it; None if it has none."""
    # OpenSSL takes longer to load than a small dump.
    import hashlib

    texts = (file.document.data for file in files if file.kind is FileKind.BUFFER_ASSIGNMENT)
    return next((hashlib.sha256(text).hexdigest() for text in texts), None)


def tried_beside(files: SetFiles, dump: Iterable[DumpFile]) -> Tried | None:
    """Return what was tried on the program of a set, whose files as they were loaded are `dump`. None if nothing was,
    or if the file cannot be read.
    """
    path = tried_path(files.stem)
    try:
        data = read_file(path, SMALL_FILE)
    except OSError:
        return None
    # Reading is rare, and the import takes time.
    import msgspec

    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        tried = msgspec.json.decode(data, type=Tried)
        return tried.read_from(str(path), is_stale=tried.dump_digest != dump_digest(dump))
    return None


def write_tried(files: SetFiles, data: bytes) -> Path:
    """Write the file of a set, and return its path. Raises `OSError`."""
    path = tried_path(files.stem)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
    return path
