"""Where the bytes of a step come from: by the path of the op_name, by opcode, or by what their allocations are for.

Each is a tree whose nodes add up: a node has the bytes of the values that stand at it and those of its children, and
the root all bytes that are live in the memory space at the step. For this each byte counts for the value that owns it,
see `model/attribution/owned.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.quotes import Quotes
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the bytes. `name` is the last part of its path; None is the name of the root, and of that child of the
    root which has all values of which the set does not tell the path. `values` are the rows of `DumpSet.values` that
    stand at the node itself and own `own_bytes`; `count` counts those of its children, too. Values and children stand
    with the most bytes first.
    """

    name: str | None
    size_bytes: int
    own_bytes: int
    count: int
    values: tuple[int, ...]
    children: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The same bytes of one memory space at one step, three times."""

    by_op_name: Node
    by_opcode: Node
    by_kind: Node


def sources_at(dump: DumpSet, step: int, color: int) -> Sources:
    """Where the bytes that are live in a memory space at a step come from. Values that own no byte are left out."""
    values, owned = owned_bytes(dump, step, color)
    values, owned = values[owned > 0], owned[owned > 0]
    by_size = np.lexsort((values, -owned))
    rows = list(zip(values[by_size].tolist(), owned[by_size].tolist(), strict=True))
    quotes, names = Quotes(dump), dump.values.name.tolist()
    # All elements of a tuple have the same.
    op_names = {name: quotes.op_name(name) for name in {names[value] for value, _ in rows}}
    kinds, allocations = allocation_kinds(dump), dump.values.allocation
    return Sources(
        _tree(rows, lambda value: op_name_path(op_names[names[value]])),
        _tree(rows, lambda value: (_opcode(quotes, names[value]),)),
        _tree(rows, lambda value: (KIND_NAMES[kinds[allocations[value]]],)),
    )


# ---------------------------------------------------------------- paths

_DEEPEST: Final = 64
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


def op_name_path(op_name: str | None) -> tuple[str | None, ...]:
    """The parts of an op_name, which slashes outside of brackets divide. One that is not told is the part None."""
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
        # Brackets that are not closed are no brackets.
        parts = op_name.split("/")
    parts = [part for part in parts if part] or [op_name]
    return (*parts[: _DEEPEST - 1], "/".join(parts[_DEEPEST - 1 :])) if len(parts) > _DEEPEST else tuple(parts)


def _opcode(quotes: Quotes, name: int) -> str | None:
    head = quotes.head(name)
    return head.opcode.decode() if head else None


# ---------------------------------------------------------------- trees


class _Growing:
    """A node as it grows."""

    __slots__ = ("children", "own_bytes", "values")

    def __init__(self) -> None:
        self.values: list[int] = []
        self.own_bytes = 0
        self.children: dict[str | None, _Growing] = {}

    def node(self, name: str | None) -> Node:
        children = [child.node(part) for part, child in self.children.items()]
        children.sort(key=lambda child: (-child.size_bytes, child.name is None, child.name or ""))
        return Node(
            name,
            self.own_bytes + sum(child.size_bytes for child in children),
            self.own_bytes,
            len(self.values) + sum(child.count for child in children),
            tuple(self.values),
            tuple(children),
        )


def _tree(rows: list[tuple[int, int]], path: Callable[[int], tuple[str | None, ...]]) -> Node:
    root = _Growing()
    for value, size_bytes in rows:
        growing = root
        for part in path(value):
            growing = growing.children.setdefault(part, _Growing())
        growing.values.append(value)
        growing.own_bytes += size_bytes
    return root.node(None)
