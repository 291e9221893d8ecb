"""The names of the files of a dump set.

All files of a set share one stem (`FilenameFor` and `DumpHloModuleIfEnabled` in xla/service/dump.cc)::

    module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt
    module_0001.jit_f.cpu_after_optimizations-live-range.txt
    module_0001.jit_f.cpu_after_optimizations.txt                     the scheduled HLO module
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from xla_lens.text.patterns import lazy_pattern


class FileKind(StrEnum):
    """What a file of a dump set contains. Before jaxlib 0.9.2 (2026), the buffer assignment contained values and live
    ranges, too.
    """

    BUFFER_ASSIGNMENT = "buffer-assignment"
    VALUES = "values"
    LIVE_RANGE = "live-range"
    MEMORY_USAGE_REPORT = "memory-usage-report"
    HLO = "hlo"


SUFFIXES: Final = {
    FileKind.VALUES: "-buffer-assignment-values.txt",
    FileKind.BUFFER_ASSIGNMENT: "-buffer-assignment.txt",
    FileKind.LIVE_RANGE: "-live-range.txt",
    FileKind.MEMORY_USAGE_REPORT: "-memory-usage-report.txt",
    FileKind.HLO: ".txt",
}
"""The suffixes of the names. The last one fits any text file and identifies nothing by itself."""


COMPRESSED: Final = (".gz", ".zst")
"""The suffixes that `gzip` and `zstd` add to the name of a file."""


def uncompressed_name(name: str) -> str:
    """Return the name that a file has before it is compressed."""
    return name[: name.rindex(".")] if name.endswith(COMPRESSED) else name


def split_name(name: str) -> tuple[str, FileKind | None]:
    """Return the stem of a file's name and the kind that its suffix implies, None if it implies none. A compressed file
    has the stem and the kind of the file in it.
    """
    name = uncompressed_name(name)
    for kind, suffix in SUFFIXES.items():
        if kind is not FileKind.HLO and name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix), kind
    return name.removesuffix(SUFFIXES[FileKind.HLO]), None


class FlagFile(StrEnum):
    """The files about the flags of the compiler and the device, all of them protocol buffers in text format, by the
    ends of their names. Before these are the number and the name of the module, and the changelist of libtpu.
    """

    DEBUG_OPTIONS = "debug_options"
    """The flags of XLA that differ from their defaults (`DumpNonDefaultDebugOptions` in xla/service/dump.cc)."""
    CONFIG = "config.pbtxt"
    """An `HloModuleConfigProto`, for GPUs (`DumpHloConfigIfEnabled`). It has all flags of XLA."""
    MODULE_CONFIG = "hlo_module_config.txt"
    """The same for TPUs."""
    TPU_ENVIRONMENT = "tpu_comp_env.txt"
    """All flags of the compiler for TPUs, also those from `LIBTPU_INIT_ARGS` and from the options of a compilation."""
    TARGET_CONFIG = "gpu_target_config.pbtxt"
    """The GPU: a `GpuTargetConfigProto` (`DumpToFileInDirOrStdout` in xla/service/gpu/gpu_compiler.cc)."""
    TARGET_ARGUMENTS = "target_arguments.txt"
    """The TPU."""
    COMPILE_OPTIONS = "compile_options.textproto"
    """A `CompileOptionsProto`, in a folder with the name of the module. It has all flags of XLA."""
    TOPOLOGY = "topology.textproto"
    """A `PjRtTopologyDescriptionProto`, which names the TPU, in the same folder."""


MODULE_FILE: Final = "module.mlir"
"""The program as jax gave it to the compiler, in StableHLO, in the same folder."""


def module_name(name: str) -> str | None:
    """Return the name of the HLO module from the name or path of a file, None if it contains none: XLA leaves out names
    that are longer than a file name may be.
    """
    match = _MODULE.search(name)
    return match[1] if match else None


def module_number(name: str) -> int | None:
    """Return the number of the HLO module from the name or path of a file, None if it contains none."""
    match = _NUMBER.search(name)
    return int(match[1]) if match else None


def changelist(name: str) -> int | None:
    """Return the changelist of the libtpu that wrote a file, from its name or path, None if it contains none."""
    match = _CHANGELIST.search(name)
    return int(match[1]) if match else None


def module_prefix(name: str) -> str:
    """Return what the names of all files of an HLO module begin with, ``module_0001.jit_f.``, also of those that are in
    no dump set. Empty if the name has no such part.
    """
    module = _MODULE.search(name)
    return name[: module.end("module") + 1] if module else (_ANY_MODULE.match(name) or ("",))[0]


def is_from_cache(name: str, names: Iterable[str]) -> bool:
    """Whether a file, by its name and the names of all files in its folder, is an HLO module that was loaded from JAX's
    compilation cache. XLA writes the module without the backend's prefix then, and nothing else that it writes when it
    compiles (PjRt's deserialization calls DumpHloModuleIfEnabled without a buffer assignment).
    """
    stem, kind = split_name(name)
    module = module_prefix(name)
    if kind is not None or not module or stem != f"{module}{_CACHED_STAGE}":
        return False
    written = (f"{module}before_optimizations", f"{stem}{SUFFIXES[FileKind.BUFFER_ASSIGNMENT]}")
    return not any(other.startswith(written) for other in names)


def is_proto(name: str) -> bool:
    """Whether a file, by its name, is a protocol buffer of an HLO module (`--xla_dump_hlo_as_proto`)."""
    return bool(_ANY_MODULE.match(name)) and uncompressed_name(name).endswith(".pb")


_CACHED_STAGE: Final = "after_optimizations"

_ANY_MODULE: Final = lazy_pattern(r"module_\d{4,}\.")

_CHANGELIST: Final = lazy_pattern(r"\.cl_(\d{1,18})\.[^/\\]*$")

_NUMBER: Final = lazy_pattern(r"(?:^|[/\\.])module_(\d{4,18})\.[^/\\]*$")

_MODULE: Final = lazy_pattern(
    r"(?:^|[/\\.])module_\d{4,}\.(?P<module>(?!cl_\d+\.(?:before|after)_optimizations).+?)(?:\.cl_\d+)?"
    r"\.(?:(?:(?:sm_[\da-z.]+|gfx[\da-z]+)_)?[cg]pu_)?(?:before|after)_optimizations[^/\\]*$"
)
