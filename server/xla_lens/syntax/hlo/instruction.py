"""The reader of instructions, for the quotes of a dump and the lines of an HLO module alike.

The grammar takes 10 ms for the longest instructions, most of it for attributes. The reader finds shape, opcode and
operands with regular expressions in the head of the text, and metadata by searching for it. Where the text is not of
the usual form it falls back to the grammar. Tests hold the two equal on every module and every quoted instruction of
the collection.
"""

import re
from itertools import islice
from typing import Final, NamedTuple

from tree_sitter import Node

from xla_lens.syntax.hlo.lexical import (
    DEFINITION,
    KEY,
    NAME_CHARACTER,
    REFERENCE,
    STRING,
    STRINGS,
    Reference,
    unquoted,
)
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.tree import parse_hlo


class Instruction(NamedTuple):
    """An instruction as HloInstruction::ToString prints it, at bytes `start` to `end` of `text`.

    All offsets are bytes of `text`; `operands_start` is the one behind the bracket that opens the operands. Operands,
    metadata and names are read on demand.
    """

    # A named tuple, because a load reads tens of thousands: a frozen dataclass takes three times as long to make.

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
        return self._operand_list()[0]

    @property
    def op_name(self) -> str | None:
        """The op_name of its metadata, None without one."""
        text = self.text
        place = text.find(_METADATA_OF_OP_NAME, self.operands_start, self.end)
        start = place + len(_METADATA_OF_OP_NAME)
        close = text.find(b'"', start, self.end) if place >= 0 else -1
        if close < 0:
            return self.metadata().get("op_name")
        before, value = text[self.operands_start : place], text[start:close]
        if b'"' in before or before.count(b"{") != before.count(b"}") or b"\\" in value:
            return self.metadata().get("op_name")
        return value.decode("utf-8", "replace")

    @property
    def parameter_number(self) -> int | None:
        """Which parameter of its computation it is, None if it is not a parameter."""
        number = _PARAMETER.match(self.text, self.operands_start, self.end) if self.opcode == b"parameter" else None
        return integer(number[0]) if number else None

    def has_text(self, text: bytes) -> bool:
        """Whether its operands or attributes contain some text."""
        return self.text.find(text, self.operands_start, self.end) >= 0

    def operand_names(self) -> tuple[bytes, ...]:
        """Its operands by number, without `%`. Operands that are not names (literals, the number of a parameter) are
        left out.
        """
        end, is_usual = self._operand_list()
        if is_usual:
            return tuple(REFERENCE.findall(self.text, self.operands_start, end))
        return tuple(operand.name for operand in self._parsed_operands(end))

    def operands(self) -> tuple[Reference, ...]:
        """Its operands by number with the bytes at which they stand, under the same rule as `operand_names`."""
        end, is_usual = self._operand_list()
        if is_usual:
            found = REFERENCE.finditer(self.text, self.operands_start, end)
            return tuple(Reference(match[1], match.start(), match.end()) for match in found)
        return self._parsed_operands(end)

    def operand(self, number: int) -> Reference | None:
        """One of `operands`, None if there are not that many."""
        if not 0 <= number < self.end - self.start:
            return None
        end, is_usual = self._operand_list()
        if is_usual:
            found = REFERENCE.finditer(self.text, self.operands_start, end)
            match = next(islice(found, number, None), None)
            return Reference(match[1], match.start(), match.end()) if match else None
        operands = self._parsed_operands(end)
        return operands[number] if number < len(operands) else None

    def metadata(self) -> dict[str, str]:
        """The fields of its metadata (`op_name`, `source_file`, `source_line`, `stack_frame_id`, …), empty if none."""
        text, end = self.text, self.end
        place = text.find(_METADATA, self.operands_start, end)
        if place < 0:
            return {}
        before = text[self.operands_start : place]
        if b'"' in before:
            before = STRINGS.sub(rb"\1", before)
        if b'"' in before or before.count(b"{") != before.count(b"}"):
            # It stands in a string or in a backend configuration.
            return self._parsed_metadata()
        usual = usual_metadata(text, place, end)
        if usual is not None:
            return usual
        place += len(_METADATA)
        fields: dict[str, str] = {}
        while field := _FIELD.match(text, place, end):
            fields[field[1].decode("utf-8", "replace")] = unquoted(field[2])
            place = field.end()
        return fields if text[place : place + 1] == b"}" else self._parsed_metadata() | fields

    def _operand_list(self) -> tuple[int, bool]:
        """The end of the operands, and whether they are of the usual form: each `%name` is an operand and there are no
        others. HLO modules may print names without `%`, and `null` for an operand that was deleted.
        """
        if self.opcode in _WITHOUT_NAMES:
            return self.operands_start, True
        close = _TO_CLOSE.match(self.text, self.operands_start, self.end)
        operands = close[0] if close else b""
        is_usual = operands == b")" or (b"%" in operands and b"null" not in operands)
        return close.end() if close else self.end, is_usual

    def _parsed_operands(self, end: int) -> tuple[Reference, ...]:
        parsed = parse_instruction(self.text[self.start : end])
        operands = parsed.operands if parsed else ()
        return tuple(Reference(found.name, found.start + self.start, found.end + self.start) for found in operands)

    def _parsed_metadata(self) -> dict[str, str]:
        parsed = parse_instruction(self.text[self.start : self.end])
        return parsed.metadata if parsed else {}


