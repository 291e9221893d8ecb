"""The common axis of two schedules."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xla_lens.model.diff.axis import common_axis


@given(st.data(), st.integers(0, 40), st.integers(0, 40))
def test_aligned_steps_share_a_place_and_no_step_is_lost(data: st.DataObject, old_count: int, new_count: int) -> None:
    count = data.draw(st.integers(0, min(old_count, new_count)))
    old, new = (
        np.array(
            sorted(data.draw(st.sets(st.integers(0, max(0, steps - 1)), min_size=count, max_size=count))), np.int64
        )
        for steps in (old_count, new_count)
    )
    axis = common_axis(old, new, old_count, new_count)
    assert axis.old[old].tolist() == axis.new[new].tolist()
    for places, steps in ((axis.old, old_count), (axis.new, new_count)):
        assert len(places) == steps + 1
        assert (np.diff(places) > 0).all()
        assert places[0] >= 0
        assert places[-1] == axis.length
    # The axis is as long as the longer schedule in each gap, and no longer.
    assert axis.length <= old_count + new_count
    if count == 0:
        assert axis.length == max(old_count, new_count)
