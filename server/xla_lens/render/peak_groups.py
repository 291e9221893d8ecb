"""What is live at the peak of a memory space as trees for editors: by source line, and by the path of the parameter.

Below a line, like values form one group: those of the same shape whose op_names differ only in the numbers of layers.
Each byte counts for the value that owns it, as in reports, so that the groups of a level add up to the one above.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from xla_lens.features.report.facts import LineReport, report
from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.model.advice.facts import folded
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import BytesNode, LineBytes, ops_at
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.over_time import live_in_space
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render import contract
from xla_lens.render.report.sections import derived_part, unresolved_text, without_source
from xla_lens.render.sources import PARAMETERS, frame_text


def peak_groups_data(analysis: Analysis, module: HloModule | None, color: int) -> contract.PeakGroups | None:
    """Return what is live at the peak of a memory space, None if nothing is ever live there."""
    made = report(analysis, {}, ReportOptions(parts=frozenset({Part.LINE})), module)
    one = next((one for one in made.spaces if one.space.color == color), None)
    if one is None or one.space.peak_step is None:
        return None
    dump, step, lines = analysis.dump, one.space.peak_step, one.lines
    owned = owned_sizes(dump, step, color)
    bound, live_bound = made.sourced.bound, made.warrants.of(Quantity.LIVE).bound
    parameters = ops_at(made.origins, step, color).by_parameter.children
    return {
        "lines": [_line(line, lines, like_values(dump, module, line.values, owned), bound) for line in lines.lines]
        if lines
        else [],
        "parameters": [_path(child, live_bound) for child in parameters if child.name],
        "values": live_in_space(dump, step, color).tolist(),
    }


def owned_sizes(dump: DumpSet, step: int, color: int) -> dict[int, int]:
    """Return the bytes that each value owns at a step."""
    return dict(zip(*(column.tolist() for column in owned_bytes(dump, step, color)), strict=True))


@dataclass(frozen=True, slots=True)
class LikeValues:
    """Values of one source line and one shape, by size: rows of `DumpSet.values`. `shape` has no layout, and `op_name`
    has ``*`` in place of the numbers of layers.
    """

    shape: str
    op_name: str | None
    size_bytes: int
    values: tuple[int, ...]


def like_values(
    dump: DumpSet, module: HloModule | None, values: Sequence[int], owned: Mapping[int, int]
) -> list[LikeValues]:
    """Return the groups of like values among those of a source line, by size."""
    found = Origins(dump, module)
    members: dict[tuple[str, str | None], list[int]] = {}
    for value in values:
        shape = _LAYOUT.sub("", (dump.shape(value) or b"").decode("utf-8", "replace"))
        members.setdefault((shape, folded(found.of_value(value).op_name)), []).append(value)
    groups = [LikeValues(*key, sum(owned[value] for value in like), tuple(like)) for key, like in members.items()]
    return sorted(groups, key=lambda group: -group.size_bytes)


_LAYOUT: Final = re.compile(r"\{[^{}]*\}")


def _line(line: LineBytes, by_line: LineReport, likes: Sequence[LikeValues], bound: Bound) -> contract.ValueGroup:
    """A source line, or the parameters of one argument."""
    # The missing lines of a dump can have more values, but the values without a source may be among them.
    bound = bound if line.is_known or bound is Bound.EXACT else Bound.UNKNOWN
    groups = [_like(like, bound) for like in likes]
    group = _group("line", line.size_bytes, bound, len(line.values), groups)
    if line.frame:
        detail = ((line.frame.function or "") + derived_part(line)).removeprefix(", ")
        return {
            **group,
            "label": frame_text(line.frame),
            "detail": detail,
            "sourceLine": source_line_data(line.frame),
        }
    if line.argument:
        return {**group, "kind": "path", "label": line.argument, "detail": PARAMETERS}
    lost = unresolved_text(by_line) if by_line.unresolved_bytes else ""
    return {**group, "label": without_source(by_line, bound), "detail": lost}


def _like(one: LikeValues, bound: Bound) -> contract.ValueGroup:
    group = _group("like", one.size_bytes, bound, len(one.values), ())
    return {**group, "label": one.shape, "detail": one.op_name or "", "values": [*one.values]}


def _path(one: BytesNode, bound: Bound) -> contract.ValueGroup:
    """A node of the tree of parameters. A chain of single children is one group."""
    names = [*_chain(one)]
    last, label = names[-1], "".join(node.name or "" for node in names)
    group = _group("path", last.size_bytes, bound, last.count, [_path(child, bound) for child in last.children])
    return {**group, "label": label, "values": [*last.values]}


def _chain(one: BytesNode) -> Iterator[BytesNode]:
    yield one
    while len(one.children) == 1 and not one.values:
        (one,) = one.children
        yield one


def _group(
    kind: Literal["line", "like", "path"],
    size_bytes: int,
    bound: Bound,
    count: int,
    groups: Sequence[contract.ValueGroup],
) -> contract.ValueGroup:
    return {
        "kind": kind,
        "label": "",
        "detail": "",
        "sourceLine": None,
        "sizeBytes": size_bytes,
        "bound": bound.value,
        "count": count,
        "groups": [*groups],
        "values": [],
    }


def source_line_data(frame: StackFrame | None) -> contract.SourceLine | None:
    """Return a source line for the command `xla-lens.goTo`."""
    return {"path": frame.file, "line": frame.line} if frame else None
