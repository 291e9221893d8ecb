"""The compiler backend that wrote a dump set. It decides what the numbers of memory spaces mean."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE, Column, narrowed
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.patterns import lazy_pattern


class Backend(StrEnum):
    """The XLA compiler that wrote the dump."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"


class Where(StrEnum):
    """In which kind of memory a color is. Programs on the CPU have only one, that of the host."""

    DEVICE = "device"
    """The memory whose size decides whether programs fit."""
    CHIP = "chip"
    """Small memories beside the cores of a TPU, and registers."""
    STACK = "stack"
    """Stacks in HBM, which the compiler does not count as memory that the program needs."""
    HOST = "host"


class Space(NamedTuple):
    """What a compiler uses a color for, as a name, and in which kind of memory it is."""

    name: str
    where: Where


SPACES: Final[Mapping[Backend, Mapping[int, Space]]] = {
    Backend.CPU: {0: Space("host memory", Where.DEVICE)},
    Backend.GPU: {
        0: Space("HBM", Where.DEVICE),
        1: Space("collective memory", Where.DEVICE),
        2: Space("preallocated temporaries", Where.DEVICE),
        5: Space("host memory", Where.HOST),
        7: Space("collective memory", Where.DEVICE),
    },
    Backend.TPU: {
        0: Space("HBM", Where.DEVICE),
        1: Space("VMEM", Where.CHIP),
        2: Space("sync flags", Where.CHIP),
        3: Space("CMEM", Where.CHIP),
        4: Space("SMEM", Where.CHIP),
        5: Space("host memory", Where.HOST),
        6: Space("scalar registers", Where.CHIP),
        7: Space("SparseCore stack", Where.STACK),
        8: Space("SparseCore sync flags", Where.CHIP),
        9: Space("pinned HBM", Where.DEVICE),
        10: Space("SparseCore tile sync flags", Where.CHIP),
        11: Space("SparseCore SMEM", Where.CHIP),
        12: Space("SparseCore tile SMEM", Where.CHIP),
        15: Space("SparseCore tile SPMEM", Where.CHIP),
    },
}
"""The colors of each backend. The names in memory usage reports are no help: `GetMemorySpaceName` of XLA knows neither
the backend nor most of the colors, and calls host memory ``cmem``.

- GPU: `MemorySpaceColor` in xla/service/gpu/gpu_memory_space_assignment.h; 5 is `Layout::kHostMemorySpace`. Collective
  memory, which NCCL and RCCL register, is `Layout::kCollectiveMemorySpace`, and had the color 1 before.
- TPU: the table of `jellyfish::MemorySpace` in libtpu 0.0.52. For color 6, it has no memory space: the values are
  scalars in registers. XProf has the same table up to 10 (`GetMemorySpaceName` in hlo_to_memory_analysis.cc). 13 are
  views into other buffers, which have no allocations.
"""

GPU_TEMPORARIES: Final = 2
"""The color of combined temporaries with `--xla_gpu_temp_buffer_use_separate_color`. XLA sets it after it has placed
the values, which keep the color 0 (`BufferAssignment::CombineTempAllocations`).
"""


class SpaceId(Struct, frozen=True, order=True):
    """XLA's number for a memory space or for a part of one, which it calls a color, and the backend; None if that is
    unknown.
    """

    color: int
    backend: Backend | None

    @property
    def name(self) -> str:
        """Its name: ``HBM``, or ``memory space 5`` where the number has no known meaning."""
        known = self._known
        return known.name if known else f"memory space {self.color}"

    @property
    def is_known(self) -> bool:
        """Whether the color has a known meaning."""
        return self._known is not None

    @property
    def is_host(self) -> bool:
        """Whether the color is known to be in the memory of the host, beside that of the device."""
        return self._known is not None and self._known.where is Where.HOST

    @property
    def is_device(self) -> bool:
        """Whether the color is in the memory of the device, which decides whether programs fit. CPUs have no other
        memory. What is not in the host's memory on a GPU is in the GPU's, even if its color is unknown. Of an unknown
        backend, only color 0 is known to be there.
        """
        where, backend = self._known and self._known.where, self.backend
        return where is Where.DEVICE if where else self.color == 0 or backend in (Backend.CPU, Backend.GPU)

    @property
    def memory(self) -> "SpaceId":
        """The color that stands for the memory space: 0 for all colors in the memory of the device."""
        return SpaceId(0, self.backend) if self.is_device else self

    @property
    def _known(self) -> Space | None:
        return SPACES[self.backend].get(self.color) if self.backend else None


