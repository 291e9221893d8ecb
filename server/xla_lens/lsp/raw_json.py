"""Results that are JSON already."""

from typing import Any, TypeAlias

from xla_lens.records import dataclass

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RawJson:
    """A long result that a handler builds as JSON. Building objects of lsprotocol and converting those takes ten times
    as long.
    """

    json: Any
