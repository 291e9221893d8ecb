"""The HLO module in the numbers of its dump: which value each position must show, and which uses and steps follow.

The positions of a dump are those of XLA's data flow analysis (HloDataflowAnalysis). Some instructions define no value
at an index but pass one on, from an operand or from a computation that they call. `Edges` lists where each
position gets its value from, so that positions can be checked without repeating the analysis.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import first_rows, taken
from xla_lens.syntax.columns import NONE, Column, Texts, cells
from xla_lens.syntax.hlo.quotes import QuoteParts, Quotes, read_quotes
from xla_lens.syntax.hlo.shapes import subshape_spans
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.texts import number_texts

_CALLS: Final = {
    b"while": (b"condition", b"body"),
    b"call": (b"to_apply",),
    b"conditional": (b"branch_computations", b"true_computation", b"false_computation"),
    b"async-start": (b"calls",),
}
"""The instructions whose computations are part of the schedule, and the attributes that name those computations."""

_SAME: Final = (b"bitcast", b"opt-barrier", b"domain", b"add-dependency", b"all-reduce-done")
"""Instructions that pass on their first operand at each index."""

_ELEMENT_OF: Final = {b"copy-done": 0, b"all-gather-done": 1, b"collective-permute-done": 1}
"""Instructions that pass on one element of their first operand."""

_INDEX: Final = re.compile(rb"\), index=(\d{1,9})")
_VIRTUAL: Final = re.compile(rb"%([^\s{}()\[\]\",=%#]+(?:#\d{1,9})+)(?=[,)])")
"""An operand that is an element of a tuple, or of a tuple in it, for which recent releases print no
`get-tuple-element`.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An instruction and a computation that it calls: rows of the module. `branch` counts the computations of one
    attribute.
    """

    caller: int
    attribute: bytes
    branch: int
    computation: int


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Positions and where each gets its value from. `position` is a row of `DumpSet.positions`, `name` and `index` are
    those of the source; NONE for an index that the dump does not have.
    """

    position: Column
    name: Column
    index: Column


