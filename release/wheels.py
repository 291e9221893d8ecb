"""Builds the wheels of all platforms on one Linux machine.

    python wheels.py FOLDER [--only TAG ...]

Only one file of a wheel differs between platforms, the extension module. Zig's C compiler builds it for each of them,
against the stable ABI of Python 3.11.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform in the terms of wheels and of Zig."""

    tag: str
    """The platform tag of the wheel."""
    target: str
    """Zig's name of the target, with the oldest version of the C library or system to support."""
    machine: str = ""
    """On Windows, the machine of the import library in the terms of `dlltool`."""

    @property
    def is_windows(self) -> bool:
        """Whether the module is a DLL, which is linked with an import library."""
        return bool(self.machine)


PLATFORMS: Final = (
    Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17"),
    Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17"),
    Platform("musllinux_1_2_x86_64", "x86_64-linux-musl"),
    Platform("musllinux_1_2_aarch64", "aarch64-linux-musl"),
    Platform("macosx_11_0_x86_64", "x86_64-macos.11.0"),
    Platform("macosx_11_0_arm64", "aarch64-macos.11.0"),
    Platform("win_amd64", "x86_64-windows-gnu", "i386:x86-64"),
    Platform("win_arm64", "aarch64-windows-gnu", "arm64"),
)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where to write the wheels")
    parser.add_argument(
        "--only", nargs="+", metavar="TAG", choices=[one.tag for one in PLATFORMS], help="only these platforms"
    )
    options = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        unpacked = build_native(scratch)
        headers = copy_headers(scratch)
        for platform in PLATFORMS:
            if not options.only or platform.tag in options.only:
                module = compile_module(platform, headers, scratch)
                print(pack(unpacked, module, platform, options.folder.resolve(), scratch).name, flush=True)


def commit_time() -> str:
    """Return the time of the last commit in seconds, so that each build of a commit gives the same bytes."""
    return run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()


def build_native(scratch: Path) -> Path:
    """Build the wheel of this machine with its own compiler, and return the folder that it is unpacked into."""
    built = scratch / "built"
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(built), str(ROOT))
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "wheel", "unpack", "--dest", str(scratch / "unpacked"), str(wheel))
    (folder,) = (scratch / "unpacked").iterdir()
    return folder


def copy_headers(scratch: Path) -> Path:
    """Copy Python's headers, with a `pyconfig.h` for all platforms instead of that of this machine."""
    folder = scratch / "include"
    shutil.copytree(sysconfig.get_path("include"), folder)
    shutil.copy(HERE / "pyconfig.h", folder)
    return folder


def compile_module(platform: Platform, headers: Path, scratch: Path) -> Path:
    """Compile the extension module for a platform, and return its path."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    (extension,) = settings["ext-modules"]
    folder = scratch / platform.tag
    folder.mkdir()
    module = folder / ("_binding.pyd" if platform.is_windows else "_binding.abi3.so")
    macros = [f"-D{name}={value}" for name, value in extension["define-macros"]]
    includes = [f"-I{path}" for path in (headers, *extension["include-dirs"])]
    # pip builds from source on Windows with Microsoft's compiler, which has neither GNU's extensions nor arrays of
    # variable length.
    flags = ["-std=c11", "-O2", "-DNDEBUG", "-fPIC", "-s", "-Werror=gnu", "-Werror=vla", *macros, *includes]
    if platform.is_windows:
        flags.append(str(import_library(platform, folder)))
    elif "macos" in platform.target:
        flags += ["-undefined", "dynamic_lookup", f"-Wl,-install_name,@rpath/{module.name}"]
    zig("cc", "-target", platform.target, "-shared", "-o", str(module), *extension["sources"], *flags)
    return module


def import_library(platform: Platform, folder: Path) -> Path:
    """Make the import library of `python3.dll`, which forwards the stable ABI to any version of Python."""
    oldest = PyVersion(3, 11)
    names = [one.symbol.name for one in FUNCTIONS.values() if one.added <= oldest]
    names += [f"{one.symbol.name} DATA" for one in DATAS.values() if one.added <= oldest]
    definition, library = folder / "python3.def", folder / "python3.lib"
    definition.write_text("LIBRARY python3.dll\nEXPORTS\n" + "".join(f"{name}\n" for name in sorted(names)))
    zig("dlltool", "-m", platform.machine, "-d", str(definition), "-l", str(library))
    return library


def pack(unpacked: Path, module: Path, platform: Platform, target: Path, scratch: Path) -> Path:
    """Write the wheel of a platform, and return its path."""
    package = unpacked / "tree_sitter_xla_dump"
    for old in package.glob("_binding.*"):
        if old.suffix != ".pyi":
            old.unlink()
    shutil.copy(module, package)
    packed = scratch / f"packed-{platform.tag}"
    packed.mkdir()
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", str(packed), str(unpacked))
    (wheel,) = packed.iterdir()
    tagged = run(sys.executable, "-m", "wheel", "tags", "--platform-tag", platform.tag, str(wheel)).split()[-1]
    return Path(shutil.move(wheel.with_name(tagged), target / tagged))


def zig(*arguments: str) -> None:
    """Run Zig in the root of the project."""
    run(sys.executable, "-m", "ziglang", *arguments, cwd=ROOT)


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command and return its output. Exits with the command's errors if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
