"""The capacity of the device: where it comes from, and whether a program fits."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import run
from samples import DUMPS, FIELD, SPLIT, TPU, TPU_LOG, analysis_of, facts
from xla_lens.disk.loading import load_set
from xla_lens.disk.sets import find_sets
from xla_lens.memory_map.map_data import space_data
from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import (
    Capacity,
    CapacitySource,
    capacity_of,
    given_capacity,
    over_bytes,
)
from xla_lens.model.chip import HBM_RELEASE, Chip, gpu_in, tpu_in
from xla_lens.model.warrants import Bound
from xla_lens.words.capacity import source_text

GPU = DUMPS / "gpu-h100-jaxlib0.4.38" / "matmul"


CONFIG = """gpu_device_info {
  threads_per_block_limit: 1024
  memory_bandwidth: 732160000000
  device_memory_size: 17066622976
  cuda_compute_capability { major: 6 }
}
platform_name: "CUDA"
"""


HBM_LINE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (44.36G) exceeds available HBM ({}). HLO module: {}.\n"
)
"""The message beside the collection's program that does not fit (libtpu 0.0.51)."""


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[Path], Path]:
    """Copy the folder of a dump, so that files can be put beside it."""

    def copied(source: Path) -> Path:
        target = tmp_path / source.name
        shutil.copytree(source, target)
        return target

    return copied


def load(folder: Path) -> Analysis:
    (files,) = find_sets(folder)
    return load_set(files, {}, {})[1]


def test_dump_alone_states_no_capacity(folder: Callable[[Path], Path]) -> None:
    assert load(folder(TPU.parent)).capacity is None


def test_message_beside_the_dump_states_the_capacity(folder: Callable[[Path], Path]) -> None:
    here = folder(TPU.parent)
    log = here / "train.log"
    log.write_text("step 0\n" + HBM_LINE.format("15.75G", "jit_roundtrip"))
    capacity = load(here).capacity
    assert capacity == Capacity(63 << 28, CapacitySource.OOM_MESSAGE, str(log))
    assert source_text(capacity) == "the out-of-memory message in train.log"


@pytest.mark.parametrize(
    "texts",
    [
        ["step 0\nloss 1.2\n"],
        [HBM_LINE.format("15.75G", "jit_other")],
        [HBM_LINE.format("15.75G", "jit_roundtrip"), HBM_LINE.format("95.74G", "jit_roundtrip")],
        ["RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB.\n"],
    ],
    ids=["no message", "another module", "contradiction", "no capacity"],
)
def test_capacity_is_never_guessed(folder: Callable[[Path], Path], texts: list[str]) -> None:
    here = folder(TPU.parent)
    for number, text in enumerate(texts):
        (here / f"train{number}.log").write_text(text)
    assert load(here).capacity is None


def test_capacity_follows_changes_of_the_log(folder: Callable[[Path], Path]) -> None:
    here = folder(TPU.parent)
    log = here / "error.txt"
    log.write_text(HBM_LINE.format("15.75G", "jit_roundtrip"))
    assert load(here).capacity
    log.write_text(HBM_LINE.format("95.74G", "jit_roundtrip") + "later\n")
    changed = load(here).capacity
    assert changed
    assert changed.size_bytes == round(95.74 * 2**30)


def test_description_of_the_gpu_states_the_capacity(folder: Callable[[Path], Path]) -> None:
    here = folder(GPU)
    (stem,) = {path.name.split(".sm_")[0] for path in here.glob("module_*buffer-assignment.txt")}
    config = here / f"{stem}.gpu_target_config.pbtxt"
    config.write_text(CONFIG)
    capacity = load(here).capacity
    assert capacity == Capacity(17066622976, CapacitySource.TARGET_CONFIG, str(config))
    config.write_text("gpu_device_info {}")
    assert load(here).capacity is None


