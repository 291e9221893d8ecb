"""What `make release` changes in the project, and how the package is built from source."""

import datetime
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

from samples import ROOT


def _script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return _script(ROOT / "release" / "release.py")


@pytest.fixture
def checkout(tmp_path: Path, release: ModuleType) -> Path:
    for name in (*release._VERSIONS, "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_version_is_the_same_everywhere(release: ModuleType, checkout: Path) -> None:
    release.set_version(checkout, "7.8.9")
    assert '__version__ = "7.8.9"\n' in (checkout / "server/xla_lens/__init__.py").read_text()
    manifest = json.loads((checkout / "vscode-extension/package.json").read_text())
    lock = json.loads((checkout / "vscode-extension/package-lock.json").read_text())
    grammars = json.loads((checkout / "grammar/tree-sitter.json").read_text())
    versions = (manifest["version"], lock["version"], lock["packages"][""]["version"], grammars["metadata"]["version"])
    assert versions == ("7.8.9",) * 4
    # Nothing else changes.
    before = json.loads((ROOT / "vscode-extension/package-lock.json").read_text())
    assert {**lock, "version": "", "packages": {**lock["packages"], "": {}}} == {
        **before, "version": "", "packages": {**before["packages"], "": {}},
    }  # fmt: skip


def test_changelog_is_dated_once(release: ModuleType, tmp_path: Path) -> None:
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n")
    release.date_changelog(changelog, "0.2.0", datetime.date(2026, 12, 1))
    assert changelog.read_text().split("\n\n")[1] == "## 0.2.0 (2026-12-01)"
    with pytest.raises(SystemExit, match="no unreleased changes"):
        release.date_changelog(changelog, "0.3.0", datetime.date(2026, 12, 2))


@pytest.mark.parametrize("version", ["1", "1.2", "1.2.3rc1", "01.2.3", "v1.2.3", ""])
def test_other_versions_are_rejected(
    release: ModuleType, version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["release.py", version])
    with pytest.raises(SystemExit, match="2"):
        release.main()
    assert "expected a version such as 0.2.0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("compiler", "options"), [("msvc", ["/std:c11", "/O2", "/utf-8"]), ("unix", ["-std=c11", "-O2"])]
)
def test_each_compiler_gets_options_that_it_knows(
    compiler: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_ext, "build_extensions", lambda self: None)
    command = _script(ROOT / "setup.py").BuildExtension(Distribution())
    command.compiler = SimpleNamespace(compiler_type=compiler)
    command.extensions = [SimpleNamespace(extra_compile_args=["-std=c11", "-O2"])]
    command.build_extensions()
    assert command.extensions[0].extra_compile_args == options
