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

From its header in `Used values`, and without used values, the definition of a value is its row in the allocation. The
implementation is the instruction that runs: that of a named bitcast is the bitcast, although the bitcast stands for the
value whose bytes it shares. Without an HLO module the implementation is the entry in the schedule.
"""

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Peak, Role, Step, Target, Value
from xla_lens.model.places.places import Place, allocation_place, schedule_place, slice_place, used_value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


def definition(dump: DumpSet, mention: Mention, limit: int) -> list[Place]:
    """Return at most `limit` places that define the mentioned thing."""
    match mention.target:
        case Value(row):
            header = None if mention.role is Role.USED_VALUE else used_value_place(dump, row)
            return _known(header or slice_place(dump, row) or used_value_place(dump, row))
        case Allocation(row) if mention.role is Role.ALLOCATION_HEADER:
            return _known(*(slice_place(dump, value) for value in dump.values_of_allocation(row)[:limit].tolist()))
    return _known(_entry(dump, mention.target))


def declaration(dump: DumpSet, mention: Mention) -> list[Place]:
    """Return the row in the allocation, or the nearest equivalent."""
    match mention.target:
        case Value(row):
            return _known(slice_place(dump, row) or used_value_place(dump, row))
    return _known(_entry(dump, mention.target))


def type_definition(dump: DumpSet, mention: Mention) -> list[Place]:
    """Return the header of the allocation."""
    match mention.target:
        case Value(row):
            return _known(allocation_place(dump, int(dump.values.allocation[row])))
        case Allocation(row):
            return _known(allocation_place(dump, row))
    return []


def implementation(dump: DumpSet, module: HloModule | None, mention: Mention) -> list[Place]:
    """Return the instruction in the HLO module, or its entry in the schedule without a module."""
    names: tuple[int, ...] = ()
    match mention.target:
        case Value(row):
            names = mention.name, int(dump.values.name[row])
        case Instruction(name):
            names = (name,)
        case Step() | Peak():
            step = mention.target.step if isinstance(mention.target, Step) else int(dump.peaks.step[mention.target.row])
            row = dump.schedule_row(step)
            names = (int(dump.schedule.name[row]),) if row != NONE else ()
    names = tuple(name for name in names if name != NONE)
    lines = (_line(dump, module, name) for name in names)
    entries = (_entry(dump, Instruction(name)) for name in names)
    return _known(*lines, *entries)[:1]


def _line(dump: DumpSet, module: HloModule | None, name: int) -> Place | None:
    row = module.row_of(dump.names[name]) if module else NONE
    return module.place(row) if module and row != NONE else None


def _entry(dump: DumpSet, target: Target) -> Place | None:
    match target:
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
