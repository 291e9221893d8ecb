"""The source distribution is complete, and what is built from it works in a clean environment."""

import shutil
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from samples import ROOT

_NOT_DISTRIBUTED = ("vscode-extension", ".ci", ".github", ".gitattributes", ".gitignore")
_SMOKE_TESTS = ("tests/cli/test_cli.py", "tests/syntax/test_numbers.py", "tests/lsp/test_process.py")


def _run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _warnings(output: str) -> list[str]:
    """The warnings of a build, except for those that a clean checkout and pip always cause."""
    expected = ("no previously-included files matching", "byte-compiling is disabled")
    lines = [line for line in output.splitlines() if "warning" in line.lower()]
    return [line for line in lines if not any(text in line for text in expected)]


def _checked_out_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("needs a checkout made with git, to know which files belong to the project")
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return [name for name in files if name.split("/")[0] not in _NOT_DISTRIBUTED]


def test_environment_of_jax_has_what_the_library_imports() -> None:
    """`xla_lens` runs there without being installed. jax brings numpy; the others are for the server and the shell."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    not_there = ("lsprotocol", "numpy", "pygls", "shtab")
    needed = {dependency for dependency in project["dependencies"] if not dependency.startswith(not_there)}
    assert needed
    assert needed <= {*(ROOT / "tests" / "planted" / "requirements.txt").read_text().splitlines()}


@pytest.mark.slow
def test_source_distribution_is_complete(tmp_path: Path) -> None:
    source, built, python = tmp_path / "source", tmp_path / "built", tmp_path / "venv" / "bin" / "python"
    files = _checked_out_files()
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    venv.create(tmp_path / "venv", with_pip=True)
    _run(python, "-m", "pip", "install", "--quiet", "setuptools>=82.0.1", cwd=tmp_path)
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(built)!r})"
    assert _warnings(_run(python, "-c", build, cwd=source)) == []

    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "sdist", filter="data")
    (sdist,) = (tmp_path / "sdist").iterdir()
    assert [name for name in files if not (sdist / name).is_file()] == []

    output = _run(python, "-m", "pip", "wheel", "--verbose", "--no-deps", "--wheel-dir", built, archive, cwd=tmp_path)
    assert _warnings(output) == []
    (wheel,) = built.glob("*.whl")
    package = {name.removeprefix("server/") for name in files if name.startswith("server/xla_lens/")}
    assert {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("xla_lens/")} == package

    _run(python, "-m", "pip", "install", "--quiet", f"{wheel}[dev]", cwd=tmp_path)
    assert _run(python.with_name("xla-lens"), "--version", cwd=tmp_path).startswith("xla-lens ")
    assert " passed" in _run(python, "-m", "pytest", "-q", *_SMOKE_TESTS, cwd=sdist)
