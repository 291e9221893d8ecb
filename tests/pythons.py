"""Runs the quick tests on other Pythons, each in a fresh environment in `.venv-pythons`: `make test-pythons`.

    python tests/pythons.py [ENVIRONMENT ...]

An environment is a version such as `3.12`, with the newest versions of all dependencies, or `3.11-lowest`, with the
lowest versions that pyproject.toml allows. `newest` stands for the newest Python of this machine, and `all` for all
Pythons of this machine. Without arguments, the tests run on the oldest Python with the lowest versions of the
dependencies, and on the newest Python of this machine with the newest versions. A Python is found on
the `PATH`, and in the folders of pyenv and uv.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from glob import glob
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ".venv-pythons"
LOWEST = "-lowest"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

_PROBE = "import ensurepip, pathlib, sysconfig, venv; pathlib.Path(sysconfig.get_path('include'), 'Python.h').stat()"
"""Fails on a Python that cannot make an environment or compile the package, such as a shim of a missing version."""


def versions() -> list[str]:
    """The versions of Python that the classifiers claim, oldest first."""
    return re.findall(r"Python :: (3\.\d+)", "\n".join(_PROJECT["classifiers"]))


def _lowest() -> list[str]:
    """A constraint for each dependency: the lowest version in its range."""
    requirements = [*_PROJECT["dependencies"], *_PROJECT["optional-dependencies"]["dev"]]
    return [re.sub(r">=([^,]+),.*", r"==\1", requirement) for requirement in requirements]


_ELSEWHERE = ("~/.pyenv/versions/{}.*/bin/python3", "~/.local/share/uv/python/cpython-{}.*/bin/python3")


@cache
def _python(name: str) -> str | None:
    """Find a Python that works. On the `PATH` may be a shim of pyenv for a version that is switched off."""
    version = name.removesuffix(LOWEST)
    found = [shutil.which(f"python{version}"), *(one for path in _ELSEWHERE for one in _installed(path, version))]
    return next((one for one in found if one and _works(one)), None)


def _works(python: str) -> bool:
    return not subprocess.run([python, "-c", _PROBE], capture_output=True, check=False).returncode


def _installed(pattern: str, version: str) -> list[str]:
    return sorted(glob(os.path.expanduser(pattern.format(version))))


def _passes(name: str) -> bool:
    """Make an environment and run the tests in it. Types are checked against the newest stubs of numpy only."""
    folder = Path(FOLDER, name)
    shutil.rmtree(ROOT / folder, ignore_errors=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    if name.endswith(LOWEST):
        constraints = ROOT / FOLDER / f"{name}.txt"
        constraints.parent.mkdir(exist_ok=True)
        constraints.write_text("\n".join(_lowest()) + "\n")
        environment["PIP_CONSTRAINT"] = str(constraints)
    checks = "lint" if name.endswith(LOWEST) else "types"
    make = ["make", "--no-print-directory", f"VENV={folder}", f"PYTHON={_python(name)}"]
    targets = (f"{folder}/installed", checks, "quick")
    return not any(subprocess.run([*make, one], cwd=ROOT, env=environment, check=False).returncode for one in targets)


def main(names: list[str]) -> int:
    """Run the tests in the environments of these names, and return the exit status."""
    known = [f"{versions()[0]}{LOWEST}", *versions()]
    available = [name for name in known if _python(name)]
    groups = {"all": available, "newest": available[-1:]}
    chosen = [one for name in names or (known[0], "newest") for one in groups.get(name, [name])]
    if unknown := {*chosen} - {*known}:
        print(f"no such environment: {', '.join(sorted(unknown))}. There are: {', '.join(known)}, newest, all")
        return 2
    results = {name: "missing" if name not in available else "passed" if _passes(name) else "failed" for name in chosen}
    for name in known:
        if name in results or name not in available:
            print(f"Python {name}: {results.get(name, 'skipped, not found with venv and C headers')}")
    return 1 if {*results.values()} - {"passed"} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
