"""Programs that can be compiled again, and the process that does it, with limits on its time and memory."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from xla_lens.disk.device import path_beside, read_flags, text_beside
from xla_lens.disk.loading import load_set
from xla_lens.disk.sets import NotADump, SetFiles, find_sets
from xla_lens.model.analysis import Analysis
from xla_lens.model.chip import tpu_in
from xla_lens.model.diff.comparable import device_count
from xla_lens.model.flags import Flags
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import Backend
from xla_lens.model.warrants import Quantity
from xla_lens.syntax.file_names import MODULE_FILE, FlagFile
from xla_lens.syntax.text_proto import read_text_proto
from xla_lens.text.patterns import lazy_pattern
from xla_lens.trying.changes import NEEDS_FUNCTION, Change
from xla_lens.trying.inside import compile_child
from xla_lens.words.numbers import as_given, shortened


class CannotTry(Exception):
    """A change cannot be tried. The message is one line that says what is missing, or what became of it."""


class Limits(Struct, frozen=True):
    """The limits of one compilation: its time, and its memory, None for no limit."""

    seconds: float = 600
    memory_bytes: int | None = None


class Measured(Struct, frozen=True):
    """What a compiled program needs of the main memory of its device, and its peak there, first at `peak_step`. `flops`
    are the floating-point operations of its matrix products and convolutions, with those of each iteration of a loop;
    None if the number of iterations is unknown.
    `is_too_large` says that the compiler ran out of memory after it had assigned the buffers.
    """

    needed_bytes: int
    peak_bytes: int
    peak_step: int | None
    flops: float | None
    is_too_large: bool


class Program(Struct, frozen=True):
    """A module that can be compiled again.

    - `platform` is that of jax, such as cpu or tpu; `topology` what is compiled for without its devices: ``v5e:2x2``.
    - `device_count` is the number of devices that the process needs.
    - `options` are the flags of the compilation, `build_options` what jax tells the compiler beside them.
    - `write_module` writes the module, as StableHLO, of the program with the changes of a `Change` that need its source
      to be traced again. Raises `CannotTry`.
    - `can_trace` says that it can do so.
    - `python` is the Python that has jax.
    """

    platform: str
    topology: str | None
    device_count: int
    options: Mapping[str, str]
    build_options: Mapping[str, Any]
    write_module: Callable[[Change, Path], None]
    can_trace: bool = False
    python: str = field(default_factory=lambda: sys.executable)


# ---------------------------------------------------------------- what a dump tells


def program_of(files: SetFiles, analysis: Analysis) -> Program:
    """Return the program of a dump, whose analysis has the HLO module. Raises `CannotTry` if the dump does not tell
    what it was compiled for.
    """
    backend = analysis.dump.backend
    if backend is None:
        raise CannotTry("the dump does not tell which compiler wrote it")
    named = read_text_proto(text_beside(files, FlagFile.TOPOLOGY)[0]).text("platform_name")
    platform = named or backend.value
    count = device_count(analysis.module)
    if analysis.module is None or count is None:
        raise CannotTry("the dump has no HLO module, which tells for how many devices it was compiled")
    return Program(
        platform=platform,
        topology=_tpu_topology(files, count) if backend is Backend.TPU else None,
        device_count=count,
        options=_options(read_flags(files), platform),
        build_options={
            match[1].decode(): [word == b"true" for word in match[2].split(b",")]
            for match in _PROPAGATION.finditer(analysis.module.data, *analysis.module.header_line)
        },
        write_module=lambda change, path: _copy_module(files, change, path),
    )


def _missing(files: SetFiles, name: str) -> str:
    return f"{path_beside(files, name).as_posix()} is missing"


def _copy_module(files: SetFiles, change: Change, path: Path) -> None:
    if change.is_traced:
        raise CannotTry(NEEDS_FUNCTION)
    try:
        shutil.copyfile(path_beside(files, MODULE_FILE), path)
    except OSError:
        words = "jaxlib writes programs of JAX there; older releases, TensorFlow and PyTorch/XLA do not"
        raise CannotTry(f"{_missing(files, MODULE_FILE)}: {words}") from None


_PROPAGATION: Final = lazy_pattern(rb"\b(allow_spmd_sharding_propagation_to_(?:output|parameters))=\{([a-z,]+)\}")
"""What the first line of an HLO module says about the shardings that the compiler may choose, one for each array."""


_OF_PLATFORM: Final = {"cpu": ("xla_gpu_", "xla_tpu_"), "tpu": ("xla_gpu_", "xla_cpu_")}
"""How the names of flags begin that are about other platforms."""


def _options(flags: Flags, platform: str) -> dict[str, str]:
    """The flags that differ from their defaults. Those about dumps are ours, and repeated ones cannot be passed on."""
    others = _OF_PLATFORM.get(platform, ("xla_cpu_", "xla_tpu_"))
    found = {**(flags.xla.changed or {}), **(flags.tpu.changed or {}), **(flags.overrides.changed or {})}
    skipped = ("xla_dump", "xla_detailed_logging", "xla_force_host_platform_device_count", *others)
    return {
        name: text
        for name, text in found.items()
        if name.startswith("xla_") and not name.startswith(skipped) and ", " not in text and text
    }


_FLAT: Final = ("v2", "v3", "v5e", "v6e")
"""Generations of TPUs whose chips are connected in two dimensions."""


def _tpu_topology(files: SetFiles, device_count: int) -> str:
    """The smallest topology of a generation that has enough devices: ``v5e:2x2``."""
    texts = (text_beside(files, file)[0] or None for file in (FlagFile.TARGET_ARGUMENTS, FlagFile.TOPOLOGY))
    chip = tpu_in(*texts)
    if chip is None or chip.name is None:
        path = path_beside(files, FlagFile.TARGET_ARGUMENTS).as_posix()
        raise CannotTry(f"{path} does not name the generation of the TPU")
    generation = chip.name.removeprefix("TPU ").lower().replace(" ", "")
    sides = [2, 2] if generation in _FLAT else [2, 2, 1]
    per_chip = 1
    while sides[0] * sides[1] * (sides[2] if len(sides) > 2 else 1) * per_chip < device_count:
        smallest = min(range(len(sides)), key=lambda row: (sides[row], -row))
        sides[smallest] *= 2
    return f"{generation}:{'x'.join(map(str, sides))}"


# ---------------------------------------------------------------- compiling


_MEMORY_LIMIT: Final = "memory limit"
"""What `compile_child.py` says when it has used too much memory."""


def measure(program: Program, change: Change, limits: Limits) -> Measured:
    """Compile a program with a change and return what it needs. Raises `CannotTry`, and `KeyboardInterrupt` once the
    process has ended.
    """
    with tempfile.TemporaryDirectory(prefix="xla-lens-try-") as folder:
        return compiled(program, change, limits, Path(folder))[0]


def compiled(program: Program, change: Change, limits: Limits, folder: Path) -> tuple[Measured, SetFiles]:
    """Compile a program with a change in an empty folder. Return what it needs, and its dump. Raises as `measure`."""
    module, result, dumps = folder / "module.mlir", folder / "result.json", folder / "dumps"
    program.write_module(change, module)
    request = {
        "module": str(module),
        "platform": program.platform,
        "topology": program.topology,
        "options": {**program.options, **change.options, **_DUMP_OPTIONS, "xla_dump_to": str(dumps)},
        "build_options": dict(program.build_options),
        "donated": list(change.donated),
        "narrowed": list(change.narrowed),
        "memory_bytes": limits.memory_bytes,
    }
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    _run(program, folder, limits)
    return _measured(dumps, result, folder / "log.txt", limits)


_DUMP_OPTIONS: Final = {"xla_dump_hlo_as_text": "true", "xla_dump_hlo_module_re": ".*"}


def _run(program: Program, folder: Path, limits: Limits) -> None:
    command = [program.python, compile_child.__file__, str(folder / "request.json"), str(folder / "result.json")]
    with (folder / "log.txt").open("wb") as log:
        try:
            # In a session of its own, so that an interrupt from the keyboard reaches this process only.
            process = subprocess.Popen(
                command,
                env=_environment(program),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotTry(f"{program.python} cannot be started: {error.strerror or error}") from error
        try:
            process.wait(limits.seconds)
        except subprocess.TimeoutExpired:
            raise CannotTry(f"stopped after {limits.seconds:g} s, the limit of time") from None
        finally:
            process.kill()
            process.wait()


def _environment(program: Program) -> dict[str, str]:
    """The environment of the process: flags are options of the compilation there, and no device is needed for TPUs."""
    # Below `xla-lens run`, its variables give each process a folder for dumps.
    left_out = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "_XLA_LENS_")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(left_out)}
    environment |= {"JAX_ENABLE_COMPILATION_CACHE": "false", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    environment["JAX_PLATFORMS"] = "cpu" if program.topology else program.platform
    if program.platform == "cpu":
        environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={program.device_count}"
    if program.topology:
        generation = program.topology.partition(":")[0]
        environment |= {
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_ACCELERATOR_TYPE": _ACCELERATORS.get(generation, f"{generation}-8"),
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        }
    return environment


_ACCELERATORS: Final = {"v5e": "v5litepod-4", "v6e": "v6e-4"}
"""The names that libtpu gives to its smallest hosts, where they differ."""


def _measured(dumps: Path, result: Path, log: Path, limits: Limits) -> tuple[Measured, SetFiles]:
    try:
        found = json.loads(result.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise CannotTry(f"the compiler crashed: {shortened(lines[-1], _LONGEST) if lines else 'no message'}") from None
    error = found.get("error") or ""
    if error == _MEMORY_LIMIT:
        raise CannotTry(f"stopped at {as_given(limits.memory_bytes or 0)}, the limit of memory for the compiler")
    is_too_large = "RESOURCE_EXHAUSTED" in error
    if error and not is_too_large:
        if "No module named 'jax" in error:
            error = "its Python has no jax"
        raise CannotTry(shortened(" ".join(error.split()), _LONGEST))
    with suppress(NotADump):
        for files in find_sets(dumps):
            analysis = load_set(files, {}, {})[1]
            space = analysis.memory.space(DEFAULT_COLOR)
            if analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact:
                sizes = (space.needed_bytes, space.peak_live_bytes, space.peak_step) if space else (0, 0, None)
                return Measured(*sizes, found["flops"], is_too_large), files
    raise CannotTry(shortened(" ".join(error.split()), _LONGEST) or "the compiler wrote no buffer assignment")


_LONGEST: Final = 160
"""Maximum characters of a message of the compiler that are shown."""
