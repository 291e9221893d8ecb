"""`xla_lens.dumping`: have a backend of this process write dumps."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from xla_lens.capturing.compiling import without_compilation_cache
from xla_lens.cli.inside.sitecustomize import completed, own_folder, user_flags

_CACHE: Final = "JAX_ENABLE_COMPILATION_CACHE"


@contextmanager
def dumping(folder: str | Path | None = None) -> Iterator[Path]:
    """Have XLA write dumps while a `with` block runs, and give their folder, a new one unless `folder` names it.

    For PyTorch/XLA, TensorFlow, and programs of jax that compile many functions; for one function of jax see
    `capture`. XLA reads `XLA_FLAGS` once in a process: jax and PyTorch/XLA when they open their device, TensorFlow with
    the first program that XLA compiles. So use this once, before that; XLA goes on to write dumps after the block. If
    `XLA_FLAGS` has a folder for dumps already, that is the one. jax's persistent compilation cache is off meanwhile.

    Raises `RuntimeError` if the flags were read already, and at the end of the block if it wrote no dump.
    """
    flags = user_flags(os.environ.get("XLA_FLAGS", ""), "\0")
    given = own_folder(flags)
    if given:
        with _without_cache():
            yield Path(given)
        return
    started = _started()
    if started:
        instead = " For one function, use xla_lens.capture, which needs no flags." if started == "jax" else ""
        raise RuntimeError(
            f"dumping: {started} has opened its device and read XLA_FLAGS: this process can no longer be made to dump. "
            f"Enter `dumping` before the first computation, or start the program with `xla-lens run`.{instead}"
        )
    path = Path(folder).absolute() if folder is not None else Path(tempfile.mkdtemp(prefix="xla-lens-"))
    path.mkdir(parents=True, exist_ok=True)
    before = {*path.iterdir()}
    with _environment({"XLA_FLAGS": completed(flags, "--xla_dump_hlo_as_text", str(path))}), _without_cache():
        yield path
    if before >= {*path.iterdir()}:
        raise RuntimeError(
            f"dumping: no dump was written to {path}. Either XLA compiled nothing in this block, or it had read "
            "XLA_FLAGS before: enter `dumping` before the first computation, or start the program with `xla-lens run`."
        )


def _started() -> str | None:
    """The framework that has surely read the flags. TensorFlow does not tell."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge.backends_are_initialized():
        return "jax"
    torch = sys.modules.get("torch_xla")
    if torch is not None and torch._XLAC._xla_runtime_is_initialized():
        return "PyTorch/XLA"
    return None


@contextmanager
def _without_cache() -> Iterator[None]:
    """Switch the cache off, also for a jax that is imported in the block."""
    if "jax" in sys.modules:
        with without_compilation_cache():
            yield
        return
    with _environment({_CACHE: "false"}):
        yield
    if "jax" in sys.modules:
        import jax

        was_enabled = os.environ.get(_CACHE, "true").lower() in ("y", "yes", "t", "true", "on", "1")
        jax.config.update("jax_enable_compilation_cache", was_enabled)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                del os.environ[name]
            else:
                os.environ[name] = text
