"""Entities: things in a dump, identified by numbers that XLA prints.

Rows of tables can change when a file is reloaded; ids, indices and steps do not. So links that an editor keeps and
sends back identify things this way.
"""

from enum import StrEnum

from msgspec import Struct

from xla_lens.model.places.mentions import Allocation, PeakHeader, Step, Target, Value
from xla_lens.model.places.places import Place, allocation_place, row_place, schedule_place, value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


class EntityKind(StrEnum):
    """The kind of an entity."""

    VALUE = "value"
    ALLOCATION = "allocation"
    STEP = "step"
    PRINTED_PEAK = "printed-peak"


class Entity(Struct, frozen=True):
    """A value by its id, an allocation by its index, a step, or a printed peak by its row. All known dumps have one
    printed peak at most. In a comparison, `is_old` entities belong to the old dump.
    """

    kind: EntityKind
    number: int
    is_old: bool = False


def entity_target(dump: DumpSet, entity: Entity) -> Target | None:
    """Return the target of an entity, None if the set lacks it. Any number is a step."""
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
            return PeakHeader(entity.number) if 0 <= entity.number < len(dump.peaks) else None


def entity_place(dump: DumpSet, entity: Entity) -> Place | None:
    """Return the place that shows most about an entity, None if the set lacks it: for a value its header among the used
    values or its row in the allocation, for an allocation its header, for a step its schedule entry, for the printed
    peak its header.
    """
    match entity_target(dump, entity):
        case Value(row):
            return value_place(dump, row)
        case Allocation(row):
            return allocation_place(dump, row)
        case Step(step):
            return schedule_place(dump, dump.schedule_row(step))
        case PeakHeader(row) if dump.live is not None:
            return row_place(dump.live, dump.peaks, row)
    return None
