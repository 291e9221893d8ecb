"""Shapes in HLO text: what they mean, how many bytes they take, and the subshapes of tuples."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct

from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.lexical import ARRAY_SHAPE
from xla_lens.syntax.numbers import integer
from xla_lens.text.document import Span
from xla_lens.text.patterns import lazy_pattern


class ArrayShape(Struct, frozen=True):
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
        """The bytes of the elements without padding (ShapeUtil::ByteSizeOf). None if a dimension is unbounded."""
        bounds = [dimension for dimension in self.dimensions if dimension is not None]
        return -(-math.prod(bounds) * self.bits // 8) if len(bounds) == len(self.dimensions) else None

    @property
    def bits(self) -> int:
        """The bits of an element, in whole bytes unless the layout packs it."""
        digits = _DIGITS.search(self.type)
        return self.element_bits or (max(8, integer(digits[0])) if digits else _BITS[self.type])


# A type narrower than a byte takes a whole one, unless the layout packs it.
_BITS: Final = {"pred": 8, "token": 0, "opaque": 64}
_DIGITS: Final = lazy_pattern(r"\d+")

_ARRAY: Final = lazy_pattern(
    rb"(pred|token|opaque|bf16|[sufc]\d+[a-z0-9]*)\[([-\d,<=?]*)\](?:\{([\d,]*)"
    rb"(?::((?:T(?:\([-\d,*]*\))+|SC(?:\([-\d,:]*\))+|[SELM]\(-?\d+\)|[P#*D]\([^{}]*\))*+))?\})?"
)
"""Group 1 is the type, group 2 the dimensions, group 3 the order of the dimensions, and group 4 the other properties of
the layout (Layout::ToString).
"""
_TILES: Final = lazy_pattern(rb"T((?:\([^()]*\))+)")
_NUMBERS: Final = lazy_pattern(rb"([SEL])\((-?\d+)\)")


@lru_cache(maxsize=1 << 16)
def parse_shape(text: bytes) -> ArrayShape | None:
    """Parse the shape of an array, None if the text is none (`<unknown shape>`) or that of a tuple."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        return None
    layout = match[4] or b""
    tiles, numbers = _TILES.search(layout), {name: integer(number) for name, number in _NUMBERS.findall(layout)}
    return ArrayShape(
        type=match[1].decode(),
        dimensions=_integers(match[2]),
        minor_to_major=tuple(number for number in _integers(match[3] or b"") if number is not None),
        tiles=tuple(map(_integers, tiles[1][1:-1].split(b")("))) if tiles else (),
        memory_space=numbers.get(b"S", 0),
        element_bits=numbers.get(b"E"),
        tail_alignment=numbers.get(b"L"),
        is_split=b"SC(" in layout,
        is_dynamic=b"<=" in match[2] or b"?" in match[2],
    )


def _integers(numbers: bytes) -> tuple[int | None, ...]:
    """Comma-separated numbers; None for `?` and `*`."""
    digits = (number.strip(b"<=") for number in numbers.split(b",") if number)
    return tuple(integer(digit) if digit.removeprefix(b"-").isdigit() else None for digit in digits)


def byte_sizes(texts: Iterable[bytes]) -> Column:
    """Return for each text ShapeUtil::ByteSizeOf of the shape that it starts with, NONE if that is unknown.

    Reads each distinct text once. A tuple is a table of pointers to its elements, eight bytes each: only the commas
    between these are counted.
    """
    return np.array([*map(_leading_byte_size, texts)], np.int64)


def without_layout(shape: bytes) -> bytes:
    """Return a shape without its layout and without comments, as ShapeUtil::HumanString prints it: ``f32[8,128]``."""
    return _LAYOUT.sub(b"", shape)


_LAYOUT: Final = lazy_pattern(rb"\{[^{}]*\}|/\*[^*]*+\*/")


def without_comments(text: bytes) -> bytes:
    """Return the text of shapes without blanks and comments (`/*index=5*/`), which have no meaning."""
    return _BLANKS.sub(b"", text)


_BLANKS: Final = lazy_pattern(rb"\s++|/\*[^*]*+\*/")


