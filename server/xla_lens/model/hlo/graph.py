"""The HLO module in the numbers of its dump: which uses and steps follow from it."""

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import first_rows, ordered, taken
from xla_lens.syntax.columns import NONE, Column, Mask, Pairs, Texts, cells
from xla_lens.syntax.hlo.lexical import operand_position
from xla_lens.syntax.hlo.quotes import QuoteParts, Quotes, read_quotes
from xla_lens.syntax.hlo.shapes import subshape_spans
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.texts import number_texts
from xla_lens.text.patterns import lazy_pattern

_CALLS: Final = {
    b"while": (b"condition", b"body"),
    b"call": (b"to_apply",),
    b"conditional": (b"branch_computations", b"true_computation", b"false_computation"),
    b"async-start": (b"calls",),
}
"""The instructions whose computations are part of the schedule, and the attributes that name those computations."""

_VIRTUAL: Final = lazy_pattern(rb"%([^\s{}()\[\]\",=%#]+(?:#\d{1,9})+)(?=[,)])")
"""An operand that is an element of a tuple, or of a tuple in it, for which recent releases print no
`get-tuple-element`.
"""


_ELEMENT: Final = lazy_pattern(rb", index=(\d{1,9})")


class ComputationCall(NamedTuple):
    """An instruction and a computation that it calls: rows of the module."""

    caller: int
    attribute: bytes
    computation: int


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
        self._opcodes = [module.data[start:end] for start, end in cells(*(span[first] for span in spans))]

    def _with_virtual_names(self) -> tuple[Texts, Column]:
        """The names of the dump set with those of elements, and for each of these the name and the index."""
        dump, data = self.dump, self.module.data
        texts = sorted(set(_VIRTUAL.findall(data))) if b"#" in data else []
        elements = [(dump.name_number(name), dump.index_number(index)) for name, index in map(operand_position, texts)]
        ends = dump.names.offsets.item(-1) + np.cumsum([*map(len, texts)], dtype=np.int64)
        both = Texts(dump.names.block + b"".join(texts), np.append(dump.names.offsets, ends)) if texts else dump.names
        return both, np.array(elements, np.int64).reshape(-1, 2)

    @property
    def has_elements(self) -> bool:
        """Whether the module prints elements of tuples as operands, instead of `get-tuple-element`."""
        return len(self._virtual) > 0

    def has_opcode(self, *opcodes: bytes) -> Mask:
        """For each instruction whether it has one of some opcodes."""
        return np.isin(self._opcode, [number for number, opcode in enumerate(self._opcodes) if opcode in opcodes])

    def rows_of(self, *opcodes: bytes) -> Column:
        """Return the instructions with one of some opcodes."""
        return np.flatnonzero(self.has_opcode(*opcodes))

    def source(self, operand: Column, index: Column) -> Pairs:
        """Return the name and the index behind some operands at an index: an element of a tuple is an index further
        down in the tuple.
        """
        virtual = np.flatnonzero(operand >= len(self.dump.names))
        if not len(virtual):
            return operand, index
        name, index = operand.copy(), index.copy()
        element = self._virtual[operand[virtual] - len(self.dump.names)]
        name[virtual], index[virtual] = element[:, 0], self.within(element[:, 1], index[virtual])
        return name, index

    def operand(self, rows: Column, number: Column | int) -> Column:
        """Return one operand of some instructions, NONE if there are fewer."""
        is_there = (number >= 0) & (number < self.operand_count[rows])
        return taken(self.quotes.operands, np.where(is_there, self.first_operand[rows] + number, NONE))

    def within(self, outer: Column, inner: Column) -> Column:
        """Return the index of each index `inner` of what is at the index `outer`, NONE if the dump does not have it."""
        indices, count = self.dump.indices, np.int64(len(self.dump.indices))
        keys, which = np.unique(np.maximum(outer, 0) * count + np.maximum(inner, 0), return_inverse=True)
        paths = ((indices[number].strip(b"{}") for number in divmod(int(key), len(indices))) for key in keys)
        numbers = self.dump.index_numbers(b"{%s}" % b",".join(filter(None, path)) for path in paths)
        return np.where((outer == NONE) | (inner == NONE), NONE, numbers[which])

    @cached_property
    def calls(self) -> list[ComputationCall]:
        """The calls of scheduled computations, in the order of the text."""
        found: list[ComputationCall] = []
        for opcode, attributes in _CALLS.items():
            for row in self.rows_of(opcode).tolist():
                called = self.module.called(self.quotes.opcode_end.item(row), self._table.end.item(row))
                found += [
                    ComputationCall(row, call[0], call[2])
                    for call in called
                    if call[0] in attributes and call[2] != NONE
                ]
        return sorted(found, key=lambda call: call.caller)

    @cached_property
    def computation(self) -> Column:
        """The computation of each instruction."""
        counts = self.module.columns.computations.instruction_count
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    def parameter(self, computation: int, number: int) -> int:
        """Return the instruction of a parameter, NONE if the module lacks it."""
        return self.parameters(computation, np.array([number])).item(0)

    def parameters(self, computation: int, numbers: Column) -> Column:
        """Return the instruction of each parameter of a computation, NONE if the module lacks it."""
        rows = self.module.instructions_of(computation)
        parameter = self.quotes.parameter[rows.start : rows.stop]
        own = np.flatnonzero(parameter != NONE)
        # The last one of a number counts.
        own = ordered(own, parameter)
        place = parameter[own].searchsorted(numbers, "right") - 1
        found = taken(own, np.maximum(place, NONE))
        return np.where((found != NONE) & (taken(parameter, found) == numbers), found + rows.start, NONE)

    @cached_property
    def entry_parameters(self) -> Column:
        """The parameters of the entry computation by number."""
        rows = np.flatnonzero((self.quotes.parameter != NONE) & (self.computation == self.module.entry))
        return ordered(rows, self.quotes.parameter)

    def elements(self, rows: Column) -> Column:
        """Return the index that each of some `get-tuple-element` reads, NONE if the dump does not have it."""
        spans = self.quotes.opcode_end[rows], self._table.end[rows]
        found = (_ELEMENT.search(self.module.data, start, end) for start, end in cells(*spans))
        numbers = (self.dump.index_number(b"{%s}" % match[1]) if match else NONE for match in found)
        return np.fromiter(numbers, np.int64, len(rows))

    def parts_of_indices(self) -> Pairs:
        """Return for each index of the dump set its first number, and the index behind it, NONE for none: 1 and ``{0}``
        for ``{1,0}``.
        """
        parts = [index.strip(b"{}").partition(b",") for index in self.dump.indices]
        first = [integer(number) if number else NONE for number, _, _ in parts]
        rest = self.dump.index_numbers(b"{%s}" % behind if number else b"" for number, _, behind in parts)
        return np.array(first, np.int64), rest

    def subshape_count(self) -> Column:
        """Return the number of indices of the shape of each instruction, 0 if the shape is unknown."""
        number, indices = self._subshapes
        return np.array([*map(len, indices)], np.int64)[number]

    def has_index(self, rows: Column, index: Column) -> Mask:
        """Return whether the shapes of some instructions have an index; true for unknown shapes and the row NONE."""
        number, indices = self._subshapes
        width = len(self.dump.indices)
        known = [shape * width + at for shape, own in enumerate(indices) for at in own if at != NONE]
        is_unknown = np.array([not own for own in indices], bool)[number[rows]]
        found: Mask = np.isin(number[rows] * np.int64(width) + index, known) | is_unknown | (rows == NONE)
        return found

    @cached_property
    def _subshapes(self) -> tuple[Column, list[list[int]]]:
        """For each instruction the number of its shape, and for each number all indices of the shape, NONE for those
        that the dump does not have.
        """
        data, start, end = self.module.data, self.quotes.shape_start, self.quotes.shape_end
        is_known = end > np.maximum(start, 0)
        # Arrays have one index, whatever their shape.
        tuples = np.flatnonzero(is_known & (np.frombuffer(data, np.uint8)[np.maximum(start, 0)] == ord("(")))
        of_tuple, first = number_texts(data, start[tuples], end[tuples])
        shapes = (data[begin:stop] for begin, stop in cells(start[tuples[first]], end[tuples[first]]))
        indices = [[], [EMPTY_INDEX], *(self.dump.index_numbers(subshape_spans(shape)).tolist() for shape in shapes)]
        number = is_known.astype(np.int32)
        number[tuples] = 2 + of_tuple
        return number, indices
