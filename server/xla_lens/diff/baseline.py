"""Baselines: what `xla-lens report --output-format json` printed of an older dump, which may be gone.

A baseline has the totals and the breakdowns of a dump, but not its values. A report that was limited with `--top` or
`--part` has only the totals.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xla_lens.model.diff.breakdowns import Owner
from xla_lens.model.diff.comparison import SpaceSide
from xla_lens.model.diff.traits import plain_op_name
from xla_lens.model.warrants import Bound
from xla_lens.syntax.file_names import FileKind


class NotABaseline(Exception):
    """Raised for JSON that is not the report of a dump. The message is one line."""


class Baseline(NamedTuple):
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

    peak, reserved, needed = (int(space[name] or 0) for name in ("peak_live_bytes", "reserved_bytes", "needed_bytes"))
    owners = tuple(_owners(space, space.get("sources"), space.get("lines")))
    is_whole = sum(owner.size_bytes for owner in owners) == space["peak_live_bytes"]
    return SpaceSide(
        peak_live_bytes=peak,
        live_bound=bound("peak_live_bytes"),
        peak_step=space["peak_step"],
        reserved_bytes=reserved,
        reserved_bound=bound("reserved_bytes"),
        needed_bytes=needed,
        owners=owners if is_whole else None,
    )


def _owners(space: Mapping[str, Any], sources: Any, lines: Any) -> Iterator[Owner]:
    """The values that own bytes at the peak, if the report has them with their sources."""
    if not sources or not lines:
        return
    known = [line for line in lines["lines"] if line["file"] is not None]
    line_of = {value: (line["file"], line["line"] or 0) for line in known for value in line["values"]}
    by_op_name, by_opcode, by_kind = (
        dict(_leaves(sources[f"by_{name}"], "/")) for name in ("op_name", "opcode", "kind")
    )
    by_parameter = dict(_leaves(sources["by_parameter"], ""))
    for value in space["live_at_peak"]:
        number = value["id"]
        if size_bytes := int(value["owned_bytes"]):
            yield Owner(
                size_bytes,
                by_kind.get(number),
                shape=value["shape"].encode(),
                op_name=plain_op_name(by_op_name.get(number)),
                opcode=by_opcode.get(number),
                path=by_parameter.get(number),
                source=line_of.get(number),
                is_derived=bool(value["derived_from"]),
            )


def _leaves(node: Mapping[str, Any], separator: str, path: str | None = None) -> Iterator[tuple[int, str | None]]:
    """The values below a node of a tree, each with its path."""
    for value in node["values"]:
        yield value, path
    for child in node["children"]:
        name = child["name"]
        yield from _leaves(child, separator, name if path is None or name is None else f"{path}{separator}{name}")
