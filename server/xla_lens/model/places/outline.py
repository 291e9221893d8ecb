"""Entries of outlines, shared by dump files and HLO modules."""

from dataclasses import dataclass
from enum import Enum, auto

from xla_lens.syntax.columns import Kind


class SymbolKind(Enum):
    """The kind of an entry."""

    SECTION = auto()
    ALLOCATION = auto()
    VALUE = auto()
    ENTRY = auto()
    """The entry computation of a module."""
    COMPUTATION = auto()
    INSTRUCTION = auto()


class Counted(Enum):
    """What `Symbol.count` counts."""

    PART = auto()
    ALLOCATION = auto()
    VALUE = auto()
    INSTRUCTION = auto()
    LIVE_RANGE = auto()
    COMPUTATION = auto()


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry of an outline, from byte `start` to `end`; `name_start` to `name_end` is the part to select. The entry
    contains `count` things of the sort `counted`; `children` lists all, some or none of them. `size_bytes`,
    `allocation_kind` and `opcode` are None where they do not apply.
    """

    name: str
    kind: SymbolKind
    start: int
    end: int
    name_start: int
    name_end: int
    size_bytes: int | None = None
    allocation_kind: Kind | None = None
    count: int = 0
    counted: Counted = Counted.VALUE
    children: "tuple[Symbol, ...]" = ()
    opcode: str | None = None
