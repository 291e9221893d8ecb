"""What `make release` changes in the project, and how the package is built from source."""

import datetime
import importlib.util
import os
import re
import shutil
import subprocess
import sys
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