def test_only_device_memory_has_a_capacity() -> None:
    given = given_capacity(16 << 30)
    for path, expected in ((TPU, ["HBM"]), (SPLIT, [])):
        analysis = analysis_of(path)
        spaces = analysis.memory.spaces
        shown = [space_data(space, given, analysis.capacity) for space in spaces]
        assert [one["name"] for one in shown if one["capacity"]] == expected
        assert sum(capacity_of(space, given) is not None for space in spaces) == len(expected)


def test_program_fits_if_the_device_holds_its_reserved_bytes() -> None:
    analysis = analysis_of(TPU)
    fact = next(fact for fact in facts(DUMPS) if (DUMPS / fact["file"]).parent == TPU.parent)
    reserved = next(space["reserved_bytes"] for space in fact["memory_spaces"] if space["color"] == 0)
    hbm = analysis.memory.spaces[0]
    for more, over in ((0, 0), (1, 0), (-1, 1), (1 - reserved, reserved - 1)):
        assert over_bytes(hbm, reserved + more) == over
    # The peak is lower, but the device must hold the allocations.
    assert hbm.peak_live_bytes < reserved


def test_cut_dump_proves_an_excess_but_no_fit(tmp_path: Path) -> None:
    for path in TPU.parent.glob("*"):
        shutil.copy(path, tmp_path)
    cut = tmp_path / TPU.name
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    hbm = load(tmp_path).memory.spaces[0]
    assert hbm.reserved_bound is Bound.AT_LEAST
    assert over_bytes(hbm, 1 << 40) is None
    assert over_bytes(hbm, 1 << 10) == hbm.reserved_bytes - (1 << 10)


def _report(*arguments: object) -> str:
    return run("report", *arguments)[1]


def test_report_says_whether_the_program_fits(folder: Callable[[Path], Path]) -> None:
    here = folder(TPU.parent)
    log = here / "error.txt"
    log.write_text(HBM_LINE.format("15.75M", "jit_roundtrip"))
    text = _report(here)
    # 12,632,064 of 16,515,072 bytes are reserved, and 12,582,912 are live at the peak.
    assert "It needs 12.05 MiB of 15.75 MiB of HBM (76.5 %) and fits the device: 3.70 MiB stay free." in text
    assert "At most 12.00 MiB are live at once, at step 8" in text
    assert (
        "  device     15.75 MiB (the out-of-memory message in error.txt); arguments 4.00 MiB (25.4 %), temporaries "
        "4.05 MiB (25.7 %), outputs 4.00 MiB (25.4 %)\n"
    ) in text
    log.write_text(HBM_LINE.format("10.00M", "jit_roundtrip"))
    text = _report(here)
    assert "It needs 12.05 MiB of 10.00 MiB of HBM (120.5 %) and does not fit the device: 2.05 MiB too much." in text
    assert "10.00 MiB" in text.partition("What would lower the HBM peak")[2]
    (data,) = json.loads(_report(here, "--output-format", "json"))
    assert data["device"] == {
        "chip": None,
        "size_bytes": 10 << 20,
        "source": "oom-message",
        "file": str(log),
        "over_bytes": 12632064 - (10 << 20),
        "reserved": [
            {"kind": "parameter", "size_bytes": 4194304},
            {"kind": "temp", "size_bytes": 4243456},
            {"kind": "output", "size_bytes": 4194304},
        ],
        "bounds": {},
    }


def test_ranking_has_the_share_of_the_device(folder: Callable[[Path], Path]) -> None:
    here = folder(TPU.parent)
    (here / "error.txt").write_text(HBM_LINE.format("10.00M", "jit_roundtrip"))
    shutil.copytree(SPLIT.parent, here.parent / "cpu")
    lines = _report(here.parent).splitlines()
    assert lines[1] == "  1 does not fit its device."
    header, first, second = (line.split("  ") for line in lines[4:7])
    assert "of device" in " ".join(header)
    assert "120.5 %" in " ".join(first)
    assert "%" not in " ".join(second)
    lines = _report(here.parent, "--budget", "1GiB").splitlines()
    assert "of budget" in lines[4]


# ---------------------------------------------------------------- the chip

V5E = FIELD / "chip_v5e"
"""A set that names its chip in `target_arguments.txt` and in `topology.textproto`."""

