"""The entries of outlines, whatever they are of."""

from dataclasses import dataclass
from enum import Enum, auto

from xla_lens.syntax.columns import Kind


class SymbolKind(Enum):
    """What an entry of an outline is."""

    SECTION = auto()
    ALLOCATION = auto()
    VALUE = auto()
    ENTRY = auto()
    """The computation of a module that runs."""
    COMPUTATION = auto()
    INSTRUCTION = auto()


class Counted(Enum):
    """What is below an entry of an outline."""

    PART = auto()
    ALLOCATION = auto()
    VALUE = auto()
    INSTRUCTION = auto()
    LIVE_RANGE = auto()
    COMPUTATION = auto()


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry of an outline, from byte `start` to `end`; `name_start` to `name_end` is the part to select. `count`
    tells how many things of the sort `counted` are below, of which `children` may be some only, or none at all.
    `size_bytes`, `allocation_kind` and the `opcode` of an instruction are None where they do not apply.
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
