"""What the rules know about a program: the values that matter, who reads them and when, and which instructions belong
to the backward pass.

JAX marks the backward pass in op_names with ``transpose(``, TensorFlow with ``gradient_tape/`` or ``gradients/``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np

from xla_lens.model.advice.actions import Buffers, Certainty, Edit, Piece
from xla_lens.model.advice.codes import Rule
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import MemorySpace, placed_values
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind, place_in
from xla_lens.syntax.numbers import integer

MOST_CANDIDATES: Final = 4000
"""Maximum number of values that the rules look at."""

SMALLEST_SHARE: Final = 4096
"""Sizes whose values take less of the peak than one part in so many are not looked at."""


class Dimensions(NamedTuple):
    """The element type and the lengths of an array, without its layout."""

    type: str
    lengths: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.type}[{','.join(map(str, self.lengths))}]"


class Read(NamedTuple):
    """A use of a value: the step at which an instruction reads it, NONE if that is not scheduled, and its name."""

    step: int
    name: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An action before its peak is known. `layers` is the number of layers that each value stacks, 1 if it does not;
    `sources` has the instruction to blame for a value if it is not the one that defines it. `outputs` are rows of
    allocations that the program would no longer need.
    """

    rule: Rule
    certainty: Certainty
    edit: Edit
    layers: int = 1
    factor: int | None = None
    sources: dict[int, int] | None = None
    outputs: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Facts:
    """A memory space of a dump set that has a peak, and its HLO module, None if it is missing."""

    dump: DumpSet
    module: HloModule | None
    space: MemorySpace

    @property
    def peak_step(self) -> int:
        """The step of the peak."""
        return self.space.peak_step or 0

    @cached_property
    def owned(self) -> dict[int, int]:
        """The bytes that each value owns at the peak, without those that own none."""
        values, sizes = owned_bytes(self.dump, self.peak_step, self.space.color)
        return {value: size for value, size in zip(values.tolist(), sizes.tolist(), strict=True) if size}

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """The values of the memory space that matter, by their start: those of the sizes that take most of the peak.
        Of sizes with too many values, only those live at the peak.
        """
        values, placed, step = self.dump.values, placed_values(self.dump), self.peak_step
        found = placed[self.dump.allocations.color[values.allocation[placed]] == self.space.color]
        is_live = (values.start_step[found] <= step) & (step <= values.end_step[found])
        sizes, which, counts = np.unique(values.size_bytes[found], return_inverse=True, return_counts=True)
        live_counts = np.bincount(which, weights=is_live, minlength=len(sizes)).astype(np.int64)
        order = np.argsort(-live_counts * sizes, kind="stable")
        order = order[(live_counts * sizes)[order] * SMALLEST_SHARE >= self.space.peak_live_bytes]
        left = MOST_CANDIDATES
        whole: list[int] = []
        in_part: list[int] = []
        for size in order.tolist():
            wanted = int(counts[size]) if counts[size] <= left else int(live_counts[size])
            if wanted <= left:
                (whole if wanted == counts[size] else in_part).append(size)
                left -= wanted
        found = found[np.isin(which, whole) | (is_live & np.isin(which, in_part))]
        return tuple(found[np.argsort(values.start_step[found], kind="stable")].tolist())

    # ------------------------------------------------------------ values

    def start(self, value: int) -> int:
        """The step at which a value starts to be live."""
        return self._columns[1][value]

    def end(self, value: int) -> int:
        """The last step at which a value is live."""
        return self._columns[2][value]

    def size(self, value: int) -> int:
        """The bytes of a value's slice."""
        return self._columns[3][value]

    def name(self, value: int) -> int:
        """The name of the instruction that defines a value."""
        return self._columns[0][value]

    def piece(self, value: int, start: int, end: int) -> Piece:
        """All bytes of a value for some of its steps."""
        return Piece(start, end, self.size(value))

    def dimensions(self, value: int) -> Dimensions | None:
        """The dimensions of an array, None for a tuple, an unknown shape or a dynamic one."""
        known = self._dimensions
        if value not in known:
            known[value] = _array(self.dump.shape(value))
        return known[value]

    @cached_property
    def _dimensions(self) -> dict[int, Dimensions | None]:
        """The dimensions read so far."""
        return {}

    def squeezed(self, value: int) -> Dimensions | None:
        """The dimensions of an array without those of length 1, which a change of layout adds and removes."""
        return without_ones(self.dimensions(value))

    def layout(self, value: int) -> bytes:
        """The layout of a value as printed, empty if unknown."""
        return (self.dump.shape(value) or b"").partition(b"]")[2]

    def has_kind(self, value: int, kinds: int) -> bool:
        """Whether the allocation that a value is in has one of some kinds."""
        return self._columns[4][value] & kinds != 0

    @cached_property
    def _columns(self) -> tuple[list[int], ...]:
        """Columns of all values as lists, whose items are read five times as fast as those of arrays."""
        values = self.dump.values
        kinds = taken(self.dump.allocations.kind, values.allocation)
        columns = (values.name, values.start_step, values.end_step, values.size_bytes, np.maximum(kinds, 0))
        return tuple(column.tolist() for column in columns)

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """The arguments of the program that are in the memory space."""
        allocations, values = self.dump.allocations, self.dump.values
        rows = np.flatnonzero((allocations.kind & int(Kind.PARAMETER) != 0) & (allocations.color == self.space.color))
        is_first = np.isin(values.allocation, rows) & (values.size_bytes > 0) & (values.start_step <= 0)
        placed = np.flatnonzero(is_first)
        # The first value of the allocation of a parameter is the parameter.
        first = np.unique(values.allocation[placed], return_index=True)[1]
        return tuple(np.sort(placed[first]).tolist())

    @cached_property
    def idle_arguments(self) -> frozenset[int]:
        """The arguments that nothing reads before the backward pass has begun, and that are returned with new contents:
        optimizer state. Small arguments are left out.
        """
        begin, candidates = self.backward_step, frozenset(self.candidates)
        return frozenset(
            value
            for value in self.arguments
            if begin is not None
            and value in candidates
            and self.has_kind(value, Kind.MAYBE_LIVE_OUT)
            and (reads := self.reads(value))
            and reads[0].step > begin
            and not any(self.is_backward(read.name) for read in reads)
        )

    def same_slice(self, value: int) -> list[int]:
        """Other values of the same shape on exactly the same bytes, by their start."""
        values = self.dump.values
        others = self.dump.values_of_allocation(int(values.allocation[value]))
        is_same = (values.offset[others] == values.offset[value]) & (
            values.size_bytes[others] == values.size_bytes[value]
        )
        others = others[is_same & (values.live_range[others] != NONE) & (others != value)]
        shape = self.dimensions(value)
        by_start = others[np.argsort(values.start_step[others], kind="stable")].tolist()
        return [other for other in by_start if self.dimensions(other) == shape]

    # ------------------------------------------------------------ instructions

    def opcode(self, name: int) -> bytes | None:
        """The opcode of an instruction, None if the dump does not quote it."""
        return self.dump.opcode(name)

    def op_name(self, name: int) -> str | None:
        """The op_name of an instruction."""
        known = self._op_names
        if name not in known:
            instruction = self.dump.instruction(name)
            known[name] = instruction.op_name if instruction else None
        return known[name]

    @cached_property
    def _op_names(self) -> dict[int, str | None]:
        """The op_names read so far."""
        return {}

    def step(self, name: int) -> int:
        """The step of an instruction, NONE if it is not scheduled."""
        row = int(self.dump.schedule_row_of_name[name])
        return int(self.dump.schedule.step[row]) if row != NONE else NONE

    def reads(self, value: int) -> list[Read]:
        """The instructions that read a value, by step. Those that only pass it on are left out."""
        known = self._reads
        if value not in known:
            known[value] = self._find_reads(value)
        return known[value]

    @cached_property
    def _reads(self) -> dict[int, list[Read]]:
        """The reads found so far."""
        return {}

    def _find_reads(self, value: int) -> list[Read]:
        row = int(self.dump.values.used_value[value])
        if row == NONE:
            return []
        names = dict.fromkeys(self.dump.uses.name[self.dump.uses_of(row)].tolist())
        own = self.name(value)
        return sorted(Read(self.step(name), name) for name in names if name != own and not self._is_view(name))

    def _is_view(self, name: int) -> bool:
        return _VIEW.match(self.dump.names[name]) is not None

    @cached_property
    def _uses_by_name(self) -> tuple[Column, Column]:
        order = np.argsort(self.dump.uses.name, kind="stable")
        return order, self.dump.uses.name[order]

    def operands(self, name: int) -> list[int]:
        """The values that an instruction reads."""
        order, names = self._uses_by_name
        first, last = place_in(names, name), place_in(names, name + 1)
        used = self.dump.uses.value[order[first:last]]
        values = self.dump.value_of_used_value[used[used != NONE]]
        return list(dict.fromkeys(values[values != NONE].tolist()))

    def is_backward(self, name: int) -> bool:
        """Whether an instruction belongs to the backward pass."""
        known = self._backward
        if name not in known:
            known[name] = is_backward(self.op_name(name))
        return known[name]

    @cached_property
    def _backward(self) -> dict[int, bool]:
        """Whether instructions belong to the backward pass, as far as known."""
        return {}

    def is_for_backward(self, name: int) -> bool:
        """Whether an instruction belongs to the backward pass, or is a copy that only the backward pass reads."""
        known = self._for_backward
        if name not in known:
            # Something that reads its own result through others is in a loop, and no copy for the backward pass.
            known[name] = self.is_backward(name)
            if not known[name] and (self.op_name(name) is None or self.opcode(name) in _COPIES):
                known[name] = self._passes_to_backward(name)
        return known[name]

    @cached_property
    def _for_backward(self) -> dict[int, bool]:
        """The answers of `is_for_backward` so far."""
        return {}

    def _passes_to_backward(self, name: int) -> bool:
        readers = {read.name for value in self._values_of_name.get(name, ()) for read in self.reads(value)}
        # A `copy-done` defines no value; the readers of what it shows are those of the `copy-start`.
        readers = {reader for reader in readers if reader in self._values_of_name or self.op_name(reader) is not None}
        return bool(readers) and all(map(self.is_for_backward, readers))

    @cached_property
    def _values_of_name(self) -> dict[int, list[int]]:
        """The values that each instruction defines."""
        found: dict[int, list[int]] = {}
        for value, name in enumerate(self._columns[0]):
            found.setdefault(name, []).append(value)
        return found

    @cached_property
    def backward_step(self) -> int | None:
        """The first step at which the backward pass reads a value that is not an argument, None without one."""
        arguments = frozenset(self.arguments)
        steps = (
            read.step
            for value in self.candidates
            if value not in arguments
            for read in self.reads(value)
            if read.step != NONE and self.is_backward(read.name)
        )
        return min(steps, default=None)

    # ------------------------------------------------------------ groups

    def groups(self, draft: Draft) -> tuple[Buffers, ...]:
        """The values of a draft that own bytes at the peak, grouped by source line, op_name and shape."""
        values = [value for value in draft.edit if value in self.owned]
        found = self._origins(values, draft.sources or {})
        members: dict[tuple[object, ...], list[int]] = {}
        for value in sorted(values, key=lambda value: (-self.owned[value], value)):
            origin = found[value]
            # An op_name is the key only where no line is known.
            key = self.shape(value, draft.layers), origin.line, origin.line or folded(origin.op_name)
            members.setdefault(key, []).append(value)
        groups = [
            Buffers(
                values=tuple(rows),
                count=len(rows) * draft.layers,
                shape=self.shape(rows[0], draft.layers),
                size_bytes=sum(self.owned[value] for value in rows),
                line=found[rows[0]].line,
                op_name=folded(found[rows[0]].op_name),
            )
            for rows in members.values()
        ]
        return tuple(sorted(groups, key=lambda group: -group.size_bytes))

    def shape(self, value: int, layers: int = 1) -> str:
        """The shape of one layer of a value without its layout, empty if unknown."""
        dimensions = self.dimensions(value)
        if dimensions is None:
            return (self.dump.shape(value) or b"").partition(b"{")[0].decode("utf-8", "replace")
        return str(Dimensions(dimensions.type, dimensions.lengths[1:]) if layers > 1 else dimensions)

    def sources(self, names: Mapping[int, int]) -> dict[int, object]:
        """Return for each value what tells its source from others: the line of the instruction `names[value]`, or the
        op_name without layer numbers if no line is known.
        """
        found = self._origins(names, names)
        return {value: origin.line or folded(origin.op_name) for value, origin in found.items()}

    def _origins(self, values: Iterable[int], names: Mapping[int, int]) -> dict[int, Origin]:
        """The origins of some values, by the instruction `names[value]` for those that it has."""
        known = self._known_origins
        return {value: known.of_name(names[value]) if value in names else known.of_value(value) for value in values}

    @cached_property
    def _known_origins(self) -> Origins:
        return Origins(self.dump, self.module)


