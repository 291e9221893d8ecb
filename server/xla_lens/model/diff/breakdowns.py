"""The bytes at a peak by what they are for, in a form in which two dumps can be compared.

Each byte that is live at the peak counts for the value that owns it (`model/attribution/owned.py`), so the rows of each
breakdown add up to the peak. Rows that do not own a byte are left out.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import argument_of, paths_of
from xla_lens.model.diff.traits import folded, line_key, plain_op_name, without_layout
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.syntax.columns import NONE


class By(StrEnum):
    """What a breakdown tells apart."""

    LINE = "line"
    PARAMETER = "parameter"
    OP_NAME = "op_name"
    OPCODE = "opcode"
    KIND = "kind"
    GROUP = "group"


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """Like buffers: the same shape without its layout, the same op_name without numbers (or, where there is none, the
    same opcode), and the same source line.
    """

    shape: str | None
    op_name: str | None
    opcode: str | None
    line: str | None


@dataclass(frozen=True, slots=True, order=True)
class Argument:
    """The parameters of an argument, such as ``state[1]``, which stand among source lines."""

    name: str

    def __str__(self) -> str:
        return f"parameters {self.name}"


Key = str | Argument | Group | None
"""The key of a row; None where the dump does not say."""


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of one row, the number of values that own them, and the value that owns most; NONE if it is unknown.

    The source of `derived_bytes` is derived from the data flow; 0 in breakdowns by something else.
    """

    size_bytes: int
    count: int
    value: int = NONE
    derived_bytes: int = 0


Breakdown = Mapping[Key, Part]


def breakdowns(
    dump: DumpSet,
    module: HloModule | None,
    step: int,
    color: int,
    moved_lines: Mapping[str, str],
    *,
    other_paths: Collection[str],
) -> Mapping[By, Breakdown]:
    """Return the bytes that are live in a memory space at a step, by everything in `By`. Source lines in `moved_lines`
    are shown as the lines that it maps them to. Numbers of layers in the paths of parameters are folded as they are
    among `other_paths`, too. If the other dump has no paths, nothing has one.
    """
    values, owned = owned_bytes(dump, step, color)
    values, owned = values[owned > 0], owned[owned > 0]
    names = dump.values.name[values].tolist()
    known = Origins(dump, module)
    found = {value: known.of_value(value) for value in values.tolist()}
    instructions = {name: dump.instruction(name) for name in dict.fromkeys(names)}
    opcodes = {name: one.opcode.decode() if one else None for name, one in instructions.items()}
    lines = {value: line_key(one.line.file, one.line.line) if one.line else None for value, one in found.items()}
    lines = {value: moved_lines.get(line, line) if line is not None else None for value, line in lines.items()}
    op_names = {value: plain_op_name(origin.op_name) for value, origin in found.items()}
    paths = paths_of(known, found, other_paths) if other_paths else {}
    kinds = allocation_kinds(dump)[dump.values.allocation[values]].tolist()
    rows: dict[By, defaultdict[Key, list[_Owner]]] = {by: defaultdict(list) for by in By}
    for value, size_bytes, name, kind in zip(values.tolist(), owned.tolist(), names, kinds, strict=True):
        part = size_bytes, value, False
        sourced = size_bytes, value, found[value].derived is not None
        line, path = lines[value], paths.get(value)
        rows[By.LINE][Argument(argument_of(path)) if path and line is None else line].append(sourced)
        rows[By.PARAMETER][path].append(part)
        rows[By.OP_NAME][op_names[value]].append(part)
        rows[By.OPCODE][opcodes[name]].append(part)
        rows[By.KIND][KIND_NAMES[kind]].append(part)
        # A group says what its buffers are: a copy of something is a copy.
        own = op_names[value] if found[value].derived is None else None
        group = group_of(dump.shape(value), own, opcodes[name], line)
        rows[By.GROUP][group].append(sourced)
    return {by: {key: _part(owners) for key, owners in of.items()} for by, of in rows.items()}


_Owner: TypeAlias = tuple[int, int, bool]
"""The bytes that a value owns, the value, and whether its source is derived."""


def _part(owners: list[_Owner]) -> Part:
    """The row of some values with the bytes they own. Of equal ones, the first counts."""
    return Part(
        size_bytes=sum(size for size, _, _ in owners),
        count=len(owners),
        value=max(owners, key=lambda owner: owner[0])[1],
        derived_bytes=sum(size for size, _, is_derived in owners if is_derived),
    )


def group_of(shape: bytes | None, op_name: str | None, opcode: str | None, line: str | None) -> Group:
    """Return the group of a buffer."""
    bare = without_layout(shape).decode("utf-8", "replace") if shape is not None else None
    return Group(bare, folded(op_name) if op_name else None, None if op_name else opcode, line)
