"""What the values of two dumps can be matched by: columns of numbers, equal where the texts are equal.

Names are numbered anew in each compilation, so a name counts without its numbers. An op_name counts without the parts
that only some releases of JAX print: the `jit(main)` below the function, the `closed_call` of a loop's body, and the
parameters of an operation in brackets.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, metadata_frames, user_frame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.instruction import usual_metadata
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes
from xla_lens.syntax.texts import number_texts


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """One row for each value, in the order of the schedule; NONE for what is unknown.

    - `value`: the row of `DumpSet.values`.
    - `step`: the step of the instruction that defines it.
    - `stem`: the name of that instruction without numbers. `opcode`: its opcode, or else the stem.
    - `shape`, `bare_shape`: with and without the layout.
    - `folded_op_name`: the op_name without numbers. `operation`: the last part of the op_name, such as ``dot_general``.
    - `source`: the user's line that made it.
    - `parameter`: for a parameter of the program its number and the index in it.
    """

    value: Column
    step: Column
    stem: Column
    index: Column
    opcode: Column
    shape: Column
    bare_shape: Column
    op_name: Column
    folded_op_name: Column
    operation: Column
    source: Column
    parameter: Column

    def __len__(self) -> int:
        return len(self.value)


class Numbering:
    """Numbers of texts that both dumps share."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def texts(self) -> list[Any]:
        """Return the texts by their numbers."""
        return list(self._numbers)

    def numbers(self, texts: Iterator[object]) -> Column:
        """Return the numbers of some texts, NONE for None."""
        numbers = self._numbers
        return np.array([NONE if text is None else numbers.setdefault(text, len(numbers)) for text in texts], np.int64)

    def stems(self, dump: DumpSet, names: Column) -> Column:
        """Return the numbers of the stems of some names of a dump."""
        numbers, texts = self._numbers, dump.names
        # Most names are a stem and one number, and there are few stems.
        known: dict[bytes, int] = {}
        found = []
        for name in names.tolist():
            text = texts[name]
            head, _, number = text.rpartition(b".")
            if not number.isdigit():
                head = text
            if head not in known:
                known[head] = numbers.setdefault(_NUMBERS.sub(b"", head), len(numbers))
            found.append(known[head])
        return np.array(found, np.int64)


def read_traits(dump: DumpSet, module: HloModule | None, numbering: Numbering) -> Traits:
    """Return the traits of all values. Only `source` may need the HLO module."""
    values = dump.values
    names, of_name = np.unique(values.name, return_inverse=True)
    stem = numbering.stems(dump, names)
    opcode, origin, origins = _instructions(dump, module, names, numbering)
    opcode = np.where(opcode == NONE, stem, opcode)[of_name]
    origin = origin[of_name]
    op_names = [op_name for op_name, _ in origins]
    step = taken(dump.schedule.step, dump.schedule_row_of_name[names])[of_name]
    index = numbering.numbers(iter(dump.indices))
    shapes, shape = dump.slice_shapes
    shape = taken(shape, values.slice)
    columns = {
        "value": np.arange(len(values)),
        "step": step,
        "stem": stem[of_name],
        "index": index[np.maximum(values.index, 0)],
        "opcode": opcode,
        "shape": taken(numbering.numbers(iter(shapes)), shape),
        "bare_shape": taken(numbering.numbers(map(without_layout, shapes)), shape),
        "op_name": numbering.numbers(iter(op_names))[origin],
        "folded_op_name": numbering.numbers(name and folded(name) for name in op_names)[origin],
        "operation": numbering.numbers(name and name.rpartition("/")[2] for name in op_names)[origin],
        "source": numbering.numbers(source for _, source in origins)[origin],
        "parameter": _parameters(dump, numbering),
    }
    # A number in an index can have several digits: {2} comes before {10}.
    by_index = np.array(_ranks([(len(text), text) for text in dump.indices]), np.int64)
    place = np.where(step == NONE, np.iinfo(np.int64).max, step.astype(np.int64))
    order = np.lexsort((values.id, by_index[np.maximum(values.index, 0)], place))
    return Traits(**{name: column[order] for name, column in columns.items()})


_NUMBERS: Final = re.compile(rb"[._]?\d+")
_LAYOUT: Final = re.compile(rb"\{[^{}]*\}")
_COMMENT: Final = re.compile(rb"/\*[^*]*+\*/")
_DIGITS: Final = re.compile(r"\d+")


def line_key(file: str, line: int | None) -> str:
    """Return a source line as text: ``train.py:31``."""
    return file if line is None else f"{file}:{line}"


def without_layout(shape: bytes) -> bytes:
    """Return a shape without its layout: ``f32[8,128]``."""
    return _COMMENT.sub(b"", _LAYOUT.sub(b"", shape))


def folded(op_name: str) -> str:
    """Return an op_name without numbers, so that those of all layers are equal: ``jit(step)/layer_#/dot_general``."""
    return _DIGITS.sub("#", op_name)


