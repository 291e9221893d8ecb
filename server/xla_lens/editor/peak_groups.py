"""What is live at the peak of a memory space as trees for editors: by source line, and by the path of the parameter.

Below a line, like values form one group: those of the same shape whose op_names differ only in the numbers of layers.
Each byte counts for the value that owns it, as in reports, so that the groups of a level add up to the one above.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from xla_lens.advice.op_names import folded
from xla_lens.blocks.entities import shape_text
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import BytesNode, LineBytes, ops_of
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.over_time import live_in_space
from xla_lens.model.warrants import Bound
from xla_lens.report.facts import LineReport, report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.sections import derived_part, unresolved_text, without_source
from xla_lens.syntax.columns import Rows
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words import contract
from xla_lens.words.sources import PARAMETERS, frame_text


def peak_groups_data(analysis: Analysis, color: int) -> contract.PeakGroups | None:
    """Return what is live at the peak of a memory space, None if nothing is ever live there."""
    made = report(analysis, {}, ReportOptions(parts=frozenset({Part.LINE}), has_answer=False))
    one = next((space for space in made.spaces if space.space.color == color), None)
    if one is None or one.space.peak_step is None:
        return None
    dump, step, lines = analysis.dump, one.space.peak_step, one.lines
    owned, bound = dict(one.owned), made.sourced.bound
    parameters = ops_of(made.origins, one.owned).by_parameter.children
    found = lines.lines if lines else ()
    return {
        "lines": [_line(line, lines, like_values(made.origins, line.values, owned), bound) for line in found if lines],
        "parameters": [_path(child, made.live.bound) for child in parameters if child.name],
        "values": live_in_space(dump, step, color).tolist(),
    }


class LikeValues(NamedTuple):
    """Values of one source line and one shape, by size: rows of `DumpSet.values`. `shape` has no layout, and `op_name`
    has ``*`` in place of the numbers of layers.
    """

    shape: str
    op_name: str | None
    size_bytes: int
    values: Rows


def like_values(origins: Origins, values: Sequence[int], owned: Mapping[int, int]) -> list[LikeValues]:
    """Return the groups of like values among those of a source line, by size."""
    members: dict[tuple[str, str | None], list[int]] = {}
    for value in values:
        shape = _LAYOUT.sub("", shape_text(origins.dump, value))
        members.setdefault((shape, folded(origins.of_value(value).op_name)), []).append(value)
    groups = [LikeValues(*key, sum(owned[value] for value in like), tuple(like)) for key, like in members.items()]
    return sorted(groups, key=lambda group: -group.size_bytes)


_LAYOUT: Final = lazy_pattern(r"\{[^{}]*\}")


def _line(line: LineBytes, by_line: LineReport, likes: Sequence[LikeValues], bound: Bound) -> contract.ValueGroup:
    """A source line, or the parameters of one argument."""
    # The missing lines of a dump can have more values, but the values without a source may be among them.
    bound = bound if line.is_known or bound is Bound.EXACT else Bound.UNKNOWN
    groups = [
        _group("like", like, bound, len(like.values), label=like.shape, detail=like.op_name or "", values=like.values)
        for like in likes
    ]
    group = _group("line", line, bound, len(line.values), groups)
    if line.frame:
        detail = ((line.frame.function or "") + derived_part(line)).removeprefix(", ")
        return {**group, "label": frame_text(line.frame), "detail": detail, "source_line": source_line_data(line.frame)}
    if line.argument:
        return {**group, "kind": "path", "label": line.argument, "detail": PARAMETERS}
    lost = unresolved_text(by_line) if by_line.unresolved_bytes else ""
    return {**group, "label": without_source(by_line, bound), "detail": lost}


def _path(node: BytesNode, bound: Bound) -> contract.ValueGroup:
    """A node of the tree of parameters. A chain of single children is one group."""
    label = node.name or ""
    while len(node.children) == 1 and not node.values:
        (node,) = node.children
        label += node.name or ""
    below = [_path(child, bound) for child in node.children]
    return _group("path", node, bound, node.count, below, label=label, values=node.values)


def _group(
    kind: Literal["line", "like", "path"],
    one: LineBytes | LikeValues | BytesNode,
    bound: Bound,
    count: int,
    groups: Sequence[contract.ValueGroup] = (),
    *,
    label: str = "",
    detail: str = "",
    values: Sequence[int] = (),
) -> contract.ValueGroup:
    return {
        "kind": kind,
        "label": label,
        "detail": detail,
        "source_line": None,
        "size_bytes": one.size_bytes,
        "bound": bound,
        "count": count,
        "groups": [*groups],
        "values": [*values],
    }


def source_line_data(frame: StackFrame | None) -> contract.SourceLine | None:
    """Return a source line for the command `xla-lens.goTo`."""
    return {"path": frame.file, "line": frame.line} if frame else None
