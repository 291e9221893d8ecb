"""What both hierarchies consist of."""

from dataclasses import dataclass

from xla_lens.model.hlo.mentions import HloTarget
from xla_lens.model.places.mentions import Instruction, Value
from xla_lens.model.places.places import Place


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a hierarchy. `name` and `index` identify it in any dump set of the same program; `index` is None for
    an instruction, a computation and a value without an index. In a dump, an `Instruction`
    defines several values or none. `detail` is what stands beside the label. `place` is its
    text and `selection` its name there.
    """

    target: Value | Instruction | HloTarget
    label: str
    detail: str
    name: bytes
    index: bytes | None
    place: Place
    selection: Place


@dataclass(frozen=True, slots=True)
class Flow:
    """An edge to or from an item, and the places that prove it."""

    item: Item
    places: tuple[Place, ...]
