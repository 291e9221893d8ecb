"""Padding: the bytes of a value's slice that its elements do not take, and which part of its layout asks for them.

The rule is ShapeUtil::ArraySize of XLA: the minor-most dimensions are rounded up to the first tile, whose missing
dimensions count as 1; the tiles inside of it add nothing; then the number of elements is rounded up to a multiple of
the tail alignment. What the slice has beyond that is the backend's: libtpu rounds arrays that have no tile up to
1,024 elements in the memory spaces 0, 4 and 6.

An element of less than a byte takes a whole one unless the layout packs it. That is no padding: the bytes of the
logical shape are counted so, too.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.shapes import ArrayShape, Shape, TupleShape, parse_shape


class Cause(StrEnum):
    """What asks for bytes beyond the elements: a dimension that is rounded up to the tile, a dimension of the tile that
    the array has not, the tail alignment, or whoever made the slice.
    """

    DIMENSION = "dimension"
    MISSING_DIMENSION = "missing dimension"
    TAIL = "tail"
    SLICE = "slice"


class Unexplained(StrEnum):
    """Why padding cannot be divided into parts.

    A tuple is a table of pointers whose width is the backend's; a dynamic array has its lengths in front; a layout that
    is split between cores takes a part of the array on each; `COMBINED` are tiles with `*`; and `SMALLER` is a slice
    that is smaller than its layout asks for.
    """

    UNKNOWN_SHAPE = "unknown shape"
    TUPLE = "tuple"
    DYNAMIC = "dynamic"
    SPLIT = "split"
    COMBINED = "combined"
    SMALLER = "smaller"


@dataclass(frozen=True, slots=True)
class PaddingPart:
    """What one cause adds to what those before it have left. `dimension` is the number of the array's dimension, whose
    `length` is rounded up to `padded_length`; a missing one has no number and the length 1. The lengths of a tail are
    numbers of elements, those of a slice bytes.
    """

    cause: Cause
    size_bytes: int
    dimension: int | None
    length: int
    padded_length: int


@dataclass(frozen=True, slots=True)
class Padding:
    """The padding of a slice. `logical_bytes` and all `parts` add up to `assigned_bytes` if nothing is `unexplained`;
    else there are no parts, and `size_bytes` is None where the padding itself cannot be told either. Parts of no bytes
    are left out; dimensions stand from minor to major.
    """

    assigned_bytes: int
    logical_bytes: int | None
    size_bytes: int | None
    parts: tuple[PaddingPart, ...]
    unexplained: Unexplained | None


def explain_padding(shape: Shape | None, assigned_bytes: int) -> Padding:
    """The padding of a value of a shape in a slice of a size. None stands for a shape that is not known."""
    if shape is None:
        return Padding(assigned_bytes, None, None, (), Unexplained.UNKNOWN_SHAPE)
    if isinstance(shape, TupleShape):
        return Padding(assigned_bytes, None, None, (), Unexplained.TUPLE)
    unexplained, logical = _unexplained(shape), shape.byte_size
    if unexplained or logical is None:
        return Padding(assigned_bytes, logical, None, (), unexplained or Unexplained.UNKNOWN_SHAPE)
    parts = tuple(part for part in _parts(shape, assigned_bytes) if part.size_bytes)
    if any(part.size_bytes < 0 for part in parts):
        padding = assigned_bytes - logical
        return Padding(assigned_bytes, logical, padding if padding >= 0 else None, (), Unexplained.SMALLER)
    return Padding(assigned_bytes, logical, assigned_bytes - logical, parts, None)


def _unexplained(shape: ArrayShape) -> Unexplained | None:
    """Why the rule does not hold for a shape."""
    if shape.is_dynamic:
        return Unexplained.DYNAMIC
    if shape.is_split:
        return Unexplained.SPLIT
    lengths = [length for length in shape.dimensions if length is not None]
    is_ordered = sorted(shape.minor_to_major) == list(range(len(lengths)))
    tile = [length for length in shape.tiles[0] if length is not None] if shape.tiles else []
    is_negative = min(*lengths, shape.tail_alignment or 0, shape.bits or 0, 0) < 0
    if is_negative or min(tile, default=1) < 1 or (shape.tiles and not is_ordered):
        return Unexplained.UNKNOWN_SHAPE
    return Unexplained.COMBINED if shape.tiles and None in shape.tiles[0] else None


def _parts(shape: ArrayShape, assigned_bytes: int) -> list[PaddingPart]:
    """What each cause adds, one after another, down to nothing and below."""
    bits = shape.bits or 0
    lengths = [length for length in shape.dimensions if length is not None]
    tile = [length for length in shape.tiles[0] if length is not None] if shape.tiles else []
    elements = 1
    for length in lengths:
        elements *= length
    parts: list[PaddingPart] = []

    def grow(cause: Cause, dimension: int | None, length: int, padded_length: int, padded_elements: int) -> int:
        size = _bytes(padded_elements, bits) - _bytes(elements, bits)
        parts.append(PaddingPart(cause, size, dimension, length, padded_length))
        return padded_elements

    for place, tile_length in enumerate(reversed(tile)):
        dimension = shape.minor_to_major[place] if place < len(lengths) else None
        length = lengths[dimension] if dimension is not None else 1
        padded = _round_up(length, tile_length)
        cause = Cause.DIMENSION if dimension is not None else Cause.MISSING_DIMENSION
        # A length of 0 leaves no elements, and is a multiple of all tiles.
        elements = grow(cause, dimension, length, padded, elements // length * padded if length else 0)
    if tile and shape.tail_alignment:
        padded = _round_up(elements, shape.tail_alignment)
        elements = grow(Cause.TAIL, None, elements, padded, padded)
    tiled = _bytes(elements, bits)
    return [*parts, PaddingPart(Cause.SLICE, assigned_bytes - tiled, None, tiled, assigned_bytes)]


def _round_up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


def _bytes(elements: int, bits: int) -> int:
    return _round_up(elements * bits, 8) // 8


@lru_cache(maxsize=1 << 16)
def padding_of_text(shape: bytes | None, assigned_bytes: int) -> Padding:
    """`explain_padding` of the text of a shape. Few shapes and sizes make up a dump."""
    return explain_padding(parse_shape(shape) if shape is not None else None, assigned_bytes)


def padding_of(dump: DumpSet, value: int) -> Padding | None:
    """The padding of a row of `DumpSet.values`, None if it is in no allocation."""
    if dump.values.slice[value] == NONE:
        return None
    return padding_of_text(dump.shape(value), int(dump.values.size_bytes[value]))


@dataclass(frozen=True, slots=True, eq=False)
class PaddingAtStep:
    """The padding among bytes that values own. `padding_bytes` is NONE for values of which it cannot be told; those own
    `unknown_bytes`. The others' padding adds up to `total_bytes`.
    """

    values: Column
    padding_bytes: Column
    total_bytes: int
    unknown_bytes: int


def padding_at(dump: DumpSet, values: Column, owned_bytes: Column) -> PaddingAtStep:
    """The padding among the bytes that values own at a step (`owned_bytes` in `model/attribution/owned.py`).

    A value that owns all of its bytes has all of its padding. Where padding lies in a slice is not told for each byte,
    so one that owns a part of its slice has at most what it owns.
    """
    known = [padding.size_bytes if (padding := padding_of(dump, row)) else None for row in values.tolist()]
    padding_bytes = np.array([NONE if size is None else size for size in known], np.int64)
    is_known = padding_bytes != NONE
    padding_bytes[is_known] = np.minimum(padding_bytes[is_known], owned_bytes[is_known])
    return PaddingAtStep(values, padding_bytes, int(padding_bytes[is_known].sum()), int(owned_bytes[~is_known].sum()))
