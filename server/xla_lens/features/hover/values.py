"""The facts in a hover over a value."""

from functools import partial
from typing import Final

import numpy as np

from xla_lens.features.hover.facts import Elements, End, LiveRangeFacts, ValueFacts
from xla_lens.features.hover.names import LONGEST_LIST, allocation_name, value_name
from xla_lens.model.advice.alive import Ending, Reason, last_uses, neighbours
from xla_lens.model.advice.facts import is_backward
from xla_lens.model.advice.padding import padding_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.hlo.dataflow import index_path, uses
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column


def value_facts(analysis: Analysis, module: HloModule | None, value: int, name: int) -> ValueFacts:
    """Return the facts about a row of `DumpSet.values`. `name` is the number of the hovered name, NONE for none."""
    dump, values = analysis.dump, analysis.dump.values
    slice_row, allocation = int(values.slice[value]), int(values.allocation[value])
    shape = dump.shape(value)
    space = analysis.memory.space(int(values.color[value]))
    sharing, ending = neighbours(dump, value), last_uses(dump, value)
    instruction = dump.instruction(int(values.name[value]))
    origin = Origins(dump, module).of_value(value)
    return ValueFacts(
        id=int(values.id[value]),
        label=dump.value_label(value),
        alias=dump.label(name, NONE) if name not in (NONE, values.name[value]) else None,
        space=dump.space_id(int(values.color[value])),
        shape=shape.decode("utf-8", "replace") if shape is not None else None,
        size_bytes=int(values.size_bytes[value]) if slice_row != NONE else None,
        padding=padding_of(dump, value),
        offset=int(values.offset[value]) if slice_row != NONE else None,
        allocation=allocation_name(dump, allocation) if allocation != NONE else None,
        live_range=_live_range(dump, ending) if ending else None,
        live_at_peak=bool(live_at_peak(dump, analysis.memory, np.array([value]))[0]),
        peak_bytes=space.peak_live_bytes if space else 0,
        nearest=value_name(dump, _nearest(dump, value, sharing)) if len(sharing) else None,
        sharer_count=len(sharing),
        opcode=instruction.opcode.decode() if instruction else None,
        op_name=origin.op_name,
        frames=origin.frames,
        derived=origin.derived,
        is_for_backward=_is_for_backward(dump, value, origin),
        missing=dump.missing,
        elements=_elements(dump, value),
    )


def _elements(dump: DumpSet, value: int) -> Elements | None:
    """The other values of the instruction, None if the value is one of them or there are none."""
    values = dump.values
    if values.index[value] > EMPTY_INDEX:
        return None
    rows = np.flatnonzero((values.name == values.name[value]) & (values.index > EMPTY_INDEX))
    if not len(rows):
        return None
    rows = np.array(sorted(rows.tolist(), key=lambda row: index_path(dump, int(values.index[row]))))
    indices = taken(dump.allocations.index, values.allocation[rows[:LONGEST_LIST]])
    shown = zip(map(partial(value_name, dump), rows[:LONGEST_LIST].tolist()), indices.tolist(), strict=True)
    return Elements(len(rows), sum(np.maximum(values.size_bytes[rows], 0).tolist()), tuple(shown))


def _is_for_backward(dump: DumpSet, value: int, origin: Origin) -> bool:
    if origin.derived is None or origin.derived.stored is None or is_backward(origin.op_name):
        return False
    readers = set(dump.uses.name[uses(dump, np.array([value]))].tolist())
    op_names = [instruction.op_name for name in readers if (instruction := dump.instruction(name))]
    return bool(op_names) and all(map(is_backward, op_names))


def _live_range(dump: DumpSet, ending: Ending) -> LiveRangeFacts:
    start, end = int(dump.values.start_step[ending.value]), ending.end_step
    reason, by = _end(dump, ending)
    return LiveRangeFacts(start, end, dump.instruction_at(start), dump.instruction_at(end), reason, by)


def _end(dump: DumpSet, ending: Ending) -> tuple[End, str | None]:
    if ending.reason is Reason.READ:
        return End.LAST_USE, dump.instruction_at(ending.later_step) if ending.later_step is not None else None
    if ending.reason in (Reason.CALLED, Reason.REPLACED) and ending.successor != NONE:
        return End.PASSED_ON, dump.value_label(ending.successor)
    return _ENDS[ending.reason], None


_ENDS: Final = {
    Reason.PARAMETER: End.CALLER,
    Reason.LIVE_OUT: End.OUTPUT,
    Reason.CALLED: End.COMPUTATION_END,
    Reason.PASSED_ON: End.LAST_ALIAS,
    Reason.UNUSED: End.LAST_ALIAS,
    Reason.COMPUTATION_END: End.COMPUTATION_END,
    Reason.UNKNOWN: End.UNKNOWN,
}


def _nearest(dump: DumpSet, value: int, sharing: Column) -> int:
    """The value with the fewest steps in between, the largest of several."""
    values = dump.values
    gaps = np.maximum(
        values.start_step[sharing] - values.end_step[value], values.start_step[value] - values.end_step[sharing]
    )
    return int(sharing[np.lexsort((-values.size_bytes[sharing], np.maximum(gaps, 0)))[0]])
