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

from xla_lens.model.hlo.mentions import (
    HloComputation,
    HloInstruction,
    HloMention,
    HloTarget,
    definition_place,
    values_of,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Peak, Role, Step, Target, Value
from xla_lens.model.places.places import Place, allocation_place, schedule_place, slice_place, used_value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


def definition(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, limit: int) -> list[Place]:
    """Return at most `limit` places that define the mentioned thing."""
    match mention.target:
        case Value(row):
            is_header = isinstance(mention, Mention) and mention.role is Role.USED_VALUE
            header = None if is_header else used_value_place(dump, row)
            return _known(header or slice_place(dump, row) or used_value_place(dump, row))
        case Allocation(row) if isinstance(mention, Mention) and mention.role is Role.ALLOCATION_HEADER:
            return _known(*(slice_place(dump, value) for value in dump.values_of_allocation(row)[:limit].tolist()))
    return _known(_entry(dump, module, mention.target))


def declaration(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, _limit: int) -> list[Place]:
    """Return the row in the allocation, or the nearest equivalent."""
    match mention.target:
        case Value(row):
            return _known(slice_place(dump, row) or used_value_place(dump, row))
    return _known(_entry(dump, module, mention.target))


def type_definition(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, limit: int) -> list[Place]:
    """Return the header of the allocation, or at most `limit` rows of values."""
    match mention.target:
        case Value(row):
            return _known(allocation_place(dump, int(dump.values.allocation[row])))
        case Allocation(row):
            return _known(allocation_place(dump, row))
        case HloInstruction(row, index) if module:
            name = module.name(row)
            values = values_of(dump, name)
            if index:
                value = dump.value_at(dump.name_number(name), dump.index_number(index))
                values = [value] if value != NONE else []
            return _known(*(slice_place(dump, value) or used_value_place(dump, value) for value in values))[:limit]
    return []


def implementation(dump: DumpSet, module: HloModule | None, mention: Mention | HloMention, _limit: int) -> list[Place]:
    """Return the instruction in the HLO module, or its entry in the schedule; in a module, that entry, or the root of a
    computation.
    """
    names: tuple[int, ...] = ()
    match mention.target:
        case HloInstruction(row) if module:
            number = dump.name_number(module.name(row))
            return _known(_entry(dump, module, Instruction(number))) if number != NONE else []
        case HloComputation(row) if module:
            root = module.root(row)
            return [module.place(root)] if root != NONE else []
        case Value(row):
            names = (mention.name if isinstance(mention, Mention) else NONE), int(dump.values.name[row])
        case Instruction(name):
            names = (name,)
        case Step() | Peak():
            step = mention.target.step if isinstance(mention.target, Step) else int(dump.peaks.step[mention.target.row])
            row = dump.schedule_row(step)
            names = (int(dump.schedule.name[row]),) if row != NONE else ()
    names = tuple(name for name in names if name != NONE)
    lines = (_line(dump, module, name) for name in names)
    entries = (_entry(dump, module, Instruction(name)) for name in names)
    return _known(*lines, *entries)[:1]


def _line(dump: DumpSet, module: HloModule | None, name: int) -> Place | None:
    row = module.row_of(dump.names[name]) if module else NONE
    return module.place(row) if module and row != NONE else None


def _entry(dump: DumpSet, module: HloModule | None, target: Target | HloTarget) -> Place | None:
    match target:
        case HloInstruction() | HloComputation():
            return definition_place(module, target) if module else None
        case Allocation(row):
            return allocation_place(dump, row)
        case Instruction(name):
            return schedule_place(dump, int(dump.schedule_row_of_name[name]))
        case Step(step):
            return schedule_place(dump, dump.schedule_row(step))
        case Peak(row):
            return schedule_place(dump, dump.schedule_row(int(dump.peaks.step[row])))
        case Value():
            return None


def _known(*places: Place | None) -> list[Place]:
    return [place for place in places if place]
