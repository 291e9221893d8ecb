"""Values whose operation was inside of a fusion in the old dump and is not in the new one, or the reverse.

An operation inside of a fusion has no buffer. The proof is a count of the operations with an op_name and a shape: one
module has more values of them although it has no more operations, or it has values while in the other all of them are
inside of fusions. So a layer that was added is no split fusion.
"""

from collections import Counter
from dataclasses import dataclass
from math import nan

import numpy as np

from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison, Pair
from xla_lens.model.diff.traits import without_layout
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column

_MAX_KEYS = 20
"""How many op_names and shapes to look up, those with the most bytes at a peak first."""

_MAX_OPERATIONS = 2000
"""How many operations with one op_name to read. Nothing is claimed if there are more."""

_Key = tuple[str, bytes]
"""An op_name, and a shape without its layout."""


@dataclass(frozen=True, slots=True)
class RefusedValues:
    """The numbers and bytes of the values at a peak that are inside of fusions now (`old`), and that were before
    (`new`), and their op_names.
    """

    count: Pair
    size_bytes: Pair
    op_names: tuple[tuple[str, str], ...]


def refused_values(compared: Comparison, old_module: HloModule, new_module: HloModule) -> RefusedValues:
    """Return the values that only one dump has, because the other computes them inside of fusions."""
    values = compared.values
    sides = (
        (compared.old.dump, values.old, ValueClass.REMOVED, values.is_at_old_peak),
        (compared.new.dump, values.new, ValueClass.ADDED, values.is_at_new_peak),
    )
    sizes = [_sizes(dump, rows[(values.value_class == kind) & at_peak]) for dump, rows, kind, at_peak in sides]
    keys = Counter(sizes[0]) + Counter(sizes[1])
    counts, bytes_of = [0, 0], [0, 0]
    op_names: list[tuple[str, str]] = []
    for key, _ in keys.most_common(_MAX_KEYS):
        defined = [_defined(compared.old.dump, key), _defined(compared.new.dump, key)]
        side = int(defined[1] > defined[0])
        if defined[0] == defined[1] or key not in sizes[side]:
            continue
        total = [_operations(module, key) for module in (old_module, new_module)]
        is_fused = (total[side] <= total[1 - side]) if defined[1 - side] else total[1 - side] > 0
        if is_fused:
            counts[side] += defined[side] - defined[1 - side]
            bytes_of[side] += sizes[side][key]
            op_names.append((key[0], key[0]))
    return RefusedValues(Pair(*counts), Pair(*bytes_of), tuple(op_names))


def _sizes(dump: DumpSet, rows: Column) -> dict[_Key, int]:
    """The bytes of some values of the default memory space by their op_names and shapes."""
    found: dict[_Key, int] = {}
    for row in rows[dump.values.color[rows] == DEFAULT_COLOR].tolist():
        key = _key(dump, row)
        size_bytes = int(dump.values.size_bytes[row])
        if key and size_bytes > 0:
            found[key] = found.get(key, 0) + size_bytes
    return found


def _key(dump: DumpSet, row: int) -> _Key | None:
    instruction = dump.instruction(int(dump.values.name[row]))
    op_name = instruction.metadata().get("op_name") if instruction else None
    shape = dump.shape(row)
    return (op_name, without_layout(shape)) if op_name and shape else None


def _defined(dump: DumpSet, key: _Key) -> int:
    """The number of values with an op_name and a shape."""
    shapes, of_slice = dump.slice_shapes
    wanted = [number for number, shape in enumerate(shapes) if without_layout(shape) == key[1]]
    rows = np.flatnonzero(dump.values.slice != NONE)
    rows = rows[np.isin(of_slice[dump.values.slice[rows]], wanted)]
    return sum(_key(dump, row) == key for row in rows.tolist())


def _operations(module: HloModule, key: _Key) -> float:
    """The number of operations with an op_name and a shape that are no fusions; not a number if there are too many to
    read, so that no comparison with it holds.
    """
    wanted = b'op_name="%s"' % key[0].encode()
    found = read = 0
    place = module.data.find(wanted)
    while place >= 0:
        read += 1
        if read > _MAX_OPERATIONS:
            return nan
        row = module.instruction_at(place)
        instruction = module.instruction(row) if row != NONE else None
        if instruction and instruction.opcode != b"fusion" and without_layout(instruction.shape) == key[1]:
            found += 1
        place = module.data.find(wanted, place + 1)
    return found
