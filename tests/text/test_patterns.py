import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from unittest.mock import Mock

import pytest

import xla_lens
from xla_lens.text.patterns import LazyPattern, lazy_pattern


def test_a_pattern_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling = Mock(wraps=re.compile)
    monkeypatch.setattr(re, "compile", compiling)
    pattern = lazy_pattern("a+", re.IGNORECASE)
    assert not compiling.called
    assert pattern.fullmatch("aA")
    assert not pattern.fullmatch("b")
    compiling.assert_called_once_with("a+", re.IGNORECASE)
    assert pattern.sub("b", "xAy") == "xby"


def test_bytes_are_searched_by_patterns_of_bytes() -> None:
    assert lazy_pattern(rb"[0-9]").findall(b"a1b2") == [b"1", b"2"]


def _with_elements(found: object) -> Iterator[object]:
    yield found
    if isinstance(found, Mapping):
        yield from found.values()
    elif isinstance(found, tuple | list):
        yield from found


def test_every_pattern_of_the_package_is_valid() -> None:
    patterns = list[LazyPattern]()
    for module in pkgutil.walk_packages(xla_lens.__path__, "xla_lens."):
        # What runs inside of the user's process changes it.
        if ".inside" not in module.name and not module.name.endswith("__main__"):
            values = (each for value in vars(import_module(module.name)).values() for each in _with_elements(value))
            patterns += (each for each in values if isinstance(each, LazyPattern))
    assert len(patterns) > 100
    for pattern in patterns:
        assert pattern.groups >= 0
