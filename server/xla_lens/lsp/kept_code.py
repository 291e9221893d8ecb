"""Keeps what libraries compile while the server starts, for its next start.

attrs and cattrs write methods and converters as text and compile them. For the types of lsprotocol, that is a third of
what an editor waits for the first answer. As with the bytecode of modules, the first start saves what it has compiled
in the folder `__pycache__`, and later ones load it. What was compiled of a text stays right for that text, so that
nothing has to be known of the versions of the libraries.
"""

import __future__

import builtins
import inspect
import marshal
import os
import sys
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path
from types import CodeType
from typing import Any, Final, TypeAlias

_Texts: TypeAlias = dict[tuple[str, str, int], CodeType]
"""Code by its text, the name of its file, and the flags of the `from __future__` that count for it."""

_FUTURE: Final = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


def default_path() -> Path | None:
    """Return where to keep the code, None if Python writes no bytecode."""
    cached = __spec__.cached if __spec__ else None
    return Path(cached).with_suffix(".libraries.pyc") if cached and not sys.dont_write_bytecode else None


def keep_code(path: Path | None) -> None:
    """From now on, have `compile` look up what it has compiled before, in earlier processes, too."""
    builtins.compile = _Compiler(builtins.compile, path)


def save_code() -> None:
    """Save what was compiled since `keep_code`, and end its effect. Does nothing without it."""
    compiler: Any = builtins.compile
    if isinstance(compiler, _Compiler):
        builtins.compile = compiler.original
        compiler.save()


class _Compiler:
    """A `compile` that keeps the code of whole texts."""

    def __init__(self, original: Any, path: Path | None) -> None:
        self.original, self._path = original, path
        self._known, self._used = _read(path), _Texts()
        """The code of earlier processes, and that of this one."""

    def __call__(self, source: Any, filename: Any, mode: Any, *options: Any, **named: Any) -> Any:
        # Whoever gives options is neither attrs nor cattrs. The import system does, and keeps its own code.
        if mode != "exec" or options or named or not isinstance(source, str) or not isinstance(filename, str):
            return self.original(source, filename, mode, *options, **named)
        # The `from __future__` of the caller counts, not those of this module.
        frame = inspect.currentframe()
        flags = frame.f_back.f_code.co_flags & _FUTURE if frame and frame.f_back else 0
        key = source, filename, flags
        code = self._known.get(key) or self.original(source, filename, mode, flags, dont_inherit=True)
        self._used[key] = code
        return code

    def save(self) -> None:
        """Write the code that this process has used, for the next one. Does nothing if the folder is read-only."""
        # Some texts are new each time: attrs writes a random number into the hashes of classes.
        is_known = len(self._used.keys() & self._known.keys()) * 2 >= len(self._used)
        if self._path is None or is_known:
            return
        # Several servers may start at once.
        own = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            own.write_bytes(marshal.dumps((sys.version, self._used)))
            own.replace(self._path)


def _read(path: Path | None) -> _Texts:
    """Read the code that an earlier process has saved, empty if there is none for this version of Python."""
    # The file may be damaged.
    with suppress(OSError, EOFError, ValueError, TypeError):
        version, known = marshal.loads(path.read_bytes()) if path else ("", {})
        if version == sys.version and isinstance(known, dict):
            return known
    return {}
