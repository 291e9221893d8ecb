"""Baselines: what `xla-lens report --output-format json` printed of an older dump, which may be gone.

A baseline has the totals and the breakdowns of a dump, but not its values. A breakdown is used only if its rows add up
to the peak, so a report that was limited with `--top` or `--part` has fewer of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from xla_lens.model.diff.breakdowns import Argument, Breakdown, By, Key, Part, group_of
from xla_lens.model.diff.traits import line_key, plain_op_name
from xla_lens.model.warrants import Bound
from xla_lens.syntax.file_names import FileKind


class NotABaseline(Exception):
    """Raised for JSON that is not the report of a dump. The message is one line."""


@dataclass(frozen=True, slots=True)
class BaselineSpace:
    """A memory space of a report. The numbers are 0 where they are unknown, which the bounds say."""

    peak_live_bytes: int
    live_bound: Bound
    peak_step: int | None
    reserved_bytes: int
    reserved_bound: Bound
    needed_bytes: int
    needed_bound: Bound
    breakdowns: Mapping[By, Breakdown]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The report of one dump. `files` are the labels of the files it was made of, `label` is the file of the report."""

    label: str
    name: str | None
    files: Mapping[FileKind, str]
    spaces: Mapping[int, BaselineSpace]

    @property
    def has_live_ranges(self) -> bool:
        """Whether the report has a peak. The bounds of its memory spaces say the same in detail."""
        return any(space.live_bound is not Bound.UNKNOWN for space in self.spaces.values()) or not self.spaces

    def live_bound(self, color: int) -> Bound:
        """How the peak of a memory space relates to the true one."""
        return self.spaces[color].live_bound if color in self.spaces else Bound.EXACT


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


def _space(space: Mapping[str, Any]) -> BaselineSpace:
    bounds, peak, reserved = space.get("bounds", {}), space["peak_live_bytes"], space["reserved_bytes"]
    live_bound = Bound(bounds.get("peak_live_bytes", Bound.EXACT)) if peak is not None else Bound.UNKNOWN
    reserved_bound = Bound(bounds.get("reserved_bytes", Bound.EXACT)) if reserved is not None else Bound.UNKNOWN
    # Older reports do not have the needed bytes.
    needed = space.get("needed_bytes")
    found = dict(_breakdowns(space))
    return BaselineSpace(
        peak_live_bytes=int(peak or 0),
        live_bound=live_bound,
        peak_step=space["peak_step"],
        reserved_bytes=int(reserved or 0),
        reserved_bound=reserved_bound,
        needed_bytes=int(needed or 0),
        needed_bound=reserved_bound if needed is not None else Bound.UNKNOWN,
        breakdowns={by: rows for by, rows in found.items() if sum(row.size_bytes for row in rows.values()) == peak},
    )


def _breakdowns(space: Mapping[str, Any]) -> Iterator[tuple[By, Breakdown]]:
    sources, lines = space.get("sources") or {}, space.get("lines") or {}
    trees = {By.OP_NAME: "by_op_name", By.OPCODE: "by_opcode", By.KIND: "by_kind", By.PARAMETER: "by_parameter"}
    for by, name in trees.items():
        if name in sources:
            yield by, _added(_leaves(sources[name], by))
    line_of: dict[int, str | None] = {}
    rows: list[_Row] = []
    for line in lines.get("lines", ()):
        argument = line.get("argument")
        key = line_key(line["file"], line["line"]) if line["file"] is not None else None
        # Older reports have no derived sources.
        part = int(line["size_bytes"]), len(line["values"]), int(line.get("derived_bytes", 0))
        rows.append((Argument(argument) if argument is not None else key, *part))
        line_of |= dict.fromkeys(line["values"], key)
    yield By.LINE, _added(iter(rows))
    if sources and lines:
        opcode_of = {value: child["name"] for child in sources["by_opcode"]["children"] for value in child["values"]}
        yield By.GROUP, _added(_groups(space, line_of, opcode_of))


def _leaves(node: Mapping[str, Any], by: By, path: tuple[str, ...] = ()) -> Iterator["_Row"]:
    """The nodes of a tree that own bytes, by their path."""
    if node["own_bytes"]:
        key = ("" if by is By.PARAMETER else "/").join(path) or None
        yield plain_op_name(key) if by is By.OP_NAME else key, int(node["own_bytes"]), len(node["values"]), 0
    for child in node["children"]:
        yield from _leaves(child, by, (*path, child["name"]) if child["name"] is not None else path)


def _groups(
    space: Mapping[str, Any], line_of: Mapping[int, str | None], opcode_of: Mapping[int, str]
) -> Iterator["_Row"]:
    for value in space.get("live_at_peak", ()):
        if value["owned_bytes"]:
            number, size_bytes = int(value["id"]), int(value["owned_bytes"])
            is_derived = bool(value.get("derived_from"))
            own = value["op_name"] if not is_derived else None
            op_name, shape = plain_op_name(own), value["shape"].encode()
            group = group_of(shape, op_name, opcode_of.get(number), line_of.get(number))
            yield group, size_bytes, 1, size_bytes if is_derived else 0


_Row: TypeAlias = tuple[Key, int, int, int]
"""The key of a row, bytes, the number of values that own them, and how many of the bytes have a derived source."""


def _added(rows: Iterator[_Row]) -> Breakdown:
    found: dict[Key, Part] = {}
    for key, size_bytes, count, derived_bytes in rows:
        known = found.get(key, Part(0, 0))
        found[key] = Part(
            size_bytes=known.size_bytes + size_bytes,
            count=known.count + count,
            derived_bytes=known.derived_bytes + derived_bytes,
        )
    return found
