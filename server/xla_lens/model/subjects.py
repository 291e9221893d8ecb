"""What is spoken of outside of a dump, by the numbers that the dump itself gives it.

Rows change when a file is read again; ids, indices and steps do not. So what an editor keeps and sends back names its
subject this way.
"""

from dataclasses import dataclass
from enum import StrEnum

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.places import Place, allocation_place, row_place, schedule_place, value_place
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


def subject_place(dump: DumpSet, subject: Subject) -> Place | None:
    """Where a set tells most of a subject, None if it does not know it: the header of a value among the used values,
    or its row in the allocation; the header of an allocation; the entry of a step in the schedule; the header of the
    printed peak.
    """
    match subject.kind:
        case SubjectKind.VALUE:
            value = dump.value_of_id(subject.number)
            return value_place(dump, value) if value != NONE else None
        case SubjectKind.ALLOCATION:
            return allocation_place(dump, dump.allocation_row(subject.number))
        case SubjectKind.STEP:
            return schedule_place(dump, dump.schedule_row(subject.number))
        case SubjectKind.PRINTED_PEAK:
            is_there = dump.live is not None and 0 <= subject.number < len(dump.peaks)
            return row_place(dump.live, dump.peaks, subject.number) if dump.live and is_there else None
