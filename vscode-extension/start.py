"""Starts XLA Lens from the libraries beside this file, without packages of the Python that runs it."""

import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _libraries() -> Path:
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
        return _cached()
    return folder


def _cached() -> Path:
    """Return a copy of the libraries in this user's cache, which is made at the first start. Exits with an error if
    that is impossible, or if another user could have put files there.
    """
    import json

    cache: Path | None = None
    try:
        cache = _cache()
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        digest = json.loads((_HERE / "bundle.json").read_text())["digest"]
        # Without links: they could lead elsewhere when the files are read.
        folder = cache.resolve() / f"{digest}-{sys.implementation.cache_tag}"
        if not folder.exists():
            _make(folder)
        problem = "" if _is_private(folder) else "other users may write here"
    except (OSError, RuntimeError) as error:
        problem = str(error)
    if problem:
        sys.exit(f"{cache or 'no cache'}: {problem}; set XDG_CACHE_HOME to a folder of your own")
    return folder


def _make(folder: Path) -> None:
    """Make a copy of the libraries, which appears only when it is complete."""
    import shutil
    import tempfile
    from contextlib import suppress

    scratch = tempfile.mkdtemp(dir=folder.parent)
    try:
        _fill(Path(scratch))
        with suppress(OSError):
            # Another window may start the server at the same time. Then one of the two copies remains.
            os.rename(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fill(folder: Path) -> None:
    """Copy the libraries into an empty folder and unpack what is compiled. Permissions are not copied: those of a
    read-only store forbid writing.
    """
    import shutil

    source = _HERE / "libraries"
    for path, _, names in os.walk(source):
        target = folder / Path(path).relative_to(source)
        target.mkdir(exist_ok=True)
        for name in names:
            shutil.copyfile(os.path.join(path, name), target / name)
    _unpack(folder)


def _is_private(folder: Path) -> bool:
    """Return whether no other user, except the administrator, can have put files into a folder or can replace it."""
    import stat

    if sys.platform == "win32":
        # The folders for caches are private there.
        return True
    own, me = os.lstat(folder), os.getuid()
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != me or own.st_mode & 0o077:
        return False
    above = [os.stat(parent) for parent in folder.parents]
    # In a sticky folder, such as /tmp, users can replace only what they own.
    is_open = (one.st_mode & 0o022 and not one.st_mode & stat.S_ISVTX for one in above)
    return all(one.st_uid in (0, me) for one in above) and not any(is_open)


def _cache() -> Path:
    """Return this user's folder for files that can be made again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "xla-lens"


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


sys.path.insert(0, str(_libraries()))

if __name__ == "__main__":
    from xla_lens.cli.main import main

    sys.exit(main())