def is_entry_shape(printed: bytes, shape: bytes) -> bool:
    """Whether `entry_computation_layout` may print the shape of a parameter or of the result in this way.

    The dimensions, the element type, the order of the dimensions and the tiles are those of the instruction. Apart from
    those, the two texts of a shape may differ:

    - Blanks and comments (`/*index=5*/`) have no meaning. TensorFlow 2.10 to 2.13 print no blank between parameters.
    - The memory space: XLA for CPUs keeps the host memory that the caller asked for, `S(5)` or `S(6)`, only in the
      layout. XLA for GPUs gives it to a donated parameter of the entry computation, but not to its layout.
    - The bits of a packed element, `E(4)`: in jaxlib 0.4.20, results lose them, but not their layout.

    Layouts with tiles, which only TPUs have, have the same memory space and bits in both places.
    """
    if printed == shape:
        return True
    spans, others = subshape_spans(printed), subshape_spans(shape)
    return spans.keys() == others.keys() and all(
        _is_entry_array(printed[slice(*span)], shape[slice(*others[index])]) for index, span in spans.items()
    )


def _is_entry_array(printed: bytes, shape: bytes) -> bool:
    one, other = _ARRAY.fullmatch(printed), _ARRAY.fullmatch(shape)
    if one is None or other is None:
        # A tuple, whose elements are compared one by one, or a form that we do not know.
        return printed == shape or (printed.startswith(b"(") and shape.startswith(b"("))
    # A scalar without tiles and memory space has no layout: `f32[]`, but `f32[]{:S(5)}`.
    if one.group(1, 2) != other.group(1, 2) or (one[3] or b"") != (other[3] or b""):
        return False
    layout, other_layout = one[4] or b"", other[4] or b""
    if layout == other_layout or b"T(" in layout:
        return layout == other_layout
    numbers, other_numbers = dict(_NUMBERS.findall(layout)), dict(_NUMBERS.findall(other_layout))
    in_both = numbers.keys() & other_numbers.keys()
    return _SPACE_OR_BITS.sub(b"", layout) == _SPACE_OR_BITS.sub(b"", other_layout) and all(
        numbers[name] == other_numbers[name] for name in in_both
    )


_SPACE_OR_BITS: Final = lazy_pattern(rb"[SE]\(-?\d+\)")


def is_tuple(text: bytes) -> bool:
    """Whether a text is the shape of a tuple. Does not read the elements, of which there can be thousands."""
    return text.startswith(b"(") and text.endswith(b")") and _leading_byte_size(text) != NONE


_MAX_BYTES: Final = 1 << 60


@lru_cache(maxsize=1 << 16)
def _leading_byte_size(text: bytes) -> int:
    # The bytes of a buffer, `b(...)`, are those of the shape in it.
    text = text.removeprefix(b"b(")
    if text.startswith(b"("):
        return _tuple_byte_size(text)
    shape = parse_shape(text.split(b" ", 1)[0].rstrip(b")"))
    size = shape.byte_size if shape else None
    return size if size is not None and 0 <= size < _MAX_BYTES else NONE


def _tuple_byte_size(text: bytes) -> int:
    depth = count = 0
    for part in _SUBSHAPE.finditer(text):
        depth -= part[0] == b")"
        count += depth == 1 and part[0] != b")"
        depth += part[0] == b"("
        if not depth:
            return 8 * count
    return NONE


# A buffer, `b(...)`, is one subshape, whatever it contains: a shape, perhaps a tuple, with tiles in its layout.
_SUBSHAPE: Final = lazy_pattern(
    rb"(?<![a-z0-9])(?:" + ARRAY_SHAPE + rb"|b\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))|[()]"
)
_MAX_NESTING: Final = 100
"""How deep tuples may nest. Real ones nest a few levels."""

_FEW: Final = 8
"""Shapes whose subshapes are kept. The tuple of all parameters stands in several places, and may be very long."""


@lru_cache(_FEW)
def subshape_spans(shape: bytes) -> Mapping[bytes, Span]:
    """Return the span of each subshape in the text of a shape, by shape index: ``{}`` is the whole, ``{1,0}`` the first
    element of the second. A tuple comes after its elements. Text behind the shape is ignored. Empty for a shape that
    nests too deeply.
    """
    found: dict[bytes, Span] = {}
    # The index of the subshape that comes next, and the starts of the tuples that are open around it.
    index: list[int] = []
    starts: list[int] = []
    for part in _SUBSHAPE.finditer(shape):
        start, end = part.span()
        if part[0] == b"(":
            starts.append(start)
            index.append(0)
            if len(index) > _MAX_NESTING:
                return {}
            continue
        if part[0] == b")":
            if not starts:
                break
            start = starts.pop()
            index.pop()
        found[b"{%s}" % b",".join(map(b"%d".__mod__, index))] = (start, end)
        if not index:
            break
        index[-1] += 1
    return found
