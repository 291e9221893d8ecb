"""Operations that have a buffer in one dump and are inside of fusions, which have none, in the other.

The proof is a count of the operations with an op_name and a shape: one dump has more values of them although its module
has no more operations, or the other module has them only inside of fusions. So an added layer is no split fusion.
"""

from collections import Counter
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.traits import without_layout
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE

_MAX_OPERATIONS: Final = 20
"""How many operations to look up, those with the most bytes at the peaks."""

_MAX_INSTRUCTIONS: Final = 2000
"""How many instructions of an operation to read. If there are more, nothing is claimed."""

_Operation: TypeAlias = tuple[str, bytes]
"""An op_name, and a shape without its layout."""


def refused(compared: Comparison, modules: tuple[HloModule, HloModule]) -> tuple[Counter[str], ...]:
    """Return the bytes at the peak of the default memory space, by op_name, of what is inside of fusions only in the
    new module, and of what is only in the old one.
    """
    dumps = compared.old.dump, compared.new.dump
    sizes = _only(compared)
    defined = [_defined(dump, {shape for _, shape in sizes[0] | sizes[1]}) for dump in dumps]
    found: tuple[Counter[str], ...] = (Counter(), Counter())
    for operation, _ in (sizes[0] + sizes[1]).most_common(_MAX_OPERATIONS):
        more = int(defined[1][operation] > defined[0][operation])
        counts = [_operations(module, operation) for module in modules]
        if not sizes[more][operation] or None in counts or defined[0][operation] == defined[1][operation]:
            continue
        here, there = counts[more] or 0, counts[1 - more] or 0
        if here <= there if defined[1 - more][operation] else there:
            found[more][operation[0]] += sizes[more][operation]
    return found


def _only(compared: Comparison) -> tuple[Counter[_Operation], Counter[_Operation]]:
    """The bytes at the peak of the default memory space that only one dump has, by operation."""
    values = compared.values
    found: tuple[Counter[_Operation], Counter[_Operation]] = (Counter(), Counter())
    for one, rows, kind, is_at_peak, sizes in (
        (compared.old, values.old, ValueClass.REMOVED, values.is_at_old_peak, found[0]),
        (compared.new, values.new, ValueClass.ADDED, values.is_at_new_peak, found[1]),
    ):
        for value in rows[(values.value_class == kind) & is_at_peak].tolist():
            operation = _operation(one.dump, value) if one.dump.values.color[value] == DEFAULT_COLOR else None
            if operation:
                sizes[operation] += int(one.dump.values.size_bytes[value])
    return found


def _operation(dump: DumpSet, value: int) -> _Operation | None:
    instruction, shape = dump.instruction(int(dump.values.name[value])), dump.shape(value)
    op_name = instruction.metadata().get("op_name") if instruction else None
    return (op_name, without_layout(shape)) if op_name and shape else None


def _defined(dump: DumpSet, wanted: set[bytes]) -> Counter[_Operation | None]:
    """The number of values of each operation with one of some shapes."""
    shapes, of_slice = dump.slice_shapes
    is_wanted = np.array([without_layout(shape) in wanted for shape in shapes], np.bool_)
    slices = dump.values.slice
    rows = np.flatnonzero(slices != NONE)
    rows = rows[(of_slice[slices[rows]] != NONE) & is_wanted[of_slice[slices[rows]]]] if len(shapes) else rows[:0]
    return Counter(_operation(dump, value) for value in rows.tolist())


def _operations(module: HloModule, operation: _Operation) -> int | None:
    """The number of instructions of an operation that are no fusions, None if there are too many to read."""
    wanted = b'op_name="%s"' % operation[0].encode()
    found, place = 0, module.data.find(wanted)
    for _ in range(_MAX_INSTRUCTIONS):
        if place < 0:
            return found
        row = module.instruction_at(place)
        instruction = module.instruction(row) if row != NONE else None
        if instruction and instruction.opcode != b"fusion" and without_layout(instruction.shape) == operation[1]:
            found += 1
        place = module.data.find(wanted, place + 1)
    return None
