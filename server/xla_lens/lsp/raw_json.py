"""Results that are JSON already."""

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from xla_lens.records import dataclass

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RawJson:
    """A long result that a handler builds as JSON. Building objects of lsprotocol and converting those takes ten times
    as long.
    """

    json: Any


@dataclass(frozen=True, slots=True)
class EncodedJson:
    """A result of megabytes, encoded in a worker thread."""

    text: bytes


def encoded(data: Any) -> EncodedJson:
    """Encode JSON whose objects have names as keys. Runs in a worker thread. One call of `json.dumps` would block all
    threads, so long lists are encoded in parts.
    """
    return EncodedJson("".join(_parts(data)).encode())


_PART: Final = 5_000
"""Items of a list that are encoded at once, which takes about a millisecond."""


def _parts(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for number, (name, value) in enumerate(data.items()):
            yield f"{',' if number else '{'}{json.dumps(name)}:"
            yield from _parts(value)
        yield "}" if data else "{}"
    elif isinstance(data, list) and len(data) > _PART:
        for first in range(0, len(data), _PART):
            yield f"{',' if first else '['}{json.dumps(data[first : first + _PART])[1:-1]}"
        yield "]"
    elif isinstance(data, list) and any(isinstance(item, dict) for item in data):
        for number, item in enumerate(data):
            yield "," if number else "["
            yield from _parts(item)
        yield "]"
    else:
        yield json.dumps(data)
