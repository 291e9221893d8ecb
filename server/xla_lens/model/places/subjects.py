"""What is spoken of outside of a dump, by the numbers that the dump itself gives it.

Rows change when a file is read again; ids, indices and steps do not. So what an editor keeps and sends back names its
subject this way.
"""

from dataclasses import dataclass
from enum import StrEnum

from xla_lens.model.places.mentions import Allocation, Peak, Step, Target, Value
from xla_lens.model.places.places import Place, allocation_place, row_place, schedule_place, value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


class SubjectKind(StrEnum):
    """What a subject is."""

    VALUE = "value"
    ALLOCATION = "allocation"
    STEP = "step"
    PRINTED_PEAK = "printed-peak"


@dataclass(frozen=True, slots=True)
class Subject:
    """A value by its id, an allocation by its index, a step, or one of the printed peaks, which there is one of in any
    dump that is known.
    """

    kind: SubjectKind
    number: int


def subject_target(dump: DumpSet, subject: Subject) -> Target | None:
    """What a subject is in a set, None if the set does not know it; of steps any number is one."""
    match subject.kind:
        case SubjectKind.VALUE:
            value = dump.value_of_id(subject.number)
            return Value(value) if value != NONE else None
        case SubjectKind.ALLOCATION:
            allocation = dump.allocation_row(subject.number)
            return Allocation(allocation) if allocation != NONE else None
        case SubjectKind.STEP:
            return Step(subject.number)
        case SubjectKind.PRINTED_PEAK:
            return Peak(subject.number) if 0 <= subject.number < len(dump.peaks) else None


def subject_place(dump: DumpSet, subject: Subject) -> Place | None:
    """Where a set tells most of a subject, None if it does not know it: the header of a value among the used values,
    or its row in the allocation; the header of an allocation; the entry of a step in the schedule; the header of the
    printed peak.
    """
    match subject_target(dump, subject):
        case Value(row):
            return value_place(dump, row)
        case Allocation(row):
            return allocation_place(dump, row)
        case Step(step):
            return schedule_place(dump, dump.schedule_row(step))
        case Peak(row) if dump.live is not None:
            return row_place(dump.live, dump.peaks, row)
    return None
