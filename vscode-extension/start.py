"""Starts XLA Lens from the libraries beside this file, without packages of the Python that runs it."""

import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _libraries() -> Path:
    """Return the folder of the libraries. At the first start, unpacks what is compiled for this version of Python."""
    folder = _HERE / "libraries"
    if _marker(folder).exists():
        return folder
    if not os.access(folder, os.W_OK):
        # An administrator has installed the extension.
        folder = _cache() / _HERE.parent.name / "libraries"
        if _marker(folder).exists():
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        _copy(_HERE / "libraries", folder)
    _unpack(_HERE / "compiled.tar.xz", folder)
    _marker(folder).touch()
    return folder


def _marker(folder: Path) -> Path:
    """Return the empty file that says that everything for this version of Python is there."""
    return folder / f".unpacked-{sys.implementation.cache_tag}"


def _cache() -> Path:
    """Return this user's folder for files that can be made again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(base).expanduser() / "xla-lens"


def _copy(source: Path, target: Path) -> None:
    import shutil

    shutil.copytree(source, target, dirs_exist_ok=True)


def _unpack(path: Path, folder: Path) -> None:
    """Unpack the modules for this version of Python, and the libraries, which serve all versions."""
    import re
    import shutil
    import tarfile
    import tempfile
    from importlib.machinery import EXTENSION_SUFFIXES

    with tarfile.open(path) as archive:
        for entry in archive:
            is_of_one_version = re.search(r"\.(cpython-|cp)\d+-", entry.name)
            source = archive.extractfile(entry)
            if source is None or (is_of_one_version and not entry.name.endswith(EXTENSION_SUFFIXES[0])):
                continue
            target = folder / entry.name
            target.parent.mkdir(parents=True, exist_ok=True)
            # Another window may start the server at the same time, so that a file appears only when it is complete.
            with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
                shutil.copyfileobj(source, file)
            os.chmod(file.name, 0o755)
            try:
                os.replace(file.name, target)
            except PermissionError:
                # Windows does not replace a file that is in use. Then the other window has unpacked it.
                os.unlink(file.name)


sys.path.insert(0, str(_libraries()))

if __name__ == "__main__":
    from xla_lens.cli.main import main

    sys.exit(main())
