"""What is known of the arrays that instructions compute: the axes of their dimensions, and what they depend on."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final, NamedTuple, TypeAlias

from xla_lens.advice.dimensions import COUNTED, OF_FACTORS, Dimension, Lengths, axes_of, length_of, merged, without
from xla_lens.syntax.hlo.shapes import parse_shape, subshape_spans


class Array(NamedTuple):
    """What is known of an array: the axes of each dimension, as factors, the major one first, and what it was computed
    from.

    `added` are the axes that sums have added up, `joined` those whose elements were mixed otherwise; both are sets of
    bits. Of the latter, `joined_within` are those for which that was more than to move elements of what depends on no
    weights that are trained: mixup moves images before a net computes something of them. `recent` are those of both for
    which that was in the same iteration of the innermost loop, or outside of loops: what a loop computes is complete
    when it has ended. `is_trained` says that it depends on arguments that the program returns anew. `is_index` says
    that it is computed from integer arguments without any floating-point number, `is_device` that it depends on the
    device that computes it, `is_drawn` that it is computed from random numbers. `is_one_hot` says that it is zero but
    where numbers equal those of elements, as in one-hot vectors. Of a mask that a TPU packs, `packed` is the dimension
    whose elements are the bits of each number; empty for all else. `reduced` are the marks of the dimensions of
    products of positions along which the forward pass has reduced what it depends on. `is_from_backward` says that it
    depends on what the backward pass has computed. `sums` are the bits of the sums of the forward pass that it depends
    on, one for those of each operation.
    """

    dimensions: tuple[Dimension, ...]
    added: int = 0
    joined: int = 0
    is_data: bool = False
    is_trained: bool = False
    is_index: bool = False
    is_device: bool = False
    is_one_hot: bool = False
    is_drawn: bool = False
    packed: Dimension = ()
    recent: int = 0
    reduced: int = 0
    is_from_backward: bool = False
    joined_within: int = 0
    sums: int = 0

    @property
    def axes(self) -> int:
        """The axes that it has."""
        return reduce(or_, map(axes_of, self.dimensions), 0)

    @property
    def is_of_pairs(self) -> bool:
        """Whether its dimensions are those of both factors of a product of positions, or of what is compared."""
        return self.axes & OF_FACTORS == OF_FACTORS

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of its dimensions."""
        return tuple(map(length_of, self.dimensions))


Result: TypeAlias = "Array | tuple[Result, ...]"
"""What an instruction computes: an array, or a tuple."""

NOTHING: Final = Array(())


def elements_of(shape: bytes) -> list[tuple[int, int]]:
    """Return the spans of the elements in the shape of a tuple."""
    spans = subshape_spans(shape)
    return [span for index, span in spans.items() if index != b"{}" and b"," not in index]


def lengths_of(shape: bytes) -> Lengths:
    """Return the lengths in the shape of an array, 0 for dynamic ones. Empty for a tuple."""
    parsed = parse_shape(shape)
    return tuple(length or 0 for length in parsed.dimensions) if parsed else ()


def arrays_of(result: Result) -> Iterator[Array]:
    """Yield the arrays in a result, those of tuples in tuples, too."""
    if isinstance(result, Array):
        yield result
    else:
        for element in result:
            yield from arrays_of(element)


def element_of(result: Result, number: int) -> Result:
    """Return an element of a tuple. An array, where a module is damaged, counts for each of its elements."""
    if isinstance(result, Array):
        return result
    return result[number] if number < len(result) else NOTHING


def union(one: Result, other: Result) -> Result:
    """Return what is known of a value that is one or the other."""
    if isinstance(one, Array) and isinstance(other, Array):
        return Array(
            merged([one.dimensions, other.dimensions]),
            one.added | other.added,
            one.joined | other.joined,
            one.is_data or other.is_data,
            one.is_trained or other.is_trained,
            one.is_index or other.is_index,
            one.is_device or other.is_device,
            one.is_one_hot and other.is_one_hot,
            one.is_drawn or other.is_drawn,
            one.packed or other.packed,
            one.recent | other.recent,
            one.reduced | other.reduced,
            one.is_from_backward or other.is_from_backward,
            one.joined_within | other.joined_within,
            one.sums | other.sums,
        )
    if isinstance(one, Array) or isinstance(other, Array) or len(one) != len(other):
        return one
    return tuple(map(union, one, other))


