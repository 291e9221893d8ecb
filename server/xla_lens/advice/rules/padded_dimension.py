"""`padded-dimension`: a TPU pads a short dimension of large arrays to 128.

XLA puts a long dimension last by itself where it can. It cannot where rows are gathered or scattered, where matrices
are multiplied one by one, and where the order of the dimensions matters, as for a reshape.
"""

import re
from collections.abc import Iterable, Iterator
from math import prod
from typing import Final

from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import FLOATS, Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines, Name, Role
from xla_lens.model.memory.edits import Piece
from xla_lens.model.memory.padding import PaddingReason, padding_of
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.text.patterns import lazy_pattern

_SHORTEST: Final = 1024
"""A dimension that is put last is so long that padding it costs little."""

_MOST_COLUMNS: Final = 16
"""Maximum number of columns to compute on one by one."""


def padded_dimension(facts: Facts) -> Iterator[Effect]:
    """Yield the arrays whose minor dimension is padded to twice its length or more: without the padding, they take the
    bytes of their elements.

    Nothing is found where the elements have to be in this order: in a program that divides an array into short rows by
    a reshape, and in one that joins rows for anything but a scatter, which may add them in any order. Nor where XLA
    chooses the order, whatever that of the program is: in products of matrices that are not small, and in arrays that
    are updated along a dimension, such as caches.
    """
    if facts.dump.backend is not Backend.TPU:
        return
    padded = {value: size for value in facts.candidates if (size := _logical_bytes(facts.dump, value))}
    # The numbers of neighbors are no rows, but indices of them.
    rows = (value for value in padded if (shape := facts.dimensions(value)) and shape.type in FLOATS)
    readers = {read.name for value in rows for read in facts.reads(value)}
    is_joined = any(facts.dump.opcode(name) == b"reshape" for name in readers)
    has_scatter = any(_SCATTER.search(facts.op_name(facts.name[value]) or "") for value in facts.candidates)
    is_divided = any(_RESHAPE.search(facts.op_name(facts.name[value]) or "") for value in padded)
    if is_divided or (is_joined and not has_scatter):
        return
    lengths = {value: _minor_lengths(facts.dump, value)[0] for value in padded}
    op_names = {value: _op_names(facts, value) for value in padded}
    by_row = {lengths[value] for value in padded if any(map(_BY_ROW.search, op_names[value]))}
    # Wide rows have too many columns to gather one by one, and what is computed from rows has their layout. To take
    # narrow rows apart changes nothing else.
    narrow = {length for length in lengths.values() if length <= _MOST_COLUMNS}
    changed = (by_row & narrow or narrow) if by_row else {*lengths.values()}
    # Products of matrices that are not small, and their factors, unless these are rows of a gather.
    large = (value for value in padded if max(_minor_lengths(facts.dump, value)[:2]) > _MOST_COLUMNS)
    changed -= {lengths[value] for value in large if any(map(_PRODUCT.search, op_names[value]))} - by_row
    updated = {facts.dimensions(value) for value in padded if any(map(_UPDATE.search, op_names[value]))}
    for value, size in padded.items():
        is_fixed = _is_for_library(facts, value, op_names[value]) or _is_of_attention(facts, value)
        if lengths[value] in changed and not is_fixed and facts.dimensions(value) not in updated:
            yield Effect(value, (Piece(facts.start[value], facts.end[value], size),))


def _minor_lengths(dump: DumpSet, value: int) -> list[int]:
    """The lengths of the dimensions of an array, the minor one first; empty for what is no array."""
    shape = parse_shape(dump.shape(value) or b"")
    return [shape.dimensions[dimension] or 0 for dimension in shape.minor_to_major] if shape else []


def _logical_bytes(dump: DumpSet, value: int) -> int | None:
    """The bytes of the elements of an array whose minor dimension is mostly padding, None for others. Where XLA has put
    the first dimension last, the program does not decide.
    """
    padding = padding_of(dump, value)
    minor = padding.parts[0] if padding and padding.parts else None
    if padding is None or minor is None or minor.cause is not PaddingReason.DIMENSION or not minor.dimension:
        return None
    is_padded = minor.padded_length >= 2 * minor.length and max(_minor_lengths(dump, value)) >= _SHORTEST
    return padding.logical_bytes if is_padded else None


