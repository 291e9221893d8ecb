"""What the rules know about a program: the values that matter, who reads them and when, and which instructions belong
to the backward pass.

JAX marks the backward pass in op_names with ``transpose(``, TensorFlow with ``gradient_tape/`` or ``gradients/``.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import cache, cached_property, lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

import numpy as np

from xla_lens.model.advice.actions import Buffers, Call
from xla_lens.model.advice.alive import neighbours
from xla_lens.model.advice.donation import DONATED, values_by_allocation
from xla_lens.model.advice.edits import Piece
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.writers import is_path
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.over_time import MemorySpace, placed_values
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.numbers import integer

MOST_CANDIDATES: Final = 4000
"""Maximum number of values that the rules look at."""

SMALLEST_SHARE: Final = 4096
"""Sizes whose values take less of the peak than one part in so many are not looked at."""

FLOATS: Final = ("f32", "bf16", "f16")


class Dimensions(NamedTuple):
    """The element type and the lengths of an array, without its layout."""

    type: str
    lengths: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.type}[{','.join(map(str, self.lengths))}]"

    @property
    def of_one_layer(self) -> "Dimensions":
        """The dimensions of one layer of an array that stacks several."""
        return Dimensions(self.type, self.lengths[1:])


class Change(NamedTuple):
    """What a rule does to a value: `pieces` of it are left. Changes of the same `part` are one action.

    The value stacks `layers` layers, 1 if it stacks none. `outputs` are rows of the allocations that the program no
    longer needs. `moved` are values that get new buffers, the pieces of the change of NONE. `content` is the value
    whose source is that of the bytes, NONE if it is the value itself.
    """

    value: int
    pieces: tuple[Piece, ...] = ()
    part: object = None
    layers: int = 1
    outputs: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    content: int = NONE

    @property
    def source_value(self) -> int:
        """The value whose source is that of the bytes."""
        return self.value if self.content == NONE else self.content


class Read(NamedTuple):
    """A use of a value: the step at which an instruction reads it, NONE if that is not scheduled, and its name."""

    step: int
    name: int


class Facts:
    """A memory space of a dump set that has a peak, and its HLO module, None if it is missing.

    `name`, `start`, `end`, `size` and `kind` have a cell for each value: the instruction that defines it, its first and
    last step, the bytes of its slice, and the kind of its allocation. They are lists, whose items are read five times
    as fast as those of arrays. `steps` are those at which live values matter: the peak, and others that become the peak
    after an action.
    """

    def __init__(self, dump: DumpSet, module: HloModule | None, space: MemorySpace) -> None:
        values, kind = dump.values, taken(dump.allocations.kind, dump.values.allocation)
        self.dump, self.space, self.peak_step = dump, space, space.peak_step or 0
        self.name: list[int] = values.name.tolist()
        self.start: list[int] = values.start_step.tolist()
        self.end: list[int] = values.end_step.tolist()
        self.size: list[int] = values.size_bytes.tolist()
        self.kind: list[int] = np.maximum(kind, 0).tolist()
        self.steps: tuple[int, ...] = (self.peak_step,)
        self.origins = Origins(dump, module)
        self.op_name = cache(self._op_name)
        self.reads = cache(self._reads)
        self.is_backward = cache(is_backward)
        self._for_backward: dict[int, bool] = {}
        self._found: dict[Callable[[Facts], Iterator[Change]], tuple[Change, ...]] = {}

    def also_at(self, steps: Collection[int]) -> "Facts":
        """The same facts, if other steps matter as well. What does not depend on the steps is kept."""
        other = copy(self)
        other.steps, other._for_backward, other._found = (self.peak_step, *steps), {}, {}
        for name in ("candidates", "idle_arguments", "backward_step"):
            other.__dict__.pop(name, None)
        return other

    def found(self, rule: "Callable[[Facts], Iterator[Change]]") -> tuple[Change, ...]:
        """What a rule finds, which others may ask for, too."""
        if rule not in self._found:
            self._found[rule] = tuple(rule(self))
        return self._found[rule]

    @cached_property
    def owned(self) -> dict[int, int]:
        """The bytes that each value owns at the peak, without those that own none."""
        values, sizes = owned_bytes(self.dump, self.peak_step, self.space.color)
        return {value: size for value, size in zip(values.tolist(), sizes.tolist(), strict=True) if size}

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """The values of the memory space that matter, by their start: those of the sizes that take most of the bytes
        live at the peak, or at another of `steps`. Of sizes with too many values, only those live then.
        """
        values, placed = self.dump.values, placed_values(self.dump)
        found = placed[self.dump.allocations.color[values.allocation[placed]] == self.space.color]
        is_live_at = [(values.start_step[found] <= step) & (step <= values.end_step[found]) for step in self.steps]
        is_live = np.logical_or.reduce(is_live_at)
        sizes, which, counts = np.unique(values.size_bytes[found], return_inverse=True, return_counts=True)
        live_counts = [np.bincount(which, weights=is_live, minlength=len(sizes)) for is_live in is_live_at]
        totals, chosen = np.maximum.reduce(live_counts).astype(np.int64) * sizes, list[Column]()
        for number in np.argsort(-totals, kind="stable").tolist():
            if totals[number] * SMALLEST_SHARE < self.space.peak_live_bytes:
                break
            left = MOST_CANDIDATES - sum(map(len, chosen))
            wanted = which == number if counts[number] <= left else (which == number) & is_live
            if np.count_nonzero(wanted) <= left:
                chosen.append(found[wanted])
        found = np.concatenate([*chosen, found[:0]])
        return tuple(found[np.lexsort((found, values.start_step[found]))].tolist())

    # ------------------------------------------------------------ values

    def piece(self, value: int, start: int, end: int) -> Piece:
        """All bytes of a value for some of its steps."""
        return Piece(start, end, self.size[value])

    def dimensions(self, value: int) -> Dimensions | None:
        """The dimensions of an array, None for a tuple, an unknown shape or a dynamic one."""
        return _array(self.dump.shape(value))

    def squeezed(self, value: int) -> Dimensions | None:
        """The dimensions of an array without those of length 1, which a change of layout adds and removes."""
        return without_ones(self.dimensions(value))

    def of_layer(self, value: int, *, is_stacked: bool) -> Dimensions | None:
        """The dimensions of an array, or of one layer of one that stacks several, without those of length 1."""
        shape = self.dimensions(value)
        return without_ones(shape.of_one_layer if shape and is_stacked and len(shape.lengths) > 1 else shape)

    def is_computed(self, value: int) -> bool:
        """Whether the program can do without a value: it is neither an argument nor a result nor a constant."""
        return not self.kind[value] & _NOT_COMPUTED

    @cached_property
    def all_arguments(self) -> tuple[int, ...]:
        """The arguments of the program, in all memory spaces."""
        allocations, values = self.dump.allocations, self.dump.values
        rows = np.flatnonzero(allocations.kind & int(Kind.PARAMETER) != 0)
        is_first = np.isin(values.allocation, rows) & (values.size_bytes > 0) & (values.start_step <= 0)
        placed = np.flatnonzero(is_first)
        # The first value of the allocation of a parameter is the parameter.
        first = np.unique(values.allocation[placed], return_index=True)[1]
        return tuple(np.sort(placed[first]).tolist())

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """The arguments of the program that are in the memory space."""
        color = self.dump.allocations.color[self.dump.values.allocation[[*self.all_arguments]]].tolist()
        return tuple(value for value, found in zip(self.all_arguments, color, strict=True) if found == self.space.color)

    @cached_property
    def tokens(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of the integer arguments."""
        shapes = (self.dimensions(value) for value in self.all_arguments)
        return tuple(shape.lengths for shape in shapes if shape and shape.type in ("s32", "s64", "u32"))

    @cached_property
    def returned(self) -> Counter[Dimensions | None]:
        """The number of outputs by their dimensions."""
        outputs = (values for _, values in values_by_allocation(self.dump, Kind.MAYBE_LIVE_OUT, DONATED) if values)
        return Counter(self.dimensions(values[-1]) for values in outputs)

    def is_argument(self, op_name: str | None) -> bool:
        """Whether an op_name is that of an argument."""
        return op_name in self._argument_names

    @cached_property
    def _argument_names(self) -> frozenset[str | None]:
        return frozenset(self.op_name(self.name[value]) for value in self.all_arguments)

    @cached_property
    def idle_arguments(self) -> frozenset[int]:
        """The arguments that nothing reads before the backward pass has begun, and that are returned with new contents:
        optimizer state. Small arguments are left out.
        """
        begin = self.backward_step
        return frozenset(
            value
            for value in frozenset(self.arguments).intersection(self.candidates if begin is not None else ())
            if self.kind[value] & Kind.MAYBE_LIVE_OUT
            and (reads := self.reads(value))
            and reads[0].step >= (begin or 0)
            and not any(self._is_read_for_gradients(value, read) for read in reads)
        )

    def _is_read_for_gradients(self, value: int, read: Read) -> bool:
        """Whether the backward pass reads an argument. XLA may fuse its update with the product of the gradient."""
        in_place = self.dump.values_of_allocation(int(self.dump.values.allocation[value]))
        return self.is_backward(self.op_name(read.name)) and read.name not in self.dump.values.name[in_place]

    def same_slice(self, value: int) -> list[int]:
        """The other values on exactly the same bytes with the same dimensions, by their start."""
        values, shape, others = self.dump.values, self.dimensions(value), neighbours(self.dump, value)
        is_same = values.offset[others] == values.offset[value]
        others = others[is_same & (values.size_bytes[others] == values.size_bytes[value])]
        return [other for other in others.tolist() if self.dimensions(other) == shape]

    # ------------------------------------------------------------ instructions

    def opcode(self, value: int) -> bytes | None:
        """The opcode of the instruction that defines a value, None if the dump does not quote it."""
        return self.dump.opcode(self.name[value])

    def _op_name(self, name: int) -> str | None:
        """The op_name of an instruction."""
        instruction = self.dump.instruction(name)
        return instruction.op_name if instruction else None

    def _reads(self, value: int) -> list[Read]:
        """The instructions that read a value, by step. Those that only pass it on are left out."""
        row = int(self.dump.values.used_value[value])
        if row == NONE:
            return []
        names = np.unique(self.dump.uses.name[self.dump.uses_of(row)])
        steps = taken(self.dump.schedule.step, self.dump.schedule_row_of_name[names])
        reads = map(Read, steps.tolist(), names.tolist())
        own = self.name[value]
        return sorted(read for read in reads if read.name != own and not _VIEW.match(self.dump.names[read.name]))

    def is_for_backward(self, name: int) -> bool:
        """Whether an instruction belongs to the backward pass, or is a copy that only the backward pass reads."""
        known = self._for_backward
        if name not in known:
            # Something that reads its own result through others is in a loop, and no copy for the backward pass.
            known[name] = self.is_backward(self.op_name(name))
            if not known[name] and (self.op_name(name) is None or self.dump.opcode(name) in _COPIES):
                known[name] = self._passes_to_backward(name)
        return known[name]

    def _passes_to_backward(self, name: int) -> bool:
        readers = {read.name for value in self._values_of_name.get(name, ()) for read in self.reads(value)}
        # A `copy-done` defines no value; the readers of what it shows are those of the `copy-start`.
        readers = {reader for reader in readers if reader in self._values_of_name or self.op_name(reader) is not None}
        if not readers:
            # What an asynchronous slice reads is passed on in a computation of its own.
            row, begin = int(self.dump.schedule_row_of_name[name]), self.backward_step
            return row != NONE and begin is not None and int(self.dump.schedule.step[row]) >= begin
        return all(map(self.is_for_backward, readers))

    @cached_property
    def _values_of_name(self) -> dict[int, list[int]]:
        """The values that each instruction defines."""
        found: dict[int, list[int]] = {}
        for value, name in enumerate(self.name):
            found.setdefault(name, []).append(value)
        return found

    @cached_property
    def backward_step(self) -> int | None:
        """The first step at which the backward pass reads a value: one that is not an argument, if one of them matters.
        None without a backward pass.
        """
        for values in ({*self.candidates} - {*self.arguments}, self.arguments):
            reads = (read for value in values for read in self.reads(value))
            steps = [step for step, name in reads if step != NONE and self.is_backward(self.op_name(name))]
            if steps:
                return min(steps)
        return None

    # ------------------------------------------------------------ sources

    def content(self, value: int) -> object:
        """What tells the source of a value's content from others: its line, or its op_name if no line is known."""
        return _source(self.origins.of_value(value))

    def shape(self, value: int, layers: int = 1) -> str:
        """The shape of one layer of a value without its layout, empty if unknown."""
        dimensions = self.dimensions(value)
        if dimensions is None:
            return (self.dump.shape(value) or b"").partition(b"{")[0].decode("utf-8", "replace")
        return str(dimensions.of_one_layer if layers > 1 else dimensions)

    def groups(self, changes: Sequence[Change]) -> tuple[Buffers, ...]:
        """The changed values that own bytes at the peak, grouped by source and shape."""
        layers = changes[0].layers
        found = {change.value: change.source_value for change in changes if change.value in self.owned}
        members: dict[tuple[str, object], list[tuple[int, Origin]]] = {}
        for value in sorted(found, key=lambda value: (-self.owned[value], value)):
            origin = self.origins.of_value(found[value])
            members.setdefault((self.shape(value, layers), _source(origin)), []).append((value, origin))
        groups = [
            Buffers(
                values=tuple(value for value, _ in rows),
                count=len(rows) * layers,
                shape=shape,
                size_bytes=sum(self.owned[value] for value, _ in rows),
                line=rows[0][1].line,
                op_name=folded(rows[0][1].op_name),
            )
            for (shape, _), rows in members.items()
        ]
        return tuple(sorted(groups, key=lambda group: -group.size_bytes))

    @cached_property
    def _around_layers(self) -> tuple[frozenset[str | None], frozenset[str | None]]:
        """The functions that compute all results that are not differentiated, such as the new weights, and those that
        compute all that is differentiated.
        """
        stacks: dict[bool, list[frozenset[str | None]]] = {True: [], False: []}
        for value in self.candidates:
            origin = self.origins.of_value(value)
            is_differentiated = _DIFFERENTIATED.search(origin.op_name or "") is not None
            is_result = bool(self.kind[value] & Kind.MAYBE_LIVE_OUT)
            if is_path(origin.op_name) and origin.frames and (is_differentiated or is_result):
                stacks[is_differentiated].append(frozenset(frame.function for frame in origin.frames))
        around, everywhere = (frozenset.intersection(*stacks[kind] or [frozenset()]) for kind in (False, True))
        return around, everywhere

    def _parts_of_model(self, functions: Iterable[str]) -> list[str]:
        """Those of the functions of a call stack that are not the whole forward pass, or more."""
        around, everywhere = self._around_layers
        # The function that is differentiated is the outermost one that computes only what is.
        inside = [function for function in functions if function not in around][:-1]
        return [function for function in inside if function not in everywhere] or inside

    def call(self, changes: Sequence[Change], *, is_part: bool = False) -> Call | None:
        """The innermost function that computes most bytes of the changed values at the peak, and where it is called. If
        `is_part`, none that is the whole forward pass or more.
        """
        calls: list[tuple[int, dict[str, StackFrame | None]]] = []
        checkpoints = set[str]()
        for change in changes:
            frames = self.origins.of_value(change.source_value).frames if change.value in self.owned else ()
            checkpoints.update(name for name, folder in _CHECKPOINTS.items() if any(folder in f.file for f in frames))
            frames = tuple(frame for frame in frames if not _FRAMEWORK.search(frame.file)) or frames
            callers = zip_longest(frames, frames[1:])
            # ``f.<locals>.<lambda>`` has no name to wrap.
            named = ((frame.function, caller) for frame, caller in callers if frame and frame.function)
            functions = {function: caller for function, caller in named if function and not function.endswith(">")}
            if is_part:
                functions = {function: functions[function] for function in self._parts_of_model(functions)}
            calls.append((self.owned.get(change.value, 0), functions))
        totals, callers_of = Counter[str](), dict[str, StackFrame | None]()
        for size, functions in sorted(calls, key=lambda call: -call[0]):
            totals.update(dict.fromkeys(functions, size))
            callers_of = {**functions, **callers_of}
        most = sum(size for size, _ in calls) * _MOST_OF_A_CALL
        function = next((function for function in callers_of if totals[function] >= most), None)
        if function is None and is_part:
            function = max(totals, key=totals.__getitem__, default=None)
        if function is None:
            return None
        # In a module of Flax, `jax.checkpoint` would not know the parameters.
        return Call(function, callers_of[function], min(checkpoints, default="jax.checkpoint"))


