"""The live bytes of a step by source line, op_name, opcode, kind of allocation and parameter.

Each byte counts for the value that owns it (`model/attribution/owned.py`), and each value for its origin
(`model/attribution/frames.py`): the user frame, which is the innermost call outside of libraries, and the op_name. No
line makes the parameters of the program; they count for their argument. Values that own no byte are left out.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owners
from xla_lens.model.attribution.parameters import limited_depth, path_parts
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import Frames, StackFrame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.syntax.columns import Rows
from xla_lens.text.patterns import lazy_pattern


class StackBytes(Struct, frozen=True):
    """The bytes of one call stack, innermost frame first."""

    frames: Frames
    size_bytes: int


class LineBytes(Struct, frozen=True):
    """The bytes of one source line, or of the parameters below one name, such as ``state[1]``.

    `frame` has no column. `argument` is the name of parameters that have no line (`argument_of`). Both are None for the
    values without a source. `values` are rows of `DumpSet.values` and `stacks` the call stacks that lead to the line,
    both by size, largest first. The source of `derived_bytes` is derived from the data flow.
    """

    frame: StackFrame | None
    argument: str | None
    size_bytes: int
    values: Rows
    stacks: tuple[StackBytes, ...]
    derived_bytes: int

    @property
    def is_known(self) -> bool:
        """Whether the values have a line or an argument."""
        return self.frame is not None or self.argument is not None


class BytesByLine(Struct, frozen=True):
    """The lines and arguments by size, largest first, then the values without a source. They add up to the live bytes.

    `unresolved_bytes` of them have a source that only the HLO module contains, but the module is missing or lacks it.
    """

    lines: tuple[LineBytes, ...]
    unresolved_bytes: int


def bytes_by_line(dump: DumpSet, module: HloModule | None, step: int, color: int) -> BytesByLine:
    """Return the bytes that are live in a memory space at a step, by source line or argument."""
    return lines_of(Origins(dump, module), owners(dump, step, color))


def lines_of(origins: Origins, owned: Iterable[tuple[int, int]]) -> BytesByLine:
    """Return the bytes that some values own, by source line or argument. `owned` has rows and bytes, largest first."""
    sizes = dict(owned)
    arguments = origins.arguments_of(sizes)
    rows: defaultdict[tuple[StackFrame | None, str | None], list[int]] = defaultdict(list)
    for value in sizes:
        frame = origins.of_value(value).line
        rows[frame, None if frame else arguments.get(value)].append(value)
    lines = [_line(*key, {value: sizes[value] for value in values}, origins) for key, values in rows.items()]
    unresolved_bytes = sum(size_bytes for value, size_bytes in sizes.items() if origins.of_value(value).is_unresolved)
    return BytesByLine(tuple(sorted(lines, key=lambda line: (not line.is_known, -line.size_bytes))), unresolved_bytes)


def _line(frame: StackFrame | None, argument: str | None, sizes: dict[int, int], origins: Origins) -> LineBytes:
    by_stack: defaultdict[Frames, int] = defaultdict(int)
    for value, size_bytes in sizes.items():
        by_stack[origins.of_value(value).frames] += size_bytes
    # Calls within libraries alone lead to no line.
    stacks = (StackBytes(frames, size_bytes) for frames, size_bytes in by_stack.items() if frame)
    return LineBytes(
        frame=frame,
        argument=argument,
        size_bytes=sum(sizes.values()),
        values=tuple(sizes),
        stacks=tuple(sorted(stacks, key=lambda stack: -stack.size_bytes)),
        derived_bytes=sum(size_bytes for value, size_bytes in sizes.items() if origins.of_value(value).derived),
    )


class BytesNode(Struct, frozen=True):
    """A node of a breakdown, whose bytes are those of its own values and those of its children.

    `name` is the last part of its path, None for the root and for the child of the root that collects the values whose
    path is unknown. `values` are the rows of `DumpSet.values` at the node itself, which own `own_bytes`. `count` is the
    number of values including those of the children. Values and children are ordered by size, largest first.
    """

    name: str | None
    size_bytes: int
    own_bytes: int
    count: int
    values: Rows
    children: tuple["BytesNode", ...]


class BytesByOp(Struct, frozen=True):
    """Four breakdowns of the same bytes. In `by_parameter`, numbers of layers are folded, and what is neither in the
    buffer of a parameter with a path nor a copy of one has the name None.
    """

    by_op_name: BytesNode
    by_opcode: BytesNode
    by_kind: BytesNode
    by_parameter: BytesNode


def bytes_by_op(dump: DumpSet, module: HloModule | None, step: int, color: int) -> BytesByOp:
    """Return the bytes that are live in a memory space at a step, by op_name, opcode, kind of allocation, and path of
    the parameter. Values without a source of their own have the op_name of the instruction that computes their content.
    """
    return ops_of(Origins(dump, module), owners(dump, step, color))


def ops_of(origins: Origins, owned: Sequence[tuple[int, int]]) -> BytesByOp:
    """Return what `bytes_by_op` does, of the bytes that some values own. `owned` has rows and bytes, largest first."""
    dump, paths = origins.dump, origins.paths_of(dict(owned))
    names, kinds, allocations = dump.values.name.tolist(), allocation_kinds(dump), dump.values.allocation

    def tree(path: Callable[[int], _Path]) -> BytesNode:
        return _node(None, [(value, size_bytes, path(value)) for value, size_bytes in owned], 0)

    return BytesByOp(
        by_op_name=tree(lambda value: op_name_path(origins.of_value(value).op_name)),
        by_opcode=tree(lambda value: ((dump.opcode(names[value]) or b"").decode() or None,)),
        by_kind=tree(lambda value: (KIND_NAMES[kinds[allocations[value]]],)),
        by_parameter=tree(lambda value: path_parts(paths.get(value))),
    )


_Path: TypeAlias = tuple[str | None, ...]


def _node(name: str | None, rows: list[tuple[int, int, _Path]], depth: int) -> BytesNode:
    """The node of values with their bytes and their paths, which agree in the first `depth` parts."""
    own = [row for row in rows if len(row[2]) == depth]
    below: defaultdict[str | None, list[tuple[int, int, _Path]]] = defaultdict(list)
    for row in rows:
        if len(row[2]) > depth:
            below[row[2][depth]].append(row)
    children = [_node(part, of_part, depth + 1) for part, of_part in below.items()]
    return BytesNode(
        name=name,
        size_bytes=sum([size_bytes for _, size_bytes, _ in rows]),
        own_bytes=sum([size_bytes for _, size_bytes, _ in own]),
        count=len(rows),
        values=tuple([value for value, _, _ in own]),
        children=tuple(sorted(children, key=lambda child: (-child.size_bytes, child.name is None, child.name or ""))),
    )


def layer_of(op_name: str | None) -> str | None:
    """Return the layer of an op_name of TensorFlow or PyTorch/XLA: the model and its layer, ``functional_1/conv2d_1``,
    without what the layer does, in the backward pass, too. None if the op_name has no layer.
    """
    parts = (op_name or "").removeprefix("gradient_tape/").split("/")[:-1]
    # PyTorch/XLA names the parts of an operation like a layer.
    layers = [part for part in parts if not part.startswith(("aten__", "xla__"))]
    return "/".join(layers[:2]) or None


_BRACKET: Final = lazy_pattern(r"[()\[\]{}]")


def op_name_path(op_name: str | None) -> _Path:
    """Return the parts of an op_name, split at slashes outside of brackets; the single part None without an op_name."""
    if not op_name:
        return (None,)
    pieces, parts, depth = op_name.split("/"), list[str](), 0
    for piece in pieces:
        parts[-1:] = [f"{parts[-1]}/{piece}"] if depth else [*parts[-1:], piece]
        for bracket in _BRACKET.findall(piece):
            depth = max(0, depth + (1 if bracket in "([{" else -1))
    # An unclosed bracket does not nest.
    parts = [part for part in (pieces if depth else parts) if part] or [op_name]
    return limited_depth(parts, "/")
