"""The wheels in `XLA_LENS_DIST`: right binaries, nothing superfluous, licenses. `make wheels` runs these tests."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from packages.binaries import platform_of

_ROOT = Path(__file__).resolve().parents[2]
_DIST = Path(os.environ.get("XLA_LENS_DIST", _ROOT / "dist"))
_WHEELS = sorted(_DIST.glob("*.whl"))

_PLATFORMS = {
    "manylinux_2_17_x86_64": "linux x86_64",
    "manylinux_2_17_aarch64": "linux aarch64",
    "musllinux_1_2_x86_64": "linux x86_64",
    "musllinux_1_2_aarch64": "linux aarch64",
    "macosx_11_0_x86_64": "macos x86_64",
    "macosx_11_0_arm64": "macos aarch64",
    "win_amd64": "windows x86_64",
    "win_arm64": "windows aarch64",
}

pytestmark = pytest.mark.skipif(not _WHEELS, reason="needs wheels: make wheels")

lief = pytest.importorskip("lief", reason="needs the tools of a release: make wheels")


def _tag(wheel: Path) -> str:
    return wheel.stem.partition("-abi3-")[2]


@pytest.fixture(params=_WHEELS, ids=_tag)
def wheel(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def _module(wheel: Path) -> tuple[str, bytes]:
    """The name and the bytes of the only compiled file."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.search(r"\.(so|pyd|dll|dylib)$", name))
        return name, archive.read(name)


def test_each_platform_has_a_wheel() -> None:
    assert {_tag(wheel) for wheel in _WHEELS} == set(_PLATFORMS)


def test_module_is_for_the_platform_of_the_tag(wheel: Path) -> None:
    name, data = _module(wheel)
    assert platform_of(data) == _PLATFORMS[_tag(wheel)]
    suffix = ".pyd" if _tag(wheel).startswith("win") else ".abi3.so"
    assert name == f"tree_sitter_xla_dump/_binding{suffix}"


def test_module_exports_its_function_and_needs_only_the_system(wheel: Path) -> None:
    binary = lief.parse(_module(wheel)[1])
    tag = _tag(wheel)
    if tag.startswith("win"):
        assert "PyInit__binding" in {entry.name for entry in binary.get_export().entries}
        libraries = {library.name.lower() for library in binary.imports}
        assert "python3.dll" in libraries
        assert {name for name in libraries if not name.startswith("api-ms-win-crt-")} == {"python3.dll", "kernel32.dll"}
    elif tag.startswith("macosx"):
        assert "_PyInit__binding" in {symbol.name for symbol in binary.exported_symbols}
        assert {library.name for library in binary.libraries} <= {
            "@rpath/_binding.abi3.so",
            "/usr/lib/libSystem.B.dylib",
        }
        assert tuple(binary.build_version.minos[:2]) == (11, 0)
        assert binary.has_code_signature or "x86_64" in tag  # Apple's processors run signed code only
    else:
        assert "PyInit__binding" in {symbol.name for symbol in binary.exported_symbols}
        assert set(binary.libraries) == {"libc.so" if "musl" in tag else "libc.so.6"}
        versions = [tuple(map(int, version)) for version in re.findall(rb"GLIBC_(\d+)\.(\d+)", _module(wheel)[1])]
        assert max(versions, default=(0, 0)) <= (2, 17)
        assert ("musl" in tag) == (not versions)


def test_module_keeps_to_the_stable_abi(wheel: Path) -> None:
    _run("abi3audit", "--strict", wheel)


def test_tag_is_the_one_that_auditwheel_finds(wheel: Path) -> None:
    if not _tag(wheel).startswith("manylinux"):
        pytest.skip("auditwheel knows Linux with glibc only")
    assert f'platform tag: "{_tag(wheel)}"' in " ".join(_run("auditwheel", "show", wheel).split())


def test_wheel_has_the_files_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    listed = subprocess.run(
        ["git", "ls-files", "server/xla_lens"], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    package = {name.removeprefix("server/") for name in listed.stdout.split()}
    module = _module(wheel)[0]
    own = {module, *(f"tree_sitter_xla_dump/{name}" for name in ("__init__.py", "_binding.pyi", "py.typed"))}
    others = {name for name in names if ".dist-info/" not in name} - package - own
    assert (others, package - set(names)) == (set(), set())
    licenses = {name.partition(".dist-info/")[2] for name in names if "/licenses/" in name}
    assert licenses == {"licenses/LICENSE", "licenses/grammar/LICENSE.tree-sitter"}
    assert "markdown-it" in zipfile.ZipFile(wheel).read("xla_lens/memory_map/page.js").decode().rpartition("/*!")[2]
    assert "Requires-Python: >=3.11" in metadata


def _run(program: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