_NOT_COMPUTED: Final = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT | Kind.CONSTANT)

_DIFFERENTIATED: Final = re.compile(r"jvp\(|transpose\(")
"""What JAX writes into the op_names of what it differentiates."""

_FRAMEWORK: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\](?:jax|flax|haiku|equinox|optax)[/\\]")
"""Files of what programs are written with: nobody changes these."""

_CHECKPOINTS: Final = {"flax.linen.remat": "/flax/linen/", "flax.nnx.remat": "/flax/nnx/"}
"""What computes values again in modules of Flax, and a part of the paths of their files."""

_MOST_OF_A_CALL: Final = 0.9
"""The share of the bytes that a function has to compute."""


def _source(origin: Origin) -> object:
    return origin.line or folded(origin.op_name)


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


_COPIES: Final = frozenset(
    (b"reduce-precision", b"copy", b"copy-start", b"convert", b"optimization-barrier", b"slice-start", b"async-start")
)
"""Opcodes of instructions that pass the content of a value on."""

_ARRAY: Final = re.compile(rb"([a-z][a-z0-9]*)\[([0-9]+(?:,[0-9]+)*)\]")
_BACKWARD: Final = re.compile(r"transpose\(|(?:^|/)gradient_tape/|(?:^|/)gradients/")
_LAYER: Final = re.compile(r"(?<=[_.\[])[0-9]+(?=[\]/)_.]|$)")
_VIEW: Final = re.compile(rb"(?:tuple|bitcast|get-tuple-element|copy-done)(?:\.|$)")
