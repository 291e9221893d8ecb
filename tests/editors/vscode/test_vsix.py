"""The contents of the packaged extension."""

import json
import re
import zipfile
from collections.abc import Iterator

import pytest

from editors.vscode.server import VSIX

_COMPILED = ("numpy/_core/_multiarray_umath", "tree_sitter/_binding")
"""Modules that are compiled separately for each version of Python."""

_OLDEST_GLIBC = 28
"""The minor version of glibc 2 that the wheels of numpy need at least."""


@pytest.fixture(scope="module")
def vsix() -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(VSIX) as archive:
        yield archive


def _bundle(vsix: zipfile.ZipFile) -> list[str]:
    pythons: list[str] = json.loads(vsix.read("extension/server/bundle.json"))["pythons"]
    return pythons


def test_compiled_modules_exist_for_each_python(vsix: zipfile.ZipFile) -> None:
    pythons = _bundle(vsix)
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    names = vsix.namelist()
    for package in _COMPILED:
        start = f"extension/server/libraries/{package}.cpython-"
        found = {re.match(r"3(\d+)-", name.removeprefix(start))[1] for name in names if name.startswith(start)}  # type: ignore[index]
        assert {f"3.{minor}" for minor in found} == set(pythons)
    assert "extension/server/libraries/tree_sitter_xla_dump/_binding.abi3.so" in names


def test_grammar_needs_no_newer_glibc_than_numpy(vsix: zipfile.ZipFile) -> None:
    own = vsix.read("extension/server/libraries/tree_sitter_xla_dump/_binding.abi3.so")
    needed = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", own)]
    assert max(needed) <= _OLDEST_GLIBC


def test_package_has_no_superfluous_files(vsix: zipfile.ZipFile) -> None:
    sizes = {info.filename: info.compress_size for info in vsix.infolist()}
    superfluous = re.compile(r"/tests/|/node_modules/|^extension/(src|map|test)/|\.ts$|\.map$|\.pyc$")
    assert [name for name in sizes if superfluous.search(name)] == []
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
