"""Padding: the bytes of a value's slice that hold no elements, and the part of the layout that causes them.

XLA computes the size in ShapeUtil::ArraySize. It rounds the minor-most dimensions up to the first tile, where missing
dimensions count as 1. Inner tiles add nothing. Then it rounds the number of elements up to a multiple of the tail
alignment. Further bytes of the slice come from the backend: libtpu rounds arrays without a tile up to 1,024 elements in
memory spaces 0, 4 and 6.

An element of less than a byte takes a whole byte unless the layout packs it. That is not padding, because the bytes of
the logical shape count it the same way.
"""

from enum import StrEnum
from functools import lru_cache

import numpy as np
from msgspec import Struct

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, pairs
from xla_lens.syntax.hlo.shapes import ArrayShape, is_tuple, parse_shape


class PaddingReason(StrEnum):
    """The cause of padding: a dimension rounded up to the tile, a tile dimension that the array lacks, the tail
    alignment, or a slice that the backend made bigger.
    """

    DIMENSION = "dimension"
    MISSING_DIMENSION = "missing dimension"
    TAIL = "tail"
    SLICE = "slice"


class Unexplained(StrEnum):
    """Why padding cannot be divided into parts.

    - `TUPLE`: a table of pointers, whose width depends on the backend.
    - `DYNAMIC`: a dynamic array, which stores its lengths first.
    - `SPLIT`: a layout split between cores, each of which holds a part of the array.
    - `COMBINED`: a tile with `*`.
    - `SMALLER`: a slice smaller than its layout requires.
    """

    UNKNOWN_SHAPE = "unknown shape"
    TUPLE = "tuple"
    DYNAMIC = "dynamic"
    SPLIT = "split"
    COMBINED = "combined"
    SMALLER = "smaller"


class PaddingPart(Struct, frozen=True):
    """The bytes that one cause adds to the result of the causes before it. It rounds `length` up to `padded_length`:
    the length of array dimension `dimension`, 1 for a missing dimension (`dimension` is None), elements for a tail,
    bytes for a slice.
    """

    cause: PaddingReason
    size_bytes: int
    dimension: int | None
    length: int
    padded_length: int


class Padding(Struct, frozen=True):
    """The padding of a slice. `logical_bytes` and the `parts` add up to `assigned_bytes`, unless the padding is
    `unexplained`: then there are no parts, and `size_bytes` may be None. Parts of 0 bytes are left out. Dimensions
    are in minor-to-major order.
    """

    assigned_bytes: int
    logical_bytes: int | None
    size_bytes: int | None
    parts: tuple[PaddingPart, ...]
    unexplained: Unexplained | None


@lru_cache(maxsize=1 << 16)
def explain_padding(text: bytes | None, assigned_bytes: int) -> Padding:
    """Return the padding of a shape in a slice of `assigned_bytes`. A shape of None is unknown. Cached, because a dump
    has few different shapes and sizes.
    """
    if is_tuple(text or b""):
        return Padding(assigned_bytes, None, None, (), Unexplained.TUPLE)
    shape = parse_shape(text or b"")
    if shape is None:
        return Padding(assigned_bytes, None, None, (), Unexplained.UNKNOWN_SHAPE)
    unexplained, logical = _unexplained(shape), shape.byte_size
    if unexplained or logical is None:
        return Padding(assigned_bytes, logical, None, (), unexplained or Unexplained.UNKNOWN_SHAPE)
    parts = tuple(part for part in _parts(shape, assigned_bytes) if part.size_bytes)
    if any(part.size_bytes < 0 for part in parts):
        padding = assigned_bytes - logical
        return Padding(assigned_bytes, logical, padding if padding >= 0 else None, (), Unexplained.SMALLER)
    return Padding(assigned_bytes, logical, assigned_bytes - logical, parts, None)


