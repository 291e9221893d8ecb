"""CONTRIBUTING.md names files that exist, and targets that the Makefile has."""

import re

import pytest

from samples import ROOT

_TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def _paths() -> list[str]:
    """The paths in code and links, except those with placeholders such as `CODE.md`."""
    named = re.findall(r"`([\w./-]+)`", _TEXT) + re.findall(r"\]\(([\w./-]+)\)", _TEXT)
    named += re.findall(r"`(?:pytest|python) ([\w./-]+)", _TEXT)
    return sorted({path for path in named if "/" in path and not re.search(r"\b(?:CODE|COMPILER)\b", path)})


@pytest.mark.parametrize("path", _paths())
def test_named_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_named_targets_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"`make ([a-z-]+)`", _TEXT))
    assert len(targets) > 4
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