V5E_BYTES = 63 << 28


def test_report_names_the_generation_and_compares_with_its_memory() -> None:
    text = _report(V5E)
    assert "It needs 6.0 KiB of 15.75 GiB of HBM and fits the device" in text
    assert f"  device     TPU v5e: 15.75 GiB (what libtpu {HBM_RELEASE} lets a program use)\n" in text
    (data,) = json.loads(_report(V5E, "--output-format", "json"))
    device = data["device"]
    assert (device["chip"], device["size_bytes"], device["source"]) == ("TPU v5e", V5E_BYTES, "libtpu")
    assert device["file"].endswith(".target_arguments.txt")


def test_topology_names_the_chip_if_the_arguments_do_not(folder: Callable[[Path], Path]) -> None:
    here = folder(V5E)
    next(here.glob("*target_arguments.txt")).unlink()
    found = load(here)
    assert found.chip == "TPU v5e"
    assert found.capacity
    assert (found.capacity.size_bytes, Path(found.capacity.file or "").name) == (V5E_BYTES, "topology.textproto")
    next(here.glob("*/topology.textproto")).unlink()
    assert (load(here).chip, load(here).capacity) == (None, None)


ARGUMENTS = """
reserved_hbm_usage_bytes: {reserved}
tpu_topology_args {{
  version: {version}
  {variant}
  chip_config_name: "{config}"
}}
"""


@pytest.mark.parametrize(
    ("version", "variant", "config", "name", "gib"),
    [
        ("TPU_VERSION_JELLYFISH", "", "default", "TPU v2", 7.48),
        ("TPU_VERSION_DRAGONFISH", "", "default", "TPU v3", 15.48),
        ("TPU_VERSION_PUFFERFISH", "", "default", "TPU v4", 15.25),
        ("TPU_VERSION_PUFFERFISH", "", "megacore", "TPU v4", 30.75),
        ("TPU_VERSION_PUFFERFISH", "lite", "default", "TPU v4i", 7.75),
        ("TPU_VERSION_VIPERFISH", "lite", "default", "TPU v5e", 15.75),
        ("TPU_VERSION_VIPERFISH", "", "default", "TPU v5p", 95.73),
        ("TPU_VERSION_VIPERFISH", "", "legacy", "TPU v5p", 47.74),
        ("TPU_VERSION_GHOSTLITE", "", "default", "TPU v6e", 31.24),
        ("TPU_VERSION_6acc60406", "", "default", "TPU7x", 94.74),
        ("TPU_VERSION_6acc60406", "", "of a later release", "TPU7x", None),
    ],
)
def test_each_generation_has_the_memory_that_its_compiler_states(
    version: str, variant: str, config: str, name: str, gib: float | None
) -> None:
    variant = f'variant: "{variant}"' if variant else ""
    text = ARGUMENTS.format(version=version, variant=variant, config=config, reserved=0)
    size_bytes = None if gib is None else round(gib * 2**30)
    assert tpu_in(text, "") == Chip(name, size_bytes)
    # What is kept free is no memory of the program, and nothing shows what the compiler makes of it.
    assert tpu_in(text.replace("bytes: 0", "bytes: 1024"), "") == Chip(name, None)


def test_unknown_chip_has_no_capacity() -> None:
    unknown = ARGUMENTS.format(version="TPU_VERSION_LATER", variant="", config="default", reserved=0)
    assert tpu_in(unknown, "") is None
    assert tpu_in(unknown, 'platform_version: "TFRT TPU v9\\nBuilt"') == Chip("TPU v9", None)
    assert tpu_in("", 'platform_version: "cpu"') is None
    assert gpu_in("gpu_device_info { }") is None


def test_chip_of_unknown_capacity_is_named(folder: Callable[[Path], Path]) -> None:
    here = folder(V5E)
    arguments = next(here.glob("*target_arguments.txt"))
    arguments.write_text(arguments.read_text().replace("reserved_hbm_usage_bytes: 0", "reserved_hbm_usage_bytes: 9"))
    assert "  device     TPU v5e, of unknown capacity\n" in _report(here)
    (data,) = json.loads(_report(here, "--output-format", "json"))
    assert (data["device"]["chip"], data["device"]["size_bytes"], data["device"]["over_bytes"]) == (
        "TPU v5e",
        None,
        None,
    )


