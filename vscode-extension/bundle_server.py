"""Puts the server and all that it needs into `server/`, for the extension to start without anything installed.

    python bundle_server.py [--target linux-x64] [--wheel xla_lens-*.whl]

One folder serves all CPythons of `PYTHONS`: what is compiled for one of them has its tag in its name, and all else of a
package is the same for all. The versions that the oldest Python gets are used for all. The wheel of XLA Lens itself is
built here, and has to be given for a platform that is not this one.
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
"""By the names that VS Code has for them, the tags of wheels that run there."""

_LEFT_OUT: Final = re.compile(r"(^|/)(tests|__pycache__|f2py|include|bin)(/|$)|\.(pyi|h|c|a|lib|pxd|pyx)$")
"""Parts of packages that nothing needs at run time."""

_OF_ONE_BUILD: Final = re.compile(
    r"\.dist-info/(RECORD|WHEEL|DELVEWHEEL|INSTALLER|REQUESTED|direct_url\.json)$|^numpy/__config__\.py$"
)
"""Files that tell how a wheel was built or installed: one of them will do."""


def main() -> None:
    """Runs the command line."""
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
    """Builds the wheel of XLA Lens for this machine."""
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(HERE.parent))
    return next(folder.glob("xla_lens-*.whl"))


def install(wheel: Path, folder: Path, python: str, platforms: tuple[str, ...], versions: Path) -> None:
    """Unpacks a wheel and all that it needs, as one version of Python on some platform needs it."""
    tags = [part for platform in platforms for part in ("--platform", platform)]
    where = ["--target", str(folder), "--python-version", python, "--implementation", "cp", *tags]
    pip("install", "--no-compile", "--only-binary", ":all:", "--constraint", str(versions), *where, str(wheel))


def installed(folder: Path) -> list[str]:
    """The packages in a folder and their versions, but for XLA Lens itself."""
    names = (path.name.removesuffix(".dist-info") for path in sorted(folder.glob("*.dist-info")))
    return [name.replace("-", "==", 1) for name in names if not name.startswith("xla_lens-")]


def merge(packages: Path, libraries: Path) -> None:
    """Adds the packages of one Python to those of others. Ends with an error where two files of one name differ."""
    for path in sorted(packages.rglob("*")):
        name = path.relative_to(packages).as_posix()
        if path.is_dir() or _LEFT_OUT.search(name):
            continue
        target = libraries / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
        elif target.read_bytes() != path.read_bytes() and not _OF_ONE_BUILD.search(name):
            sys.exit(f"{name} is not the same for all Pythons: they cannot share one folder")


def pip(*arguments: str) -> None:
    """Runs pip; what it says stands on the terminal. Raises `CalledProcessError` if it fails."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    subprocess.run([sys.executable, "-m", "pip", *arguments, *quiet], check=True)


if __name__ == "__main__":
    main()
