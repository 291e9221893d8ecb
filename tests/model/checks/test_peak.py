"""Findings about edited lists and stack traces of the printed peak."""

from goldens import REDUCE, SAME, SWAP, check, finding_lines
from samples import SEED, TPU, analysis_of


def test_reports_wrong_peak_step() -> None:
    check(
        SWAP,
        [("Live ranges at 4 (peak)", "Live ranges at 5 (peak)")],
        """
error[peak-step-mismatch] The peak is printed at step 5, but XLA's rule gives step 4: the first step at which the
shapes of all values live there or one step before have the largest sum.
  Live ranges at 5 (peak):
  ^^^^^^^^^^^^^^^^^^^^^^^^
-- Scheduled here
    4:copy.2
      ^^^^^^
""",
    )


def test_reports_missing_value() -> None:
    check(
        SWAP,
        [("    copy.1: 400 bytes\n", "")],
        """
error[peak-list-mismatch] `copy.1` is live at step 4, but missing from this list.
  Live ranges at 4 (peak):
  ^^^^^^^^^^^^^^^^^^^^^^^^
-- Live at this step
    copy.1{}:3-4
    ^^^^^^^^^^^^
""",
    )


def test_reports_two_missing_values_once() -> None:
    check(
        REDUCE,
        [("    param: 512 bytes\n    param.1: 32768 bytes\n", "")],
        """
error[peak-list-mismatch] `param` and 1 other value are live at step 3, but missing from this list.
  Live ranges at 3 (peak):
  ^^^^^^^^^^^^^^^^^^^^^^^^
-- Live at this step
    param{}:0-4
    ^^^^^^^^^^^
-- Live at this step
    param.1{}:0-4
    ^^^^^^^^^^^^^
""",
    )


def test_reports_value_that_is_not_live() -> None:
    check(
        SWAP,
        [("    copy.1: 400 bytes\n", "    copy.1: 400 bytes\n    copy.3: 400 bytes\n")],
        """
error[peak-list-mismatch] `copy.3` is in this list, but is not live at step 4.
    copy.3: 400 bytes
    ^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_repeated_value() -> None:
    check(
        SWAP,
        [("    copy.1: 400 bytes\n", "    copy.1: 400 bytes\n    copy.1: 400 bytes\n")],
        """
error[peak-list-mismatch] `copy.1` is in this list twice.
    copy.1: 400 bytes
    ^^^^^^^^^^^^^^^^^
-- Other occurrence
    copy.1: 400 bytes
    ^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_size() -> None:
    check(
        SWAP,
        [("    copy.1: 400 bytes\n", "    copy.1: 500 bytes\n")],
        """
error[peak-list-mismatch] `copy.1` is listed with 500 bytes, but its shape has 400 bytes.
    copy.1: 500 bytes
    ^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_rows_out_of_order() -> None:
    check(
        SWAP,
        [("    copy: 400 bytes\n    copy.1: 400 bytes\n", "    copy.1: 400 bytes\n    copy: 400 bytes\n")],
        """
error[peak-list-mismatch] `copy.1` is out of order. XLA prints this list in the order of the live ranges.
    copy.1: 400 bytes
    ^^^^^^^^^^^^^^^^^
-- Also out of order
    copy: 400 bytes
    ^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_cumulative_size() -> None:
    check(
        SAME,
        [("cumulative: 924", "cumulative: 925")],
        """
error[cumulative-mismatch] The cumulative size is 925 bytes, but the rows up to here add up to 924 bytes.
    copy.3{}: 308 bytes (cumulative: 925 bytes)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_size_in_list_with_cumulative_sizes() -> None:
    check(
        SAME,
        [("copy.3{}: 308 bytes (cumulative: 924", "copy.3{}: 307 bytes (cumulative: 923")],
        """
error[peak-list-mismatch] `copy.3{}` is listed with 307 bytes, but its shape has 308 bytes.
    copy.3{}: 307 bytes (cumulative: 923 bytes)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_sum_of_stack_traces() -> None:
    check(
        TPU,
        [("peak usage: 16 777 272 bytes", "peak usage: 16 777 271 bytes")],
        """
error[stack-trace-mismatch] The breakdown is of 16,777,271 bytes, but the list of the peak adds up to 16,777,272
bytes.
  Stack trace breakdown for peak usage: 16 777 271 bytes
  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_total_of_frame() -> None:
    check(
        TPU,
        [("x (25.0%, total: 4 194 304 bytes", "x (25.0%, total: 4 194 305 bytes")],
        """
error[stack-trace-mismatch] `x` has a total of 4,194,305 bytes, but it and the frames below add up to 4,194,304
bytes.
      ├── x (25.0%, total: 4 194 305 bytes, current: 4 194 304 bytes, remaining: 56 bytes)
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_remaining_bytes_of_frame() -> None:
    check(
        TPU,
        [("remaining: 56 bytes", "remaining: 57 bytes")],
        """
error[stack-trace-mismatch] After the 4,194,304 bytes of `x`, 56 bytes remain, but the dump prints 57.
      ├── x (25.0%, total: 4 194 304 bytes, current: 4 194 304 bytes, remaining: 57 bytes)
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_understated_peak() -> None:
    (finding,) = analysis_of(SEED).findings
    assert (
        "\n".join(finding_lines(finding))
        == """\
information[peak-understated] The printed peak is not the real one: 324.0 KiB of HBM are live at step 5, but 580.0
KiB at step 4 (`cublas-gemm.1`). XLA adds up shapes to find the step, not allocated bytes.
  Live ranges at 5 (peak):
  ^^^^^^^^^^^^^^^^^^^^^^^^
-- Real peak
    4:cublas-gemm.1
    ^^^^^^^^^^^^^^^"""
    )
