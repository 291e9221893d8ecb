"""Navigation from a name in an HLO module.

================  ==============================  ==================================
cursor on         an instruction                  a computation
================  ==============================  ==================================
definition        where it is defined             its head
declaration       where it is defined             its head
type definition   the rows of its values in the   nothing
                  buffer assignment
implementation    its entry in the schedule       its root
references        its readers in the module, and  its callers
                  every mention of its values in
                  the dump
================  ==============================  ==================================
"""

from collections.abc import Iterator
from itertools import chain, islice

from xla_lens.model.hlo.mentions import (
    HloComputation,
    HloInstruction,
    HloMention,
    definition_place,
    meaning_of,
    references_to,
    values_of,
)
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Instruction
from xla_lens.model.places.occurrences import occurrences
from xla_lens.model.places.places import Place, schedule_place, slice_place, used_value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


def definition(module: HloModule, mention: HloMention) -> list[Place]:
    """Return where an instruction or a computation is defined."""
    return [definition_place(module, mention.target)]


def type_definition(dump: DumpSet, module: HloModule, mention: HloMention, limit: int) -> list[Place]:
    """Return the rows of an instruction's values in the buffer assignment, at most `limit`."""
    if not isinstance(mention.target, HloInstruction):
        return []
    name, index = module.name(mention.target.row), mention.target.index
    values = values_of(dump, name)
    if index:
        value = dump.value_at(dump.name_number(name), dump.index_number(index))
        values = [value] if value != NONE else []
    places = (slice_place(dump, value) or used_value_place(dump, value) for value in values)
    return list(islice((place for place in places if place), limit))


def implementation(dump: DumpSet, module: HloModule, mention: HloMention) -> list[Place]:
    """Return the entry of an instruction in the schedule, or the root of a computation."""
    match mention.target:
        case HloInstruction(row):
            number = dump.name_number(module.name(row))
            place = schedule_place(dump, int(dump.schedule_row_of_name[number])) if number != NONE else None
            return [place] if place else []
        case HloComputation(row):
            root = module.root(row)
            return [module.place(root)] if root != NONE else []


def references(dump: DumpSet, module: HloModule, mention: HloMention, limit: int) -> list[Place]:
    """Return the definition and all references in the module and the dump, in this order, at most `limit`."""
    uses = (Place(module.file, use.start, use.end) for use in references_to(module, mention.target))
    return list(islice(chain(definition(module, mention), uses, _dump(dump, module, mention)), limit))


def _dump(dump: DumpSet, module: HloModule, mention: HloMention) -> Iterator[Place]:
    if isinstance(mention.target, HloInstruction):
        name = module.name(mention.target.row)
        meaning, number = meaning_of(dump, name, mention.target.index), dump.name_number(name)
        entry = Instruction(number) if number != NONE and dump.schedule_row_of_name[number] != NONE else None
        for target in dict.fromkeys(target for target in (meaning, entry) if target):
            yield from (occurrence.place for occurrence in occurrences(dump, target))
