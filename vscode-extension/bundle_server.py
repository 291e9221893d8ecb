"""Bundles the server with all its dependencies into `server/`, so that the extension needs only a Python.

    python bundle_server.py [--target linux-x64] [--wheels FOLDER]

One folder serves all versions of CPython in `PYTHONS`: compiled modules have a version tag in their names, and all
other files of a package are the same for every version. All versions use the releases that pip selects for the oldest
one. The compiled modules of the versions are alike, so that one compressed archive of them takes a third of the space
of single files; `start.py` unpacks it once. The libraries that numpy brings stay out of it, since unpacking them would
take as long again. The wheel of XLA Lens is built here; pass `--wheels` to bundle for another platform. The target
`universal` has no server, only the page of the memory map.
"""

import argparse
import hashlib
import json
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")

PLATFORMS: Final = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64", "linux_aarch64"),
    "alpine-x64": ("musllinux_1_2_x86_64",),
    "darwin-x64": ("macosx_14_0_x86_64", "macosx_11_0_x86_64", "macosx_10_13_x86_64", "macosx_10_9_x86_64"),
    "darwin-arm64": ("macosx_14_0_arm64", "macosx_11_0_arm64", "macosx_12_0_arm64"),
    "win32-x64": ("win_amd64",),
}
"""The wheel tags that run on each target platform of VS Code."""

UNIVERSAL: Final = "universal"
"""The target without a server."""

_EXCLUDED: Final = re.compile(
    r"(^|/)(tests|__pycache__|include|bin)(/|$)|(\.(pyi|h|c|a|lib|pxd|pyx)|/py\.typed)$"
    r"|^numpy/(_pyinstaller|core|distutils|doc|f2py|fft|polynomial|random|testing|_core/lib)/"
    r"|^numpy/(conftest|matlib|_configtool|typing/mypy_plugin)\.py$|^numpy/_core/_(simd|\w+_tests)\.|^cattr/"
    r"|\.dist-info/(RECORD|WHEEL|DELVEWHEEL|INSTALLER|REQUESTED|direct_url\.json|top_level\.txt)$"
)
"""Files that the server does not need. numpy imports the packages here only for those who use them. Of a library's
metadata, only its description and its licenses matter."""

_GCC: Final = "GCC runtime library, GPL-3.0-or-later WITH GCC-exception-3.1; LICENSE.txt contains both"
_UNNAMED: Final = {
    "libgcc_s": _GCC,
    "libstdc++": _GCC,
    "msvcp140": "Microsoft Visual C++ runtime, Copyright (c) Microsoft Corporation; redistributed as the license "
    "terms of Microsoft Visual Studio permit",
}
"""Libraries in some wheels of numpy that numpy's own notices do not name, with their licenses."""

_COMPILED: Final = re.compile(r"^(?!numpy\.libs/).+\.(so|pyd|dylib)$")
"""Compiled modules, and on macOS the libraries that they use."""

