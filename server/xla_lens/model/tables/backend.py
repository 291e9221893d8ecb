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

    @property
    def name(self) -> str:
        """The name of the memory space: ``HBM``, or ``memory space 5`` where the number has no known meaning."""
        return _NAMES.get(self, f"memory space {self.color}")


_NAMES: Final = {
    SpaceId(0, Backend.CPU): "host memory",
    SpaceId(0, Backend.GPU): "HBM",
    SpaceId(1, Backend.GPU): "collective memory",
    SpaceId(5, Backend.GPU): "host memory",
    SpaceId(0, Backend.TPU): "HBM",
    SpaceId(1, Backend.TPU): "VMEM",
    SpaceId(2, Backend.TPU): "SMEM",
    SpaceId(5, Backend.TPU): "host memory",
}
"""The known colors of each backend. XLA has no such table.

Color 5 is host memory, `Layout::kHostMemorySpace`, although memory usage reports call it ``cmem``: in all dumps that
have it, the program keeps arrays in `pinned_host`.
"""

_WORDS: Final = {"hbm": "HBM", "vmem": "VMEM", "smem": "SMEM", "host": "host memory", "collective": "collective memory"}
_PRINTED: Final = {"default": 0, "vmem": 1, "smem": 2, "hbm": 3, "host": 4, "cmem": 5}
"""The names in memory usage reports (`GetMemorySpaceName`)."""

_NUMBER: Final = re.compile(r"(?:color_|memory space )?(\d{1,9})")


def parse_spaces(text: str) -> frozenset[SpaceId]:
    """Return the memory spaces that a text may mean: ``vmem``, ``7``, a name that XLA prints in memory usage reports,
    or the name of a memory space, in any case. Empty if it is none of these. A number means that color on each backend.
    """
    text = re.sub(r"[\s_-]+", " ", text.strip().lower()).removesuffix(" memory").replace("color ", "color_")
    number = _NUMBER.fullmatch(text)
    color = int(number[1]) if number else _PRINTED.get(text)
    printed = {SpaceId(color, backend) for backend in (*Backend, None)} if color is not None else set()
    return frozenset(printed | {space for space, name in _NAMES.items() if name == _WORDS.get(text)})


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
