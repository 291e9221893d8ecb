"""`xla-lens check` finds nothing in real dumps, and knows all of their text."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from commands import printed_json
from samples import DUMPS, SHARED_DUMPS, big_dumps, needs_shared_dumps

_MIXED = "mixed_compilations"
"""A set of the collection with files of two compilations, in which errors are right."""


def _alarms(*paths: Path) -> Counter[str]:
    """The number of errors and warnings in each set."""
    found: list[Any] = printed_json("check", *paths)
    return Counter(Path(one["filename"]).parent.name for one in found if one["severity"] in ("error", "warning"))


def test_small_dumps_have_no_errors_or_warnings() -> None:
    assert not _alarms(DUMPS)


@needs_shared_dumps
def test_dumps_of_the_collection_have_no_errors_or_warnings() -> None:
    alarms = _alarms(SHARED_DUMPS)
    assert alarms.pop(_MIXED, 0) > 0
    assert not alarms
    assert not printed_json("unknown", SHARED_DUMPS)


@needs_shared_dumps
@pytest.mark.parametrize("name", ["field", "frameworks"])
def test_dumps_of_users_have_no_errors_or_warnings(name: str) -> None:
    folder = SHARED_DUMPS.parent / name
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    assert not _alarms(folder)


@needs_shared_dumps
def test_big_dumps_have_no_errors_or_warnings(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = big_dumps(tmp_path_factory.getbasetemp() / "big")
    assert not _alarms(folder)
    assert not printed_json("unknown", folder)
