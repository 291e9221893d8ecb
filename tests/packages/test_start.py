"""`start.py`, which starts the server of the extension: where it unpacks libraries."""

import io
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
        self.server, self.storage = folder / "server", folder / "storage"
        cli = self.server / "libraries" / "xla_lens" / "cli"
        cli.mkdir(parents=True)
        (cli / "main.py").write_text(_MAIN)
        (self.server / "libraries" / "numpy").mkdir()
        shutil.copy(_EXTENSION / "start.py", self.server)
        self.bundle("compiled")
        self.is_root = os.getuid() == 0
        self.python = sys.executable
        if self.is_root:
            self.python = shutil.which("python3", path="/usr/bin") or pytest.skip("needs a Python for every user")
        self.storage.mkdir(mode=0o700)
        self.give(self.storage)

    def give(self, path: Path) -> None:
        """Make the user the owner of a file."""
        if self.is_root:
            os.chown(path, _NOBODY, _NOBODY)

    def bundle(self, text: str) -> None:
        """Write the archive of the compiled modules."""
        with tarfile.open(self.server / "compiled.tar.xz", "w:xz") as archive:
            entry = tarfile.TarInfo("numpy/_binding.abi3.so")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))

    def make_read_only(self) -> None:
        """Remove the write permission for all users, as in the store of Nix."""
        for path in (self.server, *self.server.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Start the server."""
        user: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY} if self.is_root else {}
        command = [self.python, "-I", "-S", *map(str, (self.server / "start.py", self.storage / "extension" / "0123"))]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={}, cwd="/", **user)

    def start(self) -> Path:
        """Start the server, check that it runs the bundled modules, and return the folder of its libraries."""
        done = self.run()
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
    assert list(installed.storage.iterdir()) == []


def test_read_only_extension_is_copied_once(installed: Installed) -> None:
    installed.make_read_only()
    folder = installed.start()
    (copy,) = (installed.storage / "extension").iterdir()
    assert folder == copy
    assert copy.name.startswith("0123-")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    before = copy.stat().st_mtime_ns
    assert installed.start() == copy
    assert copy.stat().st_mtime_ns == before


def test_read_only_extension_that_cannot_be_copied_says_why(installed: Installed) -> None:
    installed.make_read_only()
    installed.storage.chmod(0o500)
    done = installed.run()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert str(installed.storage) in done.stderr
