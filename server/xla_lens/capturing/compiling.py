"""Programs of this process: compile a jax function once more with a dump, or have a backend write dumps.

The functions that use jax import it, because it takes a second, and `dumping` also works without it.
"""

import functools
import os
import shutil
import sys
import tempfile
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from xla_lens.capturing.capture import Capture, read_captures
from xla_lens.capturing.retracing import retracing
from xla_lens.cli.inside.sitecustomize import completed, devices, own_folder, resident, user_flags
from xla_lens.disk.sets import NotADump
from xla_lens.model.process_memory import ProcessMemory, measured_words
from xla_lens.syntax.oom import read_oom_log
from xla_lens.trying.changes import Change
from xla_lens.trying.process import CannotTry
from xla_lens.words.numbers import shortened

# ---------------------------------------------------------------- compile a function


def capture(function: Any, /, *args: Any, **kwargs: Any) -> Capture:
    """Compile a jax function for some arguments once more, and return where its memory goes.

    Nothing runs, so `args` and `kwargs` may be arrays, also donated ones, or `jax.ShapeDtypeStruct`. `function` is
    anything that jax compiles: a plain function, which is compiled as by `jax.jit`, the result of `jax.jit`,
    `jax.pmap`, `jax.grad`, `equinox.filter_jit` or `nnx.jit`, a wrapper of one of these, or a `Lowered`, which takes no
    arguments. If the compiler runs out of memory, the capture has the error, and the dump all the same.

    Raises what jax raises for a function that cannot be compiled, and `RuntimeError` if the compiler writes no dump.
    """
    lowered = _lowered(function, args, kwargs)
    found = _compiled(lowered)
    relower = None
    if callable(function):
        import jax

        arguments = jax.tree.map(lambda leaf: _Argument(leaf) if isinstance(leaf, jax.Array) else leaf, (args, kwargs))
        relower = functools.partial(_lowered_again, function, arguments)
    found._write_module = functools.partial(_write_module, lowered, relower)
    return found


def _compiled(lowered: Any) -> Capture:
    folder = Path(tempfile.mkdtemp(prefix="xla-lens-"))
    # The user's flags may leave modules out.
    options = {"xla_dump_to": str(folder), "xla_dump_hlo_as_text": True, "xla_dump_hlo_module_re": ".*"}
    compiled = error = None
    try:
        with without_compilation_cache():
            compiled = lowered.compile(compiler_options=options)
    except Exception as raised:
        text = str(raised)
        # A message of the compiler can have another status.
        if "RESOURCE_EXHAUSTED" not in text and not read_oom_log([text.encode("utf-8", "replace")]).messages:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        # Beside the dump, the message also states the capacity.
        (folder / "error.log").write_text(f"{text}\n", encoding="utf-8")
        error = raised
    try:
        found = read_captures(folder)[0]
    except NotADump:
        shutil.rmtree(folder, ignore_errors=True)
        raise error or RuntimeError(
            "capture: the compiler wrote no buffer assignment. XLA's compilers for CPU, GPU and TPU write one; other "
            "backends may not"
        ) from None
    weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    found.compiled, found.error = compiled, error
    found.analysis = replace(found.analysis, measured=_measured())
    return found


def _measured() -> ProcessMemory:
    """What this process has used of its memory until now."""
    found = list[Iterable[object]]()
    # Only some systems and backends can say this.
    with suppress(Exception):
        found += resident()
    with suppress(Exception):
        found += devices()
    return measured_words(found)


def _write_module(lowered: Any, relower: Callable[[], Any] | None, change: Change, path: Path) -> None:
    """Write the module of a function, traced again if a change needs that."""
    found = lowered
    if change.is_traced:
        if relower is None:
            raise CannotTry("a lowered function cannot be traced again: give the function to xla_lens.capture")
        try:
            with retracing(change):
                found = relower()
        except CannotTry:
            raise
        except Exception as error:
            # The user's function may not bear the change.
            raise CannotTry(f"the changed function cannot be traced: {shortened(str(error), _LONGEST)}") from error
    # Those of equinox and flax are wrapped.
    module = getattr(found, "lowered", found).compiler_ir()
    with path.open("wb") as file:
        module.operation.write_bytecode(file)


_LONGEST: Final = 120
"""Maximum characters of a message of jax that are shown."""


class _Argument:
    """An array that this object does not keep in memory. Once it is gone, a `jax.ShapeDtypeStruct` stands for it."""

    def __init__(self, array: Any) -> None:
        import jax

        sharding = array.sharding if getattr(array, "committed", True) else None
        # Keys of random numbers have no type that is weak.
        is_weak = getattr(array, "weak_type", False)
        self._shape = jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding, weak_type=is_weak)
        self._array = weakref.ref(array)

    def get(self) -> Any:
        """Return the array, or its shape."""
        array = self._array()
        return self._shape if array is None else array


def _lowered_again(function: Any, arguments: Any) -> Any:
    """What `_lowered` returns for arguments in which `_Argument` stands for arrays."""
    import jax

    args, kwargs = jax.tree.map(lambda leaf: leaf.get() if isinstance(leaf, _Argument) else leaf, arguments)
    return _lowered(function, args, kwargs)


@contextmanager
def without_compilation_cache() -> Iterator[None]:
    """Switch jax's persistent compilation cache off: a program that is loaded from it writes no buffer assignment.

    The cache stays open once it was used, whatever the switch says, so it is closed before and after.
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    was_enabled = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)  # noqa: FBT003
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", was_enabled)
        compilation_cache.reset_cache()


def _lowered(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `compile` with compiler options can be called on."""
    import jax

    if isinstance(function, jax.stages.Compiled):
        raise TypeError(
            "capture: this function is compiled already, and a compiled program has no dump. Pass the function, or "
            "what `lower` returns"
        )
    if not callable(function):
        is_lowered, has_arguments = hasattr(function, "compile"), bool(args or kwargs)
        if is_lowered and has_arguments:
            raise TypeError("capture: a lowered function takes no arguments; they are part of it")
        if has_arguments or not (is_lowered or hasattr(function, "lower")):
            raise TypeError(f"capture: {type(function).__name__} is neither a function nor a lowered one")
        return function if is_lowered else function.lower()
    found: Any = function
    first, named = args, kwargs
    while True:
        if isinstance(found, functools.partial):
            found, first, named = found.func, (*found.args, *first), {**found.keywords, **named}
        elif isinstance(found, types.MethodType):
            # `lower` of a bound method is that of the function, and would miss `self`.
            found, first = found.__func__, (found.__self__, *first)
        elif hasattr(found, "lower") and found.lower is not getattr(_wrapped(found), "lower", None):
            return found.lower(*first, **named)
        elif _wrapped(found) is not None and not _is_transformation(found):
            found = _wrapped(found)
        else:
            return jax.jit(function).lower(*args, **kwargs)


def _wrapped(wrapper: Any) -> Any:
    """What a wrapper wraps. `functools.wraps` copies the attributes of that, `lower` of an older jax among them."""
    return getattr(wrapper, "__wrapped__", None)


_LIBRARIES: Final = frozenset({"equinox", "flax", "haiku", "jax"})


def _is_transformation(wrapper: Any) -> bool:
    """Whether a wrapper comes from a library, such as that of `jax.grad`, so that it computes something else than what
    it wraps. Wrappers of users, such as one that takes the time, call what they wrap.
    """
    module = getattr(wrapper, "__globals__", {}).get("__name__") or type(wrapper).__module__
    return module.partition(".")[0] in _LIBRARIES


# ---------------------------------------------------------------- have a backend write dumps


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
