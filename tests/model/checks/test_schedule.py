"""Findings about edited schedules."""

from goldens import SWAP, check


def test_reports_wrong_max() -> None:
    check(
        SWAP,
        [("(max 7)", "(max 8)")],
        """
error[schedule-mismatch] The header prints `max 8`, but the schedule has 7 instructions. `max` is their number.
HloLiveRange (max 8):
^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_rows_out_of_order() -> None:
    check(
        SWAP,
        [("    3:copy.1\n    4:copy.2\n", "    4:copy.2\n    3:copy.1\n")],
        """
error[schedule-mismatch] `copy.2` has step 4, but is listed where step 3 belongs. 2 rows are out of order.
    4:copy.2
    ^^^^^^^^
-- Also out of order
    3:copy.1
    ^^^^^^^^
""",
    )


def test_reports_instruction_scheduled_twice() -> None:
    check(
        SWAP,
        [("    5:copy.3\n", "    5:copy.2\n")],
        """
error[schedule-mismatch] `copy.2` is scheduled twice, at steps 4 and 5. An instruction runs once.
    5:copy.2
    ^^^^^^^^
-- Other occurrence
    4:copy.2
    ^^^^^^^^
""",
    )


def test_reports_repeated_row() -> None:
    check(
        SWAP,
        [("    5:copy.3\n", "    5:copy.3\n    5:copy.3\n")],
        """
error[schedule-mismatch] `copy.3` is scheduled twice, at step 5. An instruction runs once.
    5:copy.3
    ^^^^^^^^
-- Other occurrence
    5:copy.3
    ^^^^^^^^
""",
    )


def test_reports_missing_step() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "")],
        """
error[schedule-mismatch] Step 3 is missing before step 4 (`copy.2`).
    4:copy.2
    ^^^^^^^^
""",
    )


def test_reports_step_that_is_too_high() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "    9:copy.1\n")],
        """
error[schedule-mismatch] `copy.1` has step 9, but is listed where step 3 belongs.
    9:copy.1
    ^^^^^^^^
""",
    )


def test_reports_step_that_is_too_low() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "    1:copy.1\n")],
        """
error[schedule-mismatch] `copy.1` has step 1, but is listed where step 3 belongs.
    1:copy.1
    ^^^^^^^^
""",
    )


def test_reports_swapped_instructions() -> None:
    check(
        SWAP,
        [("    3:copy.1\n    4:copy.2\n", "    3:copy.2\n    4:copy.1\n")],
        """
error[schedule-mismatch] `copy.2` (step 3) and `copy.1` (step 4) are swapped: their live ranges and uses fit each
other's step.
    3:copy.2
    ^^^^^^^^
-- Other swapped instruction
    4:copy.1
    ^^^^^^^^
""",
    )


def test_reports_misnamed_instruction() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "    3:copy.9\n")],
        """
error[unknown-instruction] `copy.9` appears nowhere else in the dump, and `copy.1`, which becomes live at this step
and has 4 mentions, is not scheduled. One of the names is wrong.
    3:copy.9
    ^^^^^^^^
-- Also mentioned here
    copy.1{}:3-4
    ^^^^^^^^^^^^
-- Also mentioned here
    copy.1: 400 bytes
    ^^^^^^^^^^^^^^^^^
-- Also mentioned here
  copy.1
  ^^^^^^
-- Also mentioned here
  copy.1, operand 0
  ^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_use_by_unscheduled_instruction() -> None:
    check(
        SWAP,
        [("  copy.2, operand 0", "  copy.9, operand 0")],
        """
error[unknown-instruction] `copy.9` defines, passes on or reads a value in 1 line, but is not in the instruction
sequence.
  copy.9, operand 0
  ^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_unscheduled_instruction_in_peak_list() -> None:
    check(
        SWAP,
        [("    copy.1: 400 bytes", "    copy.9: 400 bytes")],
        """
error[unknown-instruction] `copy.9` defines, passes on or reads a value in 1 line, but is not in the instruction
sequence.
    copy.9: 400 bytes
    ^^^^^^^^^^^^^^^^^
""",
    )
