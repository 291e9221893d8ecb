"""Shapes in HLO text: what they mean, how many bytes they take, and the subshapes of tuples."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from tree_sitter import Node

from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.lexical import ARRAY_SHAPE
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.tree import parse_hlo


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """A dense array, `token[]` or `opaque[]`.

    `dimensions` has the bound of a bounded dynamic dimension and None for an unbounded one; `is_dynamic` is
    whether there is either. The other attributes come from the layout: the tiles, the memory space `S(n)`, the bits of
    a packed element `E(n)`, the multiple to which the number of elements of a tiled array is padded `L(n)`, and whether
    the array is split between cores `SC(...)`.
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
        """The bytes of the elements without padding (ShapeUtil::ByteSizeOf). None if a dimension is unbounded or the
        type is unknown.
        """
        bits = self.bits
        if bits is None or None in self.dimensions:
            return None
        return -(-math.prod(dimension for dimension in self.dimensions if dimension is not None) * bits // 8)

    @property
    def bits(self) -> int | None:
        """The bits of an element, in whole bytes unless the layout packs it. None if the type is unknown."""
        return self.element_bits or _element_bits(self.type)


@dataclass(frozen=True, slots=True)
class TupleShape:
    """A tuple. In memory it is a table of pointers to its elements."""

    elements: "tuple[Shape, ...]"

    @property
    def byte_size(self) -> int:
        """The bytes of its pointers, eight each (ShapeUtil::ByteSizeOf)."""
        return 8 * len(self.elements)


Shape: TypeAlias = ArrayShape | TupleShape


@lru_cache(maxsize=1 << 16)
def parse_shape(text: bytes) -> Shape | None:
    """Parse a shape, None if the text is not a shape (`<unknown shape>`) or nests too deeply."""
    if nests_too_deeply(text):
        return None
    root = parse_hlo(text)
    if root.has_error or len(root.named_children) != 1:
        return None
    return _shape(root.named_children[0], text)


def byte_sizes(texts: Iterable[bytes]) -> Column:
    """Return for each text ShapeUtil::ByteSizeOf of the shape that it starts with, NONE if that is unknown.

    Reads each distinct text once. For a tuple it only counts the commas between the elements, because the grammar takes
    10 ms for the longest.
    """
    return np.array([*map(_leading_byte_size, texts)], np.int64)


def without_layout(shape: bytes) -> bytes:
    """Return a shape without its layout and without comments, as ShapeUtil::HumanString prints it: ``f32[8,128]``."""
    return _LAYOUT.sub(b"", shape)


_LAYOUT: Final = re.compile(rb"\{[^{}]*\}|/\*[^*]*+\*/")


def is_tuple(text: bytes) -> bool:
    """Whether a text is the shape of a tuple. Does not read the elements, of which there can be thousands."""
    return text.startswith(b"(") and text.endswith(b")") and _leading_byte_size(text) != NONE


_MAX_BYTES: Final = 1 << 60
NESTING: Final = np.zeros(256, np.int8)
"""For each byte by how much it changes the depth of brackets behind it."""

NESTING[list(b"([{")], NESTING[list(b")]}")] = 1, -1


@lru_cache(maxsize=1 << 16)
def _leading_byte_size(text: bytes) -> int:
    if text.startswith(b"("):
        letters = np.frombuffer(text, np.uint8)
        depth = NESTING[letters].cumsum(dtype=np.int32)
        end = int((depth == 0).argmax())
        commas = int(np.count_nonzero((letters[:end] == ord(",")) & (depth[:end] == 1)))
        return 8 * (commas + 1 if end > 1 else 0) if depth[end] == 0 else NONE
    shape = parse_shape(text.split(b" ", 1)[0])
    size = shape.byte_size if shape else None
    return size if size is not None and 0 <= size < _MAX_BYTES else NONE


MAX_NESTING: Final = 100
"""How deep the brackets of a shape may nest. Real tuples nest a few levels."""


def nests_too_deeply(shape: bytes) -> bool:
    """Whether the brackets of a shape nest more than `MAX_NESTING` levels deep. Such a shape is not read."""
    if shape.count(b"(") + shape.count(b"{") + shape.count(b"[") <= MAX_NESTING:
        return False
    return int(NESTING[np.frombuffer(shape, np.uint8)].cumsum(dtype=np.int32).max()) > MAX_NESTING


# ---------------------------------------------------------------- subshapes

_SUBSHAPE: Final = re.compile(rb"(?<![a-z0-9])" + ARRAY_SHAPE + rb"|b?\(|\)")


def subshape_spans(shape: bytes) -> dict[bytes, tuple[int, int]]:
    """Return the span of each subshape in the text of a shape, by shape index: ``{}`` is the whole, ``{1,0}`` the first
    element of the second. A tuple comes after its elements. Text behind the shape is ignored. Empty for a shape that
    nests too deeply.
    """
    if nests_too_deeply(shape):
        return {}
    found: dict[bytes, tuple[int, int]] = {}
    # The index of the subshape that comes next, and the starts of the tuples that are open around it.
    index: list[int] = []
    starts: list[int] = []
    # A buffer, `b(...)`, is one subshape, whatever it contains.
    buffer_start, buffer_depth = 0, 0
    for part in _SUBSHAPE.finditer(shape):
        text, start = part[0], part.start()
        if text == b"b(" or (buffer_depth and text == b"("):
            buffer_start = buffer_start if buffer_depth else start
            buffer_depth += 1
            continue
        if buffer_depth:
            buffer_depth -= text == b")"
            if buffer_depth or text != b")":
                continue
            start = buffer_start
        elif text == b"(":
            starts.append(start)
            index.append(0)
            continue
        elif text == b")":
            if not starts:
                break
            start = starts.pop()
            index.pop()
        found[b"{%s}" % b",".join(b"%d" % number for number in index)] = (start, part.end())
        if not index:
            break
        index[-1] += 1
    return found


# ---------------------------------------------------------------- from trees


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
        type=_text(node.child_by_field_name("type"), text).decode("utf-8", "replace"),
        dimensions=tuple(_integers(dimensions, text)),
        minor_to_major=tuple(number for number in _integers(order, text) if number is not None),
        tiles=tuple(tuple(_integers(tile, text)) for tile in layout.children_by_field_name("tile")) if layout else (),
        memory_space=_field_number(layout, "memory_space", text) or 0,
        element_bits=_field_number(layout, "element_bits", text),
        tail_alignment=_field_number(layout, "tail_padding_alignment", text),
        is_split=bool(layout and layout.child_by_field_name("split")),
        is_dynamic=any(mark in _text(dimensions, text) for mark in (b"<=", b"?")),
    )


def _integers(node: Node | None, text: bytes) -> Iterator[int | None]:
    """The comma-separated numbers between the brackets of a node; None for `?` and `*`."""
    for number in re.findall(rb"[^][(){},\s]+", _text(node, text)):
        digits = number.removeprefix(b"<=")
        yield integer(digits) if digits.lstrip(b"-").isdigit() else None


def _field_number(node: Node | None, field: str, text: bytes) -> int | None:
    number = _text(node.child_by_field_name(field), text) if node else b""
    return integer(number) if number else None


def _text(node: Node | None, text: bytes) -> bytes:
    return text[node.start_byte : node.end_byte] if node else b""


_TYPE: Final = re.compile(r"(?:pred|token|opaque|bf|[sufc])(\d*)")


def _element_bits(kind: str) -> int | None:
    match = _TYPE.match(kind)
    if not match:
        return None
    fixed = {"pred": 8, "token": 0, "opaque": 64}
    # A type narrower than a byte takes a whole one, unless the layout packs it.
    return fixed[kind] if kind in fixed else max(8, integer(match[1])) if match[1] else None
