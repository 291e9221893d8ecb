"""What a dump tells about how to compile it again, and how the process that compiles ends."""

import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from samples import DUMPS
from xla_lens.disk.loading import load_module_or_finding, load_set
from xla_lens.disk.sets import SetFiles, find_set
from xla_lens.model.analysis import Analysis
from xla_lens.trying.changes import Change, Checkpoint
from xla_lens.trying.process import CannotTry, Limits, Program, measure, program_of


def _loaded(path: Path) -> tuple[SetFiles, Analysis]:
    files = find_set(path)
    analysis = load_set(files, {}, {})[1]
    return files, replace(analysis, module=load_module_or_finding(files, {}, analysis).module)


def _copied(pattern: str, folder: Path) -> tuple[SetFiles, Analysis]:
    """A dump of the collection in a folder of its own."""
    source = next(DUMPS.glob(pattern))
    for file in source.parent.glob(f"{source.name.split('.')[0]}.*"):
        if file.is_file():
            shutil.copy(file, folder)
    return _loaded(folder / source.name)


_CPU = "cpu-jaxlib0.10.2/donate_lora/*-buffer-assignment.txt"
_TPU = "tpu-7x-libtpu0.0.52/switch/*jit_sw.*-buffer-assignment.txt"


def test_platform_devices_and_flags_are_those_of_the_dump(tmp_path: Path) -> None:
    files, analysis = _copied(_CPU, tmp_path)
    flags = tmp_path / f"{files.stem.name.partition('.cpu_')[0]}.debug_options"
    flags.write_text('xla_dump_to: "d"\nxla_cpu_use_thunk_runtime: false\nxla_gpu_autotune_level: 0\nxla_test: true\n')
    cpu = program_of(files, analysis)
    assert (cpu.platform, cpu.topology, cpu.device_count) == ("cpu", None, 1)
    assert cpu.options == {"xla_cpu_use_thunk_runtime": "false", "xla_test": "true"}


@pytest.mark.parametrize(
    ("version", "variant", "devices", "topology"),
    [
        ("VIPERFISH", "lite", 1, "v5e:2x2"),
        ("VIPERFISH", "lite", 8, "v5e:2x4"),
        ("VIPERFISH", "", 8, "v5p:2x2x2"),
        ("GHOSTLITE", "", 16, "v6e:4x4"),
        ("6acc60406", "", 1, "tpu7x:2x2x1"),
    ],
)
def test_a_tpu_is_named_by_its_smallest_topology(
    tmp_path: Path, version: str, variant: str, devices: int, topology: str
) -> None:
    files, analysis = _copied(_TPU, tmp_path)
    with pytest.raises(CannotTry, match=r"target_arguments\.txt does not name the generation of the TPU"):
        program_of(files, analysis)
    text = f'tpu_topology_args {{ version: TPU_VERSION_{version} variant: "{variant}" }}'
    arguments = files.stem.name.partition("after_optimizations")[0]
    (tmp_path / f"{arguments}target_arguments.txt").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xla_lens.trying.process.device_count", lambda _module: devices)
        program = program_of(files, analysis)
    assert (program.platform, program.device_count, program.topology) == ("tpu", devices, topology)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    files, analysis = _copied(_CPU, tmp_path)
    program = program_of(files, analysis)
    with pytest.raises(CannotTry, match=r"/module\.mlir is missing: jaxlib writes programs of JAX there"):
        measure(program, Change(), Limits())
    with pytest.raises(CannotTry, match="needs the function itself"):
        measure(program, Change(checkpoints=(Checkpoint("f", None),)), Limits())
    with pytest.raises(CannotTry, match="no HLO module"):
        program_of(files, replace(analysis, module=None))


def _write(_change: Change, path: Path) -> None:
    path.write_text("module {}")


def test_a_process_that_cannot_compile_says_why(tmp_path: Path) -> None:
    program = Program("cpu", None, 1, {}, {}, _write, python=str(tmp_path / "no-python"))
    with pytest.raises(CannotTry, match=r"no-python cannot be started: No such file"):
        measure(program, Change(), Limits())
    # A package of this name shadows any jax.
    (tmp_path / "jax").mkdir()
    shadow = tmp_path / "jax" / "__init__.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        here = replace(program, python=sys.executable)
        for line, message in (
            ("raise ImportError(\"No module named 'jax'\")", "its Python has no jax"),
            ("raise ValueError('bad\\n option')", "ValueError: bad option"),
            ("import os; os.write(2, b'first\\nF0000 check failed\\n'); os.abort()", "crashed: F0000 check failed"),
        ):
            shadow.write_text(line)
            with pytest.raises(CannotTry, match=message):
                measure(here, Change(), Limits())
