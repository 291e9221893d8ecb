"""Flags and devices, read from the files that XLA has written beside the dumps of one program under several flags."""

from pathlib import Path

import pytest

from xla_lens.disk.device import read_flags
from xla_lens.disk.sets import SetFiles
from xla_lens.model.flags import FlagSet, Setting, device_changes, flag_changes, flags_in
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.file_names import FlagFile

_FOLDER = Path(__file__).parent / "flags"
_STEMS = {
    "cpu": "module_0004.jit_f.cpu_after_optimizations",
    "gpu": "module_0001.jit_step.sm_9.0a_gpu_after_optimizations",
    "tpu": "module_0000.jit_update.cl_1014260217.after_optimizations",
}

_YNN = ", ".join(f"LIBRARY_FUSION_TYPE_{name}" for name in ("INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION", "REDUCE"))

_CHANGES = {
    # Set to an empty list, which is not in `debug_options`.
    ("cpu", "default", "ynn_off"): [("xla_cpu_experimental_ynn_fusion_type", _YNN, "")],
    # The `compiler_options` of jax.
    ("cpu", "default", "compiler_options"): [
        ("xla_cpu_enable_fast_math", "false", "true"),
        ("xla_cpu_scheduler_type", "CPU_SCHEDULER_TYPE_DEFAULT", "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"),
    ],
    # Another release has other defaults.
    ("cpu", "release_0.11", "default"): [],
    ("cpu", "release_0.11", "ynn_off"): [],
    # Set to false, which is not in `debug_options`.
    ("gpu", "default", "no_latency_hiding"): [("xla_gpu_enable_latency_hiding_scheduler", None, "false")],
    ("gpu", "default", "device_of_100_MiB"): [],
    ("tpu", "default", "max_hbm_1300"): [("xla_tpu_max_hbm_size_mib", "0", "1300")],
    # From XLA_FLAGS, LIBTPU_INIT_ARGS and `compiler_options`.
    ("tpu", "jaxlib_0.10", "jaxlib_0.10_flags"): [
        ("xla_embed_ir_in_executable", None, "true"),
        ("xla_enable_async_all_gather", "AUTO", "ENABLED"),
        ("xla_jf_conv_input_fusion", "true", "false"),
        ("xla_tpu_enable_latency_hiding_scheduler", "true", "false"),
        ("xla_tpu_memory_bound_loop_optimizer_options", "", "enabled: true"),
        ("xla_tpu_msa_inefficient_use_to_copy_ratio", "0.5", "0.25"),
        ("xla_tpu_rwb_fusion", "true", "false"),
        ("xla_tpu_scoped_vmem_limit_kib", "-1", "20000"),
    ],
}


@pytest.mark.parametrize(("pair", "changes"), [pytest.param(*one, id="-".join(one[0])) for one in _CHANGES.items()])
def test_flags_that_differ_are_named(pair: tuple[str, str, str], changes: list[Setting]) -> None:
    backend, *folders = pair
    old, new = (read_flags(SetFiles(_FOLDER / backend / folder / _STEMS[backend], {})) for folder in folders)
    assert flag_changes(old, new, Backend(backend)) == changes
    assert flag_changes(new, old, Backend(backend)) == [(name, after, before) for name, before, after in changes]
    assert not flag_changes(old, old, Backend(backend))


def test_memory_of_the_device_is_a_property_of_it() -> None:
    old, new = (
        read_flags(SetFiles(_FOLDER / "gpu" / folder / _STEMS["gpu"], {}))
        for folder in ("default", "device_of_100_MiB")
    )
    assert device_changes(old, new) == [("device_memory_size", "84942979072", "104857600")]
    assert not device_changes(old, old)


def test_name_and_memory_of_the_device_come_first() -> None:
    gpu = 'gpu_device_info {{ core_count: {} device_memory_size: {} name: "{}" }} device_description_str: "{}"'
    old, new = (
        flags_in({FlagFile.TARGET_CONFIG: gpu.format(*values)}) for values in ((132, 9, "A", "A"), (78, 5, "B", "B"))
    )
    assert [one.name for one in device_changes(old, new)] == ["name", "device_memory_size", "core_count"]
    tpu = 'replica_count: {0} tpu_topology_args {{ version: {0} variant: "lite" host_bounds {{ x: {0} }} }}'
    old, new = (flags_in({FlagFile.TARGET_ARGUMENTS: tpu.format(number)}) for number in (1, 2))
    assert device_changes(old, new) == [("version", "1", "2"), ("host_bounds.x", "1", "2")]


