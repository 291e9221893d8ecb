"""The totals of both dumps."""

from collections.abc import Iterator

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.options import DiffPart
from xla_lens.model.diff.comparison import Pair, SpaceComparison
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import Bound
from xla_lens.render.diff.rows import BIG_BYTES, signed_number, signed_percent
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import capitalized, human, signed
from xla_lens.render.report.blocks import Section, Sections, Table, Text, headers


def totals_sections(one: Diff) -> Sections:
    """Each total of both dumps, its change in bytes and in percent."""
    if DiffPart.TOTALS not in one.options.parts:
        return ()
    spaces = [space for space in one.memory_spaces if _is_shown(space)]
    rows = [row for space in spaces for row in _space_rows(one, space)]
    if one.comparison:
        rows.append(_number("scheduled instructions", one.comparison.instructions))
    return (Section("Totals", (Table(headers("", "old", "new", "change", "percent", text=("",)), tuple(rows)),)),)


def _is_shown(space: SpaceComparison) -> bool:
    reserved = space.reserved_bytes
    return space.color == DEFAULT_COLOR or max(reserved.old, reserved.new) >= BIG_BYTES


def _space_rows(one: Diff, space: SpaceComparison) -> Iterator[tuple[Text, ...]]:
    name, details = capitalized(space_name(space.id)), space.details
    is_known = one.has_peaks and space.live_bound is Bound.EXACT
    if is_known:
        yield _size(f"{name} peak", space.peak_live_bytes)
    if space.needed_bound is Bound.EXACT:
        yield _size(f"{name} needed", space.needed_bytes)
    if space.reserved_bound is Bound.EXACT:
        yield _size(f"{name} reserved", space.reserved_bytes)
        for row in details.reserved_by_kind if details else ():
            yield _size(f"  {row.key}", row.size_bytes)
        if is_known:
            yield _size(f"{name} reserved, but free at the peak", space.free_bytes)
    if details:
        if is_known:
            yield _size(f"{name} padding at the peak", details.padding_bytes)
        yield _number(f"{name} values", details.values)
        yield _number(f"{name} allocations", details.allocations)


def _size(title: str, pair: Pair) -> tuple[Text, ...]:
    return (title, human(pair.old), human(pair.new), signed(pair.change), signed_percent(pair))


def _number(title: str, pair: Pair) -> tuple[Text, ...]:
    return (title, f"{pair.old:,}", f"{pair.new:,}", signed_number(pair.change), signed_percent(pair))
