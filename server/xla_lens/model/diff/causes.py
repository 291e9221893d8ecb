"""Causes of a change that the dumps prove: what was donated, recomputed, retyped, padded or made asynchronous, and
whether only the schedule differs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from xla_lens.model.diff.breakdowns import Pair
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.diff.traits import parameter_values
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind, Mask, cells
from xla_lens.syntax.hlo.instruction import InstructionText
from xla_lens.syntax.hlo.shapes import is_tuple, without_layout
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import decode

CauseKind: TypeAlias = Literal[
    "donation",
    "outputs",
    "type",
    "size",
    "checkpoint",
    "rematerialized",
    "asynchronous",
    "fusion",
    "padding",
    "schedule",
]
"""What changed.

- ``donation``: the number of parameters whose buffer holds an output.
- ``outputs``: the number of allocations that hold outputs of the program.
- ``type``: matched values at both peaks whose elements have another type.
- ``size``: matched values at both peaks whose dimensions differ.
- ``checkpoint``: values that `jax.checkpoint` computes again.
- ``rematerialized``: instructions that XLA computes again to save memory (`.remat` in their names).
- ``asynchronous``: collectives that run beside other instructions, and hold their buffers until they are done.
- ``fusion``: operations with a buffer at the peak that are inside of fusions, which have none, in the other dump.
- ``padding``: the padding at the peaks.
- ``schedule``: all values are the same, but some live at other times.
"""


class ChangeCause(Struct, frozen=True):
    """A cause, with how many values or instructions it is about in both dumps.

    `size_bytes` are the bytes of the lost or gained donations, of the retyped or resized values at the peaks, of the
    outputs, of what only one dump has outside of fusions, or of the padding; None where the cause is not about bytes.
    `examples` are the changes of element types for ``type`` and of dimensions for ``size``, and the operations for
    ``fusion``, most bytes first. `copies` are the names of the copies that only one dump makes, of parameters that only
    the other one donates.
    """

    kind: CauseKind
    count: Pair
    size_bytes: Pair | None = None
    examples: tuple[str, ...] = ()
    copies: tuple[tuple[str, ...], ...] = ((), ())


def causes(compared: Comparison) -> Iterator[ChangeCause]:
    """Yield the causes that two dumps prove in their default memory space, the most telling first. Only HLO modules
    have what is inside of fusions.
    """
    yield from _donation(compared)
    yield from _outputs(compared)
    yield from _resized(compared)
    if compared.old_module and compared.new_module:
        yield from _refused(compared, compared.old_module, compared.new_module)
    for kind, number in _COUNTED.items():
        counts = Pair(number(compared.old.dump), number(compared.new.dump))
        if counts.change:
            yield ChangeCause(kind, counts)
    space = compared.space(DEFAULT_COLOR)
    exact = space.exact if space else None
    padding, unknown = (exact.padding_bytes, exact.unknown_padding_bytes) if exact else (None, None)
    if padding and padding.change and unknown and not unknown.change:
        yield ChangeCause("padding", Pair(0, 0), padding)
    moved, unchanged = map(compared.values.count, (ValueClass.MOVED, ValueClass.UNCHANGED))
    if moved and moved + unchanged == len(compared.values) and not any(_donation(compared)):
        yield ChangeCause("schedule", Pair(0, moved))


def _cause(
    kind: CauseKind,
    sizes: Sequence[Collection[int]],
    examples: Iterable[str] = (),
    copies: tuple[tuple[str, ...], ...] = ((), ()),
) -> ChangeCause:
    """A cause that is about the things of both dumps that have some sizes."""
    count, size_bytes = Pair(*map(len, sizes)), Pair(*map(sum, sizes))
    return ChangeCause(kind, count, size_bytes, tuple(examples), copies)


def _donation(compared: Comparison) -> Iterator[ChangeCause]:
    """Parameters that only one of the dumps donates. Those without a certain partner say nothing about donation."""
    old, new, matching = compared.old.dump, compared.new.dump, compared.matching
    first = np.intersect1d(parameter_values(old)[1], np.flatnonzero(matching.confidence == Confidence.HIGH))
    first = first[np.isin(matching.new_of_old[first], parameter_values(new)[1])]
    second = matching.new_of_old[first]
    is_old, is_new = _is_donated(old, first), _is_donated(new, second)
    is_lost, is_gained = is_old & ~is_new, is_new & ~is_old
    if is_lost.any() or is_gained.any():
        sizes = old.values.size_bytes[first[is_lost]].tolist(), new.values.size_bytes[second[is_gained]].tolist()
        copies = (
            _copies(old, first[is_gained], matching.new_of_old == NONE),
            _copies(new, second[is_lost], matching.old_of_new == NONE),
        )
        yield _cause("donation", sizes, copies=copies)


def _is_donated(dump: DumpSet, values: Column) -> Mask:
    """Whether each of some values is in the allocation of a parameter that also holds an output."""
    wanted = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT)
    found: Mask = dump.allocations.kind[dump.values.allocation[values]] & wanted == wanted
    return found


def _copies(dump: DumpSet, parameters: Column, is_unmatched: Mask) -> tuple[str, ...]:
    """The names of the copies of some parameters whose values only this dump has."""
    is_read = np.isin(taken(dump.value_of_used_value, dump.uses.value), parameters)
    readers = np.intersect1d(dump.uses.name[is_read], dump.values.name[is_unmatched]).tolist()
    return tuple(decode(dump.names[name]) for name in readers if dump.opcode(name) in (b"copy", b"copy-start"))


def _outputs(compared: Comparison) -> Iterator[ChangeCause]:
    """Allocations in the default memory space that hold outputs, if more of them have more bytes."""
    sides = []
    for dump in (compared.old.dump, compared.new.dump):
        table = dump.allocations
        is_output = (table.kind & int(Kind.MAYBE_LIVE_OUT) != 0) & (dump.allocation_spaces == DEFAULT_COLOR)
        sides.append(table.size_bytes[is_output].tolist())
    found = _cause("outputs", sides)
    if found.size_bytes and found.count.change * found.size_bytes.change > 0:
        yield found


def _resized(compared: Comparison) -> Iterator[ChangeCause]:
    """Matched values that are in the default memory space at both peaks, and whose shapes differ. If one is not, its
    time or its place is what makes the difference.
    """
    values, old, new = compared.values, compared.old.dump, compared.new.dump
    is_resized = (values.change & Change.SHAPE != 0) & (values.change & Change.SIZE != 0)
    is_resized &= (values.change & Change.MEMORY_SPACE == 0) & values.is_at_old_peak & values.is_at_new_peak
    is_resized &= taken(old.values.space, values.old) == DEFAULT_COLOR
    sizes: defaultdict[CauseKind, list[tuple[int, int]]] = defaultdict(list)
    examples: defaultdict[CauseKind, Counter[str]] = defaultdict(Counter)
    for one, other in cells(values.old[is_resized], values.new[is_resized]):
        shapes = old.shape(one) or b"", new.shape(other) or b""
        if any(map(is_tuple, shapes)):
            continue
        # The element type and the dimensions.
        before, after = (_WORD.findall(decode(without_layout(shape))) for shape in shapes)
        kind: CauseKind = "type" if before[1:] == after[1:] else "size"
        size_bytes = Pair(old.values.size_bytes.item(one), new.values.size_bytes.item(other))
        sizes[kind].append(size_bytes)
        changes = zip(before, after, strict=True) if len(before) == len(after) else ()
        for example in dict.fromkeys(f"{word} → {new_word}" for word, new_word in changes if word != new_word):
            examples[kind][example] += abs(size_bytes.change)
    for kind in sorted(sizes, reverse=True):
        yield _cause(kind, [*zip(*sizes[kind], strict=True)], dict(examples[kind].most_common()))


_WORD: Final = lazy_pattern(r"\w+")

# ---------------------------------------------------------------- fusions

_MAX_OPERATIONS: Final = 20
"""How many operations of each dump to look up, those with the most bytes at the peak."""

_MAX_INSTRUCTIONS: Final = 2000
"""How many instructions of an operation to read. If there are more, nothing is claimed."""


def _refused(compared: Comparison, *modules: HloModule) -> Iterator[ChangeCause]:
    """Operations that have a buffer in one dump and are inside of fusions, which have none, in the other."""
    values, (old, new) = compared.values, zip((compared.old.dump, compared.new.dump), modules, strict=True)
    is_removed = (values.value_class == ValueClass.REMOVED) & values.is_at_old_peak
    is_added = (values.value_class == ValueClass.ADDED) & values.is_at_new_peak
    fused, split = _fused_in(new, old, values.old[is_removed]), _fused_in(old, new, values.new[is_added])
    if fused or split:
        names = dict.fromkeys(name.rpartition("/")[2] for name, _ in (fused + split).most_common())
        yield _cause("fusion", (fused.values(), split.values()), names)


_Program: TypeAlias = tuple[DumpSet, HloModule]


def _fused_in(other: _Program, program: _Program, values: Column) -> Counter[str]:
    """The bytes of values by operation that are inside of fusions in another program: that has as many instructions
    with their op_name and shape, or none of them has a buffer. So an added layer is no split fusion.
    """
    dump, sizes, found = program[0], Counter[tuple[str, bytes]](), Counter[str]()
    for value in values.tolist():
        instruction, shape = dump.instruction(dump.name_of(value)), dump.shape(value)
        if instruction and instruction.op_name and shape and dump.values.space[value] == DEFAULT_COLOR:
            sizes[instruction.op_name, without_layout(shape)] += dump.values.size_bytes.item(value)
    for (op_name, shape), size_bytes in sizes.most_common(_MAX_OPERATIONS):
        here, there = (_operations(module, op_name, shape) for _, module in (program, other))
        counts = [sum(read.opcode != b"fusion" for read in of_side) for of_side in (here, there)]
        have_no_buffer = not any(other[0].instruction(other[0].name_number(read.name)) for read in there)
        if all(counts) and (have_no_buffer or counts[0] <= counts[1]):
            found[op_name] += size_bytes
    return found


def _operations(module: HloModule, op_name: str, shape: bytes) -> list[InstructionText]:
    """The instructions with an op_name and a shape, none if there are too many to read."""
    places = re.finditer(re.escape(b'op_name="%s"' % op_name.encode()), module.data)
    rows = [module.instruction_at(place.start()) for place in islice(places, _MAX_INSTRUCTIONS)]
    found = [module.instruction(row) for row in rows if row != NONE] if len(rows) < _MAX_INSTRUCTIONS else []
    return [read for read in found if read and without_layout(read.shape) == shape]


# ---------------------------------------------------------------- numbers of each dump


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


_COUNTED: Final[Mapping[CauseKind, Callable[[DumpSet], int]]] = {
    "checkpoint": _checkpointed,
    "rematerialized": _scheduled(rb"\.remat\d*(?:\.|$)"),
    "asynchronous": _scheduled(rb"^(?:all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)-start\b"),
}
"""Causes that are another number of something."""
