"""The instructions that a dump set quotes, read fast and once each: what all of them are asked for."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.instruction_scan import InstructionHead, instruction_head, metadata_of, op_name_of, operands_of


class Quotes:
    """Each value of a tuple quotes the text of the whole instruction; here the first one counts. Remembers what it has
    read.
    """

    def __init__(self, dump: DumpSet) -> None:
        self._dump = dump
        self._data = dump.used.document.data if dump.used else b""
        self._heads: dict[int, InstructionHead | None] = {}

    @cached_property
    def rows(self) -> Column:
        """For each name the row of `used_values` that quotes its instruction first, NONE if none does."""
        used = self._dump.used_values
        quoting = np.flatnonzero((used.id != NONE) & (used.instruction_start != NONE))
        rows = np.full(len(self._dump.names), NONE)
        rows[used.name[quoting[::-1]]] = quoting[::-1]
        return rows

    def head(self, name: int) -> InstructionHead | None:
        """The head of an instruction, in bytes of the file; None if it is not quoted."""
        if name not in self._heads:
            start, end = self._span(name)
            self._heads[name] = instruction_head(self._data, start, end) if start != NONE else None
        return self._heads[name]

    def place(self, name: int) -> Place | None:
        """The text of an instruction, None if it is not quoted."""
        start, end = self._span(name)
        return Place(self._dump.used, start, end) if self._dump.used and start != NONE else None

    def is_parameter(self, name: int) -> bool | None:
        """Whether an instruction is a parameter of its computation; None if it is not quoted."""
        head = self.head(name)
        return head.opcode == b"parameter" if head else None

    def is_entry_parameter(self, name: int, number: int) -> bool | None:
        """Whether an instruction is parameter `number` of its computation; None if it is not quoted."""
        head = self.head(name)
        if head is None:
            return None
        return head.opcode == b"parameter" and self._data.startswith(b"%d)" % number, head.operands_start)

    def op_name(self, name: int) -> str | None:
        """The op_name of an instruction, None if it has none or is not quoted."""
        head = self.head(name)
        return op_name_of(self._data, head, *self._span(name)) if head else None

    def metadata(self, name: int) -> Mapping[str, str]:
        """The fields of an instruction's metadata; nothing if it is not quoted."""
        head = self.head(name)
        return dict(metadata_of(self._data, head, *self._span(name))) if head else {}

    def says(self, name: int, attribute: bytes) -> bool:
        """Whether the attributes of an instruction have a text."""
        head = self.head(name)
        return head is not None and self._data.find(attribute, head.operands_start, self._span(name)[1]) >= 0

    def shape(self, name: int) -> bytes | None:
        """The shape of an instruction, None if it is not quoted."""
        head = self.head(name)
        return self._data[head.shape_start : head.shape_end] if head else None

    def operands(self, names: Column) -> tuple[Column, Column, Column]:
        """The operands of some instructions, as numbers of names one after another, NONE for one that the set does not
        have; and for each name of the set the first of its own, NONE if it is not quoted, and their number.
        """
        operands: list[int] = []
        first, count = np.full(len(self._dump.names), NONE), np.zeros(len(self._dump.names), np.int64)
        for name in names.tolist():
            start, end = self._span(name)
            # Not kept: so many objects at once would make the garbage collector look at all that there are.
            head = instruction_head(self._data, start, end) if start != NONE else None
            if head:
                read = operands_of(self._data, head, start, end)
                first[name], count[name] = len(operands), len(read)
                operands.extend(map(self._dump.name_number, read))
        return np.array(operands, np.int64), first, count

    def _span(self, name: int) -> tuple[int, int]:
        row, used = self.rows[name], self._dump.used_values
        if row == NONE:
            return NONE, NONE
        return int(used.instruction_start[row]), int(used.instruction_end[row])


def quote_spans(dump: DumpSet) -> tuple[Column, Column]:
    """For each value where its own quote of its instruction starts and ends, NONE if it has none."""
    used = dump.used_values
    rows = dump.values.used_value
    return taken(used.instruction_start, rows), taken(used.instruction_end, rows)