def _unexplained(shape: ArrayShape) -> Unexplained | None:
    """Return why `ArraySize` does not explain a shape, None if it does."""
    if shape.is_dynamic:
        return Unexplained.DYNAMIC
    if shape.is_split:
        return Unexplained.SPLIT
    lengths = [length for length in shape.dimensions if length is not None]
    is_ordered = sorted(shape.minor_to_major) == list(range(len(lengths)))
    tile = [length for length in shape.tiles[0] if length is not None] if shape.tiles else []
    is_negative = min(*lengths, shape.tail_alignment or 0, shape.bits, 0) < 0
    if is_negative or min(tile, default=1) < 1 or (shape.tiles and not is_ordered):
        return Unexplained.UNKNOWN_SHAPE
    return Unexplained.COMBINED if shape.tiles and None in shape.tiles[0] else None


def _parts(shape: ArrayShape, assigned_bytes: int) -> list[PaddingPart]:
    """The bytes that each cause adds, in order. Values of 0 and below are included."""
    bits = shape.bits
    lengths = [length for length in shape.dimensions if length is not None]
    tile = [length for length in shape.tiles[0] if length is not None] if shape.tiles else []
    elements = 1
    for length in lengths:
        elements *= length
    parts: list[PaddingPart] = []

    def grow(cause: PaddingReason, dimension: int | None, length: int, padded_length: int, padded_elements: int) -> int:
        size = _bytes(padded_elements, bits) - _bytes(elements, bits)
        parts.append(PaddingPart(cause, size, dimension, length, padded_length))
        return padded_elements

    for place, tile_length in enumerate(reversed(tile)):
        dimension = shape.minor_to_major[place] if place < len(lengths) else None
        length = lengths[dimension] if dimension is not None else 1
        padded = round_up(length, tile_length)
        cause = PaddingReason.DIMENSION if dimension is not None else PaddingReason.MISSING_DIMENSION
        # A length of 0 is a multiple of every tile.
        elements = grow(cause, dimension, length, padded, elements // length * padded if length else 0)
    if tile and shape.tail_alignment:
        padded = round_up(elements, shape.tail_alignment)
        elements = grow(PaddingReason.TAIL, None, elements, padded, padded)
    tiled = _bytes(elements, bits)
    return [*parts, PaddingPart(PaddingReason.SLICE, assigned_bytes - tiled, None, tiled, assigned_bytes)]


def round_up(length: int, multiple: int) -> int:
    """Return the smallest multiple that is not less than a length."""
    return -(-length // multiple) * multiple


def _bytes(elements: int, bits: int) -> int:
    return round_up(elements * bits, 8) // 8


def padding_of(dump: DumpSet, value: int) -> Padding | None:
    """Return the padding of a row of `DumpSet.values`, None if it is in no allocation."""
    if dump.values.slice[value] == NONE:
        return None
    return explain_padding(dump.shape(value), dump.values.size_bytes.item(value))


class PaddingAtStep(Struct, frozen=True, eq=False):
    """The padding among the bytes that values own. `padding_bytes` is NONE where it is unknown; those values own
    `unknown_bytes`. The padding of the others adds up to `total_bytes`.
    """

    values: Column
    padding_bytes: Column
    total_bytes: int
    unknown_bytes: int


def padding_at(dump: DumpSet, values: Column, owned_bytes: Column) -> PaddingAtStep:
    """Return the padding among the bytes that values own at a step (see `model/attribution/owned.py`).

    A value that owns its whole slice has all of its padding. Dumps do not show where in a slice the padding lies, so
    the padding of a value that owns a part of its slice is limited to that part.
    """
    shapes, shape = dump.slice_shapes
    # Many values have the same shape and the same bytes.
    rows = pairs(taken(shape, dump.values.slice[values]), dump.values.size_bytes[values])
    known = {
        (number, size): explain_padding(shapes[number], size).size_bytes if number != NONE else None
        for number, size in set(rows)
    }
    padding_bytes = np.array([NONE if known[row] is None else known[row] for row in rows], np.int64)
    is_known = padding_bytes != NONE
    padding_bytes[is_known] = np.minimum(padding_bytes[is_known], owned_bytes[is_known])
    return PaddingAtStep(values, padding_bytes, int(padding_bytes[is_known].sum()), int(owned_bytes[~is_known].sum()))
