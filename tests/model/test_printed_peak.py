"""XLA's own way to its peak, against the step that it prints."""

from pathlib import Path

import numpy as np
import pytest

from samples import SHARED_DUMPS, analysis_of, assignments, facts, needs_shared_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.printed_peak import counted_bytes
from xla_lens.syntax.columns import NONE


def _first_greatest(analysis: Analysis) -> int:
    values = analysis.dump.values
    starts = np.unique(values.start_step[values.live_range != NONE]).tolist()
    counted = {step: counted_bytes(analysis.dump, step) for step in starts}
    assert None not in counted.values()
    return max(starts, key=lambda step: counted[step] or 0)


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_finds_the_printed_step(path: Path) -> None:
    analysis = analysis_of(path)
    if len(analysis.dump.peaks):
        assert _first_greatest(analysis) == analysis.dump.peaks.step[0]


@needs_shared_dumps
def test_finds_the_printed_step_of_all_dumps() -> None:
    for fact in facts(SHARED_DUMPS):
        path = SHARED_DUMPS / fact["file"]
        analysis = analysis_of.__wrapped__(path) if path.is_file() else None
        if analysis and len(analysis.dump.peaks):
            assert _first_greatest(analysis) == analysis.dump.peaks.step[0], path
