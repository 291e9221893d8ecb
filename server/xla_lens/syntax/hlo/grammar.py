"""HLO text, read where it is looked at: one instruction, or one shape."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from tree_sitter import Node

from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.tree import parse_hlo


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """A dense array, `token[]` or `opaque[]`. A bounded dynamic dimension has its bound, an unbounded one is None.

    `tiles`, the memory space `S(n)`, the bits an element is packed into, `E(n)`, and the number of elements whose
    multiple a tiled array takes, `L(n)`, are those of the layout; `is_split` tells a layout that is split between
    cores, `SC(...)`. `is_dynamic` tells a dimension that is `<=n` or unbounded.
    """

    type: str
    dimensions: tuple[int | None, ...]
    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int | None, ...], ...]
    memory_space: int
    element_bits: int | None
    tail_alignment: int | None
    is_split: bool
    is_dynamic: bool

    @property
    def byte_size(self) -> int | None:
        """ShapeUtil::ByteSizeOf: the bytes of the elements alone, without padding. None if a dimension is unbounded or
        the type is unknown.
        """
        bits = self.bits
        if bits is None or None in self.dimensions:
            return None
        return -(-math.prod(dimension for dimension in self.dimensions if dimension is not None) * bits // 8)

    @property
    def bits(self) -> int | None:
        """The bits of an element: as many as the layout packs it into, or whole bytes. None if the type is unknown."""
        return self.element_bits or _element_bits(self.type)


@dataclass(frozen=True, slots=True)
class TupleShape:
    """A tuple: in memory, a table of pointers to its elements."""

    elements: "tuple[Shape, ...]"

    @property
    def byte_size(self) -> int:
        """ShapeUtil::ByteSizeOf, with pointers of eight bytes."""
        return 8 * len(self.elements)


Shape: TypeAlias = ArrayShape | TupleShape


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand that names an instruction; `start` and `end` are bytes in the instruction's text, `%` included."""

    name: bytes
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """The parts of an instruction's text. What the text does not say is None; operands that are no names are left
    out, so that operand numbers hold for instructions that read others.
    """

    opcode: str
    shape: str
    operands: tuple[Operand, ...]
    op_name: str | None
    source_file: str | None
    source_line: int | None
    stack_frame_id: int | None


def parse_instruction(text: bytes) -> Instruction | None:
    """The parts of an instruction as HloInstruction::ToString prints it; None if it is none."""
    root = parse_hlo(text)
    node = root.named_children[0] if root.named_children else None
    if node is None or node.type != "instruction":
        return None
    opcode, shape = _field_text(node, "opcode", text), _field_text(node, "shape", text)
    if opcode is None or shape is None:
        return None
    metadata = dict(_metadata(node, text))
    return Instruction(
        opcode=opcode,
        shape=shape,
        operands=tuple(_operands(node, text)),
        op_name=metadata.get("op_name"),
        source_file=metadata.get("source_file"),
        source_line=_number(metadata.get("source_line")),
        stack_frame_id=_number(metadata.get("stack_frame_id")),
    )


NAME_CHARACTER: Final = rb"[^\s{}()\[\]\",=%]"
NAME: Final = NAME_CHARACTER + rb"+"
"""A pattern of names, without the sign before them."""

REFERENCE: Final = re.compile(rb"%(" + NAME + rb")")
"""A name in an instruction's text."""

_LONGEST_NAME: Final = 1024


def name_at(text: bytes, offset: int) -> Operand | None:
    """The ``%name`` in an instruction's text that covers a byte.

    Looks at the bytes around only, since to parse the longest instructions takes 10 ms. So it finds names inside of
    strings, too; backend configurations do quote instructions.
    """
    start = text.rfind(b"%", max(0, offset - _LONGEST_NAME), offset + 1)
    match = REFERENCE.match(text, start) if start >= 0 else None
    return Operand(match[1], match.start(), match.end()) if match and offset <= match.end() else None


@lru_cache(maxsize=1 << 16)
def parse_shape(text: bytes) -> Shape | None:
    """The shape that a text is, None if it is none (`<unknown shape>`)."""
    root = parse_hlo(text)
    if root.has_error or len(root.named_children) != 1:
        return None
    return _shape(root.named_children[0], text)


def byte_sizes(texts: Iterable[bytes]) -> Column:
    """For each text ShapeUtil::ByteSizeOf of the shape that it begins with, NONE if that is not known.

    Each distinct text is read once. Of a tuple only the commas between its elements are counted, since to parse the
    longest takes 10 ms.
    """
    known: dict[bytes, int] = {}
    sizes = []
    for text in texts:
        size = known.get(text)
        if size is None:
            size = known[text] = _leading_byte_size(text)
        sizes.append(size)
    return np.array(sizes, np.int64)


_MOST_BYTES: Final = 1 << 60
NESTING: Final = np.zeros(256, np.int8)
"""By how much a byte changes how deep in brackets the next one is."""

NESTING[list(b"([{")], NESTING[list(b")]}")] = 1, -1


