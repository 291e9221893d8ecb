"""Memory that a program takes while it runs and that no dump shows: that of libraries which XLA's CPU backend calls.

Measured with the memory of a process (`findings/`, `docs/what-the-numbers-mean.md`):

- A `ynn_fusion` (a fusion with the kind ``__ynn_fusion`` in its backend configuration, since jaxlib 0.9.2) is one call
  of a library. Matrix products in it that are not its result have no allocation, and neither has the float32 result
  behind one of fewer bits. The library keeps them whole, or for a few of their batches at a time. Other operations in
  it are computed in pieces that fit into a cache.
- LAPACK's functions for eigenvalues and singular values take a workspace of about two matrices.
- A stable sort takes up to 16 bytes for each element and operand of one sorted row. So does not every comparison.
- A transform of one long dimension (`fft`) takes about as much as its result.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import numpy as np
from msgspec import Struct

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.instruction import InstructionText, read_instruction
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape, subshape_spans
from xla_lens.text.patterns import lazy_pattern


class UnseenKind(StrEnum):
    """What takes memory that no dump shows."""

    YNN_FUSION = "ynn_fusion"
    LAPACK = "lapack"
    SORT = "sort"
    FFT = "fft"


class Unseen(Struct, frozen=True):
    """An instruction that takes memory which no dump shows.

    `size_bytes` has the arrays that it is taken for: the products inside a fusion, the results of others. How much is
    taken depends on the library and its threads. None if they are unknown, because the HLO module is missing.
    """

    kind: UnseenKind
    instruction: str
    size_bytes: int | None


_FUSION: Final = lazy_pattern(rb'\\?"kind\\?":\\?"__ynn_fusion\\?"')
_LAPACK: Final = lazy_pattern(rb'custom_call_target="lapack_\w*(?:syevd|heevd|gesdd)\w*"')
"""Functions with a workspace of the size of a matrix. Those for LU, QR and Cholesky work in place."""
_FUSION_WORD: Final = b"__ynn_fusion"
_WORDS: Final = (_FUSION_WORD, b"lapack_", b" sort(", b" fft(")
"""What the text of each such instruction contains. Other texts may contain it, too. A search for words takes a tenth of
the time of one for a pattern.
"""
_SORTED: Final = lazy_pattern(rb", dimensions=\{(\d{1,4})\}, is_stable=true")
_ONE_LENGTH: Final = lazy_pattern(rb", fft_length=\{\d+\}")


def unseen_memory(dump: DumpSet, module: HloModule | None) -> tuple[Unseen, ...]:
    """Return the instructions of a program for the CPU that take memory which no dump shows, most bytes first. Without
    the HLO module, those that the dump quotes; fusions then come last, because their bytes are unknown.
    """
    if dump.backend is not Backend.CPU:
        return ()
    instructions = _in_module(module) if module else _in_quotes(dump)
    found = {each.instruction: each for each in instructions}
    return tuple(sorted(found.values(), key=lambda each: -1 if each.size_bytes is None else -each.size_bytes))


def much_unseen(unseen: Iterable[Unseen], needed_bytes: int, *, is_fused: bool = True) -> list[Unseen]:
    """Return the fusions, or the other instructions, with known bytes that are not small beside the needed ones."""
    return [
        one
        for one in unseen
        if (one.kind is UnseenKind.YNN_FUSION) is is_fused
        and one.size_bytes
        and one.size_bytes * _SMALLEST_PART >= needed_bytes
    ]


_SMALLEST_PART: Final = 20
"""Less than 1/20 of what a program needs is not worth a sentence."""


def unseen_by(instruction: InstructionText, module: HloModule | None) -> Unseen | None:
    """Return what an instruction of a program for the CPU takes that no dump shows, None if that is nothing."""
    text, span, name = instruction.text, (instruction.operands_start, instruction.end), _name(instruction)
    if instruction.opcode == b"fusion" and _FUSION.search(text, *span):
        size_bytes = _products(module, module.row_of(instruction.name)) if module else None
        return Unseen(UnseenKind.YNN_FUSION, name, size_bytes) if size_bytes != 0 else None
    if instruction.opcode == b"custom-call" and _LAPACK.search(text, *span):
        return Unseen(UnseenKind.LAPACK, name, max(_sizes(instruction), default=0))
    if instruction.opcode == b"sort" and (sorted_by := _SORTED.search(text, *span)):
        return Unseen(UnseenKind.SORT, name, _row_bytes(instruction, int(sorted_by[1])))
    if instruction.opcode == b"fft" and _ONE_LENGTH.search(text, *span):
        return Unseen(UnseenKind.FFT, name, sum(_sizes(instruction)))
    return None


def _in_module(module: HloModule) -> Iterator[Unseen]:
    rows = {module.instruction_at(place) for word in _WORDS for place in _mentions(module.data, word)}
    for row in sorted(rows - {NONE}):
        instruction = module.instruction(row)
        if instruction and (one := unseen_by(instruction, module)):
            yield one


def _in_quotes(dump: DumpSet) -> Iterator[Unseen]:
    if dump.used is None:
        return
    table, data = dump.used_values, dump.used.document.data
    starts = table.instruction_start
    matches = np.array([*_mentions(data, _FUSION_WORD)], np.int64)
    quoted = np.flatnonzero(starts != NONE)
    fusions = quoted[starts[quoted].searchsorted(matches, "right") - 1] if len(quoted) else quoted
    others = dump.first_quote[dump.has_opcode(b"custom-call", b"sort", b"fft", None)]
    for row in distinct(np.append(fusions, others[others != NONE])).tolist():
        instruction = read_instruction(data, *table.span(row, "instruction_start", "instruction_end"))
        if instruction and (one := unseen_by(instruction, None)):
            yield one


def _mentions(data: bytes, word: bytes) -> Iterator[int]:
    place = data.find(word)
    while place >= 0:
        yield place
        place = data.find(word, place + len(word))


def _name(instruction: InstructionText) -> str:
    return instruction.name.decode("utf-8", "replace")


def _products(module: HloModule, fusion: int) -> int | None:
    """The bytes of the products inside a fusion. The library computes in float32 at least, also the result."""
    if fusion == NONE:
        return None
    rows = [row for attribute, _, row in module.called(*module.span(fusion)) if attribute == b"calls"]
    if not rows or NONE in rows:
        return None
    total, result = 0, _result(module, module.root(rows[0]))
    for row in module.instructions_of(rows[0]):
        instruction = module.instruction(row)
        shape = parse_shape(instruction.shape) if instruction and instruction.opcode == b"dot" else None
        if shape and shape.byte_size and (row != result or (shape.bits < _FLOAT_BITS and "f" in shape.type)):
            total += shape.byte_size * max(_FLOAT_BITS, shape.bits) // shape.bits
    return total


_FLOAT_BITS: Final = 32


def _result(module: HloModule, root: int) -> int:
    """The instruction that computes what a root passes on."""
    instruction = module.instruction(root) if root != NONE else None
    while instruction and instruction.opcode in (b"bitcast", b"reshape") and (operand := instruction.operand(0)):
        row = module.operand(operand.name)[0]
        # An operand is printed above its reader. A damaged text may name one below.
        if not NONE < row < root:
            break
        root, instruction = row, module.instruction(row)
    return root


def _shapes(instruction: InstructionText) -> Iterator[ArrayShape]:
    """The arrays of a result, which may be a tuple of them."""
    for start, end in subshape_spans(instruction.shape).values():
        if shape := parse_shape(instruction.shape[start:end]):
            yield shape


def _sizes(instruction: InstructionText) -> list[int]:
    return [shape.byte_size or 0 for shape in _shapes(instruction)]


def _row_bytes(instruction: InstructionText, dimension: int) -> int:
    """The bytes of the elements that are sorted together."""
    lengths = [(shape.bits, shape.dimensions[dimension : dimension + 1]) for shape in _shapes(instruction)]
    return sum(bits * (length[0] or 0) // 8 for bits, length in lengths if length)
