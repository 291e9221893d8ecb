"""How comparisons word a change, and the rows of breakdowns."""

from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.features.diff.baseline import Baseline
from xla_lens.features.diff.facts import Diff
from xla_lens.model.diff.breakdowns import Group, Key
from xla_lens.model.diff.comparison import Pair, Row
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.render.numbers import MINUS, apart, counted, human, signed
from xla_lens.render.report.blocks import LONGEST_NAME, WIDEST_SHAPE, Inline, Linked, Name, Text
from xla_lens.syntax.columns import NONE

BIG_BYTES: Final = 1 << 16
"""Memory spaces other than the default one are shown if they reserve this many bytes, and the breakdowns of their peak
if it changed by as many. JSON has all of them.
"""


def change_text(pair: Pair) -> str:
    """A change in bytes and in percent: ``+22.50 MiB (+14.3 %)``."""
    share = signed_percent(pair)
    return signed(pair.change) + (f" ({share})" if share else "")


def signed_percent(pair: Pair) -> str:
    """A change in percent: ``+14.3 %``; empty if there was nothing before or nothing changed."""
    if not pair.old or not pair.change:
        return ""
    return f"{'+' if pair.change > 0 else MINUS}{100 * abs(pair.change) / pair.old:,.1f} %"


def signed_number(number: int) -> str:
    """A change of a number: ``+48``, ``−3``, or ``0``."""
    return f"{'+' if number > 0 else MINUS}{abs(number):,}" if number else "0"


def counts_text(pair: Pair) -> str:
    """A number before and after: ``42 → 48``, or one number if they are equal."""
    return f"{pair.new:,}" if pair.old == pair.new else f"{pair.old:,} → {pair.new:,}"


def grown(row: Row) -> tuple[Inline, ...]:
    """How many buffers of a group were added or removed: ``48 more ``."""
    change = row.count.change
    if change:
        return (f"{abs(change):,} {'more' if change > 0 else 'fewer'} × ",)
    return (f"{counted(row.count.new, 'buffer')} {'larger' if row.change > 0 else 'smaller'} at the peak, ",)


UNKNOWN_KEY: Final = {
    "line": "(no source)",
    "op_name": "(no op_name)",
    "opcode": "(no opcode)",
    "kind": "(no kind)",
    "parameter": "(no parameter path)",
}


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


def group_text(key: Key) -> tuple[Inline, ...]:
    """A group of like buffers: its shape, its op_name or opcode, and its source line."""
    if not isinstance(key, Group):
        return (f"{key}",)
    found: list[Inline] = [Name(key.shape, widest=WIDEST_SHAPE)] if key.shape else ["(unknown shape)"]
    name = key.op_name or key.opcode
    if name:
        found += [", ", Name(name, widest=LONGEST_NAME)]
    if key.line:
        found += [", ", Name(key.line, widest=LONGEST_NAME)]
    return tuple(found)


def value_entity(one: Diff, value: int, *, is_old: bool) -> Entity | None:
    """A value of one of the dumps, a row of `DumpSet.values`; None for NONE, and if the dump is only a report."""
    side = one.old if is_old else one.new
    if value == NONE or isinstance(side, Baseline):
        return None
    return Entity(EntityKind.VALUE, int(side.dump.values.id[value]), is_old)


def linked(text: str, entity: Entity | None) -> Inline:
    """Our own words, with a link if there is an entity."""
    return Linked(text, entity) if entity and text else text


def size_links(one: Diff, row: Row) -> tuple[Inline, Inline]:
    """The bytes of a row in the old and in the new dump, with links to `row_entities`."""
    old, new = row_entities(one, row)
    return linked(human(row.size_bytes.old), old), linked(human(row.size_bytes.new), new)


def row_entities(one: Diff, row: Row) -> tuple[Entity | None, Entity | None]:
    """The values that own most bytes of a row in the old and in the new dump. Where a dump has no bytes in the row,
    the partner of the other dump's value.
    """
    old, new = row.value.old, row.value.new
    if one.comparison:
        matching = one.comparison.matching
        old = int(matching.old_of_new[new]) if old == NONE != new else old
        new = int(matching.new_of_old[old]) if new == NONE != old else new
    return value_entity(one, old, is_old=True), value_entity(one, new, is_old=False)


def limited(rows: Sequence[Row], top: int | None) -> Iterator[Row]:
    """The rows to show: at most `top` of those that changed."""
    changed = [row for row in rows if row.change]
    yield from changed[:top]


def others_text(rows: Sequence[Row], top: int | None) -> tuple[str, str] | None:
    """The change and the number of the changed rows that are not shown; None if all are."""
    changed = [row for row in rows if row.change]
    rest = changed[top:] if top is not None else []
    return (signed(sum(row.change for row in rest)), f"… {counted(len(rest), 'other')}") if rest else None


def named(text: str | None, by: str) -> Text:
    """The key of a row, or that it is unknown."""
    return Name(text, widest=LONGEST_NAME) if text is not None else UNKNOWN_KEY[by]