class ModuleGraph:
    """The instructions of a module by the numbers that the names have in its dump set.

    `name` is the number of each instruction's name, NONE for those that the dump does not mention; `row` is the
    instruction of each name, NONE for names that are not in the module.
    """

    def __init__(self, dump: DumpSet, module: HloModule) -> None:
        self.dump, self.module = dump, module
        self._table = table = module.columns.instructions
        names, self._virtual = self._with_virtual_names()
        self.quotes: Quotes = read_quotes(module.data, table.start, table.end, QuoteParts.OPERANDS, names)
        self.name = np.where(self.quotes.name < len(dump.names), self.quotes.name, NONE)
        self.row = first_rows(np.arange(len(dump.names)), self.name, np.arange(len(self.name)))
        self.operand_count = np.maximum(self.quotes.operand_count, 0)
        self.first_operand = self.operand_count.cumsum() - self.operand_count
        spans = np.maximum(self.quotes.opcode_start, 0), np.maximum(self.quotes.opcode_end, 0)
        self._opcode, first = number_texts(module.data, *spans)
        starts, ends = (span[first].tolist() for span in spans)
        self._opcodes = {
            module.data[start:end]: number for number, (start, end) in enumerate(zip(starts, ends, strict=True))
        }

    def _with_virtual_names(self) -> tuple[Texts, Column]:
        """The names of the dump set with those of elements, and for each of these the name and the element."""
        dump, data = self.dump, self.module.data
        if b"#" not in data:
            return dump.names, np.zeros((0, 2), np.int64)
        numbers: dict[bytes, int] = {}
        elements: list[tuple[int, int]] = []
        for text in sorted(set(_VIRTUAL.findall(data))):
            name, *path = text.split(b"#")
            number = dump.name_number(name)
            for element in path:
                name += b"#" + element
                if name not in numbers:
                    numbers[name] = len(dump.names) + len(elements)
                    elements.append((number, integer(element)))
                number = numbers[name]
        ends = int(dump.names.offsets[-1]) + np.cumsum([*map(len, numbers)], dtype=np.int64)
        both = Texts(dump.names.block + b"".join(numbers), np.append(dump.names.offsets, ends))
        return (both if numbers else dump.names), np.array(elements, np.int64).reshape(-1, 2)

    @property
    def has_elements(self) -> bool:
        """Whether the module prints elements of tuples as operands, instead of `get-tuple-element`."""
        return len(self._virtual) > 0

    def has_opcode(self, *opcodes: bytes) -> NDArray[np.bool_]:
        """For each instruction whether it has one of some opcodes."""
        return np.isin(self._opcode, [self._opcodes[opcode] for opcode in opcodes if opcode in self._opcodes])

    def rows_of(self, *opcodes: bytes) -> Column:
        """Return the instructions with one of some opcodes."""
        return np.flatnonzero(self.has_opcode(*opcodes))

    def source(self, operand: Column, index: Column) -> tuple[Column, Column]:
        """Return the name and the index behind some operands at an index: an element of a tuple is an index further
        down in the tuple.
        """
        count = len(self.dump.names)
        virtual = np.flatnonzero(operand >= count)
        if not len(virtual):
            return operand, index
        name, index = operand.copy(), index.copy()
        base = self._virtual[operand[virtual] - count]
        name[virtual] = base[:, 0]
        index[virtual] = self.child(base[:, 1], index[virtual])
        return self.source(name, index)

    def users(self) -> Column:
        """Return for each operand the instruction that reads it."""
        return np.repeat(np.arange(len(self.name)), self.operand_count)

    def operand(self, rows: Column, number: Column | int) -> Column:
        """Return one operand of some instructions, NONE if there are fewer."""
        is_there = (number >= 0) & (number < self.operand_count[rows])
        return taken(self.quotes.operands, np.where(is_there, self.first_operand[rows] + number, NONE))

    # ------------------------------------------------------------ indices

    @cached_property
    def _paths(self) -> list[tuple[int, ...]]:
        return [index_path(self.dump, number) for number in range(len(self.dump.indices))]

    @cached_property
    def _numbers(self) -> dict[tuple[int, ...], int]:
        return {path: number for number, path in enumerate(self._paths)}

    @cached_property
    def first(self) -> Column:
        """The first number of each index, NONE for `{}`."""
        return np.array([path[0] if path else NONE for path in self._paths], np.int64)

    @cached_property
    def rest(self) -> Column:
        """The index behind the first number of each index; NONE for `{}`, and if the dump does not have it."""
        return np.array([self._numbers.get(path[1:], NONE) if path else NONE for path in self._paths], np.int64)

    def child(self, element: Column, index: Column) -> Column:
        """Return the index of an index within an element of a tuple, NONE if the dump does not have it."""
        keys, which = np.unique(element * np.int64(len(self._paths)) + np.maximum(index, 0), return_inverse=True)
        children = [
            self._numbers.get((int(key) // len(self._paths), *self._paths[int(key) % len(self._paths)]), NONE)
            for key in keys
        ]
        found = np.array(children, np.int64)[which]
        return np.where(index == NONE, NONE, found)

    # ------------------------------------------------------------ computations

    @cached_property
    def calls(self) -> list[Call]:
        """The calls of scheduled computations, in the order of the text."""
        found: list[Call] = []
        for opcode, attributes in _CALLS.items():
            for row in self.rows_of(opcode).tolist():
                called = self.module.called(int(self.quotes.opcode_end[row]), int(self._table.end[row]))
                found += [Call(row, *call) for call in called if call[0] in attributes and call[2] != NONE]
        return sorted(found, key=lambda call: call.caller)

    @cached_property
    def computation(self) -> Column:
        """The computation of each instruction."""
        counts = self.module.columns.computations.instruction_count
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    @cached_property
    def entry(self) -> int:
        """The entry computation, NONE without one."""
        rows = np.flatnonzero(self.module.columns.computations.is_entry)
        return int(rows[-1]) if len(rows) else NONE

    def parameter(self, computation: int, number: int) -> int:
        """Return the instruction of a parameter, NONE if the module lacks it."""
        rows = self.module.instructions_of(computation)
        found = np.flatnonzero(self.quotes.parameter[rows.start : rows.stop] == number)
        return rows[found[-1]] if len(found) else NONE

    @cached_property
    def entry_parameters(self) -> Column:
        """The parameters of the entry computation by number."""
        rows = np.flatnonzero((self.quotes.parameter != NONE) & (self.computation == self.entry))
        ordered: Column = rows[np.argsort(self.quotes.parameter[rows], kind="stable")]
        return ordered

    # ------------------------------------------------------------ data flow

    @cached_property
    def passed_on(self) -> Column:
        """Rows of instructions and the names of what they pass on at each index: an operand, or the root of a called
        computation.
        """
        pairs = np.array([*self._same_index()], np.int64).reshape(-1, 2)
        pairs = pairs[(pairs[:, 0] != NONE) & (pairs[:, 1] != NONE)]
        ordered: Column = pairs[np.argsort(pairs[:, 0], kind="stable")]
        return ordered

    def _same_index(self) -> Iterator[tuple[int, int]]:
        """Pairs of an instruction's row and an operand that it passes on at each index."""
        bodies = {call.caller: call.computation for call in self.calls if call.attribute == b"body"}
        root_names = taken(self.name, self.module.roots)
        for call in self.calls:
            operands = self.quotes.operands[self.first_operand[call.caller] :][
                : self.operand_count[call.caller]
            ].tolist()
            if call.attribute in (b"condition", b"body"):
                targets = self.parameter(call.computation, 0), *([call.caller] if call.attribute == b"body" else [])
                sources = *operands[:1], *([int(root_names[bodies[call.caller]])] if call.caller in bodies else [])
                yield from product(targets, sources)
                continue
            if call.attribute != b"calls":
                yield call.caller, int(root_names[call.computation])
            if call.attribute in (b"to_apply", b"calls"):
                parameters = [*enumerate(operands)]
            else:
                number = 1 + call.branch + (call.attribute == b"false_computation")
                parameters = [(0, operand) for operand in operands[number : number + 1]]
            yield from ((self.parameter(call.computation, number), operand) for number, operand in parameters)

    def edges(self) -> Edges:
        """Where the positions that pass a value on get it from. A position can have several sources, which agree unless
        the position defines a value that merges them.
        """
        positions = self.dump.positions
        index, row = np.maximum(positions.index, EMPTY_INDEX), self.row[positions.name]
        first, rest = self.first[index], self.rest[index]
        parts: list[tuple[Column, Column, Column]] = []

        def add(rows: Column, operand: Column, at: Column) -> None:
            is_known = operand != NONE
            parts.append((rows[is_known], *self.source(operand[is_known], at[is_known])))

        def has(*opcodes: bytes) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = (row != NONE) & self.has_opcode(*opcodes)[row]
            return found

        rows = np.flatnonzero(has(*_SAME))
        add(rows, self.operand(row[rows], 0), index[rows])
        rows = np.flatnonzero(has(b"get-tuple-element", *_ELEMENT_OF))
        add(rows, self.operand(row[rows], 0), self.child(self._elements[row[rows]], index[rows]))
        rows = np.flatnonzero(has(b"tuple") & (index != EMPTY_INDEX))
        add(rows, self.operand(row[rows], first[rows]), rest[rows])
        is_copy = (has(b"copy-start") & (first == 1)) | (has(b"collective-permute-start") & (first == 0))
        rows = np.flatnonzero(is_copy & (self.operand_count[row] == 1))
        add(rows, self.operand(row[rows], 0), rest[rows])
        pairs = self.passed_on
        begin, end = (pairs[:, 0].searchsorted(row, side) for side in ("left", "right"))
        count = np.where(row != NONE, end - begin, 0)
        rows = np.repeat(np.arange(len(row)), count)
        number = np.arange(len(rows)) - np.repeat(count.cumsum() - count, count)
        add(rows, pairs[:, 1][begin[rows] + number], index[rows])
        return Edges(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @cached_property
    def _elements(self) -> Column:
        """The element of its first operand that each instruction passes on, NONE for most."""
        found = np.full(len(self.name), NONE)
        for opcode, element in _ELEMENT_OF.items():
            found[self.rows_of(opcode)] = element
        for row in self.rows_of(b"get-tuple-element").tolist():
            match = _INDEX.search(self.module.data, int(self.quotes.opcode_end[row]), int(self._table.end[row]))
            if match:
                found[row] = int(match[1])
        return found

    def may_define(self) -> NDArray[np.bool_]:
        """For each position whether its instruction may define a value there."""
        positions = self.dump.positions
        row = self.row[positions.name]
        passes = self.has_opcode(*_SAME, b"copy-done", b"get-tuple-element")
        is_element = positions.index > EMPTY_INDEX
        forwards = passes[row] | (self.has_opcode(b"tuple", *_ELEMENT_OF)[row] & is_element)
        defines: NDArray[np.bool_] = (row == NONE) | ~forwards
        return defines

    def is_in_shape(self) -> NDArray[np.bool_]:
        """For each position whether the shape of its instruction has its index; true if the shape is unknown."""
        number, indices = self._subshapes
        positions, count = self.dump.positions, len(self.dump.indices)
        row, index = self.row[positions.name], np.maximum(positions.index, EMPTY_INDEX)
        known = {shape * count + at for shape, own in enumerate(indices) for at in map(self.dump.index_number, own)}
        known |= {shape * count + at for shape, own in enumerate(indices) if not own for at in range(count)}
        is_there: NDArray[np.bool_] = np.isin(number[row] * count + index, [*known]) | (row == NONE)
        return is_there

    @cached_property
    def subshape_count(self) -> Column:
        """The number of indices of the shape of each instruction, 0 if the shape is unknown."""
        number, indices = self._subshapes
        return np.array([*map(len, indices)], np.int64)[number]

    @cached_property
    def _subshapes(self) -> tuple[Column, list[tuple[bytes, ...]]]:
        """The number of the shape of each instruction, and the indices of each shape; none if it is unknown."""
        data, quotes = self.module.data, self.quotes
        start, end = np.maximum(quotes.shape_start, 0), np.maximum(quotes.shape_end, 0)
        number, first = number_texts(data, start, end)
        spans = cells(start[first], end[first])
        indices = [
            (tuple(subshape_spans(data[one:other])) if data[one] == ord("(") else (b"{}",)) if other else ()
            for one, other in spans
        ]
        return number, indices
