"""The packaged extensions: those in `XLA_LENS_DIST`, or the one for this machine that `make test-editors` builds."""

import importlib.machinery
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.binaries import platform_of

_ROOT = Path(__file__).resolve().parents[2]
_VSIXES = sorted(Path(os.environ.get("XLA_LENS_DIST", _ROOT / "vscode-extension" / "dist")).glob("*.vsix"))

_PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

_PLATFORMS = {
    "linux-x64": "linux x86_64",
    "linux-arm64": "linux aarch64",
    "alpine-x64": "linux x86_64",
    "darwin-x64": "macos x86_64",
    "darwin-arm64": "macos aarch64",
    "win32-x64": "windows x86_64",
}

_COMPILED = ("numpy/_core/_multiarray_umath", "numpy/linalg/_umath_linalg", "tree_sitter/_binding")
"""Modules that are compiled separately for each version of Python."""

_LIBRARIES = "/numpy.libs/"
"""The folder of the libraries that numpy brings."""

_FILES = {
    "package.json", "readme.md", "changelog.md", "LICENSE.txt", "dist/extension.js", "dist/ThirdPartyNotices.txt",
    "server/libraries/xla_lens/memory_map/page.js", "server/libraries/xla_lens/memory_map/page.css",
}  # fmt: skip

_FOLDERS = {"dist", "languages", "media", "server"}
_LARGEST = 20_000_000
_OLDEST_GLIBC = 28
"""The minor version of glibc 2 that the wheels of numpy need at least."""

pytestmark = pytest.mark.skipif(not _VSIXES, reason="needs a packaged extension: make vsix")


def _target(vsix: Path) -> str:
    return vsix.stem.removeprefix("xla-lens-")


@pytest.fixture(params=_VSIXES, ids=_target)
def vsix(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def files(vsix: Path) -> dict[str, bytes]:
    """The files of an extension by their names in its folder."""
    with zipfile.ZipFile(vsix) as archive:
        names = [name for name in archive.namelist() if name.startswith("extension/") and not name.endswith("/")]
        return {name.removeprefix("extension/"): archive.read(name) for name in names}


def _compiled(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files in the archive that start.py unpacks, and the libraries of numpy."""
    folder = "server/libraries/"
    libraries = {name.removeprefix(folder): data for name, data in files.items() if _LIBRARIES in name}
    with tarfile.open(fileobj=io.BytesIO(files["server/compiled.tar.xz"])) as archive:
        entries = {entry.name: archive.extractfile(entry) for entry in archive}
        return libraries | {name: file.read() for name, file in entries.items() if file}


def test_compiled_files_are_for_the_platform_and_each_python(vsix: Path, files: dict[str, bytes]) -> None:
    target = _target(vsix)
    if target == "universal":
        assert not [name for name in files if name.startswith("server/") and "/memory_map/page." not in name]
        return
    bundle = json.loads(files["server/bundle.json"])
    assert re.fullmatch("[0-9a-f]{32}", bundle.pop("digest"))
    assert bundle == {"pythons": _PYTHONS, "target": target}
    compiled = _compiled(files)
    assert {platform_of(data) for data in compiled.values()} == {_PLATFORMS[target]}
    for module in _COMPILED:
        found = {re.search(r"\.(?:cpython-|cp)3(\d+)-", name) for name in compiled if name.startswith(f"{module}.")}
        assert {f"3.{one[1]}" for one in found if one} == set(_PYTHONS), module
    suffix = "pyd" if target.startswith("win32") else "abi3.so"
    own = compiled[f"tree_sitter_xla_dump/_binding.{suffix}"]
    assert max(map(int, re.findall(rb"GLIBC_2\.(\d+)", own)), default=0) <= _OLDEST_GLIBC


def test_package_is_small_and_has_no_superfluous_files(vsix: Path, files: dict[str, bytes]) -> None:
    superfluous = re.compile(
        r"/tests?/|node_modules/|^(src|map|test|shared)/|\.(ts|map|pyc|pyi|h|c|so|pyd|dylib|dll)$|/py\.typed$"
        r"|/(RECORD|WHEEL|INSTALLER|direct_url\.json)$"
    )
    assert [name for name in files if superfluous.search(name) and _LIBRARIES not in name] == []
    assert files.keys() >= _FILES
    assert {name.partition("/")[0] for name in files if "/" in name} == _FOLDERS
    # Source maps would be named in a comment, and the machine that built the package in a path.
    assert [name for name, data in files.items() if name.endswith(".js") and b"sourceMappingURL=" in data] == []
    assert [name for name, data in files.items() if str(_ROOT).encode() in data] == []
    assert vsix.stat().st_size < _LARGEST


def test_each_library_has_its_license(files: dict[str, bytes]) -> None:
    folders = {re.sub(r"(\.dist-info)/.*", r"\1", name) for name in files if ".dist-info/" in name}
    texts = {
        re.sub(r"-[\d.]+\.dist-info", "", folder.rpartition("/")[2]): b"".join(
            data for name, data in files.items() if name.startswith(f"{folder}/licenses/")
        ).decode()
        for folder in folders
    }
    terms = re.compile("Permission|Redistribution and use|LICENSE|Mozilla Public License")
    assert [name for name, text in texts.items() if not terms.search(text)] == []
    if texts:
        assert "Max Brunsfeld" in texts["xla_lens"]
        # numpy brings libraries of others.
        for name in {re.split(r"[-.]", Path(path).name)[0] for path in _compiled(files) if "numpy.libs/" in path}:
            written = re.sub(r"lib(scipy_)?|64_", "", name).split("_")[0]
            assert written.lower() in texts["numpy"].lower(), name
    assert b"vscode-languageclient\n\n" in files["dist/ThirdPartyNotices.txt"]
    assert b"markdown-it\n\n" in files["server/libraries/xla_lens/memory_map/page.js"].rpartition(b"/*!")[2]


@pytest.fixture
def unpacked() -> Iterator[Path]:
    """A folder that every user may read, with the extension for this machine."""
    found = [path for path in _VSIXES if _target(path) == "linux-x64"]
    if not found or os.uname().machine != "x86_64" or sys.platform != "linux":
        pytest.skip("needs the extension for this machine")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with zipfile.ZipFile(found[0]) as archive:
        archive.extractall(folder)
    yield folder
    shutil.rmtree(folder)


def _start(folder: Path, *arguments: str | Path, **options: Any) -> str:
    program = folder / "extension" / "server" / "start.py"
    done = subprocess.run(
        ["/usr/bin/env", sys.executable, "-I", "-S", program, folder / "copy", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_server_unpacks_what_this_python_needs_once(unpacked: Path) -> None:
    libraries = unpacked / "extension" / "server" / "libraries"
    dump = _ROOT / "tests" / "dumps" / "cpu-jaxlib0.12.0.1" / "mlp_train"
    assert "It needs " in _start(unpacked, "report", dump)
    modules = {path: path.stat().st_mtime_ns for path in libraries.rglob("*.so")}
    own = importlib.machinery.EXTENSION_SUFFIXES[0]
    assert {path.name.partition(".")[2] for path in modules if ".libs" not in path.parent.name} == {own[1:], "abi3.so"}
    assert "It needs " in _start(unpacked, "report", dump)
    assert {path: path.stat().st_mtime_ns for path in libraries.rglob("*.so")} == modules
