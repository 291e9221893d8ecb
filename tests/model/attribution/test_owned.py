"""The owners of live bytes, compared with a count byte by byte and with the live bytes of all dumps."""

from pathlib import Path

import numpy as np
import pytest

from samples import analysis_of, assignments, on_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.owned import owned_bytes


def _steps(analysis: Analysis) -> list[int]:
    """The printed and the recomputed peaks, and some steps between."""
    last = analysis.dump.last_step or 0
    peaks = [space.peak_step for space in analysis.memory.spaces if space.peak_step is not None]
    return [-1, *analysis.dump.peaks.step.tolist(), *peaks, *np.linspace(0, last + 2, 8).astype(int).tolist()]


@on_dumps
def test_owned_bytes_add_up_to_the_live_bytes(analysis: Analysis) -> None:
    for space in analysis.memory.spaces:
        for step in _steps(analysis):
            values, owned = owned_bytes(analysis.dump, step, space.color)
            assert owned.sum() == space.live.at(step)
            assert np.all((owned >= 0) & (owned <= analysis.dump.values.size_bytes[values]))
            assert np.all(np.diff(values) > 0)


@pytest.mark.parametrize("path", assignments()[::4], ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_byte_belongs_to_the_value_that_started_last(path: Path) -> None:
    analysis = analysis_of(path)
    values = analysis.dump.values
    for space in analysis.memory.spaces:
        for step in _steps(analysis)[::2]:
            rows, owned = owned_bytes(analysis.dump, step, space.color)
            for row, count in zip(rows.tolist(), owned.tolist(), strict=True):
                later = [
                    other
                    for other in rows.tolist()
                    if values.allocation[other] == values.allocation[row]
                    and (values.start_step[other], values.id[other]) > (values.start_step[row], values.id[row])
                ]
                low, high = int(values.offset[row]), int(values.offset[row] + values.size_bytes[row])
                free = [(low, high)]
                for other in later:
                    start, end = int(values.offset[other]), int(values.offset[other] + values.size_bytes[other])
                    pieces = [
                        piece for one in free for piece in ((one[0], min(one[1], start)), (max(one[0], end), one[1]))
                    ]
                    free = [(one, two) for one, two in pieces if one < two]
                assert count == sum(two - one for one, two in free)
