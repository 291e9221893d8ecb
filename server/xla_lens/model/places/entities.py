"""What is spoken of outside of a dump, by the numbers that the dump itself gives it.

Rows change when a file is read again; ids, indices and steps do not. So what an editor keeps and sends back names its
entity this way.
"""

from dataclasses import dataclass
from enum import StrEnum

from xla_lens.model.places.mentions import Allocation, Peak, Step, Target, Value
from xla_lens.model.places.places import Place, allocation_place, row_place, schedule_place, value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


class EntityKind(StrEnum):
    """What a entity is."""

    VALUE = "value"
    ALLOCATION = "allocation"
    STEP = "step"
    PRINTED_PEAK = "printed-peak"


@dataclass(frozen=True, slots=True)
class Entity:
    """A value by its id, an allocation by its index, a step, or one of the printed peaks, which there is one of in any
    dump that is known.
    """

    kind: EntityKind
    number: int


def entity_target(dump: DumpSet, entity: Entity) -> Target | None:
    """What a entity is in a set, None if the set does not know it; of steps any number is one."""
    match entity.kind:
        case EntityKind.VALUE:
            value = dump.value_of_id(entity.number)
            return Value(value) if value != NONE else None
        case EntityKind.ALLOCATION:
            allocation = dump.allocation_row(entity.number)
            return Allocation(allocation) if allocation != NONE else None
        case EntityKind.STEP:
            return Step(entity.number)
        case EntityKind.PRINTED_PEAK:
            return Peak(entity.number) if 0 <= entity.number < len(dump.peaks) else None


def entity_place(dump: DumpSet, entity: Entity) -> Place | None:
    """Where a set tells most of a entity, None if it does not know it: the header of a value among the used values,
    or its row in the allocation; the header of an allocation; the entry of a step in the schedule; the header of the
    printed peak.
    """
    match entity_target(dump, entity):
        case Value(row):
            return value_place(dump, row)
        case Allocation(row):
            return allocation_place(dump, row)
        case Step(step):
            return schedule_place(dump, dump.schedule_row(step))
        case Peak(row) if dump.live is not None:
            return row_place(dump.live, dump.peaks, row)
    return None
