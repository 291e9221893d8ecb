"""What the layers of a net of graphs compute of each edge: what it reads of nodes, its message, and the sum of messages
in the nodes.

A layer gathers rows of nodes with integer inputs, and scatters what it computes of them with such inputs. Between
these, each edge is on its own, so that a loop can take some edges at a time. What an edge passes on, such as its state
for the next layer, and what all edges are needed for, such as a maximum over those of a node, stays whole.
"""

from collections import defaultdict
from typing import Final

from xla_lens.advice.arrays import Array
from xla_lens.advice.facts import Facts
from xla_lens.advice.op_names import BACKWARD_WITHIN, is_backward
from xla_lens.advice.subject import Batch, Messages
from xla_lens.model.memory.over_time import placed_values
from xla_lens.model.tables.lookup import ordered
from xla_lens.text.patterns import lazy_pattern


def messages(facts: Facts) -> Messages | None:
    """Return what the layers of a net of graphs compute of each edge; of several kinds of edges, those with most bytes
    of the peak. None if the program is no such net, or if it takes a batch of graphs, which can be split.
    """
    is_net = facts.backward_step is not None and facts.has_op_name(_SCATTER) and facts.has_op_name(_GATHER)
    # A loop that adds up messages may take some edges at a time already.
    if not is_net or facts.is_sharded or any(map(facts.has_op_name, (_SCATTER_IN_LOOP, BACKWARD_WITHIN))):
        return None
    if facts.batch or facts.axes is None:
        return None
    found = [_Edges(facts, axis) for axis in facts.axes_of_indices]
    best = max(found, key=lambda edges: edges.owned_bytes, default=None)
    return best.messages() if best and best.owned_bytes else None


class _Edges:
    """The edges of a graph, by the axis that they are, and what is computed of each.

    The stage of a value is how often what it depends on went from nodes to edges and back. What is computed in another
    stage than it is read in has to be whole between these.
    """

    def __init__(self, facts: Facts, axis: int) -> None:
        self._facts, self._axis = facts, axis
        self._order: list[int] = ordered(placed_values(facts.dump), facts.dump.values.start_step).tolist()
        self._extremes = {
            facts.origins.of_name(name).frames
            for name in {facts.name[value] for value in self._order}
            if _EXTREME.search(facts.op_name(name) or "")
        }
        """Where the program calls what scatters and takes the greatest or the least."""
        self._stages = dict[int, int]()
        """The stages of the values of the forward pass."""
        self._whole, self._sums = set[int](), set[int]()
        """The values of edges that have to be whole, and the sums in nodes."""
        self._copied = dict[int, list[int]]()
        """What values of edges are copies of, in whole or in slices."""
        self._read_in = defaultdict[int, set[int]](set)
        """The later stages in which values of edges are read that depend on no nodes."""
        self._is_gathered = False
        """Whether edges read nodes with integer inputs."""
        self._follow()
        of_edges = {value for value in facts.computed if self._is_of_edges(facts.array(value))}
        values = of_edges - self._whole if self._is_gathered and self._sums else set()
        # What fills arrays with one number has no axis of an input.
        shapes = {facts.computed[value] for value in values}
        filling = {
            value
            for value in facts.computed.keys() - of_edges
            if facts.computed[value] in shapes and facts.fills(value)
        }
        self.values = sorted(values | filling)
        self.owned_bytes = sum(facts.owned.get(value, 0) for value in self.values)

    def _is_of_edges(self, array: Array | None) -> bool:
        return array is not None and bool(array.axes & self._axis)

    def _follow(self) -> None:
        """Follow the values of the forward pass in the order in which they are computed."""
        facts = self._facts
        reached = defaultdict[int, list[int]](list)
        """The values that each instruction reads, by its name."""
        for value in self._order:
            array = facts.array(value)
            if array is None or array.is_from_backward or is_backward(facts.op_name(facts.name[value])):
                continue
            self._stages[value] = self._stage(array, reached[facts.name[value]])
            self._note(value, array, reached[facts.name[value]])
            for read in facts.reads(value):
                reached[read.name].append(value)

    def _stage(self, array: Array, operands: list[int]) -> int:
        """The stage of an array that is computed from some values."""
        facts, is_of_edges = self._facts, self._is_of_edges(array)
        stages = [0]
        for operand in operands:
            source = facts.array(operand)
            # Weights are the same for all edges and all nodes.
            if source and source.is_data:
                stages.append(self._stages[operand] + (self._is_of_edges(source) != is_of_edges))
        return max(stages)

    def _note(self, value: int, array: Array, operands: list[int]) -> None:
        """Note what is read in another stage, and how edges read nodes and nodes add up edges."""
        facts, is_of_edges = self._facts, self._is_of_edges(array)
        sources = {operand: source for operand in operands if (source := facts.array(operand)) and source.is_data}
        edges = {operand: source for operand, source in sources.items() if self._is_of_edges(source)}
        # Where a token goes may depend on weights.
        is_trained = {
            source.is_trained
            for operand, source in edges.items()
            if (facts.dump.shape(operand) or b"").startswith(_INTEGER)
        }
        has_indices = is_trained == {False}
        is_sum = not is_of_edges and has_indices and self._is_sum(facts.name[value])
        # XLA may gather in the fusion that adds up. Counts of labels, for example, depend on nothing gathered.
        reads_nodes = len(edges) < len(sources)
        if is_sum and (reads_nodes or any(self._stages[operand] for operand in edges)):
            self._sums.add(value)
        self._is_gathered |= (is_of_edges or is_sum) and has_indices and reads_nodes
        for operand in edges:
            stage = self._stages[operand]
            is_late = is_of_edges and stage < self._stages[value]
            if is_late and not stage:
                self._read_in[operand].add(self._stages[value])
                is_late = len(self._read_in[operand]) > 1
            # Each part can gather again what it reads.
            is_gathered = _GATHER.search(facts.op_name(facts.name[operand]) or "") is not None
            if not is_gathered and (is_late or not (is_of_edges or is_sum)):
                self._need_whole(operand)
        if is_of_edges and facts.is_copy(facts.name[value]):
            self._copied[value] = [*edges]

    def _need_whole(self, value: int) -> None:
        """Note a value that has to be whole, and so do those that it is a copy of."""
        waiting = [value]
        for each in waiting:
            if each not in self._whole:
                self._whole.add(each)
                waiting += self._copied.get(each, ())

    def _is_sum(self, name: int) -> bool:
        """Whether an instruction adds up what it scatters. The gradient of a maximum counts where it is, too."""
        is_scatter = _SCATTER.search(self._facts.op_name(name) or "") is not None
        return is_scatter and self._facts.origins.of_name(name).frames not in self._extremes

    def messages(self) -> Messages:
        """Return it with the names of the inputs with the edges."""
        facts = self._facts
        inputs = [value for value in facts.inputs if facts.axes_of_array(value) & self._axis]
        states = [value for value in self._whole if value in facts.computed]
        size = facts.axis_elements(self._axis)
        batch = Batch(facts.names_of(inputs), size)
        whole = tuple(sorted(states)), tuple(sorted(self._sums))
        return Messages(batch, tuple(self.values), *whole, has_extremes=bool(self._extremes))


_INTEGER: Final = b"s32[", b"s64[", b"u32[", b"u64["
_GATHER: Final = lazy_pattern(r"/gather$")
_SCATTER: Final = lazy_pattern(r"/scatter-add$")
_SCATTER_IN_LOOP: Final = lazy_pattern(r"/while/body/.*/scatter-add$")
_EXTREME: Final = lazy_pattern(r"/scatter-(?:max|min)$")
