"""The compiler backend that wrote a dump set. It decides what the numbers of memory spaces mean."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind


class Backend(StrEnum):
    """The XLA compiler that wrote the dump."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"


@dataclass(frozen=True, slots=True, order=True)
class SpaceId:
    """A memory space: XLA's number for it, which it calls a color, and the backend; None if that is unknown."""

    color: int
    backend: Backend | None


_STAGE: Final = re.compile(
    r"\.(?:(?P<tpu>cl_\d+\.)|(?:(?:sm_[\da-z.]+|gfx[\da-z]+)_)?(?P<named>[cg]pu)_)after_optimizations[^/\\]*$"
)
"""The end of file names. XLA puts the backend before the stage; libtpu puts its version there: `cl_1003875606`."""

_BEGIN: Final = re.compile(rb"\*\*\* Begin (\S+) \*\*\*")
"""What `--xla_dump_to=-` prints before each file."""

_TILED: Final = re.compile(rb"\{[\d,]*:[^{}]*?T\(")
"""A layout with tiles, which only the TPU backend prints."""

_CONFIGS: Final = {
    Backend.GPU: re.compile(rb'\\?"operation_queue_id\\?":|custom_call_target="__(?:cublas|cudnn|triton)'),
    Backend.CPU: re.compile(rb'\\?"outer_dimension_partitions\\?":|custom_call_target="(?:__onednn|xla_\w*cpu_)'),
}
"""Backend configurations and custom calls that only one backend prints."""

_SEARCHED_BYTES: Final = 1 << 20


def backend_of(files: Iterable[DumpFile]) -> Backend | None:
    """Return the backend of the files of one set: by their names, else by content that only one backend prints. None
    if neither decides.
    """
    files = tuple(files)
    for file in files:
        begin = _BEGIN.match(file.document.data, 0, _SEARCHED_BYTES)
        match = _STAGE.search(file.label) or (_STAGE.search(begin[1].decode("utf-8", "replace")) if begin else None)
        if match:
            return Backend(match["named"] or Backend.TPU)
    heads = [file.document.data[:_SEARCHED_BYTES] for file in files if file.kind in _TEXTS]
    if any(map(_TILED.search, heads)):
        return Backend.TPU
    return next((backend for backend, config in _CONFIGS.items() if any(map(config.search, heads))), None)


_TEXTS: Final = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES)
