"""Answers that are JSON already."""

from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plain:
    """A long answer. To make objects of the protocol's types of it, and those to JSON, takes ten times as long."""

    json: Any
