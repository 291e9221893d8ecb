"""What two analyses of the same texts have in common: texts, tables and findings."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from xla_lens.model.analysis import Analysis
from xla_lens.syntax.columns import Texts
from xla_lens.syntax.tables import FileColumns


def facts_of(analysis: Analysis) -> dict[str, Any]:
    """Return the texts, the columns of all tables, the numbers and the findings of a set by their names."""
    dump, found = analysis.dump, dict[str, Any]()
    for file in dump.files:
        found[f"{file.label}: lines"] = (file.document.data, file.document.line_starts.tolist())
        for name in FileColumns.tables():
            found |= _columns(f"{file.label}: {name}", getattr(file.columns, name))
    for field in fields(dump):
        one = getattr(dump, field.name)
        found |= {field.name: list(one)} if isinstance(one, Texts) else _columns(field.name, one)
    for space in analysis.memory.spaces:
        found[f"space {space.color}"] = (space.reserved_bytes, space.peak_live_bytes, space.peak_step)
    found["findings"] = [repr((one.severity, one.problem, one.place.start, one.place.end)) for one in analysis.findings]
    found["warrants"] = repr(analysis.warrants)
    return found


def differences(one: Analysis, other: Analysis) -> Iterator[str]:
    """Yield the names of facts that differ."""
    ours, theirs = facts_of(one), facts_of(other)
    yield from (name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


def _columns(name: str, table: Any) -> dict[str, Any]:
    columns = ((column, part) for column, part in getattr(table, "__dict__", {}).items() if hasattr(part, "tolist"))
    return {f"{name}.{column}": part.tolist() for column, part in columns}
