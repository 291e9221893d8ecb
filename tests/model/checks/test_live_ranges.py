"""Findings about edited live ranges."""

from goldens import REDUCE, SWAP, check
from samples import DUMPS, analysis_of
from xla_lens.model.checks.codes import Severity


def test_reports_end_before_start() -> None:
    check(
        SWAP,
        [("    copy.1{}:3-4", "    copy.1{}:3-2")],
        """
error[invalid-live-range] The live range of `copy.1{}` ends at step 2, before it starts at step 3.
    copy.1{}:3-2
    ^^^^^^^^^^^^
-- Scheduled here
    3:copy.1
      ^^^^^^
""",
    )


def test_reports_end_after_schedule() -> None:
    check(
        SWAP,
        [("    copy.2{}:4-7", "    copy.2{}:4-8")],
        """
error[invalid-live-range] `copy.2{}` is live at steps 4–8, but the schedule has steps 0–7.
    copy.2{}:4-8
    ^^^^^^^^^^^^
-- Scheduled here
    4:copy.2
      ^^^^^^
""",
    )


def test_reports_repeated_live_range() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7\n", "    copy.3{}:5-7\n    copy.3{}:5-7\n")],
        """
error[duplicate-live-range] `copy.3{}` has two live ranges. A value has one.
    copy.3{}:5-7
    ^^^^^^^^^^^^
-- Other occurrence
    copy.3{}:5-7
    ^^^^^^^^^^^^
""",
    )


def test_reports_second_live_range_of_a_value() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7", "    copy.2{}:5-7")],
        """
error[duplicate-live-range] `copy.2{}` has two live ranges. A value has one.
    copy.2{}:5-7
    ^^^^^^^^^^^^
-- Other occurrence
    copy.2{}:4-7
    ^^^^^^^^^^^^
""",
    )


def test_reports_missing_live_range() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7\n", "")],
        """
error[missing-live-range] `copy.3` has no live range, although its instruction is scheduled at step 5. Live bytes
and peaks do not count it.
<5 copy.3 @0>
^^^^^^^^^^^^^
-- Scheduled here
    5:copy.3
      ^^^^^^
""",
    )


def test_reports_early_start() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7", "    copy.3{}:4-7")],
        """
warning[live-range-start] `copy.3` is live from step 4, but its instruction runs at step 5.
    copy.3{}:4-7
    ^^^^^^^^^^^^
-- Scheduled here
    5:copy.3
    ^^^^^^^^
""",
    )


def test_reports_end_before_last_use() -> None:
    check(
        SWAP,
        [("    copy{}:1-5", "    copy{}:1-4")],
        """
warning[live-range-end] `copy` is live until step 4, but `copy.3` reads it at step 5.
    copy{}:1-4
    ^^^^^^^^^^
-- Scheduled here
    5:copy.3
    ^^^^^^^^
""",
    )


def test_reports_late_start_of_read_only_parameter() -> None:
    check(
        REDUCE,
        [("    param{}:0-4", "    param{}:1-4")],
        """
warning[live-range-start] `param` is live from step 1, but a read-only parameter is live from step 0.
    param{}:1-4
    ^^^^^^^^^^^
""",
    )


def test_reports_early_end_of_read_only_parameter() -> None:
    check(
        REDUCE,
        [("    param.1{}:0-4", "    param.1{}:0-3")],
        """
warning[live-range-end] `param.1` is live until step 3, but a read-only parameter is live until the last step, 4.
    param.1{}:0-3
    ^^^^^^^^^^^^^
""",
    )


def test_asynchronous_values_may_start_one_step_late() -> None:
    """Collectives on GPUs since jaxlib 0.12 are computations with the name and opcode of the operation.

    The same start is wrong if nothing asynchronous follows.
    """
    path = next(DUMPS.glob("gpu-h100-jaxlib0.12.0.1/smap_loop/*-live-range.txt"))
    assert b"    15:psum.6.1\n" in path.read_bytes()
    assert b"    psum.6.1{}:16-20\n" in path.read_bytes()
    assert all(finding.severity is Severity.INFORMATION for finding in analysis_of(path).findings)
    check(
        SWAP,
        [("    copy.1{}:3-4", "    copy.1{}:4-4")],
        """
warning[live-range-start] `copy.1` is live from step 4, but its instruction runs at step 3.
    copy.1{}:4-4
    ^^^^^^^^^^^^
-- Scheduled here
    3:copy.1
    ^^^^^^^^
""",
    )


def test_reports_live_ranges_out_of_order() -> None:
    check(
        SWAP,
        [("    copy.1{}:3-4\n    copy.2{}:4-7\n", "    copy.2{}:4-7\n    copy.1{}:3-4\n")],
        """
error[syntax] `copy.1{}` (value 3) follows `copy.2{}` (value 4). XLA prints live ranges in ascending order of value
ids.
    copy.1{}:3-4
    ^^^^^^^^^^^^
""",
    )
