"""Causes of a change that the dumps prove: what was donated, recomputed, retyped, padded or made asynchronous, and
whether only the schedule differs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.diff.breakdowns import Pair
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.diff.traits import parameter_values
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.hlo.shapes import without_layout


class CauseKind(StrEnum):
    """What changed.

    - `DONATION`: the number of parameters whose buffer holds an output.
    - `OUTPUTS`: the number of allocations that hold outputs of the program.
    - `TYPE`: matched values at both peaks whose elements have another type.
    - `SIZE`: matched values at both peaks whose dimensions differ.
    - `CHECKPOINT`: values that `jax.checkpoint` computes again.
    - `REMATERIALIZED`: instructions that XLA computes again to save memory (`.remat` in their names).
    - `ASYNCHRONOUS`: collectives that run beside other instructions, and hold their buffers until they are done.
    - `FUSION`: operations with a buffer at the peak that are inside of fusions, which have none, in the other dump.
    - `PADDING`: the padding at the peaks.
    - `SCHEDULE`: all values are the same, but some live at other times.
    """

    DONATION = "donation"
    OUTPUTS = "outputs"
    TYPE = "type"
    SIZE = "size"
    CHECKPOINT = "checkpoint"
    REMATERIALIZED = "rematerialized"
    ASYNCHRONOUS = "asynchronous"
    FUSION = "fusion"
    PADDING = "padding"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """A cause, with how many values or instructions it is about in both dumps.

    `size_bytes` are the bytes of the lost or gained donations, of the retyped or resized values at the peaks, of the
    outputs, of what only one dump has outside of fusions, or of the padding; None where the cause is not about bytes.
    `types` are the element types for `TYPE`, the dimensions for `SIZE`, and twice the op_name for `FUSION`, before and
    after, most bytes first. `copies` are the names of the copies that only one dump makes, of parameters
    that only the other one donates.
    """

    kind: CauseKind
    count: Pair
    size_bytes: Pair | None = None
    types: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def causes(
    compared: Comparison, old_module: HloModule | None = None, new_module: HloModule | None = None
) -> Iterator[ChangeCause]:
    """Yield the causes that two dumps prove in their default memory space, the most telling first. Only HLO modules
    have what is inside of fusions.
    """
    donation = tuple(_donation(compared))
    yield from donation
    outputs = [_outputs(one.dump) for one in (compared.old, compared.new)]
    count, size_bytes = (Pair(*numbers) for numbers in zip(*outputs, strict=True))
    if count.change * size_bytes.change > 0:
        yield ChangeCause(CauseKind.OUTPUTS, count, size_bytes)
    yield from _resized(compared)
    if old_module and new_module:
        yield from _refused(compared, (old_module, new_module))
    for kind, number in _COUNTED.items():
        counts = Pair(number(compared.old.dump), number(compared.new.dump))
        if counts.change:
            yield ChangeCause(kind, counts)
    space = compared.space(DEFAULT_COLOR)
    padding, unknown = (space and space.exact(name) for name in ("padding_bytes", "unknown_padding_bytes"))
    if padding and padding.change and unknown and not unknown.change:
        yield ChangeCause(CauseKind.PADDING, Pair(0, 0), padding)
    values = compared.values
    moved = values.count(ValueClass.MOVED)
    if moved and not donation and moved + values.count(ValueClass.UNCHANGED) == len(values):
        yield ChangeCause(CauseKind.SCHEDULE, Pair(0, moved))


# ---------------------------------------------------------------- donation


def _donation(compared: Comparison) -> Iterator[ChangeCause]:
    """Parameters that only one of the dumps donates. Those without a certain partner say nothing about donation."""
    old, new, matching = compared.old.dump, compared.new.dump, compared.matching
    first = np.intersect1d(parameter_values(old)[1], np.flatnonzero(matching.confidence == Confidence.HIGH))
    second = matching.new_of_old[first]
    is_parameter = np.isin(second, parameter_values(new)[1])
    first, second = first[is_parameter], second[is_parameter]
    is_old, is_new = _is_donated(old, first), _is_donated(new, second)
    is_lost, is_gained = is_old & ~is_new, is_new & ~is_old
    if is_lost.any() or is_gained.any():
        lost, gained = old.values.size_bytes[first[is_lost]], new.values.size_bytes[second[is_gained]]
        yield ChangeCause(
            CauseKind.DONATION,
            Pair(len(lost), len(gained)),
            Pair(sum(lost.tolist()), sum(gained.tolist())),
            copies=(
                _copies(old, first[is_gained], matching.new_of_old == NONE),
                _copies(new, second[is_lost], matching.old_of_new == NONE),
            ),
        )


def _is_donated(dump: DumpSet, values: Column) -> NDArray[np.bool_]:
    """Whether each of some values is in the allocation of a parameter that also holds an output."""
    wanted = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT)
    found: NDArray[np.bool_] = dump.allocations.kind[dump.values.allocation[values]] & wanted == wanted
    return found


def _copies(dump: DumpSet, parameters: Column, is_unmatched: NDArray[np.bool_]) -> tuple[str, ...]:
    """The names of the copies of some parameters whose values only this dump has."""
    is_read = np.isin(taken(dump.value_of_used_value, dump.uses.value), parameters)
    readers = distinct(dump.uses.name[is_read])
    readers = readers[np.isin(readers, dump.values.name[is_unmatched])]
    copies = (name for name in readers.tolist() if dump.opcode(name) in (b"copy", b"copy-start"))
    return tuple(dump.names[name].decode("utf-8", "replace") for name in copies)


# ---------------------------------------------------------------- shapes


def _resized(compared: Comparison) -> Iterator[ChangeCause]:
    """Matched values that are in the default memory space at both peaks, and whose shapes differ. If one is not, its
    time or its place is what makes the difference.
    """
    values, dumps = compared.values, (compared.old.dump, compared.new.dump)
    is_resized = (values.change & Change.SHAPE != 0) & (values.change & Change.SIZE != 0)
    sizes: defaultdict[CauseKind, list[tuple[int, ...]]] = defaultdict(list)
    types: defaultdict[CauseKind, Counter[tuple[str, str]]] = defaultdict(Counter)
    for row in np.flatnonzero(is_resized & values.is_at_old_peak & values.is_at_new_peak).tolist():
        pair = [*zip(dumps, (int(values.old[row]), int(values.new[row])), strict=True)]
        old, new = (_ARRAY.match((dump.shape(value) or b"").decode("utf-8", "replace")) for dump, value in pair)
        if old is None or new is None or any(dump.values.color[value] != DEFAULT_COLOR for dump, value in pair):
            continue
        old_bytes, new_bytes = (int(dump.values.size_bytes[value]) for dump, value in pair)
        kind = CauseKind.TYPE if old[2] == new[2] else CauseKind.SIZE
        sizes[kind].append((old_bytes, new_bytes))
        for change in [(old[1], new[1])] if kind is CauseKind.TYPE else _other_dimensions(old[2], new[2]):
            types[kind][change] += abs(new_bytes - old_bytes)
    for kind in sorted(sizes, reverse=True):
        count, all_bytes = len(sizes[kind]), (sum(of_side) for of_side in zip(*sizes[kind], strict=True))
        changes = tuple(change for change, _ in types[kind].most_common())
        yield ChangeCause(kind, Pair(count, count), Pair(*all_bytes), changes)


def _other_dimensions(old: str, new: str) -> Iterable[tuple[str, str]]:
    """The dimensions that differ between two lists of equally many, each once."""
    before, after = old.split(","), new.split(",")
    pairs = zip(before, after, strict=True) if len(before) == len(after) else ()
    return dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])


_ARRAY: Final = re.compile(r"([a-z]\w*)\[([^\]]*)\]")


# ---------------------------------------------------------------- fusions

_MAX_OPERATIONS: Final = 20
"""How many operations to look up, those with the most bytes at the peaks."""

_MAX_INSTRUCTIONS: Final = 2000
"""How many instructions of an operation to read. If there are more, nothing is claimed."""

_Operation: TypeAlias = tuple[str, bytes]
"""An op_name, and a shape without its layout."""


def _refused(compared: Comparison, modules: tuple[HloModule, HloModule]) -> Iterator[ChangeCause]:
    """Operations that have a buffer in one dump and are inside of fusions, which have none, in the other.

    The proof is a count of the operations with an op_name and a shape: one dump has more values of them although its
    module has no more operations, or the other module has them only inside of fusions. So an added layer is no split
    fusion.
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
    fused, split = found
    if fused or split:
        names = tuple((name, name) for name, _ in (fused + split).most_common())
        yield ChangeCause(CauseKind.FUSION, Pair(len(fused), len(split)), Pair(fused.total(), split.total()), names)


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


