"""The parameters of the program by their paths in its arguments, such as ``state[1]['layers']['w_down']``.

JAX writes the path of an argument into the op_name of its parameter. The bytes of a parameter's buffer belong to this
path, whichever value they hold: the parameter, what a loop makes of it in place, or the output that replaces it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern

MAX_DEPTH: Final = 64
"""Maximum number of parts of a path."""

_MOST_UNFOLDED: Final = 4
"""Up to so many alike parts stay apart: few programs have fewer layers, and few optimizers keep more moments."""

_SAYS_NOTHING: Final = ("XLA_Args", "xla__device_data")
"""The op_names that TensorFlow and PyTorch/XLA give to all parameters."""


def parameter_paths(dump: DumpSet) -> dict[int, str]:
    """Return the paths of parameters by the rows of their allocations in `DumpSet.allocations`. Parameters without a
    path are left out.
    """
    return paths_by(dump, partial(_op_name, dump))


def paths_by(dump: DumpSet, op_name_of: Callable[[int], str | None]) -> dict[int, str]:
    """Return the same paths where something else has read the op_names: `op_name_of` returns that of a name."""
    rows = np.flatnonzero(dump.allocations.parameter != NONE).tolist()
    paths = [(row, _path(dump, row, op_name_of)) for row in rows]
    return {row: path for row, path in paths if path is not None}


def parameter_path(dump: DumpSet, allocation: int) -> str | None:
    """Return the path of the parameter whose buffer an allocation is. None if it has no path, or is of no parameter."""
    return _path(dump, allocation, partial(_op_name, dump))


def _op_name(dump: DumpSet, name: int) -> str | None:
    """The op_name of the instruction with a name."""
    instruction = dump.instruction(name)
    return instruction.op_name if instruction else None


def _path(dump: DumpSet, allocation: int, op_name_of: Callable[[int], str | None]) -> str | None:
    table = dump.allocations
    # The elements of a tuple share one instruction, whose op_name tells nothing of them.
    if table.parameter[allocation] == NONE or table.parameter_index[allocation] > EMPTY_INDEX:
        return None
    names = dump.values.name[dump.values_of_allocation(allocation)].tolist()
    parameter = next((name for name in names if dump.opcode(name) == b"parameter"), NONE)
    return told_path(op_name_of(parameter))


def told_path(op_name: str | None) -> str | None:
    """Return the op_name of a parameter if it is a path. XLA may give it that of what reads it instead."""
    is_path = op_name and not says_nothing(op_name) and not _COMPUTED.match(op_name)
    return op_name if is_path else None


def says_nothing(op_name: str) -> bool:
    """Return whether an op_name is that of all parameters."""
    return op_name.endswith(_SAYS_NOTHING)


def path_parts(path: str | None) -> tuple[str | None, ...]:
    """Return the parts of a path: ``state``, ``[1]``, ``['layers']`` and ``['w_down']`` of
    ``state[1]['layers']['w_down']``. The single part None without a path.
    """
    if not path:
        return (None,)
    parts = _PART.findall(path)
    return limited_depth(parts, "")


def limited_depth(parts: Sequence[str], separator: str) -> tuple[str, ...]:
    """Return parts of a path of which the last joins all that are deeper than `MAX_DEPTH`."""
    return (*parts[: MAX_DEPTH - 1], separator.join(parts[MAX_DEPTH - 1 :])) if len(parts) > MAX_DEPTH else tuple(parts)


def argument_of(path: str) -> str:
    """Return the argument of a path with the first index or attribute, which tells parameters, moments and batches
    apart: ``state[1]``, ``state.params`` or ``batch``.
    """
    match = _ARGUMENT.match(path)
    return match[0] if match else path


def root_of(path: str) -> str:
    """Return the name of the whole argument of a path, which is donated as one: ``state``."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


_COMPUTED: Final = lazy_pattern(r"p?jit\([^)/]*\)/")
"""The start of the op_names of what JAX computes."""

_ARGUMENT: Final = lazy_pattern(r"[^.\[]+(?:\[[^'\]]*\]|\.[^.\[]+)?")
_PART: Final = lazy_pattern(r"\[(?:'[^']*'|[^\]'])*+(?:\]|.*+)|[./]?[^.\[/]+|.", re.DOTALL)


_Parts: TypeAlias = tuple[str | None, ...]


def folded_paths(paths: Iterable[str]) -> Mapping[str, str]:
    """Return each of some paths with ``*`` in place of the numbers of layers. Parts are layers if there are more than
    `_MOST_UNFOLDED` that differ in their numbers only and have the same structure.
    """
    split = {path: path_parts(path) for path in paths}
    folded, _ = _folded(split.values())
    return {path: "".join(part or "" for part in folded[parts]) for path, parts in split.items()}


def _folded(paths: Iterable[_Parts]) -> tuple[dict[_Parts, _Parts], tuple[object, ...]]:
    """Fold the first parts that differ in their numbers only and are followed by the same parts, if there are many, and
    likewise what follows. Returns each path with its folded one, and their structure, which is equal for alike paths.
    """
    below: dict[str | None, set[_Parts]] = {}
    for first, *rest in filter(None, paths):
        below.setdefault(first, set()).add(tuple(rest))
    inner = {part: _folded(rests) for part, rests in below.items()}
    alike: dict[tuple[str | None, tuple[object, ...]], list[str | None]] = {}
    for part, (_, structure) in inner.items():
        alike.setdefault((part and _NUMBER.sub("*", part), structure), []).append(part)
    found, structures = dict[_Parts, _Parts]({(): ()}), list[object]()
    for (pattern, structure), parts in alike.items():
        names = dict.fromkeys(parts, pattern) if len(parts) > _MOST_UNFOLDED else {part: part for part in parts}
        structures += [(name, structure) for name in dict.fromkeys(names.values())]
        for part, name in names.items():
            found |= {(part, *rest): (name, *folded) for rest, folded in inner[part][0].items()}
    return found, tuple(sorted(structures, key=str))


_NUMBER: Final = lazy_pattern(r"\d+")