def _is_for_library(facts: Facts, value: int, op_names: Iterable[str]) -> bool:
    """Whether a kernel, a convolution or a decomposition of matrices makes or reads an array: the layout is theirs."""
    names = facts.name[value], *(read.name for read in facts.reads(value))
    is_kernel = any(facts.dump.opcode(name) == b"custom-call" for name in names)
    return is_kernel or any(map(_LIBRARY.search, op_names))


def _is_of_attention(facts: Facts, value: int) -> bool:
    """Whether an array, or one layer of it, may be a factor of attention, which a TPU multiplies faster as it is."""
    shape, axes = facts.dimensions(value), facts.axes
    # Products of many small matrices are none: attention has exponentials, perhaps in a kernel.
    has_softmax = any(map(facts.has_opcode, (b"exponential", b"custom-call")))
    if shape is None or axes is None or not (axes.scores and has_softmax):
        return False
    return not axes.weights.isdisjoint({prod(shape.lengths), prod(shape.without(0).lengths)})


def _op_names(facts: Facts, value: int) -> list[str]:
    """The op_names of what makes and reads a value. That of a copy is the one of what it copies."""
    found = facts.origins.of_value(value).op_name, *(facts.op_name(read.name) for read in facts.reads(value))
    return [op_name for op_name in found if op_name]


_LIBRARY: Final = lazy_pattern(
    r"conv_general_dilated|pallas_call|cholesky|triangular_solve|householder|/(?:eigh?|qr|svd|lu)$"
)
# Rows are gathered or scattered.
_BY_ROW: Final = lazy_pattern(r"/(?:gather|scatter)[^/]*$")
_SCATTER: Final = lazy_pattern(r"/scatter[^/]*$")
_PRODUCT: Final = lazy_pattern(r"/dot_general$")
_UPDATE: Final = lazy_pattern(r"(?<!_index_in_dim\))/dynamic_update_slice$")
_RESHAPE: Final = lazy_pattern(r"/reshape$")


def _what(subject: Subject) -> Inlines:
    group = subject.groups[0]
    shape = Name(group.shape, role=Role.SHAPE)
    if _has(subject, _BY_ROW):
        columns = _minor_lengths(subject.dump, group.values[0])[0]
        return (f"Gather and scatter the {columns} columns of ", shape, " one by one, as a TPU pads rows to 128")
    if _is_of_matrices(subject):
        return ("Multiply the small matrices of ", shape, " as sums of products, as a TPU pads rows to 128")
    return ("Put the long dimension of ", shape, " last, as a TPU pads the last one to 128")


def _snippet(subject: Subject) -> str | None:
    if _has(subject, _BY_ROW):
        columns = _minor_lengths(subject.dump, subject.groups[0].values[0])[0]
        return (
            f"columns = [table[:, column][indices] for column in range({columns})]"
            "  # stay apart, or in jnp.stack(columns); with axis=-1, they would be padded again"
        )
    if _is_of_matrices(subject):
        return "product = (a[:, :, None] * b[None]).sum(1)  # a, b: the long dimension last"
    return None


def _is_of_matrices(subject: Subject) -> bool:
    """Whether the largest buffers are small matrices that are multiplied."""
    matrix = _minor_lengths(subject.dump, subject.groups[0].values[0])[:2]
    return max(matrix) <= _MOST_COLUMNS and _has(subject, _PRODUCT)


def _has(subject: Subject, op_name: re.Pattern[str]) -> bool:
    """Whether an instruction with such an op_name makes or reads one of the buffers."""
    dump = subject.dump
    values = [value for group in subject.groups for value in group.values]
    rows = [dump.values.used_value.item(value) for value in values]
    readers = {name for row in rows if row != NONE for name in dump.uses.name[dump.uses_of(row)].tolist()}
    instructions = map(dump.instruction, readers)
    op_names = [*(group.op_name for group in subject.groups), *(found.op_name for found in instructions if found)]
    return any(op_name.search(name) for name in op_names if name)


ROW: Final = RuleRow(rule=Rule.PADDED_DIMENSION, find=padded_dimension, what=_what, snippet=_snippet)
