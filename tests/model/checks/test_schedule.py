"""What is found in edited schedules."""

from goldens import SWAP, check


def test_max() -> None:
    check(
        SWAP,
        [("(max 7)", "(max 8)")],
        """
error[schedule-mismatch] The header says max 8, but 7 instructions are scheduled. `max` is their number.
HloLiveRange (max 8):
^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_rows_out_of_order() -> None:
    check(
        SWAP,
        [("    3:copy.1\n    4:copy.2\n", "    4:copy.2\n    3:copy.1\n")],
        """
error[schedule-mismatch] copy.2 has step 4, but stands where 3 belongs: 2 rows are out of order.
    4:copy.2
    ^^^^^^^^
-- Also out of place
    3:copy.1
    ^^^^^^^^
""",
    )


def test_an_instruction_that_is_there_twice() -> None:
    check(
        SWAP,
        [("    5:copy.3\n", "    5:copy.2\n")],
        """
error[schedule-mismatch] copy.2 is scheduled a second time. An instruction runs at one step.
    5:copy.2
    ^^^^^^^^
-- The first time
    4:copy.2
    ^^^^^^^^
""",
    )


def test_a_row_that_is_there_twice() -> None:
    check(
        SWAP,
        [("    5:copy.3\n", "    5:copy.3\n    5:copy.3\n")],
        """
error[schedule-mismatch] copy.3 is scheduled a second time. An instruction runs at one step.
    5:copy.3
    ^^^^^^^^
-- The first time
    5:copy.3
    ^^^^^^^^
""",
    )


def test_a_step_that_is_missing() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "")],
        """
error[schedule-mismatch] Step 3 is missing before step 4 (copy.2).
    4:copy.2
    ^^^^^^^^
""",
    )


def test_a_step_with_another_number() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "    9:copy.1\n")],
        """
error[schedule-mismatch] copy.1 has step 9, where 3 belongs.
    9:copy.1
    ^^^^^^^^
""",
    )


def test_a_step_that_goes_back() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "    1:copy.1\n")],
        """
error[schedule-mismatch] copy.1 has step 1, where 3 belongs.
    1:copy.1
    ^^^^^^^^
""",
    )


def test_two_instructions_that_are_swapped() -> None:
    check(
        SWAP,
        [("    3:copy.1\n    4:copy.2\n", "    3:copy.2\n    4:copy.1\n")],
        """
error[schedule-mismatch] copy.2 and copy.1 stand at each other's step: the live ranges and uses of their values say
so.
    3:copy.2
    ^^^^^^^^
-- The other one
    4:copy.1
    ^^^^^^^^
""",
    )


def test_an_instruction_of_another_name() -> None:
    check(
        SWAP,
        [("    3:copy.1\n", "    3:copy.9\n")],
        """
error[unknown-instruction] copy.9 has to do with nothing, and copy.1, whose value starts at this step, is not
scheduled (4 mentions): one name stands for the other.
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


def test_a_use_that_is_not_scheduled() -> None:
    check(
        SWAP,
        [("  copy.2, operand 0", "  copy.9, operand 0")],
        """
error[unknown-instruction] copy.9 is not in the instruction sequence, though it defines, shows or reads a value (1
mention). Only instructions that are there do.
  copy.9, operand 0
  ^^^^^^^^^^^^^^^^^
""",
    )


def test_a_row_of_the_peak_that_is_not_scheduled() -> None:
    check(
        SWAP,
        [("    copy.1: 400 bytes", "    copy.9: 400 bytes")],
        """
error[unknown-instruction] copy.9 is not in the instruction sequence, though it defines, shows or reads a value (1
mention). Only instructions that are there do.
    copy.9: 400 bytes
    ^^^^^^^^^^^^^^^^^
""",
    )