_ARCHIVE: Final = ({"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 32 << 20},)
"""The dictionary spans the same module of two versions, since the files are sorted by name."""

_BUILD_METADATA: Final = "numpy/__config__.py"
"""A file that describes how a wheel was built. It differs between versions; any of them will do."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=(*PLATFORMS, UNIVERSAL), default="linux-x64", help="default: linux-x64")
    parser.add_argument(
        "--wheels", type=Path, metavar="FOLDER", help="the wheels of XLA Lens; default: one is built for this machine"
    )
    options = parser.parse_args()
    server = HERE / "server"
    libraries = server / "libraries"
    shutil.rmtree(server, ignore_errors=True)
    if options.target == UNIVERSAL:
        page = Path("xla_lens", "memory_map")
        shutil.copytree(
            HERE.parent / "server" / page, libraries / page, ignore=shutil.ignore_patterns("*.py", "__pycache__")
        )
        return
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if not options.wheels:
            pip("wheel", "--no-deps", "--wheel-dir", name, str(HERE.parent))
        wheel = wheel_for(options.target, options.wheels or scratch)
        versions = scratch / "versions.txt"
        versions.touch()
        for python in PYTHONS:
            packages = scratch / python
            install(wheel, packages, python, PLATFORMS[options.target], versions)
            versions.write_text("".join(f"{version}\n" for version in installed(packages)))
            merge(packages, libraries)
    name_libraries(libraries)
    archive_compiled(libraries, server / "compiled.tar.xz")
    shutil.copy(HERE / "start.py", server)
    about = {"pythons": PYTHONS, "target": options.target, "digest": digest(server)}
    (server / "bundle.json").write_text(json.dumps(about) + "\n")
    print(f"bundled for {options.target} and Python {', '.join(PYTHONS)}: {', '.join(installed(libraries))}")


def wheel_for(target: str, folder: Path) -> Path:
    """Return the wheel of XLA Lens in a folder for a target. Exits with an error if there is not exactly one."""
    found = [path for tag in PLATFORMS[target] for path in folder.glob(f"xla_lens-*-{tag}.whl")]
    if len(found) != 1:
        sys.exit(f"{folder} has {len(found)} wheels of XLA Lens for {target}")
    return found[0]


def install(wheel: Path, folder: Path, python: str, platforms: tuple[str, ...], versions: Path) -> None:
    """Install a wheel and its dependencies for a version of Python and a platform."""
    tags = [part for platform in platforms for part in ("--platform", platform)]
    where = ["--target", str(folder), "--python-version", python, "--implementation", "cp", *tags]
    pip("install", "--no-compile", "--only-binary", ":all:", "--constraint", str(versions), *where, str(wheel))


def installed(folder: Path) -> list[str]:
    """Return the packages in a folder with their versions, without XLA Lens itself."""
    names = (path.name.removesuffix(".dist-info") for path in sorted(folder.glob("*.dist-info")))
    return [name.replace("-", "==", 1) for name in names if not name.startswith("xla_lens-")]


def merge(packages: Path, libraries: Path) -> None:
    """Merge the packages for one Python into those for others. Exits with an error if two files of one name differ."""
    for path in sorted(packages.rglob("*")):
        name = path.relative_to(packages).as_posix()
        if path.is_dir() or _EXCLUDED.search(name):
            continue
        target = libraries / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
        elif target.read_bytes() != path.read_bytes() and name != _BUILD_METADATA:
            sys.exit(f"{name} differs between versions of Python, so that they cannot share one folder")


def name_libraries(libraries: Path) -> None:
    """Add the licenses that numpy's notices lack."""
    names = sorted(path.name for path in libraries.glob("numpy.libs/*"))
    lines = [f"{name}: {text}\n" for name in names for start, text in _UNNAMED.items() if name.startswith(start)]
    if lines:
        (folder,) = libraries.glob("numpy-*.dist-info/licenses")
        (folder / "LICENSE.libraries.txt").write_text("".join(lines), "utf-8")


def archive_compiled(libraries: Path, archive: Path) -> None:
    """Move all compiled modules into an archive. The same files give the same bytes."""

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755
        return entry

    with lzma.open(archive, "wb", filters=_ARCHIVE) as compressed, tarfile.open(fileobj=compressed, mode="w") as tar:
        for path in sorted(libraries.rglob("*")):
            name = path.relative_to(libraries).as_posix()
            if _COMPILED.search(name):
                tar.add(path, name, filter=anonymous)
                path.unlink()


def digest(folder: Path) -> str:
    """Return a hash of all files in a folder."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for part in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
            found.update(b"%d:%b" % (len(part), part))
    return found.hexdigest()[:32]


def pip(*arguments: str) -> None:
    """Run pip, with its output on the terminal. Raises `CalledProcessError` if it fails."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    subprocess.run([sys.executable, "-m", "pip", *arguments, *quiet], check=True)


if __name__ == "__main__":
    main()
