"""What is in the extension as people get it."""

import json
import re
import zipfile
from collections.abc import Iterator

import pytest

from editors.vscode.server import VSIX

_COMPILED = ("numpy/_core/_multiarray_umath", "tree_sitter/_binding")
"""Of packages that are compiled for each version of Python by itself."""

_OLDEST_GLIBC = 28
"""The C library that numpy's own wheels need at least is glibc 2.28."""


@pytest.fixture(scope="module")
def vsix() -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(VSIX) as archive:
        yield archive


def _bundle(vsix: zipfile.ZipFile) -> list[str]:
    pythons: list[str] = json.loads(vsix.read("extension/server/bundle.json"))["pythons"]
    return pythons


def test_each_python_has_what_is_compiled_for_it(vsix: zipfile.ZipFile) -> None:
    pythons = _bundle(vsix)
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    names = vsix.namelist()
    for package in _COMPILED:
        start = f"extension/server/libraries/{package}.cpython-"
        found = {re.match(r"3(\d+)-", name.removeprefix(start))[1] for name in names if name.startswith(start)}  # type: ignore[index]
        assert {f"3.{minor}" for minor in found} == set(pythons)
    assert "extension/server/libraries/tree_sitter_xla_dump/_binding.abi3.so" in names


def test_it_runs_where_numpy_runs(vsix: zipfile.ZipFile) -> None:
    own = vsix.read("extension/server/libraries/tree_sitter_xla_dump/_binding.abi3.so")
    needed = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", own)]
    assert max(needed) <= _OLDEST_GLIBC


def test_nothing_is_in_it_that_nobody_needs(vsix: zipfile.ZipFile) -> None:
    sizes = {info.filename: info.compress_size for info in vsix.infolist()}
    needless = re.compile(r"/tests/|/node_modules/|^extension/(src|map|test)/|\.ts$|\.map$|\.pyc$")
    assert [name for name in sizes if needless.search(name)] == []
    assert sum(sizes.values()) < 40 << 20
    for name in (
        "package.json",
        "readme.md",
        "changelog.md",
        "LICENSE.txt",
        "dist/extension.js",
        "dist/ThirdPartyNotices.txt",
    ):
        assert f"extension/{name}" in sizes, name