def complete(result: Result) -> Result:
    """Return what an iteration of a loop begins with, or what the loop returns."""
    return result._replace(recent=0) if isinstance(result, Array) else tuple(map(complete, result))


def begun(result: Result) -> Result:
    """Return what an iteration of a loop gets from the one before: what that has compared is over, but for pairs that
    it passes on.
    """
    if not isinstance(result, Array):
        return tuple(map(begun, result))
    marks = {axes_of(dimension) & OF_FACTORS for dimension in result.dimensions}
    if len(marks - {0}) > 1:
        return result
    return result._replace(dimensions=without(result.dimensions, OF_FACTORS), reduced=0)


def joined_with(array: Array, axes: int) -> Array:
    """Return an array whose elements along some more axes were moved to the places of others."""
    joined, joined_within = array.joined | axes, array.joined_within | axes * array.is_trained
    return array._replace(joined=joined, joined_within=joined_within) if axes else array


def drawn(result: Result) -> Result:
    """Return a result as computed from random numbers."""
    return result._replace(is_drawn=True) if isinstance(result, Array) else tuple(map(drawn, result))


def from_backward(result: Result) -> Result:
    """Return a result as computed by the backward pass. Constants are those of both passes."""
    if isinstance(result, Array):
        return result._replace(is_from_backward=result.is_data)
    return tuple(map(from_backward, result))


def unpacked(array: Array) -> Array:
    """Return a mask that was packed, where each number meets the bits by which to read it: the powers of two by the
    numbers of its elements.
    """
    bits = ((COUNTED, length_of(array.packed)),)
    dimensions = tuple(array.packed if dimension == bits else dimension for dimension in array.dimensions)
    return array._replace(dimensions=dimensions, packed=())


def counted_dimensions(array: Array) -> int:
    """Return how many dimensions of an array have the numbers of their elements, also as factors of others."""
    return sum(bool(axes & COUNTED) for dimension in array.dimensions for axes, _ in dimension)


def is_like(array: Array, lengths: Lengths) -> bool:
    """Return whether an array has some lengths, padding aside."""
    return len(array.dimensions) == len(lengths) and all(
        length_of(dimension) == length or (len(dimension) > 1 and length_of(dimension) < length)
        for dimension, length in zip(array.dimensions, lengths, strict=True)
    )


def unknown(shape: bytes, operands: Sequence[Result], *, joins: bool = False) -> Result:
    """Return what is known of a result whose dimensions are not: what it depends on. `joins` says that each element of
    it depends on all of the operands.
    """
    if shape.startswith(b"("):
        return tuple(unknown(shape[slice(*span)], operands, joins=joins) for span in elements_of(shape))
    arrays = [array for operand in operands for array in arrays_of(operand)]
    return unknown_array(lengths_of(shape), arrays, joins=joins)


def unknown_array(lengths: Lengths, operands: Sequence[Array], *, joins: bool) -> Array:
    """Return an array that depends on operands in an unknown way, as in `unknown`."""
    axes = reduce(or_, (array.axes for array in operands), 0) if joins else 0
    is_trained = any(array.is_trained for array in operands)
    return Array(
        tuple(((axes, length),) for length in lengths),
        reduce(or_, (array.added for array in operands), 0),
        reduce(or_, (array.joined for array in operands), axes),
        any(array.is_data for array in operands),
        is_trained,
        is_drawn=any(array.is_drawn for array in operands),
        recent=reduce(or_, (array.recent for array in operands), axes),
        reduced=reduce(or_, (array.reduced for array in operands), 0),
        is_from_backward=any(array.is_from_backward for array in operands),
        joined_within=reduce(or_, (array.joined_within for array in operands), axes * is_trained),
        sums=reduce(or_, (array.sums for array in operands), 0),
    )
