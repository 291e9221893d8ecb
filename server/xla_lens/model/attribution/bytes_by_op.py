"""The live bytes of a step by the path of the op_name, by opcode, by the kind of the allocation, or by the path of the
parameter whose buffer they are in.

Each breakdown is a tree whose nodes add up: a node has the bytes of its own values and those of its children, and the
root has all bytes that are live in the memory space at the step. Each byte counts for the value that owns it
(`model/attribution/owned.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import MAX_DEPTH, path_parts, paths_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds


@dataclass(frozen=True, slots=True)
class BytesNode:
    """A node of a breakdown.

    `name` is the last part of its path, None for the root and for the child of the root that collects the values whose
    path is unknown. `values` are the rows of `DumpSet.values` at the node itself, which own `own_bytes`. `count` is the
    number of values including those of the children. Values and children are ordered by size, largest first.
    """

    name: str | None
    size_bytes: int
    own_bytes: int
    count: int
    values: tuple[int, ...]
    children: tuple["BytesNode", ...]


@dataclass(frozen=True, slots=True)
class BytesByOp:
    """Four breakdowns of the same bytes. In `by_parameter`, numbers of layers are folded, and what is neither in the
    buffer of a parameter with a path nor a copy of one has the name None.
    """

    by_op_name: BytesNode
    by_opcode: BytesNode
    by_kind: BytesNode
    by_parameter: BytesNode


def bytes_by_op(
    dump: DumpSet, module: HloModule | None, step: int, color: int, *, through_loops: bool = True
) -> BytesByOp:
    """Return the bytes that are live in a memory space at a step, by op_name, opcode, kind of allocation, and path of
    the parameter. Values that own no byte are left out. Values without a source of their own have the op_name of the
    instruction that computes their content. Without `through_loops`, what a loop carries has the op_name of the loop.
    """
    return ops_at(Origins(dump, module, through_loops=through_loops), step, color)


def ops_at(origins: Origins, step: int, color: int) -> BytesByOp:
    """Return what `bytes_by_op` does, from origins that other parts of a report share."""
    dump = origins.dump
    rows = _owners(dump, step, color)
    names = dump.values.name.tolist()
    kinds, allocations = allocation_kinds(dump), dump.values.allocation
    return BytesByOp(
        bytes_tree(rows, lambda value: op_name_path(origins.of_value(value).op_name)),
        bytes_tree(rows, lambda value: (_text(dump.opcode(names[value])),)),
        bytes_tree(rows, lambda value: (KIND_NAMES[kinds[allocations[value]]],)),
        _by_parameter(origins, rows),
    )


def parameters_at(origins: Origins, step: int, color: int) -> BytesNode:
    """Return `BytesByOp.by_parameter` on its own."""
    return _by_parameter(origins, _owners(origins.dump, step, color))


def _by_parameter(origins: Origins, rows: list[tuple[int, int]]) -> BytesNode:
    paths = paths_of(origins, [value for value, _ in rows])
    return bytes_tree(rows, lambda value: path_parts(paths.get(value)))


def _owners(dump: DumpSet, step: int, color: int) -> list[tuple[int, int]]:
    """The values that own bytes, with these bytes, largest first."""
    values, owned = owned_bytes(dump, step, color)
    values, owned = values[owned > 0], owned[owned > 0]
    by_size = np.lexsort((values, -owned))
    return list(zip(values[by_size].tolist(), owned[by_size].tolist(), strict=True))


def _text(opcode: bytes | None) -> str | None:
    return opcode.decode() if opcode is not None else None


# ---------------------------------------------------------------- paths

_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


def op_name_path(op_name: str | None) -> tuple[str | None, ...]:
    """Return the parts of an op_name, split at slashes outside of brackets; the single part None without an op_name."""
    if not op_name:
        return (None,)
    if "/" not in op_name:
        return (op_name,)
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(op_name):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth = max(0, depth - 1)
        elif letter == "/" and not depth:
            parts.append(op_name[start:place])
            start = place + 1
    parts.append(op_name[start:])
    if depth:
        # An unclosed bracket does not nest.
        parts = op_name.split("/")
    parts = [part for part in parts if part] or [op_name]
    return (*parts[: MAX_DEPTH - 1], "/".join(parts[MAX_DEPTH - 1 :])) if len(parts) > MAX_DEPTH else tuple(parts)


# ---------------------------------------------------------------- trees


class _NodeBuilder:
    """A node while values are added below it."""

    __slots__ = ("children", "own_bytes", "values")

    def __init__(self) -> None:
        self.values: list[int] = []
        self.own_bytes = 0
        self.children: dict[str | None, _NodeBuilder] = {}

    def build(self, name: str | None) -> BytesNode:
        children = [child.build(part) for part, child in self.children.items()]
        children.sort(key=lambda child: (-child.size_bytes, child.name is None, child.name or ""))
        return BytesNode(
            name,
            self.own_bytes + sum(child.size_bytes for child in children),
            self.own_bytes,
            len(self.values) + sum(child.count for child in children),
            tuple(self.values),
            tuple(children),
        )


def bytes_tree(rows: list[tuple[int, int]], path: Callable[[int], tuple[str | None, ...]]) -> BytesNode:
    """Return values with their bytes, largest first, as a tree by their paths."""
    root = _NodeBuilder()
    for value, size_bytes in rows:
        builder = root
        for part in path(value):
            builder = builder.children.setdefault(part, _NodeBuilder())
        builder.values.append(value)
        builder.own_bytes += size_bytes
    return root.build(None)