def plain_op_name(op_name: str | None) -> str | None:
    """Return an op_name without the parts that depend on the release of JAX. None if it is empty."""
    if not op_name:
        return None
    op_name = op_name.replace("/jit(main)", "").replace("/closed_call", "")
    if op_name.endswith("]") and "[" in op_name.rpartition("/")[2]:
        head, _, last = op_name.rpartition("/")
        stem = last.partition("[")[0]
        # A parameter has brackets, too: ``params['w']``.
        if head and stem.replace("-", "_").isidentifier():
            op_name = f"{head}/{stem}"
    return op_name


def _ranks(keys: list[tuple[int, bytes]]) -> list[int]:
    ranks = [0] * len(keys)
    for rank, row in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
        ranks[row] = rank
    return ranks


def _parameters(dump: DumpSet, numbering: Numbering) -> Column:
    """The first value in the allocation of each parameter of the program is the parameter."""
    values, allocations = dump.values, dump.allocations
    found = np.full(len(values), NONE)
    rows = np.flatnonzero((allocations.parameter != NONE) & (allocations.slice_count > 0))
    value = dump.value_of_slice[allocations.first_slice[rows]]
    indices = [dump.indices[index] if index != NONE else b"{}" for index in allocations.parameter_index[rows].tolist()]
    numbers = zip(allocations.parameter[rows].tolist(), indices, strict=True)
    found[value] = numbering.numbers(("parameter", number, index) for number, index in numbers)
    return found


_METADATA: Final = b", metadata={"

_Source: TypeAlias = tuple[str, int | None]
"""A file and a line."""

_Origin: TypeAlias = tuple[str | None, _Source | None]
"""An op_name and a source line."""


def _instructions(
    dump: DumpSet, module: HloModule | None, names: Column, numbering: Numbering
) -> tuple[Column, Column, list[_Origin]]:
    """For the instructions with some names the number of the opcode, NONE if it is unknown, and the row of the origin
    in a list of all origins.
    """
    opcode = np.full(len(names), NONE)
    origin = np.zeros(len(names), np.int64)
    origins: list[_Origin] = [(None, None)]
    rows = taken(dump.first_quote, names) if len(dump.names) else names
    quoted = np.flatnonzero(rows != NONE)
    if dump.used is None or not len(quoted):
        return opcode, origin, origins
    data, used = dump.used.document.data, dump.used_values
    starts, ends = used.instruction_start[rows[quoted]], used.instruction_end[rows[quoted]]
    heads = read_quotes(data, starts, ends, QuoteParts.HEADS)
    is_usual = heads.opcode_start != NONE
    number, first = number_texts(data, heads.opcode_start[is_usual], heads.opcode_end[is_usual])
    spans = zip(heads.opcode_start[is_usual][first].tolist(), heads.opcode_end[is_usual][first].tolist(), strict=True)
    opcode[quoted[is_usual]] = numbering.numbers(data[start:end] for start, end in spans)[number]
    # Thousands of instructions share their metadata, and millions of bytes are not worth parsing twice.
    known: dict[bytes, int] = {b"": 0}
    sources: dict[tuple[str | None, ...], _Source | None] = {}
    found = []
    for row, start, end in zip(quoted.tolist(), heads.opcode_end.tolist(), ends.tolist(), strict=True):
        place = data.find(_METADATA, start, end) if start != NONE else NONE
        text = data[place : data.find(b"}", place, end) + 1] if place != NONE else b""
        is_quoted = place != NONE and data.find(b'"', start, place) != NONE
        number_of_origin = known.get(text)
        # The text may be a part of a string.
        if start == NONE or is_quoted or (number_of_origin is None and text.count(b'"') % 2):
            instruction = dump.instruction(int(names[row]))
            if start == NONE and instruction:
                (opcode[row],) = numbering.numbers(iter((instruction.opcode,)))
            number_of_origin = len(origins)
            origins.append(_origin(instruction.metadata() if instruction else {}, module, sources))
        elif number_of_origin is None:
            number_of_origin = known[text] = len(origins)
            origins.append(_origin(_metadata(dump, int(names[row]), text), module, sources))
        found.append(number_of_origin)
    origin[quoted] = found
    return opcode, origin, origins


def _metadata(dump: DumpSet, name: int, text: bytes) -> Mapping[str, str]:
    """The metadata of an instruction. The usual form is read ten times as fast as any other."""
    usual = usual_metadata(text, 0, len(text))
    if usual is not None:
        return usual
    instruction = dump.instruction(name)
    return instruction.metadata() if instruction else {}


def _origin(
    metadata: Mapping[str, str], module: HloModule | None, sources: dict[tuple[str | None, ...], _Source | None]
) -> _Origin:
    source = (metadata.get("stack_frame_id"), metadata.get("source_file"), metadata.get("source_line"))
    if source not in sources:
        frame: StackFrame | None = user_frame(module.frames(metadata) if module else metadata_frames(metadata))
        sources[source] = (frame.file, frame.line) if frame else None
    return plain_op_name(metadata.get("op_name")), sources[source]
