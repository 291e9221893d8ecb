"""`start.py`, which starts the server of the extension: where it unpacks libraries, and which files it never runs."""

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_EXTENSION = Path(__file__).resolve().parents[2] / "vscode-extension"
_NOBODY = 65534
_MAIN = """
from pathlib import Path
def main():
    library = Path(__file__).parents[2]
    print(library)
    print((library / "numpy" / "_binding.abi3.so").read_text())
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX")


class Installed:
    """An extension that is installed below a folder, and the user who starts its server. The user is never root, who
    may write everywhere.
    """

    def __init__(self, folder: Path) -> None:
        self.server, self.cache = folder / "server", folder / "cache"
        cli = self.server / "libraries" / "xla_lens" / "cli"
        cli.mkdir(parents=True)
        (cli / "main.py").write_text(_MAIN)
        (self.server / "libraries" / "numpy").mkdir()
        shutil.copy(_EXTENSION / "start.py", self.server)
        self.bundle("compiled", "0123")
        self.is_root = os.getuid() == 0
        self.python = sys.executable
        if self.is_root:
            self.python = shutil.which("python3", path="/usr/bin") or pytest.skip("needs a Python for every user")
        self.cache.mkdir(mode=0o700)
        self.give(self.cache)

    def give(self, path: Path) -> None:
        """Make the user the owner of a file."""
        if self.is_root:
            os.chown(path, _NOBODY, _NOBODY)

    def bundle(self, text: str, digest: str) -> None:
        """Write the archive of the compiled modules."""
        with tarfile.open(self.server / "compiled.tar.xz", "w:xz") as archive:
            entry = tarfile.TarInfo("numpy/_binding.abi3.so")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        (self.server / "bundle.json").write_text(json.dumps({"digest": digest}))

    def make_read_only(self) -> None:
        """Remove the write permission for all users, as in the store of Nix."""
        for path in (self.server, *self.server.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Start the server."""
        known = {"XDG_CACHE_HOME": str(self.cache), "HOME": "/nonexistent"}
        user: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY} if self.is_root else {}
        command = [self.python, "-I", "-S", str(self.server / "start.py")]
        environment = known | environment
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/", **user)

    def start(self, **environment: str) -> Path:
        """Start the server, check that it runs the bundled modules, and return the folder of its libraries."""
        done = self.run(**environment)
        assert done.returncode == 0, done.stderr
        folder, text = done.stdout.splitlines()
        assert text == "compiled"
        return Path(folder)


@pytest.fixture
def installed() -> Iterator[Installed]:
    """An extension in a folder that every user may read."""
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    yield Installed(folder)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


def test_writable_extension_is_unpacked_in_place(installed: Installed) -> None:
    for path in (installed.server, *installed.server.rglob("*")):
        installed.give(path)
    libraries = installed.server / "libraries"
    assert installed.start() == libraries
    binding = libraries / "numpy" / "_binding.abi3.so"
    before = binding.stat().st_mtime_ns
    assert installed.start() == libraries
    assert binding.stat().st_mtime_ns == before
    assert list(installed.cache.iterdir()) == []


def test_read_only_extension_is_unpacked_into_the_cache_once(installed: Installed) -> None:
    installed.make_read_only()
    folder = installed.start()
    (copy,) = (installed.cache / "xla-lens").iterdir()
    assert folder == copy
    assert copy.name.startswith("0123-")
    assert stat.S_IMODE(copy.stat().st_mode) == stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    before = copy.stat().st_mtime_ns
    assert installed.start() == copy
    assert copy.stat().st_mtime_ns == before


def _stops(installed: Installed, **environment: str) -> bool:
    """Return whether the server does not start, and says what to do."""
    done = installed.run(**environment)
    return done.returncode == 1 and done.stderr.count("\n") == 1 and "XDG_CACHE_HOME" in done.stderr


def test_read_only_extension_without_a_cache_says_what_to_do(installed: Installed) -> None:
    installed.make_read_only()
    installed.cache.chmod(0o500)
    for environment in ({}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "/dev/null/x"}):
        assert _stops(installed, **environment)


def _plant(folder: Path) -> None:
    """Make a copy of the libraries that runs something else."""
    (folder / "xla_lens" / "cli").mkdir(parents=True)
    (folder / "xla_lens" / "cli" / "main.py").write_text("def main(): print('evil')")


def _removed_copy(installed: Installed) -> Path:
    """Remove the folder into which the server has unpacked its libraries, and return its path."""
    installed.make_read_only()
    folder = installed.start()
    shutil.rmtree(folder)
    return folder


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of another user")
@pytest.mark.parametrize("where", ["copy", "link", "above"])
def test_files_of_another_user_never_run(installed: Installed, where: str) -> None:
    copy = _removed_copy(installed)
    if where == "copy":
        _plant(copy)
        copy.chmod(0o755)
    elif where == "link":
        elsewhere = installed.cache.parent / "elsewhere"
        _plant(elsewhere)
        elsewhere.chmod(0o755)
        copy.symlink_to(elsewhere)
    else:
        _plant(copy)
        for path in (copy, *copy.rglob("*")):
            installed.give(path)
        copy.chmod(0o700)
        # The user owns the copy, but another user owns the folder around it and can put any copy there.
        os.chown(installed.cache, 12345, 12345)
        installed.cache.chmod(0o755)
    assert _stops(installed)


def test_copy_that_others_may_change_is_not_used(installed: Installed) -> None:
    copy = _removed_copy(installed)
    assert installed.start() == copy
    copy.chmod(0o777)
    assert _stops(installed)
    copy.chmod(0o700)
    assert installed.start() == copy
    installed.cache.chmod(0o777)
    assert _stops(installed)
    installed.cache.chmod(0o1777)
    assert installed.start() == copy
