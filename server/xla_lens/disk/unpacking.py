"""Dumps that editors cannot show as they are: compressed files, and what XLA printed into a log."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from xla_lens.disk.device import logs_beside, text_beside
from xla_lens.disk.reading import is_compressed
from xla_lens.disk.sets import find_set, find_sets, printed_files, read_text
from xla_lens.syntax.file_names import COMPRESSED, FlagFile


def unpack(path: Path, folder: Path, text: bytes | None = None) -> list[Path]:
    """Write the dumps of a file as plain files into a folder: the compressed files of its set, or those that XLA
    printed into a log (`--xla_dump_to=-`). `text` replaces what is on disk.

    Returns the file to show of each set, that of the biggest set first; of a compressed file, that file. Raises
    `NotADump`, `DamagedFile` and `OSError`.
    """
    if text is None and is_compressed(path):
        written = dict(_compressed(path))
    else:
        data = read_text(path).data if text is None else text
        # Runs are in folders of their own. A name with folders would lead out of them.
        written = {
            Path(name.relative_to(path.parent).parts[0], PurePosixPath(file.name).name): data[file.start : file.end]
            for name, file in printed_files(path, data)
        }
    for name, data in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    own = folder / _plain(path.name)
    if own.is_file():
        return [own]
    found = find_sets(folder) if written else []
    sizes = [(sum(file.stat().st_size for file in files.paths.values()), files) for files in found]
    return [next(iter(files.paths.values())) for _, files in sorted(sizes, key=lambda pair: -pair[0])]


def _compressed(path: Path) -> Iterator[tuple[Path, bytes]]:
    """The plain files of the set of a file, and those beside it that describe the device: flags and logs."""
    files = find_set(path)
    for file in {*files.paths.values(), path}:
        yield Path(_plain(file.name)), bytes(read_text(file).data)
    for flag_file in FlagFile:
        text, beside = text_beside(files, flag_file)
        if text:
            yield Path(beside).relative_to(files.stem.parent), text.encode()
    for log in logs_beside(files):
        # What cannot be read says nothing about the device.
        with suppress(OSError):
            yield Path(log.name), log.read_bytes()


def _plain(name: str) -> str:
    """The name of a file without the suffix of its compression."""
    return next((name.removesuffix(end) for end in COMPRESSED if name.endswith(end)), name)
