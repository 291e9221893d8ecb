"""Causes of a change that the dumps prove: what was donated, recomputed, retyped, padded or made asynchronous, and
whether only the schedule differs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison, Pair
from xla_lens.model.diff.fusions import refused_values
from xla_lens.model.diff.matching import Level
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import covering
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, Kind


class CauseKind(StrEnum):
    """What changed.

    - `DONATION`: the number of parameters whose buffer holds an output.
    - `TYPE`: matched values at the peaks whose elements have another type.
    - `SIZE`: matched values at the peaks whose dimensions differ.
    - `REMATERIALIZED`: instructions that XLA computes again to save memory (`.remat` in their names).
    - `CHECKPOINT`: values that `jax.checkpoint` computes again.
    - `ASYNCHRONOUS`: collectives that run beside other instructions, and hold their buffers until they are done.
    - `PADDING`: the padding at the peaks.
    - `OUTPUTS`: the number of allocations that hold outputs of the program.
    - `FUSION`: values whose operation was inside of a fusion before, or is now.
    - `SCHEDULE`: all values are the same, but some live at other times.
    """

    DONATION = "donation"
    TYPE = "type"
    SIZE = "size"
    REMATERIALIZED = "rematerialized"
    CHECKPOINT = "checkpoint"
    ASYNCHRONOUS = "asynchronous"
    PADDING = "padding"
    OUTPUTS = "outputs"
    FUSION = "fusion"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """A cause, with how many values or instructions it is about in both dumps.

    `size_bytes` are the bytes of the lost or gained donations, of the retyped or resized values at the peaks, of the
    outputs, of the fused values, or of the padding; None where the cause is not about bytes. `types` are the element
    types for `TYPE`, the dimensions for `SIZE` and the op_name for `FUSION`, before and after, most bytes first.
    `copies` are the names of the copies that only one dump makes, of parameters that only the other one donates.
    """

    kind: CauseKind
    count: Pair
    size_bytes: Pair | None = None
    types: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def causes(
    compared: Comparison, old_module: HloModule | None = None, new_module: HloModule | None = None
) -> Iterator[ChangeCause]:
    """Yield the causes that two dumps prove in their default memory space, the most telling first. Only the HLO modules
    have what is inside of fusions.
    """
    yield from _donation(compared)
    yield from _outputs(compared)
    yield from _resized(compared)
    if old_module and new_module:
        fused = refused_values(compared, old_module, new_module)
        if fused.count.change:
            yield ChangeCause(CauseKind.FUSION, fused.count, fused.size_bytes, fused.op_names)
    old, new = compared.old.dump, compared.new.dump
    for kind, count in (
        (CauseKind.CHECKPOINT, _checkpointed),
        (CauseKind.REMATERIALIZED, _rematerialized),
        (CauseKind.ASYNCHRONOUS, _asynchronous),
    ):
        counts = Pair(count(old), count(new))
        if counts.change:
            yield ChangeCause(kind, counts)
    space = compared.space(DEFAULT_COLOR)
    details = space.details if space else None
    if details and details.padding_bytes.change and not details.unknown_padding_bytes.change:
        yield ChangeCause(CauseKind.PADDING, Pair(0, 0), details.padding_bytes)
    values = compared.values
    moved = values.count(ValueClass.MOVED)
    if moved and moved + values.count(ValueClass.UNCHANGED) == len(values):
        yield ChangeCause(CauseKind.SCHEDULE, Pair(0, moved))


def _donation(compared: Comparison) -> Iterator[ChangeCause]:
    """Parameters that only one of the dumps donates. Those without a certain partner say nothing about donation."""
    old, new = compared.old.dump, compared.new.dump
    is_old, is_new = _is_donated(old), _is_donated(new)
    is_certain = (compared.matching.level != NONE) & (compared.matching.level <= Level.PARAMETER)
    first = np.flatnonzero(_is_parameter(old) & is_certain)
    second = compared.matching.new_of_old[first]
    both = _is_parameter(new)[second]
    first, second = first[both], second[both]
    lost, gained = first[is_old[first] & ~is_new[second]], second[is_new[second] & ~is_old[first]]
    if len(lost) or len(gained):
        yield ChangeCause(
            CauseKind.DONATION,
            Pair(len(lost), len(gained)),
            Pair(sum(old.values.size_bytes[lost].tolist()), sum(new.values.size_bytes[gained].tolist())),
            copies=(
                _copies(old, first[is_new[second] & ~is_old[first]], compared.matching.new_of_old == NONE),
                _copies(new, second[is_old[first] & ~is_new[second]], compared.matching.old_of_new == NONE),
            ),
        )


def _copies(dump: DumpSet, parameters: Column, is_unmatched: NDArray[np.bool_]) -> tuple[str, ...]:
    """The names of the copies of some parameters whose values only this dump has."""
    is_read = np.isin(taken(dump.value_of_used_value, dump.uses.value), parameters)
    readers = distinct(dump.uses.name[is_read])
    readers = readers[np.isin(readers, dump.values.name[is_unmatched])]
    return tuple(
        dump.names[name].decode("utf-8", "replace")
        for name in readers.tolist()
        if dump.opcode(name) in (b"copy", b"copy-start")
    )


def _is_parameter(dump: DumpSet) -> NDArray[np.bool_]:
    """Whether each value is a parameter of the program: the first value in the allocation of one."""
    found = np.zeros(len(dump.values), np.bool_)
    allocations = dump.allocations
    rows = np.flatnonzero((allocations.parameter != NONE) & (allocations.slice_count > 0))
    found[dump.value_of_slice[allocations.first_slice[rows]]] = True
    return found


def _is_donated(dump: DumpSet) -> NDArray[np.bool_]:
    """Whether each value is in the allocation of a parameter that also holds an output."""
    wanted = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT)
    is_donated = np.append((dump.allocations.kind & wanted) == wanted, False)
    found: NDArray[np.bool_] = is_donated[dump.values.allocation]
    return found


def _outputs(compared: Comparison) -> Iterator[ChangeCause]:
    """Another number of allocations that hold outputs, and as many more or fewer bytes."""
    counts, sizes = zip(*(_live_out(analysis.dump) for analysis in (compared.old, compared.new)), strict=True)
    count, size_bytes = Pair(*counts), Pair(*sizes)
    if count.change * size_bytes.change > 0:
        yield ChangeCause(CauseKind.OUTPUTS, count, size_bytes)


def _live_out(dump: DumpSet) -> tuple[int, int]:
    """The number of allocations in the default memory space that hold outputs, and their bytes."""
    table = dump.allocations
    is_output = (table.kind & int(Kind.MAYBE_LIVE_OUT) != 0) & (table.color == DEFAULT_COLOR)
    return int(is_output.sum()), sum(table.size_bytes[is_output].tolist())


def _resized(compared: Comparison) -> Iterator[ChangeCause]:
    """Matched values that are in the default memory space at a peak, and whose shapes differ."""
    values = compared.values
    is_resized = (values.change & Change.SHAPE != 0) & (values.change & Change.SIZE != 0)
    old_bytes = np.where(_at_peak(compared, values.old, is_old=True), _sizes(compared.old.dump, values.old), 0)
    new_bytes = np.where(_at_peak(compared, values.new, is_old=False), _sizes(compared.new.dump, values.new), 0)
    rows = np.flatnonzero(is_resized & (old_bytes != new_bytes))
    found: dict[CauseKind, list[int]] = {CauseKind.TYPE: [], CauseKind.SIZE: []}
    types: dict[CauseKind, dict[tuple[str, str], int]] = {kind: {} for kind in found}
    for row in rows.tolist():
        old, new = _array(compared.old.dump, int(values.old[row])), _array(compared.new.dump, int(values.new[row]))
        if old is None or new is None:
            continue
        kind = CauseKind.TYPE if old[1] == new[1] else CauseKind.SIZE
        found[kind].append(row)
        for change in {(old[0], new[0])} if kind is CauseKind.TYPE else _other_dimensions(old[1], new[1]):
            sizes = types[kind]
            sizes[change] = sizes.get(change, 0) + abs(int(new_bytes[row] - old_bytes[row]))
    for kind, of_kind in found.items():
        if of_kind:
            yield ChangeCause(
                kind,
                Pair(len(of_kind), len(of_kind)),
                Pair(sum(old_bytes[of_kind].tolist()), sum(new_bytes[of_kind].tolist())),
                tuple(sorted(types[kind], key=lambda pair: -types[kind][pair])),
            )


def _other_dimensions(old: bytes, new: bytes) -> set[tuple[str, str]]:
    """The dimensions that differ between two lists of equally many."""
    before, after = old.decode().split(","), new.decode().split(",")
    return (
        {pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]} if len(before) == len(after) else set()
    )


def _at_peak(compared: Comparison, rows: Column, *, is_old: bool) -> NDArray[np.bool_]:
    analysis = compared.old if is_old else compared.new
    space = analysis.memory.space(DEFAULT_COLOR)
    if space is None or space.peak_step is None:
        return np.zeros(len(rows), np.bool_)
    found: NDArray[np.bool_] = np.isin(rows, covering(analysis.dump, space.peak_step, DEFAULT_COLOR))
    return found


def _sizes(dump: DumpSet, rows: Column) -> Column:
    sizes: Column = np.append(np.maximum(dump.values.size_bytes, 0), 0)[rows]
    return sizes


_ARRAY: Final = re.compile(rb"([a-z]\w*)\[([^\]]*)\]")


def _array(dump: DumpSet, value: int) -> tuple[str, bytes] | None:
    """The element type and the dimensions of an array, None for a tuple."""
    match = _ARRAY.match(dump.shape(value) or b"")
    return (match[1].decode(), match[2]) if match else None


_REMAT: Final = re.compile(rb"\.remat\d*(?:\.|$)")
_COLLECTIVE: Final = re.compile(rb"^(?:all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)-start\b")


def _rematerialized(dump: DumpSet) -> int:
    """The number of scheduled instructions that XLA computes again."""
    return _scheduled(dump, b".remat", _REMAT)


def _asynchronous(dump: DumpSet) -> int:
    """The number of scheduled collectives that are asynchronous."""
    return _scheduled(dump, b"-start", _COLLECTIVE)


def _scheduled(dump: DumpSet, part: bytes, pattern: re.Pattern[bytes]) -> int:
    """The number of scheduled instructions whose names contain a part and match a pattern."""
    names = dump.names
    found = distinct(names.offsets.searchsorted(_places(names.block, part), "right") - 1)
    found = found[dump.schedule_row_of_name[found] != NONE] if len(found) else found
    return sum(pattern.search(names[name]) is not None for name in found.tolist())


def _checkpointed(dump: DumpSet) -> int:
    """The number of values whose op_name says that `jax.checkpoint` computes them again."""
    if dump.used is None:
        return 0
    mentions = _places(dump.used.document.data, b"rematted_computation")
    starts, ends = dump.quote_spans
    is_mentioned = mentions.searchsorted(starts) < mentions.searchsorted(ends)
    return int((is_mentioned & (starts != NONE)).sum())


def _places(text: bytes, part: bytes) -> Column:
    """Where a text has a part. This is twice as fast as a regular expression."""
    found = []
    place = text.find(part)
    while place >= 0:
        found.append(place)
        place = text.find(part, place + len(part))
    return np.array(found, np.int64)
