"""What the files beside a dump state: flags, device and capacity."""

import itertools
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from xla_lens.disk.reading import SMALL_FILE, DamagedFile, Stamp, log_blocks, open_file, read_file, stamp_of
from xla_lens.disk.sets import HEAD, SetFiles, is_readable
from xla_lens.model.capacity import (
    Capacity,
    CapacitySource,
    LoggedSize,
    chip_capacity,
    flag_capacity,
    logged_capacity,
    logged_sizes,
)
from xla_lens.model.chip import gpu_in, tpu_in
from xla_lens.model.flags import Flags, flags_in
from xla_lens.model.tables.dump_files import kind_of_content
from xla_lens.syntax.file_names import MODULE_FILE, FlagFile, changelist, module_prefix, split_name
from xla_lens.text.patterns import lazy_pattern


def read_flags(files: SetFiles) -> Flags:
    """Return the flags and the device of the module of a set, from the files beside it that can be read."""
    texts = {}
    for file in FlagFile:
        with suppress(OSError):
            texts[file] = read_file(path_beside(files, file), SMALL_FILE).decode("utf-8", "replace")
    return flags_in(texts)


def path_beside(files: SetFiles, file: str) -> Path:
    """Return the path of a file that XLA writes for the module of a set: a `FlagFile`, or `MODULE_FILE`."""
    name = files.stem.name
    prefix = module_prefix(name)
    number = changelist(name)
    if number is not None and name.startswith(f"{prefix}cl_{number}."):
        prefix += f"cl_{number}."
    if file in (FlagFile.COMPILE_OPTIONS, FlagFile.TOPOLOGY, MODULE_FILE):
        return files.stem.parent / prefix.rstrip(".") / file
    return files.stem.with_name(prefix + file)


def device_beside(files: SetFiles) -> tuple[str | None, Capacity | None]:
    """The name of the chip and the capacity of the device that the files beside the dump state. What the compiler says
    counts more than the size of the chip, because it is what programs may use.
    """
    if not has_folder(files):
        return None, None
    chip, of_chip = _chip_beside(files)
    flag = flag_capacity(*text_beside(files, FlagFile.TPU_ENVIRONMENT))
    if flag and of_chip and flag.size_bytes >= of_chip.size_bytes:
        # libtpu takes the memory of the chip then.
        flag = None
    found = flag or _capacity_in_logs(files) or of_chip
    return chip, replace(found, chip=chip) if found else None


def has_folder(files: SetFiles) -> bool:
    """Whether a set may have other files beside it. Standard input and unsaved documents are in no folder."""
    return any(map(is_readable, files.paths.values()))


def _chip_beside(files: SetFiles) -> tuple[str | None, Capacity | None]:
    """The name and the capacity of the chip that XLA compiled for."""
    (config, gpu_file), (arguments, tpu_file), (topology, topology_file) = (
        text_beside(files, file) for file in (FlagFile.TARGET_CONFIG, FlagFile.TARGET_ARGUMENTS, FlagFile.TOPOLOGY)
    )
    if chip := gpu_in(config) if config else None:
        return chip.name, chip_capacity(chip, CapacitySource.TARGET_CONFIG, gpu_file)
    if chip := tpu_in(arguments, topology) if arguments or topology else None:
        return chip.name, chip_capacity(chip, CapacitySource.LIBTPU, tpu_file if arguments else topology_file)
    return None, None


def text_beside(files: SetFiles, file: FlagFile) -> tuple[str, str]:
    """The text of a file beside a set, empty if it cannot be read, and its path."""
    path = path_beside(files, file)
    try:
        return read_file(path, SMALL_FILE).decode("utf-8", "replace"), str(path)
    except OSError:
        return "", str(path)


def logs_beside(files: SetFiles) -> tuple[Path, ...]:
    """Return the files beside a set that may be logs of its program. Raises `OSError` if its folder cannot be read."""
    folder = files.stem.parent
    return _logs_in(folder, folder.stat().st_mtime_ns)


def _capacity_in_logs(files: SetFiles) -> Capacity | None:
    """The capacity that the logs beside a set state for its module, None if they state none, or several."""
    try:
        logs = logs_beside(files)
        found = [logged_capacity(_sizes_in(path, stamp_of(path)), files.module, str(path)) for path in logs]
    except OSError:
        return None
    stated = [capacity for capacity in found if capacity]
    return stated[0] if len({capacity.size_bytes for capacity in stated}) == 1 else None


_LOG_NAME: Final = lazy_pattern(
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
            if kind_of_content(stream.read(HEAD)):
                return ()
            stream.seek(0)
            return tuple(logged_sizes(b"".join(log_blocks(stream, str(path), SMALL_FILE))))
    except (OSError, DamagedFile):
        # A file that merely looks like a log has nothing to do with the dump.
        return ()
