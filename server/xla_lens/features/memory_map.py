"""The memory map of a dump set, as columns."""

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from xla_lens.model.advice.padding import padding_of_text
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.parameters import arguments_of
from xla_lens.model.capacity import Capacity
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import first_printed_peak
from xla_lens.model.summary import module_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import allocation_kinds
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Warrants
from xla_lens.syntax.columns import NONE, Column

STEP_LIMIT: Final = 1_000_000
"""Maximum number of steps: the longest schedules have a tenth of it, but a broken line can have any step."""


@dataclass(frozen=True, slots=True, eq=False)
class MappedAllocations:
    """A row for each allocation of `DumpSet.allocations`. `kind` are numbers of `KIND_NAMES`."""

    index: Column
    color: Column
    size_bytes: Column
    kind: Column


@dataclass(frozen=True, slots=True, eq=False)
class MappedValues:
    """A row for each value of `DumpSet.values`; unknown numbers are NONE.

    A value is live from `start_step` to `end_step`, both included; both are NONE if it never is. `kind` are indices
    into `KIND_NAMES`; `shape`, `op_name` and `source` are indices into the lists of the map. A source is a line, or the
    argument of a parameter that has none. `derived_from` are indices into the writers of the map: the instruction that
    the source and the op_name of a value are from, if it is not the one that defines the value.
    """

    label: tuple[str, ...]
    allocation: Column
    offset: Column
    size_bytes: Column
    start_step: Column
    end_step: Column
    kind: Column
    shape: Column
    op_name: Column
    source: Column
    derived_from: Column
    padding_bytes: Column


@dataclass(frozen=True, slots=True, eq=False)
class MemoryMap:
    """A dump set to draw. `steps` has for each step the index of its instruction in `instructions`, NONE if unknown.
    `printed_peak` is the step and the bytes, None for what XLA did not print. `capacity` is that of the device.
    """

    module: str
    instructions: tuple[str, ...]
    shapes: tuple[str, ...]
    op_names: tuple[str, ...]
    sources: tuple[StackFrame | str, ...]
    writers: tuple[str, ...]
    steps: Column
    spaces: tuple[MemorySpace, ...]
    printed_peak: tuple[int, int | None] | None
    allocations: MappedAllocations
    values: MappedValues
    warrants: Warrants
    capacity: Capacity | None


def memory_map(analysis: Analysis, module: HloModule | None) -> MemoryMap:
    """Return the map of a dump set. Without the HLO module fewer values have a source line."""
    dump = analysis.dump
    values, table = dump.values, dump.allocations
    kinds = allocation_kinds(dump)
    is_live = (values.live_range != NONE) & (values.start_step >= 0) & (values.start_step <= values.end_step)
    instructions, steps = _steps(dump, int(values.end_step[is_live].max(initial=NONE)))
    start_step, end_step = (
        np.where(is_live, np.minimum(column, len(steps) - 1), NONE) for column in (values.start_step, values.end_step)
    )
    texts = [dump.shape(value) for value in range(len(values))]
    shapes, shape = _pooled([text.decode("utf-8", "replace") if text is not None else None for text in texts])
    origins = Origins(dump, module)
    found = [origins.of_value(value) for value in range(len(values))]
    op_names, op_name = _pooled([origin.op_name for origin in found])
    arguments = arguments_of(origins, range(len(values)))
    pooled: tuple[tuple[StackFrame | str, ...], Column] = _pooled(
        [origin.line or arguments.get(value) for value, origin in enumerate(found)]
    )
    sources, source = pooled
    writers, derived_from = _pooled([origin.derived.writer if origin.derived else None for origin in found])
    return MemoryMap(
        module=module_of(dump.files),
        instructions=instructions,
        shapes=shapes,
        op_names=op_names,
        sources=sources,
        writers=writers,
        steps=steps,
        spaces=analysis.memory.spaces,
        printed_peak=first_printed_peak(dump),
        warrants=analysis.warrants,
        capacity=analysis.capacity,
        allocations=MappedAllocations(table.index, table.color, table.size_bytes, kinds),
        values=MappedValues(
            label=tuple(map(dump.value_label, range(len(values)))),
            allocation=values.allocation,
            offset=values.offset,
            size_bytes=values.size_bytes,
            start_step=start_step,
            end_step=end_step,
            kind=taken(kinds, values.allocation),
            shape=shape,
            op_name=op_name,
            source=source,
            derived_from=derived_from,
            padding_bytes=_padding(texts, values.size_bytes),
        ),
    )


def _steps(dump: DumpSet, last_live_step: int) -> tuple[tuple[str, ...], Column]:
    """The instructions, and for each step the index of the one that runs. The last step is the end of the program."""
    schedule = dump.schedule
    names, which = np.unique(schedule.name, return_inverse=True)
    last = max(last_live_step, dump.last_step + 1 if dump.last_step is not None else NONE)
    steps = np.full(min(last + 1, STEP_LIMIT), NONE)
    # If two instructions have the same step, the first counts.
    row = np.flatnonzero((schedule.step >= 0) & (schedule.step < len(steps)))[::-1]
    steps[schedule.step[row]] = which[row]
    return tuple(dump.label(name, NONE) for name in names.tolist()), steps


def _padding(texts: list[bytes | None], sizes: Column) -> Column:
    """The padding of values of some shapes, NONE where it is unknown."""
    paddings = map(padding_of_text, texts, sizes.tolist())
    return np.array([NONE if padding.size_bytes is None else padding.size_bytes for padding in paddings], np.int64)


_T = TypeVar("_T")


def _pooled(cells: list[_T | None]) -> tuple[tuple[_T, ...], Column]:
    """The distinct cells, and the index of each cell among them; NONE for None."""
    numbers: dict[_T | None, int] = {None: NONE}
    column = np.array([numbers.setdefault(cell, len(numbers) - 1) for cell in cells], np.int64)
    return tuple(cell for cell in numbers if cell is not None), column
