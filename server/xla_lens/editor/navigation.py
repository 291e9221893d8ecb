"""The targets of go-to requests: definition, declaration, type definition and implementation.

================  ============================  =====================  ============================
cursor on         a value                       an allocation          a step or an instruction
================  ============================  =====================  ============================
definition        its header in `Used values`   its values, from the   its entry in the schedule
                                                header; else that
declaration       its row in the allocation     its header             its entry in the schedule
type definition   its allocation's header       its header             nothing
implementation    the line of the HLO module    nothing                its line of the HLO module
                  with the named instruction,
                  else the defining one
================  ============================  =====================  ============================

================  ==========================================  =====================================
in an HLO module  an instruction                              a computation
================  ==========================================  =====================================
definition        where it is defined                         its head
declaration       where it is defined                         its head
type definition   the rows of its values in the allocations   nothing
implementation    its entry in the schedule                   its root
================  ==========================================  =====================================

From its header in `Used values`, and without used values, the definition of a value is its row in the allocation. The
implementation is the instruction that runs: that of a named bitcast is the bitcast, although the bitcast stands for the
value whose bytes it shares. Without an HLO module the implementation is the entry in the schedule.
"""

import numpy as np

from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, definition_place, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, PeakHeader, Step, Target, Value
from xla_lens.model.places.places import Place, allocation_place, schedule_place, slice_place, value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.tables import MentionRole


def definition(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, limit: int) -> list[Place]:
    """Return at most `limit` places that define the mentioned thing."""
    match mention:
        case Mention(target=Value(row), role=role) if role is not MentionRole.USED_VALUE:
            return _known(value_place(dump, row))
        case Mention(target=Allocation(row), role=MentionRole.ALLOCATION_HEADER):
            return _known(*(slice_place(dump, value) for value in dump.values_of_allocation(row)[:limit].tolist()))
    return declaration(dump, module, mention, limit)


def declaration(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, _limit: int) -> list[Place]:
    """Return the row in the allocation, or the nearest equivalent."""
    match mention.target:
        case Value(row):
            return _known(slice_place(dump, row) or value_place(dump, row))
        case Allocation(row):
            return _known(allocation_place(dump, row))
        case HloInstruction() | HloComputation() as target:
            return [definition_place(module, target)] if module else []
        case target:
            return _known(schedule_place(dump, _entry(dump, target)))


def type_definition(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, limit: int) -> list[Place]:
    """Return the header of the allocation, or at most `limit` rows of values."""
    match mention.target:
        case Value(row):
            return _known(allocation_place(dump, dump.values.allocation.item(row)))
        case Allocation(row):
            return _known(allocation_place(dump, row))
        case HloInstruction(row, index) if module:
            name = module.name(row)
            of_element = dump.value_at(dump.name_number(name), dump.index_number(index)) if index else NONE
            values = [of_element] * (of_element != NONE) if index else values_of(dump, name)
            return _known(*(slice_place(dump, value) or value_place(dump, value) for value in values))[:limit]
    return []


def implementation(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, _limit: int) -> list[Place]:
    """Return the instruction in the HLO module, or its entry in the schedule; in a module, that entry, or the root of a
    computation.
    """
    names, lines = [NONE], list[Place]()
    match mention:
        case HloMention(target=HloComputation(row)) if module:
            return [module.place(module.root(row))] if module.root(row) != NONE else []
        case HloMention(target=HloInstruction(row)) if module:
            names = [dump.name_number(module.name(row))]
        case Mention(target=Value(row), name=name):
            names = [name, dump.name_of(row)]
        case Mention(target=target) if (entry := _entry(dump, target)) != NONE:
            names = [dump.schedule.name.item(entry)]
    names = [name for name in names if name != NONE]
    if module and isinstance(mention, Mention):
        rows = module.instruction_rows.rows_of([dump.names[name] for name in names])
        lines = [module.place(row) for row in rows[rows != NONE].tolist()]
    entries = dump.schedule_row_of_name[np.array(names, np.int64)].tolist()
    return [*lines, *_known(*(schedule_place(dump, entry) for entry in entries))][:1]


def _entry(dump: DumpSet, target: Target) -> int:
    """The row of the schedule of an instruction, a step or the printed peak, NONE for anything else."""
    match target:
        case Instruction(name):
            return dump.schedule_row_of_name.item(name)
        case Step(step):
            return dump.schedule_row(step)
        case PeakHeader(row):
            return dump.schedule_row(dump.peaks.step.item(row))
    return NONE


def _known(*places: Place | None) -> list[Place]:
    return [place for place in places if place]
