"""`make test-pythons` tests the versions that pyproject.toml claims, and skips Pythons that do not work."""

import sys
from pathlib import Path

import pytest

import pythons

_HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_versions_begin_with_the_oldest_that_is_allowed() -> None:
    assert pythons._PROJECT["requires-python"] == f">={pythons.versions()[0]}"
    assert len(pythons.versions()) > 2


def test_each_dependency_has_a_lowest_version() -> None:
    assert "numpy==1.26" in pythons.lowest()
    assert [one for one in pythons.lowest() if not one.partition("==")[2].replace(".", "").isdigit()] == []


def test_a_python_that_does_not_work_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim, working = tmp_path / "shims" / f"python{_HERE}", tmp_path / "bin" / f"python{_HERE}"
    for path, text in ((shim, "echo 'command not found' >&2; exit 127"), (working, f'exec {sys.executable} "$@"')):
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    monkeypatch.setenv("PATH", f"{shim.parent}:{working.parent}")
    assert pythons.find(_HERE) == str(working)


def test_missing_python_fails_if_it_is_named_and_is_listed_otherwise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def run(name: str, python: str) -> bool:
        ran.append(name)
        return name != "3.13"

    monkeypatch.setattr(pythons, "versions", lambda: ["3.11", "3.12", "3.13", "3.98", "3.99"])
    monkeypatch.setattr(pythons, "find", lambda version: None if version in ("3.12", "3.99") else version)
    monkeypatch.setattr(pythons, "_run", run)
    assert pythons.main([]) == 0
    assert ran == ["3.11-lowest", "3.98"]
    shown = capsys.readouterr().out
    assert "Python 3.98: passed\n" in shown
    assert "Python 3.99: skipped. " in shown
    assert pythons.main(["3.99"]) == 1
    assert "Python 3.99: missing\n" in capsys.readouterr().out
    assert pythons.main(["all"]) == 1
    assert ran[2:] == ["3.11-lowest", "3.11", "3.13", "3.98"]
    assert "Python 3.13: failed\n" in capsys.readouterr().out
    assert pythons.main(["4.0"]) == 2


def test_one_failing_target_fails_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(name: str) -> bool:
        monkeypatch.setattr(pythons, "ROOT", tmp_path)
        return pythons._run(name, sys.executable)

    makefile = (
        "$(VENV)/installed:\n\tcat $$PIP_CONSTRAINT > seen; echo $(PYTHON) >> seen\ntypes lint:\nquick:\n\t{quick}\n"
    )
    (tmp_path / "Makefile").write_text(makefile.format(quick="true"))
    monkeypatch.setenv("MAKEFLAGS", "n")
    assert run("3.11-lowest")
    assert (tmp_path / "seen").read_text().splitlines() == [*pythons.lowest(), sys.executable]
    (tmp_path / "Makefile").write_text(makefile.format(quick="false"))
    assert not run("3.13")
