"""Where the change of a peak comes from: one section for each breakdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.options import DiffPart
from xla_lens.model.attribution.bytes_by_op import op_name_path
from xla_lens.model.attribution.parameters import path_parts
from xla_lens.model.diff.breakdowns import By
from xla_lens.model.diff.comparison import Row, SpaceComparison
from xla_lens.render.diff.rows import (
    UNKNOWN_KEY,
    counts_text,
    derived_part,
    group_text,
    limited,
    linked,
    named,
    others_text,
    row_entities,
    size_links,
)
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, signed
from xla_lens.render.report.blocks import LONGEST_NAME, Name, Section, Sections, Table, Text, headers, inlines
from xla_lens.render.report.sources import derived_text

_TITLES: Final = {
    By.GROUP: "groups of like buffers",
    By.LINE: "source line",
    By.PARAMETER: "parameter path",
    By.OP_NAME: "op_name",
    By.OPCODE: "opcode",
    By.KIND: "kind",
}


def breakdown_sections(one: Diff, space: SpaceComparison) -> Iterator[Sections]:
    """Yield the requested breakdowns of a memory space whose peak changed in total or within."""
    for by, title in _TITLES.items():
        if DiffPart(by.value) in one.options.parts and by in space.breakdowns:
            yield _section(one, space, by, title)


def _section(one: Diff, space: SpaceComparison, by: By, title: str) -> Sections:
    rows, change = space.breakdowns[by], space.peak_live_bytes.change
    unchanged = sum(not row.change for row in rows)
    name = space_name(space.id)
    if unchanged == len(rows):
        return ()
    total = f"Change of the {name} peak by {title}: {signed(change)}"
    same = f" ({counted(unchanged, 'row')} unchanged)" if unchanged else ""
    if by is By.PARAMETER and _moved(row for row in rows if row.key) < _SMALLEST_SHARE * _moved(rows):
        return ()
    table = _tree(one, rows, by) if by in _SPLIT else _table(one, rows, by)
    is_derived = any(derived_part(row) for row in limited(rows, one.options.top))
    has_note = is_derived and (by is By.LINE or DiffPart.LINE not in one.options.parts)
    return (Section(total + same, (table, derived_text()) if has_note else (table,)),)


def _table(one: Diff, rows: tuple[Row, ...], by: By) -> Table:
    top = one.options.top
    found: list[tuple[Text, ...]] = [
        (signed(row.change), *size_links(one, row), counts_text(row.count), _key(row, by)) for row in limited(rows, top)
    ]
    others = others_text(rows, top)
    if others:
        found.append((others[0], "", "", "", others[1]))
    what = _TITLES[by] if by is not By.GROUP else "shape, op_name, source line"
    return Table(headers("change", "old", "new", "buffers", what, text=(what,)), tuple(found))


def _moved(rows: Iterable[Row]) -> int:
    return sum(abs(row.change) for row in rows)


def _key(row: Row, by: By) -> Text:
    key = group_text(row.key) if by is By.GROUP else named(str(row.key) if row.key is not None else None, by.value)
    return (*inlines(key), derived_part(row)) if derived_part(row) else key


# ---------------------------------------------------------------- the tree of op_names


@dataclass(slots=True)
class _Node:
    """A part of op_names with its change, how much of that is its own, and the row below it that changed most."""

    change: int = 0
    own_change: int = 0
    moved: int = 0
    most: Row | None = None
    children: dict[str | None, "_Node"] = field(default_factory=dict)


_SMALLEST_SHARE: Final = 0.01
_MAX_CHILDREN: Final = 6


_SPLIT: Final[Mapping[By, tuple[Callable[[str | None], tuple[str | None, ...]], str]]] = {
    By.OP_NAME: (op_name_path, "/"),
    By.PARAMETER: (path_parts, ""),
}
"""How the keys of a breakdown are split into the parts of a path, and what is between the parts."""


def _tree(one: Diff, rows: tuple[Row, ...], by: By) -> Table:
    split, _ = _SPLIT[by]
    root, top = _Node(), one.options.top
    for row in rows:
        node = root
        root.moved += abs(row.change)
        for part in split(None if row.key is None else str(row.key)):
            node = node.children.setdefault(part, _Node())
            # The first row is the one that changed most.
            node.most = node.most or row
            node.change += row.change
            node.moved += abs(row.change)
        node.own_change += row.change
    lines = tuple(_tree_row(one, *branch) for branch in _branches(root, root.moved, 1, by))
    shown = lines[:top] if top is not None else lines
    more: tuple[tuple[Text, ...], ...] = ()
    if len(shown) < len(lines):
        more = (("", f"  … {counted(len(lines) - len(shown), 'more row')}"),)
    return Table(headers("change", _TITLES[by], text=(_TITLES[by],)), (*shown, *more), has_text_header=False, indent=0)


def _tree_row(one: Diff, change: int, name: Text, row: Row | None) -> tuple[Text, ...]:
    """A row of the tree. The change leads to the biggest value of a row of the breakdown in the old dump, the name to
    that in the new one.
    """
    if row is None:
        return (signed(change), name)
    old, new = row_entities(one, row)
    *indent, last = inlines(name)
    shown = replace(last, entity=new) if isinstance(last, Name) else linked(str(last), new)
    return (linked(signed(change), old), (*indent, shown))


def _branches(node: _Node, total: int, depth: int, by: By) -> Iterator[tuple[int, Text, Row | None]]:
    """The children of a node, the biggest change first, each with its own children below it. A chain of single children
    is one row; what changed little is summed up in one row.
    """
    indent = "  " * depth
    small = 0
    ordered = sorted(node.children.items(), key=lambda pair: (-abs(pair[1].change), -pair[1].moved, str(pair[0])))
    for number, (name, child) in enumerate(ordered):
        if not child.moved:
            continue
        if number >= _MAX_CHILDREN or child.moved < _SMALLEST_SHARE * total:
            small += child.change
            continue
        names = [name]
        while len(child.children) == 1 and not child.own_change:
            (name, child), *_ = child.children.items()  # noqa: PLW2901
            names.append(name)
        path = _SPLIT[by][1].join(part for part in names if part is not None)
        yield child.change, (indent, Name(path, widest=LONGEST_NAME) if path else UNKNOWN_KEY[by.value]), child.most
        yield from _branches(child, total, depth + 1, by)
    if small:
        yield small, f"{indent}(smaller)", None
    if node.own_change and node.children:
        yield node.own_change, f"{indent}(itself)", None
