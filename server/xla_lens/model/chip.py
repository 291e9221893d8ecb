"""The chip that XLA compiled for, as the files beside a dump name it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from xla_lens.syntax.text_proto import read_text_proto


class Chip(Struct, frozen=True):
    """A GPU or a TPU. `name` is None if a GPU has none. `memory_bytes` is all memory of a GPU, and what the compiler
    lets a program use of the HBM of a TPU; None if it is unknown.
    """

    name: str | None
    memory_bytes: int | None


def gpu_in(config: str) -> Chip | None:
    """Return the GPU that a `GpuTargetConfigProto` in text format describes, None if it names none and has no size."""
    fields = read_text_proto(config)
    size = fields.text("gpu_device_info", "device_memory_size") or ""
    name = fields.text("device_description_str") or fields.text("gpu_device_info", "name") or ""
    # The name of AMD's GPUs says no more than that.
    name = " ".join(filter(None, (name, fields.text("gpu_device_info", "rocm_compute_capability", "gcn_arch_name"))))
    size_bytes = int(size) if size.isdecimal() and len(size) <= _MAX_DIGITS else 0
    return Chip(name or None, size_bytes or None) if name or size_bytes else None


_MAX_DIGITS: Final = 18


def tpu_in(arguments: str | None, topology: str | None) -> Chip | None:
    """Return the TPU that the arguments of libtpu's compiler or else the topology of a compilation name, both in text
    format, None if neither does.
    """
    fields = read_text_proto(arguments or "")
    target = fields.message("tpu_topology_args")
    name = _VERSIONS.get((target.text("version") or "", target.text("variant") or ""))
    if name:
        # A part of the memory that a compilation keeps free is not the program's.
        is_whole = fields.text("reserved_hbm_usage_bytes") in (None, "0")
        return Chip(name, _hbm_bytes(name, target.text("chip_config_name")) if is_whole else None)
    platform = read_text_proto(topology or "").text("platform_version") or ""
    kind = platform.partition("\n")[0].removeprefix("TFRT ")
    if not kind.startswith("TPU"):
        return None
    name = _KINDS.get(kind, kind)
    return Chip(name, _hbm_bytes(name, "default"))


_VERSIONS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("TPU_VERSION_JELLYFISH", ""): "TPU v2",
        ("TPU_VERSION_DRAGONFISH", ""): "TPU v3",
        ("TPU_VERSION_PUFFERFISH", ""): "TPU v4",
        ("TPU_VERSION_PUFFERFISH", "lite"): "TPU v4i",
        ("TPU_VERSION_VIPERFISH", ""): "TPU v5p",
        ("TPU_VERSION_VIPERFISH", "lite"): "TPU v5e",
        ("TPU_VERSION_GHOSTLITE", ""): "TPU v6e",
        ("TPU_VERSION_6acc60406", ""): "TPU7x",
    }
)
"""The names of generations by `tpu_topology_args.version` and `variant`."""

_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {"TPU v4 lite": "TPU v4i", "TPU v5": "TPU v5p", "TPU v5 lite": "TPU v5e", "TPU v6 lite": "TPU v6e"}
)
"""The names of generations by what PjRt calls them (`Device.device_kind` of jax), if that is another name."""

HBM_RELEASE: Final = "0.0.52"
"""The release of libtpu that printed the sizes in `HBM`."""

HBM: Final[Mapping[str, Mapping[float, str]]] = MappingProxyType(
    {
        "TPU v2": {7.48: "default", 7.98: "inference"},
        "TPU v3": {15.48: "default", 15.98: "inference"},
        "TPU v4": {
            15.25: "default legacy",
            15.75: "legacy_dense",
            16.00: "inference legacy_inference",
            30.75: "megacore",
            31.75: "megacore_dense",
            32.00: "megacore_inference",
        },
        "TPU v4i": {7.75: "default", 8.00: "inference"},
        "TPU v5e": {15.75: "default", 16.00: "inference"},
        "TPU v5p": {
            47.74: "legacy legacy_sparse_core",
            95.73: "default megacore megachip megachip_tccontrol mpmd",
            95.98: "inference",
        },
        "TPU v6e": {31.24: "default legacy legacy_sparse_core megachip megachip_tccontrol mpmd", 31.49: "inference"},
        "TPU7x": {94.74: "default legacy legacy_sparse_core megachip megachip_tccontrol mpmd", 94.99: "inference"},
    }
)
"""The GiB of HBM of a device, `exceeds available HBM (15.75G)`, and the configurations of the chip for which libtpu
prints them (`chip_config_name`): measured by compiling a program that is too large, ahead of time, for each
configuration that libtpu has. A device is a chip, or one of its cores where the configuration does not join them.
"""


def _hbm_bytes(name: str, config: str | None) -> int | None:
    sizes = (size for size, configs in HBM.get(name, {}).items() if (config or "default") in configs.split())
    return next((round(size * 2**30) for size in sizes), None)
