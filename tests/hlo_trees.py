"""Read HLO text with the grammar, to compare with the readers that work without a tree."""

from typing import NamedTuple

from tree_sitter import Node

from xla_lens.syntax.hlo.lexical import Reference, unquoted
from xla_lens.syntax.tree import parse_hlo


class ParsedInstruction(NamedTuple):
    """What the grammar reads from an instruction. Offsets are bytes of the instruction's own text."""

    opcode: bytes
    shape: bytes
    operands: tuple[Reference, ...]
    metadata: dict[str, str]


def parse_instruction(text: bytes) -> ParsedInstruction | None:
    """Parse one instruction with the grammar; None if the text is not an instruction."""
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
