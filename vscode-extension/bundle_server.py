"""Bundles the server with all its dependencies into `server/`, so that the extension needs only a Python.

    python bundle_server.py [--target linux-x64] [--wheel xla_lens-*.whl]

One folder serves all versions of CPython in `PYTHONS`: compiled modules have a version tag in their names, and all
other files of a package are the same for every version. All versions use the releases that pip selects for the oldest
one. The wheel of XLA Lens is built here; pass `--wheel` to bundle for another platform.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")

PLATFORMS: Final = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64", "linux_aarch64"),
    "darwin-x64": ("macosx_14_0_x86_64", "macosx_11_0_x86_64", "macosx_10_13_x86_64", "macosx_10_9_x86_64"),
    "darwin-arm64": ("macosx_14_0_arm64", "macosx_11_0_arm64", "macosx_12_0_arm64"),
    "win32-x64": ("win_amd64",),
}
"""The wheel tags that run on each target platform of VS Code."""

_EXCLUDED: Final = re.compile(r"(^|/)(tests|__pycache__|f2py|include|bin)(/|$)|\.(pyi|h|c|a|lib|pxd|pyx)$")
"""Files that are not needed at run time."""

_BUILD_METADATA: Final = re.compile(
    r"\.dist-info/(RECORD|WHEEL|DELVEWHEEL|INSTALLER|REQUESTED|direct_url\.json)$|^numpy/__config__\.py$"
)
"""Files that describe how a wheel was built or installed. They differ between versions; any of them will do."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=PLATFORMS, default="linux-x64", help="default: linux-x64")
    parser.add_argument("--wheel", type=Path, help="the wheel of XLA Lens for the platform; default: built here")
    options = parser.parse_args()
    libraries = HERE / "server" / "libraries"
    shutil.rmtree(libraries, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = options.wheel or build_wheel(scratch)
        versions = scratch / "versions.txt"
        versions.touch()
        for python in PYTHONS:
            packages = scratch / python
            install(wheel, packages, python, PLATFORMS[options.target], versions)
            versions.write_text("".join(f"{version}\n" for version in installed(packages)))
            merge(packages, libraries)
    about = {"pythons": PYTHONS, "target": options.target}
    (HERE / "server" / "bundle.json").write_text(json.dumps(about) + "\n")
    print(f"bundled for {options.target} and Python {', '.join(PYTHONS)}: {', '.join(installed(libraries))}")


def build_wheel(folder: Path) -> Path:
    """Build the wheel of XLA Lens for this machine."""
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(HERE.parent))
    return next(folder.glob("xla_lens-*.whl"))


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
        elif target.read_bytes() != path.read_bytes() and not _BUILD_METADATA.search(name):
            sys.exit(f"{name} differs between versions of Python, so that they cannot share one folder")


def pip(*arguments: str) -> None:
    """Run pip, with its output on the terminal. Raises `CalledProcessError` if it fails."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    subprocess.run([sys.executable, "-m", "pip", *arguments, *quiet], check=True)


if __name__ == "__main__":
    main()
