"""What is found in edited live ranges."""

from goldens import REDUCE, SWAP, check
from samples import DUMPS, analysis_of
from xla_lens.model.checks.findings import Severity


def test_an_end_before_the_start() -> None:
    check(
        SWAP,
        [("    copy.1{}:3-4", "    copy.1{}:3-2")],
        """
error[invalid-live-range] copy.1{} is live from step 3 to 2: the end is before the start.
    copy.1{}:3-2
    ^^^^^^^^^^^^
-- The step
    3:copy.1
      ^^^^^^
""",
    )


def test_an_end_after_the_schedule() -> None:
    check(
        SWAP,
        [("    copy.2{}:4-7", "    copy.2{}:4-8")],
        """
error[invalid-live-range] copy.2{} is live from step 4 to 8, but the steps are 0 to 7.
    copy.2{}:4-8
    ^^^^^^^^^^^^
-- The step
    4:copy.2
      ^^^^^^
""",
    )


def test_a_live_range_that_is_there_twice() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7\n", "    copy.3{}:5-7\n    copy.3{}:5-7\n")],
        """
error[duplicate-live-range] copy.3{} has a second live range here. A value has one.
    copy.3{}:5-7
    ^^^^^^^^^^^^
-- The first time
    copy.3{}:5-7
    ^^^^^^^^^^^^
""",
    )


def test_a_live_range_of_another_value() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7", "    copy.2{}:5-7")],
        """
error[duplicate-live-range] copy.2{} has a second live range here. A value has one.
    copy.2{}:5-7
    ^^^^^^^^^^^^
-- The first time
    copy.2{}:4-7
    ^^^^^^^^^^^^
""",
    )


def test_a_live_range_that_is_missing() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7\n", "")],
        """
error[missing-live-range] copy.3 has no live range, though its instruction is scheduled.
<5 copy.3 @0>
^^^^^^^^^^^^^
-- The step
    5:copy.3
      ^^^^^^
""",
    )


def test_a_start_that_is_too_early() -> None:
    check(
        SWAP,
        [("    copy.3{}:5-7", "    copy.3{}:4-7")],
        """
warning[live-range-start] copy.3 is live from step 4 on, but its instruction copy.3 runs at step 5.
    copy.3{}:4-7
    ^^^^^^^^^^^^
-- The step
    5:copy.3
    ^^^^^^^^
""",
    )


def test_an_end_that_is_too_early() -> None:
    check(
        SWAP,
        [("    copy{}:1-5", "    copy{}:1-4")],
        """
warning[live-range-end] copy is live until step 4, but copy.3 still reads it at step 5.
    copy{}:1-4
    ^^^^^^^^^^
-- The step
    5:copy.3
    ^^^^^^^^
""",
    )


def test_a_parameter_that_starts_late() -> None:
    check(
        REDUCE,
        [("    param{}:0-4", "    param{}:1-4")],
        """
warning[live-range-start] param starts at step 1. A parameter that is read only is live from 0 on.
    param{}:1-4
    ^^^^^^^^^^^
""",
    )


def test_a_parameter_that_ends_early() -> None:
    check(
        REDUCE,
        [("    param.1{}:0-4", "    param.1{}:0-3")],
        """
warning[live-range-end] param.1 ends at step 3. A parameter that is read only is live until the end, 4.
    param.1{}:0-3
    ^^^^^^^^^^^^^
""",
    )


def test_what_runs_asynchronously_starts_one_step_late() -> None:
    """Collectives on GPUs since jaxlib 0.12: computations whose name and opcode are those of the operation. The same
    start is wrong where nothing asynchronous follows.
    """
    path = next(DUMPS.glob("gpu-h100-jaxlib0.12.0.1/smap_loop/*-live-range.txt"))
    assert b"    15:psum.6.1\n" in path.read_bytes()
    assert b"    psum.6.1{}:16-20\n" in path.read_bytes()
    assert all(finding.severity is Severity.INFORMATION for finding in analysis_of(path).findings)
    check(
        SWAP,
        [("    copy.1{}:3-4", "    copy.1{}:4-4")],
        """
warning[live-range-start] copy.1 is live from step 4 on, but its instruction copy.1 runs at step 3.
    copy.1{}:4-4
    ^^^^^^^^^^^^
-- The step
    3:copy.1
    ^^^^^^^^
""",
    )


def test_live_ranges_out_of_order() -> None:
    check(
        SWAP,
        [("    copy.1{}:3-4\n    copy.2{}:4-7\n", "    copy.2{}:4-7\n    copy.1{}:3-4\n")],
        """
error[syntax] copy.1{} stands after copy.2{}, though its value has the lower id. Live ranges are in the order of the
ids.
    copy.1{}:3-4
    ^^^^^^^^^^^^
""",
    )