def _debug(text: str, every: str | None = None) -> dict[FlagFile, str]:
    files = {FlagFile.DEBUG_OPTIONS: text}
    return files if every is None else files | {FlagFile.CONFIG: f"debug_options {{ {every} }}"}


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        pytest.param(_debug("a: 1"), _debug("a: 1 b: 2"), [("b", None, "2")], id="default"),
        pytest.param(_debug("a: 1 a: 2"), _debug("a: 2"), [("a", "1, 2", "2")], id="list"),
        pytest.param(_debug(""), {}, [], id="unknown"),
        pytest.param(_debug(""), _debug("a: 3", "a: 3"), [("a", None, "3")], id="all-flags-of-one"),
        pytest.param(_debug("", "a: 3"), _debug("a: 4", "a: 4"), [("a", "3", "4")], id="default-known"),
        # What is not in `debug_options` and not empty is a default.
        pytest.param(_debug("", "a: true"), _debug("", "a: false"), [("a", "true", "false")], id="false"),
        pytest.param(_debug("", "a: 1"), _debug("", "a: 0"), [("a", "1", "0")], id="zero"),
        pytest.param(
            _debug("", "a: x a: y"), _debug("", "b: false"), [("a", "x, y", ""), ("b", None, "false")], id="empty"
        ),
        # Both have defaults, so the releases differ, and no other value tells of a flag.
        pytest.param(_debug("", "a: 5 b: true"), _debug("", "a: 6 b: false"), [], id="release"),
        pytest.param(_debug("", "b: true"), _debug("", "a: 6 b: false"), [], id="new-flag"),
        pytest.param(_debug("", "a: 5"), _debug("b: 1", "a: 6 b: 1"), [("b", None, "1")], id="release-and-flag"),
        # Files and logs.
        pytest.param(
            _debug('xla_dump_to: "a" xla_gpu_cuda_data_dir: "x" xla_gpu_dump_llvmir: true'),
            _debug('xla_dump_to: "b" xla_gpu_cuda_data_dir: "y" xla_detailed_logging: true'),
            [],
            id="output",
        ),
        pytest.param(
            _debug("xla_gpu_a: 1"),
            _debug("xla_cpu_a: 1 xla_tpu_a: 1 xla_a: 1"),
            [("xla_a", None, "1"), ("xla_gpu_a", "1", None)],
            id="other-backend",
        ),
        pytest.param(
            _debug('xla_backend_extra_options { key: "xla_x" value: "1" } m { key: "k" value: "2" } n { s: 1 t: 2 }'),
            _debug(""),
            [("m.k", "2", None), ("n", "s: 1, t: 2", None), ("xla_x", "1", None)],
            id="messages",
        ),
    ],
)
def test_values_of_flags(
    old: dict[FlagFile, str], new: dict[FlagFile, str], changes: list[tuple[str, str | None, str | None]]
) -> None:
    assert flag_changes(flags_in(old), flags_in(new), Backend.GPU) == changes
    assert flag_changes(flags_in(new), flags_in(old), Backend.GPU) == [(one, new, old) for one, old, new in changes]


def test_options_of_one_compilation_count_unless_all_flags_are_known() -> None:
    """Without `tpu_comp_env.txt`, only the options of the compilation tell of flags for TPUs."""
    option = 'env_option_overrides { key: "xla_tpu_a" value { int_field: 5 } }'
    old, new = flags_in({FlagFile.COMPILE_OPTIONS: ""}), flags_in({FlagFile.COMPILE_OPTIONS: option})
    assert flag_changes(old, new, Backend.TPU) == [("xla_tpu_a", None, "5")]
    every = flags_in({FlagFile.COMPILE_OPTIONS: option, FlagFile.TPU_ENVIRONMENT: "xla_tpu_a: 5"})
    assert not flag_changes(
        flags_in({FlagFile.COMPILE_OPTIONS: "", FlagFile.TPU_ENVIRONMENT: "xla_tpu_a: 5"}), every, None
    )


def test_effort_of_the_compiler_counts() -> None:
    old, new = (
        flags_in({FlagFile.COMPILE_OPTIONS: f"executable_build_options {{ memory_fitting_level: EFFORT_O{level} }}"})
        for level in (1, 2)
    )
    assert flag_changes(old, new, None) == [("memory_fitting_level", "EFFORT_O1", "EFFORT_O2")]


def test_damaged_files_are_read_without_errors(tmp_path: Path) -> None:
    stem = tmp_path / _STEMS["tpu"]
    assert read_flags(SetFiles(stem, {})).xla == FlagSet()
    for number, file in enumerate(FlagFile):
        path = tmp_path / f"module_0000.jit_update.cl_1014260217.{file}"
        if number % 3 == 0:
            path.write_bytes(bytes(range(256)) * 100)
        elif number % 3 == 1:
            path.mkdir()
        else:
            path.write_text("a {" * 10_000)
    flags = read_flags(SetFiles(stem, {}))
    assert flag_changes(flags, flags, None) == device_changes(flags, flags) == []
