"""What is live at the peak of a memory space as JSON, for the trees of editors."""

from collections.abc import Iterator

from xla_lens.features.report.facts import LineReport
from xla_lens.features.report.peak_groups import LikeValues, LineAtPeak, PeakGroups
from xla_lens.model.attribution.bytes_by_line import LineBytes
from xla_lens.model.attribution.bytes_by_op import BytesNode
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render import contract
from xla_lens.render.report.sources import derived_part, unresolved_text, without_source
from xla_lens.render.sources import PARAMETERS, frame_text


def peak_groups_data(one: PeakGroups) -> contract.PeakGroups:
    """Return what is live at a peak as JSON."""
    bound = one.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound
    return {
        "lines": [_line(line, one.by_line, bound) for line in one.lines] if one.by_line else [],
        "parameters": [
            _path(child, one.warrants.of(Quantity.LIVE).bound) for child in one.parameters.children if child.name
        ],
        "values": [*one.values],
    }


def _line(one: LineAtPeak, by_line: LineReport, bound: Bound) -> contract.ValueGroup:
    frame, argument = one.line.frame, one.line.argument
    # The missing lines of a dump can have more values, but the values without a source may be among them.
    bound = bound if one.line.is_known or bound is Bound.EXACT else Bound.UNKNOWN
    lost = unresolved_text(by_line) if by_line.unresolved_bytes else ""
    return {
        "kind": "path" if argument else "line",
        "label": frame_text(frame) if frame else argument or without_source(by_line, bound),
        "detail": _function(one.line) if frame else PARAMETERS if argument else lost,
        "sourceLine": source_line_data(frame),
        "sizeBytes": one.line.size_bytes,
        "bound": bound.value,
        "count": len(one.line.values),
        "groups": [_like(group, bound) for group in one.groups],
        "values": [],
    }


def _function(line: LineBytes) -> str:
    """The function of a line, and how much of the line is derived."""
    function = (line.frame.function or "") if line.frame else ""
    return (function + derived_part(line)).removeprefix(", ")


def _like(one: LikeValues, bound: Bound) -> contract.ValueGroup:
    return {
        "kind": "like",
        "label": one.shape,
        "detail": one.op_name or "",
        "sourceLine": None,
        "sizeBytes": one.size_bytes,
        "bound": bound.value,
        "count": len(one.values),
        "groups": [],
        "values": [*one.values],
    }


def _path(one: BytesNode, bound: Bound) -> contract.ValueGroup:
    """A node of the tree of parameters. A chain of single children is one group."""
    names = [*_chain(one)]
    last = names[-1]
    return {
        "kind": "path",
        "label": "".join(node.name or "" for node in names),
        "detail": "",
        "sourceLine": None,
        "sizeBytes": last.size_bytes,
        "bound": bound.value,
        "count": last.count,
        "groups": [_path(child, bound) for child in last.children],
        "values": [*last.values],
    }


def _chain(one: BytesNode) -> Iterator[BytesNode]:
    yield one
    while len(one.children) == 1 and not one.values:
        (one,) = one.children
        yield one


def source_line_data(frame: StackFrame | None) -> contract.SourceLine | None:
    """Return a source line for the command `xla-lens.goTo`."""
    return {"path": frame.file, "line": frame.line} if frame else None
