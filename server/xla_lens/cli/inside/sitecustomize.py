"""Runs first in every Python below `xla-lens run`, and gives its process a dump folder of its own.

XLA reads `XLA_FLAGS` from the environment of C when it first compiles. `os.environ` is Python's own copy of it. Here
only the environment of C has our flags, whatever the program assigns, and the program sees the variable as its user
set it. The folder of this file is first on `PYTHONPATH`; the user's own `sitecustomize` runs afterwards.

The Python is the user's, so this file has to work with any Python 3 and imports only what every Python has loaded. In
Python 2 it does nothing, but it must compile there: types are in comments.
"""

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUN = "_XLA_LENS_RUN"
"""The variable with the folder of the run."""

FLAGS = "_XLA_LENS_FLAGS"
"""The variable with our flags except for the folder. They mark where the user's flags end."""

FOLDERS = "folders.txt"
"""The file in the folder of the run that lists folders which the program has chosen itself, one per line."""

CACHE_OFF = "cache-off"
"""The file in the folder of the run that is there if a process would have used JAX's compilation cache."""

MEASURED = "measured.txt"
"""The file in the folder of the run with what processes measured when they ended: a line for each number, of words
separated by tabs. The first two are the process and what was measured:

- `resident`, bytes: the most memory of the host that the process had at once.
- `device`, its name, a name of `memory_stats`, bytes.
- `arrays`, type and shape, count, bytes: arrays of JAX that were alive at the end.
- `programs`, count, bytes of their temporaries, those of the largest, bytes of their code: programs that JAX had loaded
  at the end.
"""

_DUMP_TO = "--xla_dump_to="
_AS_TEXT = "--xla_dump_hlo_as_text"


def quoted(text):
    # type: (str) -> str
    """Return the value of a flag as XLA reads it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if set(text) & set(" \t\n\r\"'\\") else text


def own_folder(flags):
    # type: (str) -> str
    """Return the folder to which the last --xla_dump_to in some flags dumps, empty without one."""
    value = flags.rpartition(_DUMP_TO)[2] if _DUMP_TO in flags else ""
    if value[:1] not in ("'", '"'):
        return (value.split() or [""])[0] if value[:1].strip() else ""
    found, rest = "", iter(value[1:])
    for character in rest:
        if character == value[0]:
            break
        found += next(rest, "") if character == "\\" and value[0] == '"' else character
    return found


def user_flags(flags, ours):
    # type: (str, str) -> str
    """Return flags without ours, which end them. A value that is the name of a file stands for its text, as in XLA."""
    flags = flags.partition(ours)[0]
    if not flags.strip() or flags.lstrip().startswith("-"):
        return flags
    with open(flags) as file:
        return file.read()


def completed(flags, ours, folder):
    # type: (str, str, str) -> str
    """Return a user's flags with ours, which dump to a folder. A folder that the user has chosen stays."""
    if own_folder(flags):
        return flags if _AS_TEXT in flags else flags + " " + _AS_TEXT
    return (flags.rstrip() + " " + ours + " " + _DUMP_TO + quoted(folder)).lstrip()


def process_folder(run):
    # type: (str) -> str
    """Return the folder to which this process dumps. XLA makes it."""
    return os.path.join(run, "process-" + str(os.getpid()))


def _start():
    # type: () -> None
    """Complete the flags in the environment of C now, and whenever this process or a fork of it changes them."""
    run, ours = os.environ[RUN], os.environ[FLAGS]
    environ = os.environ  # type: Any
    real_putenv, real_unsetenv = os.putenv, os.unsetenv
    encode, name = environ.encodekey, environ.encodekey("XLA_FLAGS")
    data = environ._data

    def complete(value):
        # type: (Any) -> None
        try:
            flags = user_flags(os.fsdecode(value), ours)
            real_putenv(name, environ.encodevalue(completed(flags, ours, process_folder(run))))
        except Exception:
            # XLA reports what is wrong with the flags.
            real_putenv(name, value)
            return
        if own_folder(flags):
            try:
                _append(os.path.join(run, FOLDERS), os.path.abspath(own_folder(flags)) + "\n")
            except Exception:
                # The disk may be full. The report lacks this folder.
                pass

    def putenv(key, value):
        # type: (Any, Any) -> None
        if key in (name, "XLA_FLAGS", b"XLA_FLAGS"):
            complete(value)
        else:
            real_putenv(key, value)

    def unsetenv(key):
        # type: (Any) -> None
        if key in (name, "XLA_FLAGS", b"XLA_FLAGS"):
            complete(encode(""))
        else:
            real_unsetenv(key)

    os.putenv, os.unsetenv = putenv, unsetenv
    for each in (environ, getattr(os, "environb", environ)):  # type: Any
        if hasattr(each, "putenv"):
            # Before Python 3.9
            each.putenv, each.unsetenv = putenv, unsetenv
    inherited = user_flags(environ.get("XLA_FLAGS", ""), ours).rstrip(" ")
    if inherited:
        data[name] = environ.encodevalue(inherited)
    else:
        data.pop(name, None)
    complete(data.get(name, encode("")))
    atexit.register(_note_cache, run)
    atexit.register(_note, run, resident)
    _before_jax_ends(run)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: complete(data.get(name, encode(""))))


