"""What two analyses of the same texts have in common: texts, tables and findings."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from xla_lens.model.analysis import Analysis
from xla_lens.syntax.columns import Columns, Texts
from xla_lens.syntax.tables import FileColumns


def facts_of(analysis: Analysis) -> dict[str, Any]:
    """Return the texts, the columns of all tables, the numbers and the findings of a set by their names."""
    dump, found = analysis.dump, dict[str, Any]()
    for file in dump.files:
        found[f"{file.label}: lines"] = (file.document.data, file.document.line_starts.tolist())
        for name in FileColumns.tables():
            found |= _columns(f"{file.label}: {name}", getattr(file.columns, name))
    for name in dump.__struct_fields__:
        one = getattr(dump, name)
        found |= {name: list(one)} if isinstance(one, Texts) else _columns(name, one)
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
    parts = asdict(table).items() if isinstance(table, Columns) else ()
    return {f"{name}.{column}": part.tolist() for column, part in parts}