@lru_cache(maxsize=1 << 12)
def _array(shape: bytes | None) -> Dimensions | None:
    match = _ARRAY.match(shape) if shape is not None else None
    return Dimensions(match[1].decode(), tuple(map(integer, match[2].split(b",")))) if match else None


@lru_cache(maxsize=1 << 12)
def without_ones(dimensions: Dimensions | None) -> Dimensions | None:
    """Return dimensions without those of length 1."""
    return dimensions and Dimensions(dimensions.type, tuple(length for length in dimensions.lengths if length > 1))


def is_backward(op_name: str | None) -> bool:
    """Return whether an op_name belongs to the backward pass."""
    return op_name is not None and _BACKWARD.search(op_name) is not None


def folded(op_name: str | None) -> str | None:
    """Return an op_name with ``*`` in place of the numbers of layers."""
    return _LAYER.sub("*", op_name) if op_name is not None else None


def layers_in(op_name: str | None) -> tuple[str, ...]:
    """Return the numbers of layers in an op_name."""
    return tuple(_LAYER.findall(op_name or ""))


_COPIES: Final = frozenset((b"reduce-precision", b"copy", b"copy-start", b"convert", b"optimization-barrier"))
"""Opcodes of instructions that pass the content of a value on."""

_ARRAY: Final = re.compile(rb"([a-z][a-z0-9]*)\[([0-9]+(?:,[0-9]+)*)\]")
_BACKWARD: Final = re.compile(r"transpose\(|(?:^|/)gradient_tape/|(?:^|/)gradients/")
_LAYER: Final = re.compile(r"(?<=[_.\[])[0-9]+(?=[\]/)_.]|$)")
_VIEW: Final = re.compile(rb"(?:tuple|bitcast|get-tuple-element)(?:\.|$)")