def _append(path, text):
    # type: (str, str) -> None
    """Append a text to a file. If the program has made a FIFO of it, fail instead of waiting for a reader."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags, 0o666)
    try:
        os.write(file, os.fsencode(text))
    finally:
        os.close(file)


def _note_cache(run):
    # type: (str) -> None
    """Note that JAX has a compilation cache that it did not use."""
    try:
        config = getattr(sys.modules.get("jax"), "config", None)  # type: Any
        if getattr(config, "jax_compilation_cache_dir", None) and not config.jax_enable_compilation_cache:
            _append(os.path.join(run, CACHE_OFF), "")
    except Exception:
        # The disk may be full, or this is an old release of JAX without the flag.
        pass


def _before_jax_ends(run):
    # type: (str) -> None
    """Measure the devices at exit before JAX closes them. What is registered last runs first."""
    real_register = atexit.register  # type: Any

    def note():
        # type: () -> None
        _note(run, devices)

    def register(function, *arguments, **options):
        # type: (Any, Any, Any) -> Any
        result = real_register(function, *arguments, **options)
        if str(getattr(function, "__module__", "")).partition(".")[0] == "jax":
            atexit.unregister(note)
            real_register(note)
        return result

    atexit.register = register  # type: ignore[assignment]


def _note(run, measure):
    # type: (str, Any) -> None
    """Note what is measured, if this process has compiled something."""
    try:
        if any(name in sys.modules for name in _COMPILERS) or os.path.isdir(process_folder(run)):
            process = str(os.getpid())
            text = "".join("\t".join([process] + [str(word) for word in words]) + "\n" for words in measure())
            if text:
                _append(os.path.join(run, MEASURED), text)
    except Exception:
        # Nothing is known then. The program may be ending because something is broken.
        pass


_COMPILERS = ("jax", "tensorflow", "torch_xla")


def resident():
    # type: () -> Any
    """Yield the most memory of the host that this process had at once, where the system tells it without an import."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                yield "resident", int(line.split()[1]) * 1024


def devices():
    # type: () -> Any
    """Return what JAX knows of its devices, its live arrays by type and shape, and its programs."""
    jax, bridge = sys.modules.get("jax"), sys.modules.get("jax._src.xla_bridge")  # type: Any, Any
    warnings = sys.modules.get("warnings")
    if jax is None or bridge is None or warnings is None or not bridge.backends_are_initialized():
        return []
    # Whatever a newer JAX says about these functions must not be in the output of the program.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(_statistics(jax))
        try:
            # Only some backends can say this.
            found += _programs(jax)
        except Exception:
            pass
        return found


def _statistics(jax):
    # type: (Any) -> Any
    for device in jax.local_devices():
        for name, size in (device.memory_stats() or {}).items():
            if name in _STATISTICS:
                yield "device", device, name, int(size)
    found = {}  # type: Any
    for array in jax.live_arrays():
        key = str(array.dtype) + "[" + ",".join(map(str, array.shape)) + "]"
        count, size = found.get(key, (0, 0))
        found[key] = count + 1, size + array.nbytes
    for key, (count, size) in sorted(found.items(), key=lambda item: -item[1][1])[:_MOST_ARRAYS]:
        yield "arrays", key, count, int(size)


def _programs(jax):
    # type: (Any) -> Any
    programs = jax.local_devices()[0].client.live_executables()
    stats = [program.get_compiled_memory_stats() for program in programs] if len(programs) <= _MOST_PROGRAMS else []
    temporaries = [each.temp_size_in_bytes for each in stats]
    code = sum(each.generated_code_size_in_bytes for each in stats)
    return [("programs", len(stats), sum(temporaries), max(temporaries), code)] if stats else []


_MOST_PROGRAMS = 1000
_STATISTICS = ("peak_bytes_in_use", "bytes_limit", "largest_free_block_bytes")
_MOST_ARRAYS = 100


def _run_next():
    # type: () -> None
    """Run the `sitecustomize` that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    if sys.version_info[0] == 2:
        import imp

        try:
            found = imp.find_module("sitecustomize")
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    if sys.version_info[0] > 2 and RUN in os.environ and FLAGS in os.environ:
        try:
            _start()
        except Exception as error:
            try:
                sys.stderr.write("xla-lens: no dumps of this process: " + str(error) + "\n")
            except Exception:
                # Standard error is closed or full.
                pass
    _run_next()
