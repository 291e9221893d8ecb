"""What the values of two dumps can be matched by: columns of numbers, equal where the texts are equal.

Names are numbered anew in each compilation, so a name counts only where there is no opcode, and without its numbers. An
op_name counts without the parts that only some releases of JAX print: the `jit(main)` below the function, the
`closed_call` of a loop's body, and the parameters of an operation in brackets.
"""

from collections.abc import Hashable, Iterable
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows, taken
from xla_lens.syntax.columns import NONE, Column, Pairs
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.text.patterns import lazy_pattern

Traits: TypeAlias = dict[str, Column]
"""The columns of `read_traits` by their names."""


def read_traits(dump: DumpSet, numbers: dict[Hashable, int]) -> Traits:
    """Return one row for each value; NONE for what is unknown. Dumps share `numbers`.

    - `order`: the values in the order of the schedule. `place`: the place of each value there.
    - `step`: the step of the instruction that defines it. `called`: 0 for an instruction without a step, which belongs
      to a computation that another one calls.
    - `opcode`: the opcode of that instruction, or else its name without numbers. `wrapped`: the same, but for a fusion
      that XLA wraps around a single instruction the opcode of the latter.
    - `index`: the index in the result of that instruction.
    - `shape`, `bare_shape`: with and without the layout. `dimensions`: also without the types of elements, and `rank`
      also without the numbers, such as ``[,]``.
    - `op_name`; `operation`: the last part of the op_name, such as ``dot_general``.
    - `path`: the op_name without the function that is compiled, which has another name in an edited program; the first
      one if XLA has joined several. `bare_path`: also without transformations around nothing, such as ``jvp()``, which
      JAX prints since 0.8.
    - `parameter`: for a parameter of the program its number and the index in it. `unnamed`: 0 without an op_name.
    """

    def numbered(texts: Iterable[Hashable]) -> Column:
        found = [NONE if text is None else numbers.setdefault(text, len(numbers)) for text in texts]
        return np.array(found, np.int64)

    values, indices = dump.values, dump.indices
    names, of_name = np.unique(values.name, return_inverse=True)
    stems = [_NUMBERS.sub(b"", dump.names[name]) for name in names.tolist()]
    opcodes = [dump.opcode(name) or stem for name, stem in zip(names.tolist(), stems, strict=True)]
    # `FusionWrapper` names the fusion after the opcode of what it wraps.
    wrapped = [
        _WRAPPED.sub(b"", stem) if opcode == b"fusion" and stem.startswith(b"wrapped_") else opcode
        for opcode, stem in zip(opcodes, stems, strict=True)
    ]
    op_names, of_instruction = _op_names(dump, names)
    of_instruction = of_instruction[of_name]
    paths = [name and _path(name) for name in op_names]
    shapes, shape = dump.slice_shapes
    shape = taken(shape, values.slice)
    index = np.maximum(values.index, 0)
    step = taken(dump.schedule.step, dump.schedule_row_of_name[values.name])
    rows, parameters = parameter_values(dump)
    of_parameter = dump.allocations.parameter[rows].tolist(), dump.allocations.parameter_index[rows].tolist()
    parameter = np.full(len(values), NONE)
    parameter[parameters] = numbered(
        (number, indices[max(0, index)]) for number, index in zip(*of_parameter, strict=True)
    )
    # A number in an index can have several digits: {2} comes before {10}.
    by_length = sorted(range(len(indices)), key=lambda row: (len(indices[row]), indices[row]))
    unscheduled_last = np.where(step == NONE, np.iinfo(np.int64).max, step.astype(np.int64))
    order = np.lexsort((values.id, np.argsort(by_length)[index], unscheduled_last))
    op_name = numbered(op_names)[of_instruction]
    return {
        "order": order,
        "place": np.argsort(order),
        "step": step,
        "called": np.where(step == NONE, 0, NONE),
        "index": numbered(indices)[index],
        "opcode": numbered(opcodes)[of_name],
        "wrapped": numbered(wrapped)[of_name],
        "shape": taken(numbered(shapes), shape),
        "bare_shape": taken(numbered(map(without_layout, shapes)), shape),
        "dimensions": taken(numbered(map(_dimensions, shapes)), shape),
        "rank": taken(numbered(_DIGITS.sub(b"", _dimensions(each_shape)) for each_shape in shapes), shape),
        "op_name": op_name,
        "path": numbered(paths)[of_instruction],
        "bare_path": numbered(path and _TRANSFORMATIONS.sub("", path) for path in paths)[of_instruction],
        "operation": numbered(name and name.rpartition("/")[2] for name in op_names)[of_instruction],
        "parameter": parameter,
        "unnamed": np.where(op_name == NONE, 0, NONE),
    }


_NUMBERS: Final = lazy_pattern(rb"[._]?\d+")
_DIGITS: Final = lazy_pattern(rb"\d+")
_TYPE: Final = lazy_pattern(rb"\b[a-z]\w*(?=\[)")
_FUNCTION: Final = lazy_pattern(r"^(?:p?jit|pmap)\([^()]*\)/")
_TRANSFORMATIONS: Final = lazy_pattern(r"/(?:\w+\()+\)+(?=/)")
_WRAPPED: Final = lazy_pattern(rb"^wrapped_|\.clone$")
_OP_NAME: Final = lazy_pattern(rb', metadata=\{(?:op_type="[^"]*" )?op_name="((?:[^"\\]|\\.)*)"')


def parameter_values(dump: DumpSet) -> Pairs:
    """Return the allocations of the parameters of the program that have values, and the values that are the parameters:
    the first to be live there. Without live ranges, these are the first in the dump.
    """
    allocations, values = dump.allocations, dump.values
    rows = np.flatnonzero((allocations.parameter != NONE) & (allocations.slice_count > 0))
    start = np.where(values.start_step == NONE, np.iinfo(np.int64).max, values.start_step.astype(np.int64))
    order = np.lexsort((values.slice, start))
    parameters = first_rows(rows, values.allocation[order], order)
    return rows[parameters != NONE], parameters[parameters != NONE]


def _path(op_name: str) -> str:
    return _FUNCTION.sub("/", op_name.partition(";")[0])


def _dimensions(shape: bytes) -> bytes:
    return _TYPE.sub(b"", without_layout(shape))


def _op_names(dump: DumpSet, names: Column) -> tuple[list[str | None], Column]:
    """The op_names of the quoted instructions with some names, and which of them each instruction has: many share one.
    Reading whole instructions takes ten times as long.
    """
    rows = taken(dump.first_quote, names).tolist()
    data, quotes = dump.used.document.data if dump.used else b"", dump.used_values
    start, end = quotes.instruction_start, quotes.instruction_end
    found = (_OP_NAME.search(data, start[row], end[row]) if row != NONE else None for row in rows)
    numbers: dict[bytes | None, int] = {}
    which = [numbers.setdefault(match[1] if match else None, len(numbers)) for match in found]
    texts = [None if text is None else plain_op_name(text.decode("utf-8", "replace")) for text in numbers]
    return texts, np.array(which, np.int64)


def plain_op_name(op_name: str | None) -> str | None:
    """Return an op_name without the parts that depend on the release of JAX. None if it is empty."""
    if not op_name:
        return None
    op_name = op_name.replace("/jit(main)", "").replace("/closed_call", "")
    return _PARAMETERS.sub(r"\1", op_name) if op_name.endswith("]") else op_name


_PARAMETERS: Final = lazy_pattern(r"(?<=.)(/(?!\d)[\w-]+)\[[^/]*\]\Z")
"""The brackets after an operation. A parameter has brackets, too: ``params['w']``."""