def _leading_byte_size(text: bytes) -> int:
    if text.startswith(b"("):
        letters = np.frombuffer(text, np.uint8)
        depth = NESTING[letters].cumsum(dtype=np.int32)
        end = int((depth == 0).argmax())
        commas = int(np.count_nonzero((letters[:end] == ord(",")) & (depth[:end] == 1)))
        return 8 * (commas + 1 if end > 1 else 0) if depth[end] == 0 else NONE
    shape = parse_shape(text.split(b" ", 1)[0])
    size = shape.byte_size if shape else None
    return size if size is not None and 0 <= size < _MOST_BYTES else NONE


def _shape(node: Node, text: bytes) -> Shape | None:
    match node.type:
        case "tuple_shape":
            elements = tuple(_shape(child, text) for child in node.children_by_field_name("element"))
            return None if None in elements else TupleShape(tuple(element for element in elements if element))
        case "buffer_shape":
            inner = node.child_by_field_name("shape")
            return _shape(inner, text) if inner else None
        case "array_shape":
            return _array_shape(node, text)
    return None


def _array_shape(node: Node, text: bytes) -> ArrayShape:
    layout = node.child_by_field_name("layout")
    order = layout.child_by_field_name("minor_to_major") if layout else None
    dimensions = node.child_by_field_name("dimensions")
    return ArrayShape(
        type=_field_text(node, "type", text) or "",
        dimensions=tuple(_integers(dimensions, text)),
        minor_to_major=tuple(_known(_integers(order, text))) if order else (),
        tiles=tuple(tuple(_integers(tile, text)) for tile in layout.children_by_field_name("tile")) if layout else (),
        memory_space=_field_number(layout, "memory_space", text) or 0,
        element_bits=_field_number(layout, "element_bits", text),
        tail_alignment=_field_number(layout, "tail_padding_alignment", text),
        is_split=bool(layout and layout.child_by_field_name("split")),
        is_dynamic=any(mark in _part(dimensions, text) for mark in (b"<=", b"?")),
    )


def _integers(node: Node | None, text: bytes) -> Iterator[int | None]:
    """The comma separated numbers between the brackets of a node; None for `?` and `*`."""
    for number in re.findall(rb"[^][(){},\s]+", _part(node, text)):
        digits = number.removeprefix(b"<=")
        yield integer(digits) if digits.lstrip(b"-").isdigit() else None


def _known(numbers: Iterator[int | None]) -> Iterator[int]:
    return (number for number in numbers if number is not None)


def _field_text(node: Node | None, field: str, text: bytes) -> str | None:
    child = node.child_by_field_name(field) if node else None
    return _text(child, text) if child else None


def _field_number(node: Node | None, field: str, text: bytes) -> int | None:
    number = _field_text(node, field, text)
    return integer(number) if number else None


_TYPE: Final = re.compile(r"(?:pred|token|opaque|bf|[sufc])(\d*)")


def _element_bits(kind: str) -> int | None:
    match = _TYPE.match(kind)
    if not match:
        return None
    fixed = {"pred": 8, "token": 0, "opaque": 64}
    # Types narrower than a byte take one each, unless the layout says that they are packed.
    return fixed[kind] if kind in fixed else max(8, integer(match[1])) if match[1] else None


def _operands(node: Node, text: bytes) -> Iterator[Operand]:
    operands = node.child_by_field_name("operands")
    for operand in operands.named_children if operands else ():
        name = operand.child_by_field_name("name")
        if name and not name.is_missing:
            yield Operand(_bare(text[name.start_byte : name.end_byte]), name.start_byte, name.end_byte)


def parsed_metadata(text: bytes) -> tuple[tuple[str, str], ...]:
    """The fields of an instruction's metadata, in the order of the text."""
    root = parse_hlo(text)
    return tuple(_metadata(root.named_children[0], text)) if root.named_children else ()


def _metadata(node: Node, text: bytes) -> Iterator[tuple[str, str]]:
    for child in node.named_children:
        if child.type == "metadata":
            for field in child.named_children:
                name, value = field.child_by_field_name("name"), field.child_by_field_name("value")
                if name and value:
                    yield _text(name, text), unquoted(_text(value, text))


_ESCAPES: Final = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROLS: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unquoted(value: str) -> str:
    """The text of a string that absl::CEscape escaped."""
    if not value.startswith('"'):
        return value

    def plain(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 8) & 0xFF])
        return bytes([int(match[2], 16)]) if match[2] else _CONTROLS.get(match[3], match[3])

    return _ESCAPES.sub(plain, value[1:-1].encode()).decode("utf-8", "replace")


def _number(value: str | None) -> int | None:
    return integer(value) if value and value.isdigit() else None


def _bare(name: bytes) -> bytes:
    return name.removeprefix(b"%")


def _part(node: Node | None, text: bytes) -> bytes:
    return text[node.start_byte : node.end_byte] if node else b""


def _text(node: Node, text: bytes) -> str:
    return text[node.start_byte : node.end_byte].decode("utf-8", "replace")
