"""What the values of two dumps can be matched by: columns of numbers, equal where the texts are equal.

Names are numbered anew in each compilation, so a name counts without its numbers. An op_name counts without the parts
that only some releases of JAX print: the `jit(main)` below the function, the `closed_call` of a loop's body, and the
parameters of an operation in brackets.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, metadata_frames, user_frame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.records import dataclass
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes


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


def read_traits(dump: DumpSet, module: HloModule | None, numbering: Numbering) -> Traits:
    """Return the traits of all values. Only `source` may need the HLO module."""
    values = dump.values
    names, of_name = np.unique(values.name, return_inverse=True)
    stems = [_NUMBERS.sub(b"", dump.names[name]) for name in names.tolist()]
    instructions = [*_instructions(dump, module, names)]
    opcodes = (opcode or stem for (opcode, *_), stem in zip(instructions, stems, strict=True))
    folded_op_names = {name: folded(name) if name is not None else None for name in {one[1] for one in instructions}}
    step = taken(dump.schedule.step, dump.schedule_row_of_name[names])[of_name]
    index = numbering.numbers(iter(dump.indices))
    shapes, shape = dump.slice_shapes
    shape = taken(shape, values.slice)
    columns = {
        "value": np.arange(len(values)),
        "step": step,
        "stem": numbering.numbers(iter(stems))[of_name],
        "index": index[np.maximum(values.index, 0)],
        "opcode": numbering.numbers(opcodes)[of_name],
        "shape": taken(numbering.numbers(iter(shapes)), shape),
        "bare_shape": taken(numbering.numbers(map(without_layout, shapes)), shape),
        "op_name": numbering.numbers(op_name for _, op_name, _ in instructions)[of_name],
        "folded_op_name": numbering.numbers(folded_op_names[op_name] for _, op_name, _ in instructions)[of_name],
        "operation": numbering.numbers(name and name.rpartition("/")[2] for _, name, _ in instructions)[of_name],
        "source": numbering.numbers(source for *_, source in instructions)[of_name],
        "parameter": _parameters(dump, numbering),
    }
    # A number in an index can have several digits: {2} comes before {10}.
    by_index = np.array(_ranks([(len(text), text) for text in dump.indices]), np.int64)
    place = np.where(step == NONE, np.iinfo(np.int64).max, step)
    order = np.lexsort((values.id, by_index[np.maximum(values.index, 0)], place))
    return Traits(**{name: column[order] for name, column in columns.items()})


_NUMBERS: Final = re.compile(rb"[._]?\d+")
_LAYOUT: Final = re.compile(rb"\{[^{}]*\}")
_COMMENT: Final = re.compile(rb"/\*.*?\*/")
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

_Facts: TypeAlias = tuple[bytes | None, str | None, _Source | None]
"""An opcode, an op_name and a source line."""


def _instructions(dump: DumpSet, module: HloModule | None, names: Column) -> Iterator[_Facts]:
    """The opcode, the op_name and the source line of the instructions with some names."""
    rows = taken(dump.first_quote, names) if len(dump.names) else names
    if dump.used is None:
        yield from ((None, None, None) for _ in rows)
        return
    data, used = dump.used.document.data, dump.used_values
    starts, ends = taken(used.instruction_start, rows), taken(used.instruction_end, rows)
    is_quoted = starts != NONE
    shape_ends = np.full(len(rows), NONE)
    shape_ends[is_quoted] = read_quotes(data, starts[is_quoted], ends[is_quoted], QuoteParts.HEADS).shape_end
    # Thousands of instructions share their metadata, and millions of bytes are not worth parsing twice.
    known: dict[bytes, _Origin] = {b"": (None, None)}
    opcodes: dict[bytes, bytes] = {}
    sources: dict[tuple[str | None, ...], _Source | None] = {}
    for name, start, end, shape_end in zip(
        names.tolist(), starts.tolist(), ends.tolist(), shape_ends.tolist(), strict=True
    ):
        if start == NONE:
            yield None, None, None
            continue
        bracket = data.find(b"(", shape_end, end) if shape_end != NONE else NONE
        if bracket == NONE:
            instruction = dump.instruction(name)
            metadata = instruction.metadata() if instruction else {}
            yield instruction.opcode if instruction else None, *_origin(metadata, module, sources)
            continue
        text = data[shape_end:bracket].strip()
        opcode = opcodes.setdefault(text, text)
        place = data.find(_METADATA, bracket, end)
        text = data[place : data.find(b"}", place, end) + 1] if place != NONE else b""
        if text.count(b'"') % 2 or (place != NONE and data.find(b'"', bracket, place) != NONE):
            # The text may be a part of a string.
            instruction = dump.instruction(name)
            yield opcode, *_origin(instruction.metadata() if instruction else {}, module, sources)
            continue
        if text not in known:
            known[text] = _origin(_metadata(dump, name, text), module, sources)
        yield opcode, *known[text]


_USUAL: Final = re.compile(
    rb', metadata=\{(?:op_name="([^"\\]*)")? ?(?:stack_frame_id=(\d+))?(?:source_file="([^"\\]*)" source_line=(\d+))?\}'
)
_FIELDS: Final = ("op_name", "stack_frame_id", "source_file", "source_line")


def _metadata(dump: DumpSet, name: int, text: bytes) -> Mapping[str, str]:
    """The metadata of an instruction. The usual form is read ten times as fast as any other."""
    usual = _USUAL.fullmatch(text)
    if usual:
        fields = zip(_FIELDS, usual.groups(), strict=True)
        return {field: value.decode("utf-8", "replace") for field, value in fields if value is not None}
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
