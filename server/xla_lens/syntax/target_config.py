"""The description of a GPU that XLA dumps beside a module: ``module_0001.jit_f.gpu_target_config.pbtxt``.

It is a `GpuTargetConfigProto` as text (`DumpToFileInDirOrStdout` in xla/service/gpu/gpu_compiler.cc).
"""

import re
from typing import Final

TARGET_CONFIG: Final = "gpu_target_config.pbtxt"
"""The end of the name of the file, after the number and the name of the module."""

_MEMORY: Final = re.compile(rb"\bdevice_memory_size:\s*(\d{1,18})\b")


def device_memory(text: bytes) -> int | None:
    """Return all bytes of the GPU's memory, None if the text does not have them."""
    match = _MEMORY.search(text)
    return int(match[1]) if match and int(match[1]) else None