_BEFORE_SHAPE: Final = re.compile(rb"\s*" + DEFINITION)
# A shape ends with a bracket, and no bracket within a shape stands before a blank: so the first match is right.
_AFTER_SHAPE: Final = re.compile(rb"(?<=[)\]}])\s+([a-z][a-z0-9-]*)\(")
# Up to the bracket that closes the operands. Shapes of operands nest; deeper nesting is left to the grammar.
_TO_CLOSE: Final = re.compile(rb"(?:[^()]++|\((?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+\))*+\)")
_WITHOUT_NAMES: Final = (b"parameter", b"constant")
_PARAMETER: Final = re.compile(rb"\d+(?=\))")
_METADATA: Final = b", metadata={"
_METADATA_OF_OP_NAME: Final = _METADATA + b'op_name="'
_FIELD: Final = re.compile(rb"\s*(" + KEY + rb")=(" + STRING + rb"|" + NAME_CHARACTER + rb"++)", re.DOTALL)


_USUAL_METADATA: Final = re.compile(
    _METADATA
    + (rb"(?:op_name=(" + STRING + rb"))? ?(?:stack_frame_id=(\d++))?")
    + (rb"(?:source_file=(" + STRING + rb") source_line=(\d++))?\}"),
    re.DOTALL,
)
_USUAL_FIELDS: Final = ("op_name", "stack_frame_id", "source_file", "source_line")


def usual_metadata(text: bytes, start: int, end: int) -> dict[str, str] | None:
    """Return the fields of the metadata that begin at a byte with ``, metadata={``, several times as fast as
    `Instruction.metadata`; None if they are not of the usual form.
    """
    match = _USUAL_METADATA.match(text, start, end)
    if match is None:
        return None
    fields = zip(_USUAL_FIELDS, match.groups(), strict=True)
    return {name: unquoted(value) for name, value in fields if value is not None}


def read_instruction(text: bytes, start: int = 0, end: int | None = None) -> Instruction | None:
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
    return Instruction(text, start, end, *before.span(2), shape_start, after.start(), after[1], after.end())


# ---------------------------------------------------------------- the grammar


class ParsedInstruction(NamedTuple):
    """What the grammar reads from an instruction. Offsets are bytes of the instruction's own text."""

    opcode: bytes
    shape: bytes
    operands: tuple[Reference, ...]
    metadata: dict[str, str]


_LONGEST_PARSED: Final = 1 << 18
"""The grammar takes a second for a damaged megabyte. The longest known instruction has 122,647 bytes."""


def parse_instruction(text: bytes) -> ParsedInstruction | None:
    """Parse one instruction with the grammar; None if the text is not an instruction or longer than any real one."""
    if len(text) > _LONGEST_PARSED:
        return None
    root = parse_hlo(text)
    node = root.named_children[0] if root.named_children else None
    if node is None or node.type != "instruction":
        return None
    opcode, shape = node.child_by_field_name("opcode"), node.child_by_field_name("shape")
    if opcode is None or shape is None:
        return None
    return ParsedInstruction(_text(opcode, text), _text(shape, text), _operands(node, text), _metadata(node, text))


def _operands(node: Node, text: bytes) -> tuple[Reference, ...]:
    operands = node.child_by_field_name("operands")
    names = [operand.child_by_field_name("name") for operand in operands.named_children] if operands else []
    return tuple(
        Reference(_text(name, text).removeprefix(b"%"), name.start_byte, name.end_byte)
        for name in names
        if name and not name.is_missing
    )


def _metadata(node: Node, text: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for child in node.named_children:
        if child.type == "metadata":
            for field in child.named_children:
                name, value = field.child_by_field_name("name"), field.child_by_field_name("value")
                if name and value:
                    found[_text(name, text).decode("utf-8", "replace")] = unquoted(_text(value, text))
    return found


def _text(node: Node, text: bytes) -> bytes:
    return text[node.start_byte : node.end_byte]
