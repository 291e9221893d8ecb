"""What is live at the peak of a memory space as trees: by source line, and by the path of the parameter.

Below a line, like values form one group: those of the same shape whose op_names differ only in the numbers of layers.
Each byte counts for the value that owns it, as in reports, so that the groups of a level add up to the one above.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xla_lens.features.report.facts import LineReport, report
from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.model.advice.rules.facts import folded
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.bytes_by_line import LineBytes
from xla_lens.model.attribution.bytes_by_op import BytesNode, parameters_at
from xla_lens.model.attribution.frames import origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import live_in_space
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Warrants


@dataclass(frozen=True, slots=True)
class LikeValues:
    """Values of one source line and one shape, by size: rows of `DumpSet.values`. `shape` has no layout, and `op_name`
    has ``*`` in place of the numbers of layers.
    """

    shape: str
    op_name: str | None
    size_bytes: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LineAtPeak:
    """A source line with its groups of like values, by size."""

    line: LineBytes
    groups: tuple[LikeValues, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PeakGroups:
    """What is live at the peak of a memory space.

    `by_line` is None if the dump is too incomplete to attribute bytes to lines; `lines` are then empty. `values` are
    all values by size.
    """

    by_line: LineReport | None
    lines: tuple[LineAtPeak, ...]
    parameters: BytesNode
    values: tuple[int, ...]
    warrants: Warrants


def peak_groups(analysis: Analysis, module: HloModule | None, color: int) -> PeakGroups | None:
    """Return what is live at the peak of a memory space, None if nothing is ever live there."""
    made = report(analysis, {}, ReportOptions(parts=frozenset({Part.LINE})), module)
    one = next((one for one in made.spaces if one.space.color == color), None)
    if one is None or one.space.peak_step is None:
        return None
    dump, step = analysis.dump, one.space.peak_step
    values, sizes = owned_bytes(dump, step, color)
    owned = dict(zip(values.tolist(), sizes.tolist(), strict=True))
    return PeakGroups(
        by_line=one.lines,
        lines=tuple(line_at_peak(dump, module, line, owned) for line in one.lines.lines) if one.lines else (),
        parameters=parameters_at(made.origins, step, color),
        values=tuple(live_in_space(dump, step, color).tolist()),
        warrants=made.warrants,
    )


def line_at_peak(dump: DumpSet, module: HloModule | None, line: LineBytes, owned: Mapping[int, int]) -> LineAtPeak:
    """Return a source line with its groups of like values. `owned` are the bytes that each value owns at the peak."""
    found = origins(dump, module, line.values)
    members: dict[tuple[str, str | None], list[int]] = {}
    for value in line.values:
        key = _shape(dump, value), folded(found[value].op_name)
        members.setdefault(key, []).append(value)
    groups = (
        LikeValues(shape, op_name, sum(owned[value] for value in values), tuple(values))
        for (shape, op_name), values in members.items()
    )
    return LineAtPeak(line, tuple(sorted(groups, key=lambda group: -group.size_bytes)))


def _shape(dump: DumpSet, value: int) -> str:
    return _LAYOUT.sub("", (dump.shape(value) or b"").decode("utf-8", "replace"))


_LAYOUT: Final = re.compile(r"\{[^{}]*\}")
