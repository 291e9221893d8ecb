"""Donation: parameters whose buffer holds an output, parameters that could have been donated, and copies that keep
parameters and outputs apart.

A caller that donates an argument lets the program write an output into its buffer. XLA then gives both the same
allocation, which is a parameter and maybe-live-out. An argument that is not donated is live to the end, and the output
has its own allocation, which donation would save.

A parameter could hold an output that is its update if both have the same shape, layout, memory space and size. Which
output is the update of which parameter, callers say. `Fit` grades how certain that is: best if everything that reads
the parameter or an alias of it runs before its buffer is overwritten.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.memory.alive import steps_of
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import row_ranges
from xla_lens.syntax.columns import NONE, Column, Kind, Rows, pairs
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape


class Donated(Struct, frozen=True):
    """A donated parameter. `parameter` and `reused_by`, the other values in its allocation by their start, are rows of
    `DumpSet.values`. A parameter that is returned unchanged may have no other values.
    """

    parameter: int
    reused_by: Rows
    size_bytes: int


class Fit(StrEnum):
    """How well a parameter fits the buffer of an output.

    - `FREE`: the last use of the parameter is before the first value in the output's buffer starts.
    - `IN_PLACE`: the last reader of the parameter defines the first value in the output's buffer, with an opcode that
      may run in place. The dump does not show whether it can here.
    - `SHARED`: as above, but for the output itself: earlier values in the output's buffer would need another place, so
      donation may save less.
    - `READ_LATER`: the parameter is still read when the output is made. XLA has to read it earlier, or to copy one of
      them, so donation may save less.
    """

    FREE = "free"
    IN_PLACE = "in place"
    SHARED = "shared"
    READ_LATER = "read later"


class Missed(Struct, frozen=True):
    """A parameter that could have been donated to an output. `parameter`, `output` and `first`, the first value in the
    output's buffer, are rows of `DumpSet.values`. `last_read` is the last step that reads the parameter, None if
    nothing does. `birth` is the step that defines `first`, or the output for `SHARED` and `READ_LATER`. `size_bytes` is
    the size of the output's allocation.
    """

    parameter: int
    output: int
    first: int
    last_read: int | None
    birth: int
    fit: Fit
    size_bytes: int


class KeptApart(Struct, frozen=True):
    """A copy of a parameter in bytes of its own; both are rows of `DumpSet.values`. Either the copy is an output
    (`is_output`), which must not share the parameter's buffer, or the parameter is donated and its content is needed
    after an output has overwritten it.
    """

    copy: int
    parameter: int
    is_output: bool
    size_bytes: int


class Donation(Struct, frozen=True):
    """Donation in a dump set, the most bytes first. `is_known` is whether the dump set has uses, a schedule and live
    ranges; without them `missed` and `kept_apart` are empty.
    """

    donated: tuple[Donated, ...]
    missed: tuple[Missed, ...]
    kept_apart: tuple[KeptApart, ...]
    is_known: bool

    @property
    def donated_bytes(self) -> int:
        """The bytes of donated buffers."""
        return sum(row.size_bytes for row in self.donated)

    def missed_bytes(self, fit: Fit) -> int:
        """Return the bytes of missed donations with a fit."""
        return sum(row.size_bytes for row in self.missed if row.fit is fit)

    @property
    def kept_apart_bytes(self) -> int:
        """The bytes of copies that keep parameters and outputs apart."""
        return sum(row.size_bytes for row in self.kept_apart)


def find_donation(dump: DumpSet, updates: Mapping[int, int]) -> Donation:
    """Find donated parameters, missed donations, and copies that keep parameters and outputs apart.

    `updates` are the parameters that outputs are the updates of, by output. Both are rows of `DumpSet.values`.
    """
    is_known = _is_known(dump)
    donated = [
        Donated(parameter, _others(dump, parameter), _allocated_bytes(dump, parameter))
        for parameter in parameters_of(dump)
        if _has_kind(dump, parameter, Kind.MAYBE_LIVE_OUT)
    ]
    donated.sort(key=lambda row: (-row.size_bytes, row.parameter))
    kept_apart = sorted(_kept_apart(dump), key=lambda row: (-row.size_bytes, row.copy)) if is_known else ()
    return Donation(tuple(donated), missed_donations(dump, updates), tuple(kept_apart), is_known)


def missed_donations(dump: DumpSet, updates: Mapping[int, int]) -> tuple[Missed, ...]:
    """Find parameters that could have been donated to outputs that are their updates, the most bytes first; empty if
    the dump set lacks what it takes. Of `updates`, outputs and parameters are rows of `DumpSet.values`.
    """
    found = _missed_updates(dump, updates) if _is_known(dump) else ()
    return tuple(sorted(found, key=lambda row: (-row.size_bytes, row.output)))


def candidates(dump: DumpSet) -> dict[int, list[int]]:
    """Return for each output in a buffer of its own the parameters that are not donated and could hold it: those of the
    same shape and size. All are rows of `DumpSet.values`.
    """
    outputs = [output for _, output in _outputs(dump)]
    parameters = _candidates(dump, outputs)
    return {output: parameters[_key(dump, output)] for output in outputs}


def _is_known(dump: DumpSet) -> bool:
    return dump.used is not None and len(dump.schedule) > 0 and len(dump.live_ranges) > 0


def parameters_of(dump: DumpSet) -> list[int]:
    """Return the parameters, the first of each allocation. In releases that quote no instructions, values that are live
    from the start are parameters.
    """
    allocations, values = _values_by_allocation(dump, Kind.PARAMETER)
    names, starts = dump.values.name[values], dump.values.start_step[values]
    is_parameter = dump.has_opcode(b"parameter")[names] | (dump.has_opcode(None)[names] & (starts <= 0))
    _, first = np.unique(allocations[is_parameter], return_index=True)
    parameters: list[int] = values[is_parameter][first].tolist()
    return parameters


def outputs_of(dump: DumpSet) -> list[int]:
    """Return the last value in each allocation of an output."""
    allocations, values = _values_by_allocation(dump, Kind.MAYBE_LIVE_OUT)
    outputs: list[int] = values[np.flatnonzero(np.diff(allocations, append=NONE))].tolist()
    return outputs


def _values_by_allocation(dump: DumpSet, kind: Kind) -> tuple[Column, Column]:
    """The allocation of each value in those of a kind, and the values, by their start in each allocation."""
    allocations = np.flatnonzero(np.maximum(dump.allocations.kind, 0) & int(kind))
    counts = dump.allocations.slice_count[allocations]
    values = dump.value_of_slice[row_ranges(dump.allocations.first_slice[allocations], counts)]
    of_values = np.repeat(allocations, counts)
    order = np.lexsort((values, dump.values.start_step[values], of_values))
    return of_values[order], values[order]


def _others(dump: DumpSet, parameter: int) -> Rows:
    """The other values in the allocation of a parameter, by their start."""
    values = np.sort(dump.values_of_allocation(dump.values.allocation.item(parameter)))
    values = values[np.argsort(dump.values.start_step[values], kind="stable")]
    return tuple(values[values != parameter].tolist())


def _has_kind(dump: DumpSet, value: int, kind: Kind) -> bool:
    """Whether the allocation of a value has a kind."""
    return bool(dump.allocations.kind[dump.values.allocation[value]] & int(kind))


def _allocated_bytes(dump: DumpSet, value: int) -> int:
    """The bytes of the allocation of a value."""
    return dump.allocations.size_bytes.item(dump.values.allocation[value])


def _array_shape(dump: DumpSet, value: int) -> ArrayShape | None:
    """The shape of an array without its memory space, None for a tuple or an unknown shape."""
    return _without_space(dump.shape(value) or b"")


@lru_cache(maxsize=1 << 12)
def _without_space(text: bytes) -> ArrayShape | None:
    shape = parse_shape(text)
    return replace(shape, memory_space=0) if shape else None


# ---------------------------------------------------------------- missed donations


def _missed_updates(dump: DumpSet, updates: Mapping[int, int]) -> Iterator[Missed]:
    """Match outputs with the parameters that they are updates of."""
    last_read = _last_reads(dump, [*updates.values()])
    for first, output in _outputs(dump):
        parameter = updates.get(output, NONE)
        if parameter not in last_read:
            continue
        last = last_read[parameter]
        fit = _fit(dump, parameter, last, first)
        maker = first
        if fit is None and _may_move(dump, output):
            maker, fit = output, Fit.SHARED if _fit(dump, parameter, last, output) else Fit.READ_LATER
        if fit is not None:
            birth, size_bytes = dump.values.start_step.item(maker), _allocated_bytes(dump, output)
            yield Missed(parameter, output, first, last if last != NONE else None, birth, fit, size_bytes)


def _fit(dump: DumpSet, parameter: int, last_read: int, maker: int) -> Fit | None:
    """How a parameter fits if its buffer is overwritten by the instruction that defines a value."""
    birth = dump.values.start_step.item(maker)
    if last_read < birth:
        return Fit.FREE
    return Fit.IN_PLACE if last_read == birth and may_write_over(dump, parameter, maker) else None


_Key: TypeAlias = tuple[bytes | None, int]


def _key(dump: DumpSet, value: int) -> _Key:
    """What a parameter and an output must have in common: the shape, and the bytes of the allocation."""
    return dump.shape(value), _allocated_bytes(dump, value)


def _candidates(dump: DumpSet, outputs: Sequence[int]) -> dict[_Key, list[int]]:
    """The parameters that are not donated, by what they have in common with some outputs."""
    parameters: dict[_Key, list[int]] = {_key(dump, output): [] for output in outputs}
    for value in parameters_of(dump):
        here = parameters.get(_key(dump, value))
        if here is not None and not _has_kind(dump, value, Kind.MAYBE_LIVE_OUT):
            here.append(value)
    return parameters


def _outputs(dump: DumpSet) -> Iterator[tuple[int, int]]:
    """The first value and the output in each allocation of an output without a parameter. Tuples, which are tables of
    pointers, are left out.
    """
    allocations, values = _values_by_allocation(dump, Kind.MAYBE_LIVE_OUT)
    is_live = dump.values.live_range[values] != NONE
    for _, group in groupby(pairs(allocations[is_live], values[is_live]), key=itemgetter(0)):
        live = [value for _, value in group]
        is_own = _allocated_bytes(dump, live[0]) and not _has_kind(dump, live[0], Kind.PARAMETER)
        if is_own and _array_shape(dump, live[-1]):
            yield live[0], live[-1]


def _last_reads(dump: DumpSet, parameters: list[int]) -> dict[int, int]:
    """The last step at which an instruction reads each value or defines an alias of it. NONE if nothing reads it. Those
    for which that is unknown are left out.
    """
    values = np.array(parameters, np.int64)
    uses, positions = steps_of(dump, values)
    last = np.full(len(values), NONE, np.int64)
    is_known, is_read = dump.values.used_value[values] != NONE, np.zeros(len(values), np.bool_)
    is_read[uses.number] = True
    for rows in (uses, positions):
        np.maximum.at(last, rows.number, rows.step)
        is_known[rows.number[rows.step == NONE]] &= ~is_read[rows.number[rows.step == NONE]]
    last[~is_read] = NONE
    return dict(pairs(values[is_known], last[is_known]))


def may_write_over(dump: DumpSet, parameter: int, made: int) -> bool:
    """Return whether the instruction that defines a value reads a parameter and may do so in place."""
    name, uses = dump.name_of(made), dump.uses_of(dump.values.used_value.item(parameter))
    return name in dump.uses.name[uses] and may_run_in_place(dump, name)


def may_run_in_place(dump: DumpSet, name: int) -> bool:
    """Return whether an instruction may write over an operand, if it needs no other element of it for each result."""
    return _opcode(dump, name) in ELEMENTWISE | UPDATING | {_LOOP_FUSION}


def _may_move(dump: DumpSet, value: int) -> bool:
    """Whether a value could be in another buffer than earlier values; not true of results of loops and updates."""
    opcode = _opcode(dump, dump.name_of(value))
    return opcode in ELEMENTWISE or opcode in (_LOOP_FUSION, b"fusion", b"dot", b"convolution", b"reduce")


def _opcode(dump: DumpSet, name: int) -> bytes | None:
    """The opcode of an instruction, `_LOOP_FUSION` for a fusion that may run in place, None if not quoted."""
    opcode = dump.opcode(name)
    instruction = dump.instruction(name) if opcode == b"fusion" else None
    kinds = (_LOOP_FUSION, b", kind=kOutput") if dump.backend is Backend.TPU else (_LOOP_FUSION,)
    return _LOOP_FUSION if instruction and any(map(instruction.has_text, kinds)) else opcode


ELEMENTWISE: Final = frozenset(
    b"""abs add and atan2 cbrt ceil clamp compare convert copy cosine divide erf exponential exponential-minus-one floor
    log log-plus-one logistic maximum minimum multiply negate not or popcnt power remainder round-nearest-afz
    round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical sign sine sqrt subtract tan
    tanh xor""".split()
)
UPDATING: Final = frozenset((b"dynamic-update-slice", b"scatter", b"all-reduce"))
_LOOP_FUSION: Final = b", kind=kLoop"
"""Instructions that may overwrite an operand of their own shape (HloDataflowAnalysis::CanShareOperandBufferWithUser).
They need no copy. Only loop fusions qualify, because other fusions read an operand more than once; on TPUs also those
that end in the update of a parameter after a product (`kind=kOutput`).
"""


# ---------------------------------------------------------------- copies


def _kept_apart(dump: DumpSet) -> Iterator[KeptApart]:
    """Follow each parameter through its copies, including those to another memory space and back."""
    color, copying = dump.values.color, _copying(dump)
    for parameter in parameters_of(dump):
        if dump.values.used_value.item(parameter) not in copying:
            continue
        shape, is_donated = _array_shape(dump, parameter), _has_kind(dump, parameter, Kind.MAYBE_LIVE_OUT)
        found = {parameter}
        waiting = [parameter] if shape else []
        for value in waiting:
            for copy in _copies(dump, copying.get(dump.values.used_value.item(value), ())):
                is_placed = dump.values.allocation[copy] != NONE
                if copy in found or not is_placed or _array_shape(dump, copy) != shape:
                    continue
                found.add(copy)
                waiting.append(copy)
                is_output = _has_kind(dump, copy, Kind.MAYBE_LIVE_OUT)
                is_beside = color[copy] == color[parameter] and not _has_kind(dump, copy, Kind.PARAMETER)
                if is_beside and (is_output or is_donated):
                    yield KeptApart(copy, parameter, is_output, dump.values.size_bytes.item(copy))


def _copying(dump: DumpSet) -> dict[int, list[int]]:
    """The names of the instructions that copy a value or one of its aliases, by rows of `DumpSet.used_values`."""
    rows = np.flatnonzero(dump.has_opcode(*_COPIES)[dump.uses.name] & (dump.uses.value != NONE))
    rows = rows[np.lexsort((dump.uses.name[rows], dump.uses.value[rows]))]
    names: dict[int, list[int]] = {}
    for value, name in dict.fromkeys(pairs(dump.uses.value[rows], dump.uses.name[rows])):
        names.setdefault(value, []).append(name)
    return names


def _copies(dump: DumpSet, names: Iterable[int]) -> Iterator[int]:
    """The copies that some instructions make."""
    for name in names:
        # Element 0 of a copy-start is the destination.
        index = dump.index_number(b"{0}") if dump.opcode(name) == b"copy-start" else EMPTY_INDEX
        copy = dump.value_at(name, index)
        if copy != NONE and dump.values.name[copy] == name:
            yield copy


_COPIES: Final = (b"copy", b"copy-start")
