"""The tables of a comparison: where the change of a peak comes from, what happened to each value, and all totals."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from xla_lens.features.diff.baseline import Baseline
from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.options import DiffPart
from xla_lens.model.advice.alive import last_uses
from xla_lens.model.attribution.breakdowns import op_name_path
from xla_lens.model.attribution.parameters import path_parts
from xla_lens.model.diff.breakdowns import By, Group, Key
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison, Pair, Row, SpaceComparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.diff.words import BIG_BYTES, signed_percent
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import MINUS, apart, capitalized, counted, human, signed
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_SHAPE,
    Inline,
    Linked,
    Name,
    Section,
    Sections,
    Table,
    Text,
    headers,
    joined,
)
from xla_lens.render.report.sources import derived_text
from xla_lens.render.report.values import first_names, op_name, reader_names, shape_text
from xla_lens.syntax.columns import NONE

_TITLES: Final = {
    By.GROUP: "groups of like buffers",
    By.LINE: "source line",
    By.PARAMETER: "parameter path",
    By.OP_NAME: "op_name",
    By.OPCODE: "opcode",
    By.KIND: "kind",
}

_UNKNOWN_KEY: Final = {By.LINE: "(no source)", By.PARAMETER: "(no parameter path)"}


def breakdown_sections(one: Diff, space: SpaceComparison) -> Iterator[Sections]:
    """Yield the requested breakdowns of a memory space whose peak changed in total or within."""
    for by in _TITLES:
        rows = space.breakdowns.get(by, ()) if DiffPart(by.value) in one.options.parts else ()
        changed = [row for row in rows if row.change]
        moved, of_known = (sum(abs(row.change) for row in changed if row.key or every) for every in (True, False))
        if changed and not (by is By.PARAMETER and of_known < _SMALLEST_SHARE * moved):
            yield (_section(one, space, by, changed, len(rows) - len(changed)),)


def _section(one: Diff, space: SpaceComparison, by: By, changed: list[Row], unchanged: int) -> Section:
    change = signed(space.peak_live_bytes.change)
    same = f" ({counted(unchanged, 'row')} unchanged)" if unchanged else ""
    table = _tree(one, changed, by) if by in _SPLIT else _table(one, changed, by)
    is_derived = any(derived_part(row) for row in changed[: one.options.top])
    has_note = is_derived and (by is By.LINE or DiffPart.LINE not in one.options.parts)
    title = f"Change of the {space_name(space.id)} peak by {_TITLES[by]}: {change}{same}"
    return Section(title, (table, derived_text()) if has_note else (table,))


def _table(one: Diff, changed: list[Row], by: By) -> Table:
    found: list[tuple[Text, ...]] = []
    for row in changed[: one.options.top]:
        old, new = _entities(one, row)
        sizes = _linked(human(row.size_bytes.old), old), _linked(human(row.size_bytes.new), new)
        buffers = f"{row.count.old:,} → {row.count.new:,}" if row.count.change else f"{row.count.new:,}"
        found.append((signed(row.change), *sizes, buffers, (*_key(row, by), derived_part(row))))
    if rest := changed[len(found) :]:
        found.append((signed(sum(row.change for row in rest)), "", "", "", f"… {counted(len(rest), 'other')}"))
    what = _TITLES[by] if by is not By.GROUP else "shape, op_name, source line"
    return Table(headers("change", "old", "new", "buffers", what, text=(what,)), tuple(found))


def _key(row: Row, by: By) -> tuple[Inline, ...]:
    return group_text(row.key) if by is By.GROUP else (_named(str(row.key) if row.key is not None else None, by),)


def _named(text: str | None, by: By) -> Inline:
    return Name(text, widest=LONGEST_NAME) if text else _UNKNOWN_KEY.get(by, f"(no {by.value})")


def group_text(key: Key) -> tuple[Inline, ...]:
    """A group of like buffers: its shape, its op_name or opcode, and its source line."""
    if not isinstance(key, Group):
        return (f"{key}",)
    shape: Inline = Name(key.shape, widest=WIDEST_SHAPE) if key.shape else "(unknown shape)"
    return joined(
        (shape, *(Name(text, widest=LONGEST_NAME) for text in (key.op_name or key.opcode, key.line) if text)), ", "
    )


def derived_part(row: Row) -> str:
    """How much of a row has a derived source, to follow its key: ``, derived`` or ``, 1.00 MiB → 2.00 MiB derived``.
    Empty if nothing is, or if the row has no source.
    """
    derived = row.derived_bytes
    if row.key is None or not (derived.old or derived.new):
        return ""
    if derived == row.size_bytes:
        return ", derived"
    before = f"{apart(derived.old, derived.new)} → " if derived.change else ""
    return f", {before}{human(derived.new)} derived"


# ---------------------------------------------------------------- links


def _entity(one: Diff, value: int, *, is_old: bool) -> Entity | None:
    """A value of one of the dumps, a row of `DumpSet.values`; None for NONE, and if the dump is only a report."""
    side = one.old if is_old else one.new
    if value == NONE or isinstance(side, Baseline):
        return None
    return Entity(EntityKind.VALUE, int(side.dump.values.id[value]), is_old)


def _entities(one: Diff, row: Row) -> tuple[Entity | None, Entity | None]:
    """The values that own most bytes of a row in the old and in the new dump. Where a dump has no bytes in the row,
    the partner of the other dump's value.
    """
    old, new = row.value.old, row.value.new
    if one.comparison:
        matching = one.comparison.matching
        old = int(matching.old_of_new[new]) if old == NONE != new else old
        new = int(matching.new_of_old[old]) if new == NONE != old else new
    return _entity(one, old, is_old=True), _entity(one, new, is_old=False)


def _linked(text: str, entity: Entity | None) -> Inline:
    """Our own words, with a link if there is an entity."""
    return Linked(text, entity) if entity and text else text


# ---------------------------------------------------------------- trees


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


def _tree(one: Diff, changed: list[Row], by: By) -> Table:
    root, top = _Node(), one.options.top
    for row in changed:
        nodes = [root]
        for part in _SPLIT[by][0](None if row.key is None else str(row.key)):
            nodes.append(nodes[-1].children.setdefault(part, _Node()))
        for node in nodes:
            # The first row is the one that changed most.
            node.most = node.most or row
            node.change += row.change
            node.moved += abs(row.change)
        nodes[-1].own_change += row.change
    lines = tuple(_branches(one, root, root.moved, 1, by))
    more = (("", f"  … {counted(len(lines) - top, 'more row')}"),) if top is not None and len(lines) > top else ()
    return Table(
        headers("change", _TITLES[by], text=(_TITLES[by],)), (*lines[:top], *more), has_text_header=False, indent=0
    )


def _branches(one: Diff, node: _Node, total: int, depth: int, by: By) -> Iterator[tuple[Text, ...]]:
    """The rows of the children of a node, the biggest change first, each with its own children below it. A chain of
    single children is one row; what changed little is summed up in one row. The change leads to the biggest value in
    the old dump, the name to that in the new one.
    """
    indent = "  " * depth
    small = 0
    ordered = sorted(node.children.items(), key=lambda pair: (-abs(pair[1].change), -pair[1].moved, str(pair[0])))
    for number, (name, child) in enumerate(ordered):
        if number >= _MAX_CHILDREN or child.moved < _SMALLEST_SHARE * total:
            small += child.change
            continue
        names = [name]
        while len(child.children) == 1 and not child.own_change:
            (name, child), *_ = child.children.items()  # noqa: PLW2901
            names.append(name)
        old, new = _entities(one, child.most) if child.most else (None, None)
        path = _named(_SPLIT[by][1].join(part for part in names if part is not None), by)
        shown = replace(path, entity=new) if isinstance(path, Name) else _linked(str(path), new)
        yield _linked(signed(child.change), old), (indent, shown)
        yield from _branches(one, child, total, depth + 1, by)
    if small:
        yield signed(small), f"{indent}(smaller)"
    if node.own_change and node.children:
        yield signed(node.own_change), f"{indent}(itself)"


# ---------------------------------------------------------------- values

_CLASSES: Final = {
    ValueClass.UNCHANGED: "unchanged",
    ValueClass.CHANGED: "changed",
    ValueClass.MOVED: "moved in time",
    ValueClass.ADDED: "added",
    ValueClass.REMOVED: "removed",
}

_AT_PEAK: Final = {(True, True): "both", (True, False): "old", (False, True): "new", (False, False): ""}


def values_sections(one: Diff) -> Sections:
    """How many values are unchanged, changed, moved, added and removed, and those with the biggest change."""
    compared = one.comparison
    if DiffPart.VALUES not in one.options.parts or compared is None:
        return ()
    counts = ", ".join(f"{compared.values.count(value_class):,} {name}" for value_class, name in _CLASSES.items())
    rows = one.rows[: one.options.top].tolist()
    blocks: list[Text | Table] = [
        f"{100 * compared.matched_peak_bytes_fraction:.1f} % of the bytes at the peaks belong to matched values."
    ]
    if rows:
        header = headers("value", "old", "new", "", "at peak", "what", text=("value", "", "at peak", "what"))
        blocks.append(Table(header, tuple(_value_row(one, compared, row) for row in rows)))
    if len(one.rows) > len(rows):
        blocks.append(f"… {counted(len(one.rows) - len(rows), 'other')}")
    return (Section(f"Values: {counts}", tuple(blocks)),)


def _value_row(one: Diff, compared: Comparison, row: int) -> tuple[Text, ...]:
    values = compared.values
    old, new = int(values.old[row]), int(values.new[row])
    sides = ((compared.old.dump, old, True), (compared.new.dump, new, False))
    links = [_entity(one, value, is_old=is_old) for _, value, is_old in sides]
    sizes = [human(int(dump.values.size_bytes[value])) if value != NONE else "" for dump, value, _ in sides]
    # The name in the new dump, if it has the value.
    number = int(new != NONE)
    is_uncertain = bool(values.confidence[row] == Confidence.LOW)
    return (
        Name(sides[number][0].value_label(sides[number][1]), links[number]),
        *map(_linked, sizes, links),
        _CLASSES[ValueClass(int(values.value_class[row]))],
        _AT_PEAK[bool(values.is_at_old_peak[row]), bool(values.is_at_new_peak[row])],
        (*joined(_what(compared, row, old, new), ", "), " (uncertain match)" * is_uncertain),
    )


def _what(one: Comparison, row: int, old: int, new: int) -> Iterator[Text]:
    old_dump, new_dump, values = one.old.dump, one.new.dump, one.values
    if NONE in (old, new):
        dump, value = (old_dump, old) if new == NONE else (new_dump, new)
        name = op_name(dump, value)
        shape = Name(shape_text(dump, value), widest=WIDEST_SHAPE)
        yield (shape, " ", Name(name, widest=LONGEST_NAME)) if name else shape
        return
    change, longer_by = Change(int(values.change[row])), int(values.longer_by[row])
    sides = ((old_dump, old), (new_dump, new))
    if change & (Change.SHAPE | Change.LAYOUT):
        yield joined((Name(shape_text(*side), widest=WIDEST_SHAPE) for side in sides), " → ")
    elif change & Change.PADDING:
        yield "padding changed"
    if change & Change.MEMORY_SPACE:
        yield " → ".join(space_name(dump.space_id(int(dump.values.color[value]))) for dump, value in sides)
    if change & Change.LIVE_RANGE and longer_by:
        yield f"lives {counted(abs(longer_by), 'step')} {'longer' if longer_by > 0 else 'shorter'}"
        yield from _last_readers(new_dump, new)
    elif change & Change.LIVE_RANGE:
        yield "lives at other steps"
    before = old_dump.value_label(old)
    if before != new_dump.value_label(new):
        yield ("was ", Name(before))


def _last_readers(dump: DumpSet, value: int) -> Iterator[Text]:
    ending = last_uses(dump, value)
    names = [Name(name) for name in reader_names(dump, ending)] if ending else []
    if names:
        yield ("last read by ", *first_names(names))


# ---------------------------------------------------------------- totals


def totals_sections(one: Diff) -> Sections:
    """Each total of both dumps, its change in bytes and in percent."""
    if DiffPart.TOTALS not in one.options.parts:
        return ()
    rows = [row for space in one.memory_spaces for row in _space_rows(space)]
    if one.comparison:
        rows.append(_number("scheduled instructions", one.comparison.instructions))
    return (Section("Totals", (Table(headers("", "old", "new", "change", "percent", text=("",)), tuple(rows)),)),)


_TOTALS: Final = {
    "peak": "peak_live_bytes",
    "needed": "needed_bytes",
    "reserved": "reserved_bytes",
    "reserved, but free at the peak": "free_bytes",
    "padding at the peak": "padding_bytes",
    "values": "values",
    "allocations": "allocations",
}
"""The rows of the totals: numbers of `SpaceSide`."""


def _space_rows(space: SpaceComparison) -> Iterator[tuple[Text, ...]]:
    reserved = space.reserved_bytes
    if space.color != DEFAULT_COLOR and max(reserved.old, reserved.new) < BIG_BYTES:
        return
    name = capitalized(space_name(space.id))
    for words, attribute in _TOTALS.items():
        if pair := space.exact(attribute):
            yield (_size if attribute.endswith("_bytes") else _number)(f"{name} {words}", pair)
            if attribute == "reserved_bytes":
                yield from (_size(f"  {row.key}", row.size_bytes) for row in space.reserved_by_kind or ())


def _size(title: str, pair: Pair) -> tuple[Text, ...]:
    return (title, human(pair.old), human(pair.new), signed(pair.change), signed_percent(pair))


def _number(title: str, pair: Pair) -> tuple[Text, ...]:
    change = f"{'+' if pair.change > 0 else MINUS}{abs(pair.change):,}" if pair.change else "0"
    return (title, f"{pair.old:,}", f"{pair.new:,}", change, signed_percent(pair))