def test_gpu_has_the_name_in_its_description() -> None:
    text = f'{CONFIG}device_description_str: "NVIDIA H100 80GB HBM3"'
    assert gpu_in(text) == Chip("NVIDIA H100 80GB HBM3", 17066622976)
    amd = 'gpu_device_info { rocm_compute_capability { gcn_arch_name: "gfx942" } name: "AMD Instinct" }'
    assert gpu_in(amd) == Chip("AMD Instinct gfx942", None)


FITTING = """\
I1128 07:51:35.109811    3479 deepsea_compiler_backend.cc:2125] XLA::TPU module name: {}
I1128 07:51:35.109826    3479 deepsea_compiler_backend.cc:2127] XLA::TPU program HBM usage: 128.56M / 14.75G
I1128 07:51:35.109832    3479 deepsea_compiler_backend.cc:2160] XLA::TPU program VMEM usage: 14.48M / 128.00M
"""
"""What libtpu logs about a program that fits."""


def test_order_of_what_states_the_capacity(folder: Callable[[Path], Path]) -> None:
    here = folder(V5E)

    def capacity() -> tuple[int, CapacitySource, str | None]:
        found = load(here).capacity
        assert found
        return found.size_bytes, found.source, found.chip

    assert capacity() == (V5E_BYTES, CapacitySource.LIBTPU, "TPU v5e")
    log = here / "compile.log"
    log.write_text(FITTING.format("jit_f"))
    assert capacity() == (59 << 28, CapacitySource.COMPILE_LOG, "TPU v5e")
    log.write_text(FITTING.format("jit_other"))
    assert capacity()[1] is CapacitySource.LIBTPU
    log.write_text(HBM_LINE.format("13.75G", "jit_f"))
    assert capacity() == (55 << 28, CapacitySource.OOM_MESSAGE, "TPU v5e")
    # Two compilations had different limits.
    log.write_text(HBM_LINE.format("13.75G", "jit_f") + FITTING.format("jit_f"))
    assert capacity()[1] is CapacitySource.LIBTPU
    log.write_text(FITTING.format("jit_f"))
    flags = here / "module_0000.jit_f.cl_1014260217.tpu_comp_env.txt"
    flags.write_text("xla_tpu_a: true\nxla_tpu_max_hbm_size_mib: 1300\nxla_tpu_z: 1\n")
    assert capacity() == (1300 << 20, CapacitySource.FLAG, "TPU v5e")
    # More than the chip has is no limit, and neither is the default.
    for size in (1 << 20, 0):
        flags.write_text(f"xla_tpu_max_hbm_size_mib: {size}\n")
        assert capacity()[1] is CapacitySource.COMPILE_LOG
    given = load(here).on_device(1 << 30).capacity
    assert given == Capacity(1 << 30, CapacitySource.GIVEN, None, "TPU v5e")


def test_files_about_the_chip_may_hold_anything(folder: Callable[[Path], Path]) -> None:
    here = folder(V5E)
    for name in ("target_arguments.txt", "tpu_comp_env.txt", "gpu_target_config.pbtxt"):
        for data in (b"", b"\x00\xff" * 999, b"tpu_topology_args { " * 9999, TPU_LOG.read_bytes()):
            (here / f"module_0000.jit_f.cl_1014260217.{name}").write_bytes(data)
            assert load(here).memory.spaces


def test_editors_show_the_chip(folder: Callable[[Path], Path]) -> None:
    analysis = load(folder(V5E))
    (space,) = (one for one in analysis.memory.spaces if one.color == 0)
    data = space_data(space, analysis.capacity)
    assert data["capacity"]
    assert data["capacity"]["source"] == f"TPU v5e, what libtpu {HBM_RELEASE} lets a program use"
    assert data["limit"] == "of 15.75 GiB HBM"
