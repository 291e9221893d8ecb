"""What a training program computes of each example alone, before its loss compares the examples with each other: the
encoders of contrastive learning, for example.
"""

from collections.abc import Collection, Iterable
from typing import TypeAlias

from xla_lens.advice.arrays import Array
from xla_lens.advice.axes import Axes
from xla_lens.advice.dimensions import axes_of
from xla_lens.advice.facts import MUCH_SMALLER, Dimensions, Facts, Read
from xla_lens.advice.op_names import BACKWARD_WITHIN, is_backward, is_forward
from xla_lens.advice.subject import Batch, Encoded
from xla_lens.model.attribution.frames import Origin
from xla_lens.model.hlo.stack_frames import Frames, StackFrame
from xla_lens.model.memory.over_time import placed_values
from xla_lens.syntax.columns import NONE, Rows

_Calls: TypeAlias = tuple[tuple[str, int | None, str | None], ...]
"""The calls that make a value, the innermost first: the file, the line and the function of each. Empty if unknown."""


def encoded(facts: Facts) -> Encoded | None:
    """Return what a program encodes before it compares examples; of several batches, that with most bytes of the peak.
    None if all that it computes is of one example, or if a loop takes the batch in parts already.
    """
    is_in_parts = facts.trains_in_loop or facts.batch is not None
    axes = facts.axes if facts.backward_step is not None and not is_in_parts else None
    # A gradient within the loss is computed where the loss needs it.
    if axes is None or facts.has_op_name(BACKWARD_WITHIN):
        return None
    # What each example trains of its own is no encoder of all.
    mixed = axes.trained_sums & (axes.joined | axes.added) & ~axes.of_own_weights
    found = [_Encoders(facts, axes, size) for size in facts.leading_lengths if facts.axis(size) & mixed]
    best = max(found, key=lambda one: one.owned_bytes, default=None)
    return best.encoded() if best and best.owned_bytes else None


