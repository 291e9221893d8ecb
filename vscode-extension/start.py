"""Starts XLA Lens from the libraries beside this file, without packages of the Python that runs it.

    python -I -S start.py FOLDER ARGUMENTS...

FOLDER gets a copy of the libraries if they cannot be unpacked where they are.
"""

import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _libraries(copy: Path) -> Path:
    """Return the folder of the libraries. At the first start, unpacks what is compiled for this version of Python."""
    folder = _HERE / "libraries"
    marker = folder / f".unpacked-{sys.implementation.cache_tag}"
    if marker.exists():
        return folder
    try:
        _unpack(folder)
        marker.touch()
    except OSError:
        # An administrator has installed the extension, or it is in a store that is read-only, like that of Nix.
        folder = copy.with_name(f"{copy.name}-{sys.implementation.cache_tag}")
        if not folder.exists():
            _copy(folder)
    return folder


def _copy(folder: Path) -> None:
    """Make a copy of the libraries, which appears only when it is complete. Exits with an error if that is impossible.
    Permissions are not copied: those of a read-only store forbid writing.
    """
    import shutil
    import tempfile

    source = _HERE / "libraries"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as scratch:
            for path, _, names in os.walk(source):
                target = scratch / Path(path).relative_to(source)
                target.mkdir(exist_ok=True)
                for name in names:
                    shutil.copyfile(os.path.join(path, name), target / name)
            _unpack(Path(scratch))
            os.rename(scratch, folder)
    except OSError as error:
        # Another window may start the server at the same time. Then one of the two copies remains.
        if not folder.exists():
            sys.exit(f"{folder}: {error}")


def _unpack(folder: Path) -> None:
    """Unpack the modules for this version of Python, and the libraries, which serve all versions."""
    import re
    import shutil
    import tarfile
    import tempfile
    from importlib.machinery import EXTENSION_SUFFIXES

    with tarfile.open(_HERE / "compiled.tar.xz") as archive:
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


if __name__ == "__main__":
    sys.path.insert(0, str(_libraries(Path(sys.argv.pop(1)))))
    from xla_lens.cli.main import main

    sys.exit(main())
