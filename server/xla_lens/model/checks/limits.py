"""Limits that a user sets, for example in continuous integration, on the memory of a program."""

import numpy as np

from xla_lens.model.capacity import over_bytes
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.problems import Finding, Findings, Lack, Problem, error
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.memory.reported import usage_report
from xla_lens.model.memory.unseen import much_unseen, unseen_memory
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE


def over_limits(
    dump: DumpSet,
    memory: Memory,
    max_memory_bytes: int | None,
    max_peak_bytes: int | None,
    module: HloModule | None = None,
) -> Findings:
    """Findings for exceeded limits on the needed bytes of the device's memory and on its peak; None is no limit.

    A dump that lacks the data to compare with a limit has a finding, too. So has a program within the limit that takes
    much memory which no dump shows.
    """
    if not dump.files:
        return
    space, name, first_byte = memory.space(DEFAULT_COLOR), dump.space_id(DEFAULT_COLOR), Place(dump.files[0], 0, 0)
    if max_memory_bytes is not None:
        over = over_bytes(space, max_memory_bytes) if space else 0 if dump.assignment else None
        if over is None:
            lack = Lack.PARTS if dump.assignment else Lack.KINDS if space else Lack.ALLOCATIONS
            yield error(first_byte, Problem.MEMORY_UNKNOWN(max_memory_bytes, lack))
        elif over and dump.assignment:
            # The largest allocation of the memory space.
            table = dump.allocations
            sizes = np.where(dump.allocation_spaces == DEFAULT_COLOR, table.size_bytes, NONE)
            place = row_place(dump.assignment, table, int(sizes.argmax()))
            yield error(place, Problem.MEMORY_ABOVE_LIMIT(max_memory_bytes + over, name, max_memory_bytes))
        elif over:
            place = Place(usage_report(dump) or dump.files[0], 0, 0)
            yield error(place, Problem.REPORT_ABOVE_LIMIT(max_memory_bytes + over, name, max_memory_bytes))
        elif space and (unseen := much_unseen(unseen_memory(dump, module), space.needed_bytes)):
            facts = space.needed_bytes, name, max_memory_bytes, unseen[0].instruction, unseen[0].size_bytes
            yield Finding(Severity.INFORMATION, first_byte, Problem.MEMORY_UNSEEN(*facts))
    if max_peak_bytes is not None:
        peak, step, bound = 0, NONE, Bound.EXACT
        if space and space.peak_step is not None:
            peak, step, bound = space.peak_live_bytes, space.peak_step, space.live_bound
        row, has_ranges = dump.schedule_row(step), dump.assignment is not None and len(dump.live_ranges) > 0
        place = row_place(dump.live, dump.schedule, row) if dump.live and row != NONE else first_byte
        if has_ranges and peak > max_peak_bytes and bound is not Bound.UNKNOWN:
            yield error(place, Problem.PEAK_ABOVE_LIMIT(peak, name, step, max_peak_bytes))
        elif not has_ranges or bound is not Bound.EXACT:
            # A lower bound below the limit proves nothing.
            yield error(place, Problem.PEAK_UNKNOWN(max_peak_bytes, Lack.PARTS if has_ranges else Lack.LIVE_RANGES))
