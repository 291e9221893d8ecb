"""What `make release` changes in the project, and how the package is built from source."""

import datetime
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

from samples import ROOT
from xla_lens import __version__


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
    for name in (*release._VERSIONS, ".gitignore", "CHANGELOG.md", "pyproject.toml", "release/release.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_version_is_the_same_everywhere(release: ModuleType, checkout: Path) -> None:
    release.set_version(checkout, "7.8.9")
    assert '__version__ = "7.8.9"\n' in (checkout / "server/xla_lens/__init__.py").read_text()
    manifest = json.loads((checkout / "vscode-extension/package.json").read_text())
    lock = json.loads((checkout / "vscode-extension/package-lock.json").read_text())
    grammars = json.loads((checkout / "grammar/tree-sitter.json").read_text())
    node = json.loads((checkout / "grammar/package.json").read_text())
    rust, python = (
        tomllib.loads((checkout / "grammar" / name).read_text()) for name in ("Cargo.toml", "pyproject.toml")
    )
    versions = (manifest["version"], lock["version"], lock["packages"][""]["version"], grammars["metadata"]["version"])
    assert (*versions, node["version"], rust["package"]["version"], python["project"]["version"]) == ("7.8.9",) * 7
    assert rust["dependencies"] == {"tree-sitter-language": "0.1"}
    # Nothing else changes.
    before = json.loads((ROOT / "vscode-extension/package-lock.json").read_text())
    assert {**lock, "version": "", "packages": {**lock["packages"], "": {}}} == {
        **before, "version": "", "packages": {**before["packages"], "": {}},
    }  # fmt: skip


def test_committed_files_have_the_version_of_the_package() -> None:
    for name, pattern in _script(ROOT / "release" / "release.py")._VERSIONS.items():
        found = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
        assert found, name
        assert found[0].endswith(__version__), name


def test_tag_of_another_version_fails(checkout: Path, release: ModuleType) -> None:
    def check(tag: str) -> tuple[int, list[str]]:
        program = checkout / "release" / "release.py"
        done = subprocess.run([sys.executable, program, "--check", tag], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()

    assert check(f"v{__version__}") == (0, [])
    assert check("v7.8.9") == (1, [f"{name} does not have the version 7.8.9" for name in release._VERSIONS])
    release.set_version(checkout, "7.8.9")
    assert check("v7.8.9") == (0, [])
    (checkout / "grammar/Cargo.toml").write_text(f'version = "{__version__}"\n')
    assert check("v7.8.9") == (1, ["grammar/Cargo.toml does not have the version 7.8.9"])


def test_address_of_the_repository_is_one_constant(release: ModuleType, checkout: Path) -> None:
    def set_address(url: str) -> dict[str, str]:
        constants = (checkout / "pyproject.toml").read_text()
        changed, count = re.subn(r'(?m)^repository = ".*"$', f'repository = "{url}"', constants)
        assert count == 1
        (checkout / "pyproject.toml").write_text(changed)
        release.set_repository(checkout)
        return {name: (checkout / name).read_text() for name in release._LINKS}

    without = set_address("")
    set_address("https://example.org/old")
    url = "https://example.org/lens"
    assert not [name for name, text in set_address(url).items() if "example.org/old" in text or url not in text]
    manifest = json.loads((checkout / "vscode-extension/package.json").read_text())
    assert (manifest["repository"], manifest["bugs"], manifest["homepage"]) == (url, f"{url}/issues", url)
    grammars = json.loads((checkout / "grammar/tree-sitter.json").read_text())
    assert grammars["metadata"]["links"] == {"repository": url}
    assert json.loads((checkout / "grammar/package.json").read_text())["repository"] == url
    assert tomllib.loads((checkout / "grammar/Cargo.toml").read_text())["package"]["repository"] == url
    assert tomllib.loads((checkout / "grammar/pyproject.toml").read_text())["project"]["urls"] == {"Repository": url}
    assert set_address("") == without


def test_release_is_one_commit_of_a_clean_checkout(checkout: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
        done = subprocess.run(["git", *identity, *arguments], cwd=checkout, capture_output=True, text=True, check=True)
        return done.stdout

    def make_release(version: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, checkout / "release" / "release.py", version],
            capture_output=True, text=True, check=False,
            env={**os.environ, "GIT_AUTHOR_NAME": "Someone", "GIT_AUTHOR_EMAIL": "someone@example.org",
                 "GIT_COMMITTER_NAME": "Someone", "GIT_COMMITTER_EMAIL": "someone@example.org"},
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    changelog = checkout / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "Start")
    git("tag", "v7.8.0")

    stray = checkout / "stray.txt"
    stray.touch()
    status, output = make_release("7.8.9")
    assert (status, "stray.txt" in output) == (1, True)
    stray.unlink()
    status, output = make_release("7.8.0")
    assert (status, output) == (1, "The tag v7.8.0 exists. Choose a later version.\n")
    assert git("status", "--porcelain") == ""
    assert git("log", "--format=%s") == "Start\n"

    status, output = make_release("7.8.9")
    assert status == 0, output
    assert "git tag v7.8.9" in output
    assert git("log", "--format=%s") == "Release 7.8.9\nStart\n"
    assert git("status", "--porcelain") == ""
    changed = set(git("diff", "--name-only", "HEAD~").split())
    assert changed == {*_script(checkout / "release" / "release.py")._VERSIONS, "CHANGELOG.md"}
    today = datetime.datetime.now(datetime.UTC).date()
    assert changelog.read_text().split("\n\n")[1] in {
        f"## 7.8.9 ({today - datetime.timedelta(days)})" for days in (0, 1)
    }

    status, output = make_release("7.9.0")
    assert (status, output) == (1, "CHANGELOG.md has no unreleased changes\n")
    assert git("status", "--porcelain") == ""


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