def memories(colors: Column, backend: Backend | None) -> Column:
    """Return for each color the one that stands for its memory space. NONE stays NONE."""
    distinct, number = np.unique(colors, return_inverse=True)
    main = [SpaceId(color, backend).memory.color if color != NONE else NONE for color in distinct.tolist()]
    return narrowed(np.array(main, np.int64))[number]


_WORDS: Final = {"hbm": "HBM", "vmem": "VMEM", "smem": "SMEM", "cmem": "CMEM", "host": "host memory"}
_PRINTED: Final = {"default": 0, "vmem": 1, "smem": 2, "hbm": 3, "host": 4, "cmem": 5}
"""The names in memory usage reports (`GetMemorySpaceName`)."""

_NUMBER: Final = lazy_pattern(r"(?:color_|memory space )?(\d{1,9})")


def parse_spaces(text: str) -> frozenset[SpaceId]:
    """Return the memory spaces that a text may mean: ``vmem``, ``7``, the name of a memory space, or one that XLA
    prints in memory usage reports, in any case. Empty if it is none of these.

    A number means the memory space that has that color on each backend. A printed name counts only for backends that
    have nothing of that name, because XLA prints it for a color and does not know the backend.
    """
    text = re.sub(r"[\s_-]+", " ", text.strip().lower()).removesuffix(" memory").replace("color ", "color_")
    if number := _NUMBER.fullmatch(text):
        return frozenset(SpaceId(int(number[1]), backend).memory for backend in (*Backend, None))
    name, printed, found = _WORDS.get(text), _PRINTED.get(text), set[SpaceId]()
    for backend in (*Backend, None):
        known = SPACES[backend] if backend else {}
        color = next((color for color, space in known.items() if space.name == name), printed)
        # A printed name of a part of the device's memory does not mean all of it.
        if color is not None and SpaceId(color, backend).memory.color == color:
            found.add(SpaceId(color, backend))
    return frozenset(found)


_STAGE: Final = lazy_pattern(
    r"\.(?:(?P<tpu>cl_\d+\.)|(?:(?:sm_[\da-z.]+|gfx[\da-z]+)_)?(?P<named>[cg]pu)_)after_optimizations[^/\\]*$"
)
"""The end of file names. XLA puts the backend before the stage; libtpu puts its version there: `cl_1003875606`."""

_BEGIN: Final = lazy_pattern(rb"\*\*\* Begin (\S+) \*\*\*")
"""What `--xla_dump_to=-` prints before each file."""

_TILED: Final = lazy_pattern(rb"\{[\d,]*:[^{}]*?T\(")
"""A layout with tiles, which only the TPU backend prints."""

_CONFIGS: Final = {
    Backend.GPU: lazy_pattern(rb'\\?"operation_queue_id\\?":|custom_call_target="__(?:cublas|cudnn|triton)'),
    Backend.CPU: lazy_pattern(rb'\\?"outer_dimension_partitions\\?":|custom_call_target="(?:__onednn|xla_\w*cpu_)'),
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
    found = next((backend for backend, config in _CONFIGS.items() if any(map(config.search, heads))), None)
    # On CPUs everything has color 0, and TPUs print tiles.
    has_colors = any(file.columns.allocations.color.max(initial=0) > 0 for file in files)
    return found or (Backend.GPU if has_colors else None)


_TEXTS: Final = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES)
