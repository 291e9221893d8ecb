"""The reader of instructions, for the quotes of a dump and the lines of an HLO module alike.

The grammar takes 10 ms for the longest instructions, most of it for attributes. The reader finds shape, opcode and
operands with regular expressions in the head of the text, and metadata by searching for it. Tests hold it equal to the
grammar on every module and every quoted instruction of the collection.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct

from xla_lens.syntax.hlo.lexical import (
    ARRAY_SHAPE,
    BARE_NAME,
    DEFINITION,
    KEY,
    NAME,
    STRING,
    UNCLOSED,
    Reference,
    unquoted,
)
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern

Metadata: TypeAlias = Mapping[str, str]
"""The metadata fields of an instruction: `op_name`, `source_file`, `source_line`, `stack_frame_id`, …"""


class InstructionText(Struct, frozen=True):
    """An instruction as HloInstruction::ToString prints it, at bytes `start` to `end` of `text`.

    All offsets are bytes of `text`; `operands_start` is the one behind the bracket that opens the operands. Operands,
    metadata and names are read on demand.
    """

    text: bytes
    start: int
    end: int
    name_start: int
    name_end: int
    shape_start: int
    shape_end: int
    opcode: bytes
    operands_start: int

    @property
    def name(self) -> bytes:
        """Its name without `%`."""
        return self.text[self.name_start : self.name_end]

    @property
    def shape(self) -> bytes:
        """Its shape with the layout."""
        return self.text[self.shape_start : self.shape_end]

    @property
    def opcode_start(self) -> int:
        """The first byte of the opcode."""
        return self.operands_start - len(b"(") - len(self.opcode)

    @property
    def operands_end(self) -> int:
        """The byte behind the bracket that closes the operands."""
        depth = 0
        for bracket in _BRACKET.finditer(self.text, self.operands_start, self.end):
            depth += 1 if bracket[0] == b"(" else -1
            if depth < 0:
                return bracket.end()
        return self.end

    @property
    def op_name(self) -> str | None:
        """The op_name of its metadata, None without one."""
        return self.metadata().get("op_name")

    @property
    def parameter_number(self) -> int | None:
        """Which parameter of its computation it is, None if it is not a parameter."""
        number = _PARAMETER.match(self.text, self.operands_start, self.end) if self.opcode == b"parameter" else None
        return integer(number[0]) if number else None

    def has_text(self, text: bytes) -> bool:
        """Whether its operands or attributes contain some text."""
        return self.text.find(text, self.operands_start, self.end) >= 0

    def operands(self) -> Iterator[Reference]:
        """Yield its operands by number. Those that are not names (literals, the number of a parameter) are left out.
        HLO modules may print names without `%`, and `null` for an operand that was deleted.
        """
        if self.opcode not in _WITHOUT_NAMES:
            for match in _OPERAND.finditer(self.text, self.operands_start, self.operands_end):
                if match.lastindex:
                    yield Reference(match[match.lastindex], *match.span())

    def operand(self, number: int) -> Reference | None:
        """One of `operands`, None if there are not that many."""
        if not 0 <= number < self.end - self.start:
            return None
        return next(islice(self.operands(), number, None), None)

    def metadata(self) -> Metadata:
        """The fields of its metadata, empty if none."""
        text, end = self.text, self.end
        place = self._metadata_start()
        if place < 0:
            return {}
        place += len(_METADATA)
        fields: dict[str, str] = {}
        while field := _FIELD.match(text, place, end):
            fields[field[1].decode("utf-8", "replace")] = unquoted(field[2])
            place = field.end()
        return fields

    def _metadata_start(self) -> int:
        """Where its metadata starts, -1 without. Strings and backend configurations may contain metadata, too."""
        place = self.text.find(_METADATA, self.operands_start, self.end)
        if place < 0:
            return place
        before = self.text[self.operands_start : place]
        if b'"' not in before and before.count(b"{") == before.count(b"}"):
            return place
        depth = 0
        for part in _NESTED.finditer(self.text, self.operands_start, self.end):
            if part[0] == _METADATA and not depth:
                return part.start()
            depth += part[0].endswith(b"{") - (part[0] == b"}")
        return -1


_BEFORE_SHAPE: Final = lazy_pattern(rb"\s*" + DEFINITION)
# A shape ends with a bracket, and no bracket within a shape stands before a blank: so the first match is right.
_AFTER_SHAPE: Final = lazy_pattern(rb"(?<=[)\]}])\s+([a-z][a-z0-9-]*)\(")
_BRACKET: Final = lazy_pattern(rb"[()]")
# Group 1 or 2 is the name of an operand; the other choices are comments and shapes.
_OPERAND: Final = lazy_pattern(rb"%(" + NAME + rb")|/\*[^*]*+\*/|b\(|" + ARRAY_SHAPE + rb"|(" + BARE_NAME + rb")")
_WITHOUT_NAMES: Final = (b"parameter", b"constant")
_PARAMETER: Final = lazy_pattern(rb"\d+(?=\))")
_METADATA: Final = b", metadata={"
_NESTED: Final = lazy_pattern(STRING + rb"|" + UNCLOSED + rb"|" + re.escape(_METADATA) + rb"|[{}]", re.DOTALL)
_FIELD: Final = lazy_pattern(rb"\s*(" + KEY + rb")=(" + STRING + rb"|\{[^{}]*+\}|" + NAME + rb"+)", re.DOTALL)


def read_instruction(text: bytes, start: int = 0, end: int | None = None) -> InstructionText | None:
    """Return the instruction at bytes `start` to `end` of a text, None if there is none."""
    end = len(text) if end is None else end
    before = _BEFORE_SHAPE.match(text, start, end)
    if before is None:
        return None
    shape_start = before.end()
    # Searching for the end of a tuple first is ten times as fast, and the longest shapes are tuples.
    near = text.find(b") ", shape_start, end) if text[shape_start : shape_start + 1] == b"(" else shape_start
    after = _AFTER_SHAPE.search(text, near, end) if near >= 0 else None
    if after is None:
        return None
    return InstructionText(text, start, end, *before.span(2), shape_start, after.start(), after[1], after.end())
