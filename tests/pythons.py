"""Runs the quick tests on other Pythons, each in a fresh environment in `.venv-pythons`: `make test-pythons`.

    python tests/pythons.py [ENVIRONMENT ...]

An environment is a version such as `3.12`, with the newest versions of all dependencies, or `3.11-lowest`, with the
lowest versions that pyproject.toml allows. `newest` stands for the newest Python of this machine, and `all` for all
Pythons of this machine. Without arguments, the tests run on the oldest Python with the lowest versions of the
dependencies, and on the newest Python of this machine with the newest versions.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from glob import glob
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ".venv-pythons"
LOWEST = "-lowest"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

_PROBE = """
import ensurepip, pathlib, sys, sysconfig, venv
assert pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()
print(*sys.version_info[:2], sep=".")
"""
"""Fails on a Python that cannot make an environment or compile the package."""

_ELSEWHERE = (
    "~/.pyenv/versions/{version}.*/bin/python3",
    "~/.local/share/uv/python/cpython-{version}.*/bin/python3",
    "/usr/bin/python{version}",
    "/usr/local/bin/python{version}",
    "/opt/homebrew/bin/python{version}",
)
"""Where to find Pythons that are not on the `PATH`."""


def versions() -> list[str]:
    """The versions of Python that the classifiers claim, oldest first."""
    return re.findall(r"Python :: (3\.\d+)", "\n".join(_PROJECT["classifiers"]))


def lowest() -> list[str]:
    """A constraint for each dependency: the lowest version in its range."""
    requirements = [*_PROJECT["dependencies"], *_PROJECT["optional-dependencies"]["dev"]]
    return [re.sub(r">=([^,]+),.*", r"==\1", requirement) for requirement in requirements]


def find(version: str) -> str | None:
    """Find a Python that works. A shim of pyenv can be on the `PATH` for a version that is switched off."""
    return next((path for path in _candidates(version) if _works(path, version)), None)


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield os.path.join(folder, f"python{version}")
    for pattern in _ELSEWHERE:
        yield from sorted(glob(os.path.expanduser(pattern.format(version=version))))


def _works(path: str, version: str) -> bool:
    try:
        done = subprocess.run([path, "-c", _PROBE], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def _run(name: str, python: str) -> bool:
    """Make an environment and run the tests in it. Types are checked against the newest stubs of numpy only."""
    folder = Path(FOLDER, name)
    shutil.rmtree(ROOT / folder, ignore_errors=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    if name.endswith(LOWEST):
        constraints = ROOT / FOLDER / f"{name}.txt"
        constraints.parent.mkdir(exist_ok=True)
        constraints.write_text("\n".join(lowest()) + "\n")
        environment["PIP_CONSTRAINT"] = str(constraints)
    checks = "lint" if name.endswith(LOWEST) else "types"
    make = ["make", "--no-print-directory", f"VENV={folder}", f"PYTHON={python}"]
    return not any(
        subprocess.run([*make, target], cwd=ROOT, env=environment, check=False).returncode
        for target in (f"{folder}/installed", checks, "quick")
    )


def main(names: list[str]) -> int:
    """Run the tests in the environments of these names, and return the exit status."""
    known = [f"{versions()[0]}{LOWEST}", *versions()]
    if unknown := [name for name in names if name not in (*known, "newest", "all")]:
        print(f"no such environment: {', '.join(unknown)}. There are: {', '.join(known)}, newest, all")
        return 2
    pythons = {version: find(version) for version in versions()}
    missing = [version for version, python in pythons.items() if not python]
    available = [name for name in known if name.removesuffix(LOWEST) not in missing]
    chosen = [name for name in known if name in names]
    if not names:
        chosen = [*dict.fromkeys((known[0], *available[-1:]))]
    elif "newest" in names:
        chosen = available[-1:]
    elif "all" in names:
        chosen = available
    results = {}
    for name in chosen:
        python = pythons[name.removesuffix(LOWEST)]
        print(f"== Python {name}: {python or 'missing'}", flush=True)
        results[name] = "missing" if not python else "passed" if _run(name, python) else "failed"
    for name, result in results.items():
        print(f"Python {name}: {result}")
    for version in missing:
        if version not in results:
            print(
                f"Python {version}: skipped. None with venv and C headers is on the PATH or in a folder of pyenv or uv."
            )
    return 1 if {*results.values()} - {"passed"} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
