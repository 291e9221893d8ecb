"""Comparisons as JSON. The format is described in `docs/diff.schema.json`, which the tests validate."""

from collections.abc import Mapping
from dataclasses import asdict

from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.entities import op_name, shape_text
from xla_lens.diff.compare import Diff
from xla_lens.diff.options import DiffPart
from xla_lens.diff.words import cause_text, difference_text
from xla_lens.model.diff.breakdowns import WITH_SOURCES, By, Group, Key, Pair, Row
from xla_lens.model.diff.causes import ChangeCause
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison, SpaceComparison
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.messages import Json
from xla_lens.words.values import value_name


def diff_data(one: Diff) -> Json:
    """Return a comparison as a JSON object. Parts that were not requested are left out."""
    return {
        "module": one.name,
        "old": side_data(one.old.name, one.old.files),
        "new": side_data(one.new.name, one.new.files),
        "is_unchanged": one.comparison.is_unchanged if one.comparison else None,
        "warnings": [plain_text(difference_text(difference)) for difference in one.differences],
        "causes": [_cause(cause) for cause in one.causes],
        "instructions": _pair(one.comparison.instructions if one.comparison else None),
        "memory_spaces": [_space(one, space) for space in one.memory_spaces],
        "values": _values(one, one.comparison) if one.comparison else None,
    }


def side_data(name: str | None, files: Mapping[FileKind, str]) -> Json:
    """Return the name and the files of a module on one side."""
    return {"module": name, "files": {kind.value: path for kind, path in files.items()}}


def _cause(cause: ChangeCause) -> Json:
    return {
        "kind": cause.kind,
        "count": _pair(cause.count),
        "size_bytes": _pair(cause.size_bytes),
        "text": cause_text(cause),
    }


def _pair(pair: Pair | None) -> dict[str, int] | None:
    return pair._asdict() if pair else None


def _space(one: Diff, space: SpaceComparison) -> Json:
    names = ("peak_live_bytes", "peak_step", "reserved_bytes", "needed_bytes", "values", "allocations")
    found: Json = {"color": space.color, "name": space.id.name}
    found |= {name: _pair(space.exact(name)) for name in names}
    is_known = found["peak_live_bytes"] is not None
    found["peak_step"] = {"old": space.old.peak_step, "new": space.new.peak_step} if is_known else None
    if DiffPart.TOTALS in one.options.parts and space.reserved_by_kind is not None:
        is_reserved_known = found["reserved_bytes"] is not None
        found["reserved_by_kind"] = _rows(space.reserved_by_kind, None) if is_reserved_known else None
        found |= {name: _pair(space.exact(name)) for name in ("padding_bytes", "unknown_padding_bytes")}
    parts = [by for by in By if DiffPart(by.value) in one.options.parts and by in space.breakdowns]
    top = one.options.top
    found["breakdowns"] = {by.value: _rows(space.breakdowns[by], top, by) for by in parts} if is_known else None
    return found


def _rows(rows: tuple[Row, ...], top: int | None, by: By | None = None) -> list[Json]:
    return [
        {**_key(row.key), **_sides("bytes", row.size_bytes), **_sides("count", row.count)}
        | (_sides("derived_bytes", row.derived_bytes) if by in WITH_SOURCES else {})
        for row in rows[:top]
    ]


def _sides(name: str, pair: Pair) -> dict[str, int]:
    return {f"old_{name}": pair.old, f"new_{name}": pair.new}


def _key(key: Key) -> Json:
    if not isinstance(key, Group):
        return {"key": str(key) if key is not None else None}
    text = " · ".join(part or "-" for part in (key.shape, key.op_name or key.opcode, key.line))
    return {"key": text, **asdict(key)}


def _values(one: Diff, compared: Comparison) -> Json:
    found: Json = {value_class.name.lower(): compared.values.count(value_class) for value_class in ValueClass}
    found["matched_peak_bytes_fraction"] = compared.matched_peak_bytes_fraction
    if DiffPart.VALUES in one.options.parts:
        found["changes"] = [_value(compared, row) for row in one.rows[: one.options.top].tolist()]
    return found


def _value(one: Comparison, row: int) -> Json:
    found = one.values.row(row)
    return {
        "class": found.value_class.name.lower(),
        "old": _one_value(one.old.dump, found.old),
        "new": _one_value(one.new.dump, found.new),
        "changed": [flag.name.lower() for flag in found.change if flag.name],
        "longer_by_steps": found.longer_by,
        "is_at_old_peak": found.is_at_old_peak,
        "is_at_new_peak": found.is_at_new_peak,
        "confidence": found.confidence.name.lower() if found.confidence is not None else None,
    }


def _one_value(dump: DumpSet, value: int) -> Json | None:
    if value == NONE:
        return None
    found = value_name(dump, value, "size_bytes color start_step end_step")
    known = {name: found[name] if found[name] != NONE else None for name in ("size_bytes", "start_step", "end_step")}
    return found | known | {"shape": shape_text(dump, value) or None, "op_name": op_name(dump, value)}