# ---------------------------------------------------------------- numbers of each dump


def _outputs(dump: DumpSet) -> tuple[int, int]:
    """The number of allocations in the default memory space that hold outputs, and their bytes."""
    table = dump.allocations
    is_output = (table.kind & int(Kind.MAYBE_LIVE_OUT) != 0) & (table.color == DEFAULT_COLOR)
    return int(is_output.sum()), sum(table.size_bytes[is_output].tolist())


def _checkpointed(dump: DumpSet) -> int:
    """The number of values whose op_name says that `jax.checkpoint` computes them again."""
    quotes, rows = dump.used_values, dump.values.used_value
    spans = (taken(column, rows).tolist() for column in (quotes.instruction_start, quotes.instruction_end))
    data = dump.used.document.data if dump.used else b""
    return sum(
        start != NONE and data.find(b"rematted_computation", start, end) >= 0 for start, end in zip(*spans, strict=True)
    )


def _scheduled(pattern: bytes) -> Callable[[DumpSet], int]:
    """Count the scheduled instructions whose names match a pattern."""
    is_counted = re.compile(pattern).search
    return lambda dump: sum(is_counted(dump.names[name]) is not None for name in dump.schedule.name.tolist())


_COUNTED: Final = {
    CauseKind.CHECKPOINT: _checkpointed,
    CauseKind.REMATERIALIZED: _scheduled(rb"\.remat\d*(?:\.|$)"),
    CauseKind.ASYNCHRONOUS: _scheduled(
        rb"^(?:all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)-start\b"
    ),
}
"""Causes that are another number of something."""
