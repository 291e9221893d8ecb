"""Baselines: what `xla-lens report --output-format json` printed of an older dump, which may be gone.

A baseline has the totals and the breakdowns of a dump, but not its values. A breakdown is used only if its rows add up
to the peak, so a report that was limited with `--top` or `--part` has fewer of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from xla_lens.model.diff.breakdowns import Argument, By, Key, Part, added, group_of
from xla_lens.model.diff.comparison import SpaceSide
from xla_lens.model.diff.traits import line_key, plain_op_name
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind


class NotABaseline(Exception):
    """Raised for JSON that is not the report of a dump. The message is one line."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The report of one dump. `files` are the labels of the files it was made of, `label` is the file of the report."""

    label: str
    name: str | None
    files: Mapping[FileKind, str]
    spaces: Mapping[int, SpaceSide]


def read_baselines(data: Any, label: str) -> tuple[Baseline, ...]:
    """Return the reports in parsed JSON. Raises `NotABaseline`."""
    try:
        found = tuple(_baseline(report, label) for report in data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotABaseline(f"{label}: not a report of `xla-lens report --output-format json`") from error
    if not found:
        raise NotABaseline(f"{label}: this report contains no dumps")
    return found


def _baseline(report: Mapping[str, Any], label: str) -> Baseline:
    return Baseline(
        label=label,
        name=report["module"],
        files={FileKind(kind): path for kind, path in report["files"].items()},
        spaces={int(space["color"]): _space(space) for space in report["memory_spaces"]},
    )


def _space(space: Mapping[str, Any]) -> SpaceSide:
    def bound(name: str) -> Bound:
        return Bound(space["bounds"].get(name, Bound.EXACT)) if space[name] is not None else Bound.UNKNOWN

    found = {by: added(rows) for by, rows in _breakdowns(space)}
    peak, reserved, needed = (int(space[name] or 0) for name in ("peak_live_bytes", "reserved_bytes", "needed_bytes"))
    return SpaceSide(
        peak_live_bytes=peak,
        live_bound=bound("peak_live_bytes"),
        peak_step=space["peak_step"],
        reserved_bytes=reserved,
        reserved_bound=bound("reserved_bytes"),
        needed_bytes=needed,
        needed_bound=bound("needed_bytes"),
        breakdowns={
            by: rows
            for by, rows in found.items()
            if sum(row.size_bytes for row in rows.values()) == space["peak_live_bytes"]
        },
    )


_Rows: TypeAlias = Iterator[tuple[Key, Part]]


def _breakdowns(space: Mapping[str, Any]) -> Iterator[tuple[By, _Rows]]:
    sources, lines = space.get("sources") or {}, space.get("lines") or {}
    for by in (By.OP_NAME, By.OPCODE, By.KIND, By.PARAMETER):
        if (name := f"by_{by.value}") in sources:
            yield by, _leaves(sources[name], by)
    line_of: dict[int, str | None] = {}
    rows: list[tuple[Key, Part]] = []
    for line in lines.get("lines", ()):
        argument = line["argument"]
        key = line_key(line["file"], line["line"]) if line["file"] is not None else None
        part = Part(int(line["size_bytes"]), len(line["values"]), NONE, int(line["derived_bytes"]))
        rows.append((Argument(argument) if argument is not None else key, part))
        line_of |= dict.fromkeys(line["values"], key)
    yield By.LINE, iter(rows)
    if sources and lines:
        opcode_of = {value: child["name"] for child in sources["by_opcode"]["children"] for value in child["values"]}
        yield By.GROUP, _groups(space, line_of, opcode_of)


def _leaves(node: Mapping[str, Any], by: By, path: tuple[str, ...] = ()) -> _Rows:
    """The nodes of a tree that own bytes, by their path."""
    if node["own_bytes"]:
        key = ("" if by is By.PARAMETER else "/").join(path) or None
        yield plain_op_name(key) if by is By.OP_NAME else key, Part(int(node["own_bytes"]), len(node["values"]))
    for child in node["children"]:
        yield from _leaves(child, by, (*path, child["name"]) if child["name"] is not None else path)


def _groups(space: Mapping[str, Any], line_of: Mapping[int, str | None], opcode_of: Mapping[int, str]) -> _Rows:
    for value in space.get("live_at_peak", ()):
        if value["owned_bytes"]:
            number, size_bytes = int(value["id"]), int(value["owned_bytes"])
            is_derived = bool(value["derived_from"])
            op_name = plain_op_name(value["op_name"] if not is_derived else None)
            group = group_of(value["shape"].encode(), op_name, opcode_of.get(number), line_of.get(number))
            yield group, Part(size_bytes, 1, NONE, size_bytes if is_derived else 0)
