"""The dimensions of arrays as products of factors, each with the axes in it.

A dimension is one factor, or several if a reshape has flattened others into it: 8 sequences of 1,024 positions in one
dimension of 8,192 elements are two factors, the major one first. A later reshape divides it at the same border.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from itertools import accumulate, islice, pairwise, takewhile, zip_longest
from math import prod
from operator import mul, or_
from typing import Final, TypeAlias

from xla_lens.syntax.hlo.shapes import ArrayShape

Factor: TypeAlias = tuple[int, int]
"""A part of a dimension: its axes as a set of bits, and its length."""

Dimension: TypeAlias = tuple[Factor, ...]

Lengths: TypeAlias = tuple[int, ...]

COUNTED: Final = 1
"""The bit of a dimension whose elements are their own numbers (`iota`). It is no axis of an argument."""

OF_LEFT: Final = 2
OF_RIGHT: Final = 4
"""The bits of the dimensions that a product of two positions, such as attention scores, has of its left and of its
right factor. Both may be of the same axis.
"""

OF_FACTORS: Final = OF_LEFT | OF_RIGHT
"""Both of these."""

MARKS: Final = COUNTED | OF_FACTORS
"""All bits that are no axes of arguments."""

FIRST_AXIS: Final = MARKS + 1
"""The bit of the first axis of the arguments."""


@lru_cache(maxsize=1 << 14)
def axes_of(dimension: Dimension) -> int:
    """Return the axes of a dimension as a set of bits."""
    return reduce(or_, (axes for axes, _ in dimension), 0)


@lru_cache(maxsize=1 << 14)
def length_of(dimension: Dimension) -> int:
    """Return the number of elements along a dimension."""
    return prod(length for _, length in dimension)


def total(dimensions: Iterable[Dimension]) -> int:
    """Return the number of elements of an array."""
    return prod(map(length_of, dimensions))


def all_axes(dimensions: Iterable[Dimension]) -> int:
    """Return the axes of some dimensions."""
    return reduce(or_, map(axes_of, dimensions), 0)


def bits_of(axes: int) -> Iterator[int]:
    """Yield each axis of a set."""
    return (1 << place for place in range(axes.bit_length()) if axes >> place & 1)


def plain(lengths: Lengths) -> tuple[Dimension, ...]:
    """Return dimensions without axes."""
    return tuple(((0, length),) for length in lengths)


@lru_cache(maxsize=1 << 12)
def in_memory(shape: ArrayShape, *, is_tiled: bool = True) -> list[tuple[int, int]] | None:
    """The dimensions of an array in the order of its bytes, the major one first, each with its length. With tiles, the
    last ones come twice: the numbers of tiles, then the lengths of a tile. None if tiles have a padding.
    """
    lengths = [length or 0 for length in shape.dimensions]
    order = list(reversed(shape.minor_to_major)) or list(range(len(lengths)))
    tile = [length or 1 for length in shape.tiles[0]] if shape.tiles and is_tiled else []
    if len(tile) > len(order):
        return None
    tiled = order[len(order) - len(tile) :]
    if any(lengths[number] % length for number, length in zip(tiled, tile, strict=True)):
        return None
    untiled = [(number, lengths[number]) for number in order[: len(order) - len(tile)]]
    outside = [(number, lengths[number] // length) for number, length in zip(tiled, tile, strict=True)]
    return [*untiled, *outside, *zip(tiled, tile, strict=True)]


def without(dimensions: Iterable[Dimension], axes: int) -> tuple[Dimension, ...]:
    """Dimensions without some axes."""
    if not axes:
        return tuple(dimensions)
    return tuple(tuple((bits & ~axes, length) for bits, length in dimension) for dimension in dimensions)


def axis_length(factors: Iterable[Factor], bit: int) -> int:
    """The length of an axis in some factors."""
    return prod(length for axes, length in factors if axes & bit)


def merged(choices: Sequence[tuple[Dimension, ...]], *, is_loose: bool = False) -> tuple[Dimension, ...]:
    """The dimensions of arrays whose elements belong together. If `is_loose`, their lengths may differ."""
    found = choices[0] if choices else ()
    for choice in choices[1:]:
        if len(choice) != len(found):
            continue
        pairs = zip(found, choice, strict=True)
        found = tuple(
            together(one, other) if length_of(one) == length_of(other) else _longer(one, other) if is_loose else one
            for one, other in pairs
        )
    return found


def _longer(one: Dimension, other: Dimension) -> Dimension:
    """The longer of two dimensions, with the axes of both."""
    long, short = (one, other) if length_of(one) >= length_of(other) else (other, one)
    axes = axes_of(short)
    if not axes & ~axes_of(long):
        return long
    if not axes_of(long):
        return short
    return ((axes | axes_of(long), length_of(long)),)


def together(one: Dimension, other: Dimension) -> Dimension:
    """A dimension with the axes of two of the same length, divided into factors as both are."""
    if one == other or not axes_of(other):
        return one
    if not axes_of(one) or one == ((COUNTED, length_of(one)),):
        return other
    if other == ((COUNTED, length_of(other)),):
        return one
    borders = sorted({*_borders(one), *_borders(other)})
    if any(major % minor for minor, major in pairwise(borders)):
        return ((axes_of(one) | axes_of(other), length_of(one)),)
    return tuple(
        (_axes_within(one, minor, major) | _axes_within(other, minor, major), major // minor)
        for minor, major in reversed([*pairwise(borders)])
    )


def _borders(dimension: Dimension) -> list[int]:
    """The numbers of elements between the borders of factors and the end of a dimension."""
    return [prod(length for _, length in dimension[number:]) for number in range(len(dimension) + 1)]


def _axes_within(dimension: Dimension, minor: int, major: int) -> int:
    """The axes of the factor between two borders."""
    borders = _borders(dimension)
    pairs = zip(dimension, borders, borders[1:], strict=False)
    return next((axes for (axes, _), upper, lower in pairs if lower <= minor and major <= upper), 0)


def resized(dimension: Dimension, length: int) -> Dimension:
    """A dimension with another length, as windows and slices have them."""
    return dimension if length_of(dimension) == length else ((axes_of(dimension) if length > 1 else 0, length),)


def shrunk(
    dimensions: tuple[Dimension, ...], lengths: Lengths, *, is_padded: bool = False, keeps_axes: bool = False
) -> tuple[Dimension, ...]:
    """The dimensions of a slice, perhaps with a padding. A slice of one element has no axis. With `keeps_axes`, it has,
    because the slices of an array are put together again.
    """
    found = list[Dimension]()
    for dimension, length in zip_longest(dimensions, lengths, fillvalue=None):
        if dimension is None or length is None:
            return plain(lengths)
        if length_of(dimension) <= length:
            found.append(dimension)
        else:
            left = first_part(dimension, length, is_padded=is_padded, keeps_axes=keeps_axes)
            found.append(left or ((axes_of(dimension) if length > 1 or keeps_axes else 0, length),))
    return tuple(found)


def first_part(
    dimension: Dimension, length: int, *, is_padded: bool = False, keeps_axes: bool = False
) -> Dimension | None:
    """The factors of which the first elements of a dimension consist, perhaps with a padding: of 16 sequences of 512
    positions, 2,048 elements are four sequences. None if the part ends within a factor.
    """
    for number, (axes, _) in enumerate(dimension[:-1], 1):
        minor = length_of(dimension[number:])
        if length % minor == 0 or (is_padded and length > minor):
            major = length // minor
            return ((axes if major > 1 or keeps_axes else 0, major), *dimension[number:])
        if minor % length:
            return None
    return None


def grown(dimensions: tuple[Dimension, ...], lengths: Lengths, *, is_padded: bool = False) -> tuple[Dimension, ...]:
    """Dimensions that are joined end to end, perhaps with a padding that a later slice takes off again."""
    if len(dimensions) != len(lengths):
        return plain(lengths)
    found = list[Dimension]()
    for dimension, length in zip(dimensions, lengths, strict=True):
        minor = prod(part for _, part in dimension[1:])
        if length_of(dimension) == length or length % minor:
            is_kept = is_padded and length_of(dimension) < length
            found.append(dimension if is_kept else resized(dimension, length))
        else:
            found.append(((dimension[0][0], length // minor), *dimension[1:]))
    return tuple(found)


def padded(dimensions: tuple[Dimension, ...], lengths: Lengths) -> tuple[Dimension, ...]:
    """Dimensions with a padding. Factors with axes stay as they are, because a slice follows that takes it off
    again.
    """
    if len(dimensions) != len(lengths):
        return plain(lengths)
    return tuple(
        dimension
        if len(dimension) > 1 and axes_of(dimension) and length_of(dimension) < length
        else resized(dimension, length)
        for dimension, length in zip(dimensions, lengths, strict=True)
    )


def _regrouped_within(dimensions: tuple[Dimension, ...], lengths: Lengths) -> tuple[Dimension, ...]:
    """The dimensions of other lengths where a padding hides how the elements are divided. The first and the last
    dimensions that have their old lengths stay. Each of those between has the axes of all that were there.
    """
    pairs = [*map(length_of, dimensions)], lengths
    first = sum(1 for _ in takewhile(_are_equal, zip(*pairs, strict=False)))
    most = min(len(dimensions), len(lengths)) - first
    last = sum(1 for _ in takewhile(_are_equal, islice(zip(*map(reversed, pairs), strict=False), most)))
    axes = all_axes(dimensions[first : len(dimensions) - last])
    inner = lengths[first : len(lengths) - last]
    found = tuple(((axes if length > 1 else 0, length),) for length in inner)
    return (*dimensions[:first], *found, *dimensions[len(dimensions) - last :])


def _are_equal(pair: tuple[int, int]) -> bool:
    return pair[0] == pair[1]


@lru_cache(maxsize=1 << 12)
def is_interleaved(before: Lengths, after: Lengths) -> bool:
    """Return whether other lengths of the same elements move parts of one row to another: 512 rows of 1,025 elements
    are not 1,025 rows of 512, each with elements of one row.
    """
    borders, others = (
        {*accumulate(reversed([length for length in lengths if length > 1]), mul)} for lengths in (before, after)
    )
    return any(border % other and other % border for border in borders for other in others)


@lru_cache(maxsize=1 << 12)
def regrouped(dimensions: tuple[Dimension, ...], lengths: Lengths) -> tuple[Dimension, ...]:
    """The dimensions of the same elements, the major one first in both, with other lengths."""
    factors = [factor for dimension in dimensions for factor in dimension if factor[1] != 1]
    if prod(length for _, length in factors) != prod(lengths) or 0 in lengths:
        return _regrouped_within(dimensions, lengths)
    factors.reverse()
    found = list[Dimension]()
    for number, length in enumerate(lengths, 1):
        parts, left = list[Factor](), length
        while left > 1:
            axes, part = factors.pop()
            if left % part == 0:
                parts.append((axes, part))
                left //= part
            elif part % left == 0:
                parts.append((axes, left))
                factors.append((axes, part // left))
                left = 1
            else:
                # The borders of factors are within others, up to the next one in common.
                wanted, following = left, iter(lengths[number:])
                while part != wanted:
                    if part < wanted:
                        more_axes, more = factors.pop()
                        axes, part = axes | more_axes, part * more
                    else:
                        wanted *= next(following)
                factors.append((axes, part))
        found.append(tuple(parts) or ((0, 1),))
    return tuple(found)
