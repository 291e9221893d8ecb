"""Deep comparison of arbitrary objects."""

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from xla_lens.syntax.columns import Texts
from xla_lens.text.document import Document


def differences(one: Any, other: Any) -> Iterator[str]:
    """Yield the paths at which two objects differ."""
    return _differences(one, other, "", set())


def _differences(one: Any, other: Any, where: str, seen: set[tuple[int, int]]) -> Iterator[str]:
    if (id(one), id(other)) in seen:
        return
    seen.add((id(one), id(other)))
    if type(one) is not type(other):
        yield f"{where}: {type(one).__name__} and {type(other).__name__}"
    elif isinstance(one, Document):
        yield from [] if one.data == other.data else [f"{where}: other text"]
        yield from [] if np.array_equal(one.line_starts, other.line_starts) else [f"{where}: other lines"]
    elif isinstance(one, np.ndarray):
        yield from [] if np.array_equal(one, other) else [f"{where}: {one} and {other}"]
    elif isinstance(one, Mapping):
        if one.keys() != other.keys():
            yield f"{where}: {list(one)[:10]} and {list(other)[:10]}"
        for name in one.keys() & other.keys():
            yield from _differences(one[name], other[name], f"{where}[{name!r}]", seen)
    elif isinstance(one, list | tuple | Texts):
        if len(one) != len(other):
            yield f"{where}: {len(one)} and {len(other)} items"
        for number, (item, counterpart) in enumerate(zip(one, other, strict=False)):
            yield from _differences(item, counterpart, f"{where}[{number}]", seen)
    elif dataclasses.is_dataclass(one) and not isinstance(one, enum.Enum):
        for name in (*(field.name for field in dataclasses.fields(one)), *getattr(one, "__dict__", ())):
            if not name.startswith("_") and hasattr(other, name):
                yield from _differences(getattr(one, name), getattr(other, name), f"{where}.{name}", seen)
    elif not callable(one) and one != other:
        yield f"{where}: {str(one)[:100]} and {str(other)[:100]}"
