"""What the processes of `xla-lens run` measured of their memory when they ended."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from xla_lens.disk.reading import SMALL_FILE, Stamp, read_file, stamp_of
from xla_lens.disk.sets import SetFiles
from xla_lens.model.process_memory import ProcessMemory, read_measured
from xla_lens.text.patterns import lazy_pattern

_MEASURED: Final = "measured.txt"
"""The name of the file in the folder of a run, `cli.inside.sitecustomize.MEASURED`."""


def measured_in(folder: Path) -> Mapping[int, ProcessMemory]:
    """Return what the processes of a run measured, by their numbers, from the folder of the run."""
    path = folder / _MEASURED
    # The program can put anything in the place of the file.
    with suppress(OSError):
        return _measured(path, stamp_of(path))
    return {}


@lru_cache(maxsize=1)
def _measured(path: Path, _stamp: Stamp) -> Mapping[int, ProcessMemory]:
    return read_measured(os.fsdecode(read_file(path, SMALL_FILE)))


def measured_beside(files: SetFiles) -> ProcessMemory | None:
    """Return what the process measured that wrote a dump under `xla-lens run`, None if that is unknown."""
    for folder in files.stem.parents:
        if found := _PROCESS.fullmatch(folder.name):
            return measured_in(folder.parent).get(int(found[1]))
    return None


_PROCESS: Final = lazy_pattern(r"process-(\d{1,18})", re.ASCII)
"""The name of the folder of a process, as `cli.inside.sitecustomize` makes it."""