class _Encoders:
    """What is encoded of the examples of one batch, and the calls that encode it. Calls that also compute something of
    each example from several are left out: each layer of a net of graphs looks at neighbors.
    """

    def __init__(self, facts: Facts, axes: Axes, size: int) -> None:
        self._facts, self._axes, self._size, self._axis = facts, axes, size, facts.axis(size)
        self._others = sum(facts.axis(lengths[0]) for lengths in {*facts.tokens} if lengths[0] != size)
        """The axes of others that are compared with the examples, such as words or items."""
        self._encoding, self._mixed, self._comparing = set[_Calls](), set[_Calls](), set[Read]()
        arrays = {value: array for value in self._large if (array := facts.array(value)) and array.axes & self._axis}
        calls = {value: _calls(facts.origins.of_value(value)) for value in arrays}
        forward = [
            value for value, array in arrays.items() if _is_forward(array, facts.origins.of_value(value).op_name)
        ]
        apart = {value for value in forward if not self._is_mixed(arrays[value])}
        self._mixed.update(calls[value] for value in forward if value not in apart)
        # What is encoded may be smaller than the values that matter.
        self._follow([*apart, *(value for value in facts.inputs if facts.axes_of_array(value) & self._axis)])
        self._encoding.update(calls[value] for value in apart if arrays[value].is_trained)
        self._encoding -= {*self._mixed, ()}
        self._lines = {calls[:1] for calls in self._encoding} - {calls[:1] for calls in self._mixed}
        # What is compared stays whole. Where nothing shows what is, that may be all.
        values = [
            value
            for value in (facts.computed if self._comparing and self._encoding else ())
            if value in arrays
            and (value in apart or self._is_encoding(calls[value]))
            and calls[value] not in self._mixed
            and self._comparing.isdisjoint(facts.reads(value))
        ]
        shapes = {facts.computed[value] for value in values}
        others = (value for value in facts.computed if value not in arrays)
        self.values = [*values, *(value for value in others if self._is_without_axis(value, shapes))]
        self.owned_bytes = sum(facts.owned.get(value, 0) for value in self.values)

    @property
    def _large(self) -> Rows:
        """The values that matter, and those of other memory spaces that are not much smaller than the largest."""
        sizes, placed = self._facts.dump.values.size_bytes, placed_values(self._facts.dump)
        least = max(map(self._facts.size.__getitem__, self._facts.computed), default=0) // MUCH_SMALLER
        return (*{*self._facts.computed, *placed[sizes[placed] >= max(1, least)].tolist()},)

    def _is_mixed(self, array: Array) -> bool:
        """Whether an array is computed from several examples, or has an element for each pair of them, or of one and
        another input.
        """
        dimensions = [axes_of(dimension) for dimension in array.dimensions]
        is_of_pairs = sum(bool(axes & self._axis) for axes in dimensions) > 1
        is_of_pairs |= any(axes & self._others and not axes & self._axis for axes in dimensions)
        return is_of_pairs or bool((array.added | array.joined) & self._axis)

    def _is_encoding(self, calls: _Calls) -> bool:
        """Whether some calls encode. Those of what JAX traces once for several calls have only the innermost one."""
        return calls in self._encoding or (calls not in self._mixed and calls[:1] in self._lines)

    def _is_without_axis(self, value: int, shapes: Collection[Dimensions]) -> bool:
        """Whether a value is of the examples, but has their axis only as a length: random numbers for each of them, or
        the zeros with which a loop begins that stacks what it computes of them.
        """
        array, shape = self._facts.array(value), self._facts.computed[value]
        if array is None or not array.is_data:
            return shape in shapes and self._facts.fills(value)
        is_encoding = self._is_encoding(_calls(self._facts.origins.of_value(value)))
        return array.is_drawn and shape.lengths[0] == self._size and is_encoding

    def _follow(self, apart: Iterable[int]) -> None:
        """Follow values of single examples through the forward pass, until something is computed from several examples
        and from weights.
        """
        facts, waiting, passed = self._facts, [*apart], set[int]()
        for value in waiting:
            for read in facts.reads(value):
                if read.name in passed:
                    continue
                passed.add(read.name)
                made = facts.defined_by(read.name)
                arrays = [array for each in made if (array := facts.array(each))]
                # What shows an element of a tuple defines nothing.
                if not arrays or not all(_is_forward(array, facts.op_name(read.name)) for array in arrays):
                    continue
                calls = _calls(facts.origins.of_name(read.name))
                # A loop also returns what belongs to no example, such as its counter, and a fusion sums beside them.
                of_examples = [array for array in arrays if array.axes & self._axis]
                if of_examples and not any(map(self._is_mixed, of_examples)):
                    self._encoding |= {calls} if any(array.is_trained for array in of_examples) else set()
                    waiting += made
                elif any(array.is_trained for array in arrays):
                    self._comparing.add(read)
                    self._mixed |= {calls} if of_examples else set()

    def encoded(self) -> Encoded | None:
        """Return it with the names of the examples, and with the first line that computes something from all. None if
        no encoder reads examples.
        """
        facts, axis = self._facts, self._facts.axis_of_examples(self._size)
        inputs = [value for value in facts.inputs if facts.axes_of_array(value) & axis and self._reads(value)]
        if not inputs:
            return None
        weights = [value for value in facts.arguments if value not in facts.inputs and self._reads(value)]
        lines = (self._line(read.name) for read in sorted(self._comparing))
        batch = Batch(facts.names_of(inputs), self._size, is_random=bool(self._axes.random & self._axis))
        return Encoded(batch, tuple(self.values), tuple(weights), next(filter(None, lines), None))

    def _line(self, name: int) -> StackFrame | None:
        """The line that computes something from several examples. A fusion has that of its last instruction: then it is
        the first one of the same function that does not encode.
        """
        origins = self._facts.origins
        line, writers = origins.of_name(name).line, origins.writers
        row = writers.module.row_of(self._facts.dump.names[name]) if writers else NONE
        if line is None or writers is None or row == NONE:
            return line
        inside = (
            writers.read(inner)
            for computation in writers.called(row, b"calls")
            for inner in writers.module.instructions_of(computation)
        )
        lines = [
            read.line
            for read in inside
            if read.line
            and (read.line.file, read.line.function) == (line.file, line.function)
            and not self._is_encoding(_calls_of(read.frames, read.line))
        ]
        return min((line, *lines), key=lambda each: each.line or 0)

    def _reads(self, argument: int) -> bool:
        """Whether an encoder reads an argument, or what is computed of that alone, such as a part of it."""
        facts, waiting, passed = self._facts, [argument], set[int]()
        for value in waiting:
            for read in facts.reads_of_content(value):
                if self._is_encoding(_calls(facts.origins.of_name(read.name))):
                    return True
                if read.name not in passed:
                    passed.add(read.name)
                    made = facts.defined_by(read.name)
                    waiting += [each for each in made if (array := facts.array(each)) and not array.is_trained]
        return False


def _is_forward(array: Array, op_name: str | None) -> bool:
    """Whether what computes an array belongs to the forward pass. XLA merges what both passes compute, such as indices,
    and gives it the name of one.
    """
    return is_forward(op_name) or not (array.is_from_backward or is_backward(op_name))


def _calls(origin: Origin) -> _Calls:
    return _calls_of(origin.frames, origin.line)


def _calls_of(frames: Frames, line: StackFrame | None) -> _Calls:
    return tuple((frame.file, frame.line, frame.function) for frame in frames or ((line,) if line else ()))
