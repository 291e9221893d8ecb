"""The facts in hovers over a step and over the printed peak."""

import numpy as np

from xla_lens.features.hover.facts import PeakFacts, SpacePeak, StepFacts
from xla_lens.features.hover.names import largest
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.over_time import live_values
from xla_lens.model.memory.printed_peak import counted_bytes
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE


def step_facts(analysis: Analysis, step: int) -> StepFacts:
    """Return the facts about a step."""
    dump, values = analysis.dump, analysis.dump.values
    around = [
        (space.id, (space.live.at(step - 1), space.live.at(step), space.live.at(step + 1)))
        for space in analysis.memory.spaces
    ]
    placed = values.slice != NONE
    born = np.flatnonzero(placed & (values.start_step == step) & (values.live_range != NONE))
    dying = np.flatnonzero(placed & (values.end_step == step) & (values.live_range != NONE))
    return StepFacts(
        step=step,
        instruction=dump.instruction_at(step),
        live=tuple((space, *live) for space, live in around if any(live)),
        born=largest(dump, born),
        born_count=len(born),
        dying=largest(dump, dying),
        dying_count=len(dying),
        missing=dump.missing,
    )


def peak_facts(analysis: Analysis, row: int) -> PeakFacts:
    """Return the facts about a row of `DumpSet.peaks`."""
    dump, values = analysis.dump, analysis.dump.values
    step = int(dump.peaks.step[row])
    first, count = int(dump.peaks.first_buffer[row]), int(dump.peaks.buffer_count[row])
    printed = dump.peak_buffers.size_bytes[first : first + count]
    listed = dump.value_of_peak_buffer[first : first + count]
    is_elsewhere = taken(values.color, listed) > 0
    is_element = taken(values.index, listed) > EMPTY_INDEX
    live = live_values(dump, step)
    ended = np.flatnonzero((values.end_step == step - 1) & (values.slice != NONE) & (values.live_range != NONE))
    assigned_bytes = sum(values.size_bytes[live[values.slice[live] != NONE]].tolist())
    return PeakFacts(
        step=step,
        printed_bytes=sum(printed.tolist()),
        other_space_bytes=sum(printed[is_elsewhere].tolist()),
        assigned_bytes=assigned_bytes,
        shared_bytes=assigned_bytes - sum(space.live.at(step) for space in analysis.memory.spaces),
        died_before_bytes=sum(values.size_bytes[ended].tolist()),
        counted=_counted(analysis, step),
        is_whole_tuples=bool(np.any(is_element & (dump.peak_buffers.index[first : first + count] == NONE))),
        spaces=tuple(
            SpacePeak(
                space.id,
                space.needed_bytes,
                space.peak_live_bytes,
                space.peak_step,
                dump.instruction_at(space.peak_step) if space.peak_step is not None else None,
                space.live.at(step),
            )
            for space in analysis.memory.spaces
        ),
        missing=dump.missing,
    )


def _counted(analysis: Analysis, step: int) -> tuple[int, int] | None:
    peak = next((space.peak_step for space in analysis.memory.spaces), None)
    if peak is None or peak == step:
        return None
    here, there = counted_bytes(analysis.dump, step), counted_bytes(analysis.dump, peak)
    return (here, there) if here is not None and there is not None else None
