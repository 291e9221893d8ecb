"""Findings about edited allocations."""

from goldens import REDUCE, SAME, SWAP, SWAP_2025, check


def test_reports_duplicate_allocation() -> None:
    check(
        SWAP,
        [("allocation 3: size 800", "allocation 2: size 800")],
        """
error[duplicate-allocation] Allocation 2 is defined twice. XLA uses each number once.
allocation 2: size 800, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Other occurrence
allocation 2: size 16, output shape is |(f32[100], f32[100])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_renumbered_allocation_once() -> None:
    """Also if the number leaves a gap or is that of another allocation."""
    for number in (2, 9):
        header = f"allocation {number}: size 400, parameter 0"
        check(
            SWAP,
            [("allocation 0: size 400, parameter 0", header)],
            f"""
error[duplicate-allocation] Allocation {number} stands where allocation 0 belongs. XLA numbers them without gaps.
{header}, shape |f32[100]| at ShapeIndex {{}}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        )


def test_reports_allocations_out_of_order() -> None:
    check(
        REDUCE,
        [
            ("allocation 5: 0x15c7b040", "allocation 6: 0x15c7b040"),
            ("allocation 6: 0x15c7b0f0", "allocation 5: 0x15c7b0f0"),
        ],
        """
error[syntax] Allocation 5 follows allocation 6. XLA prints allocations in ascending order.
allocation 5: 0x15c7b0f0, size 4, thread-local:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_allocation_without_kind() -> None:
    check(
        SWAP,
        [("size 800, preallocated-temp:", "size 800:")],
        """
error[allocation-kind-conflict] Allocation 3 has no kind. XLA marks each allocation as `parameter`, `output`,
`maybe-live-out`, `constant`, `thread-local` or `preallocated-temp`.
allocation 3: size 800:
^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_exclusive_kinds() -> None:
    check(
        SWAP,
        [("size 800, preallocated-temp:", "size 800, constant, preallocated-temp:")],
        """
error[allocation-kind-conflict] Allocation 3 is marked `constant` and `preallocated-temp`. `constant`,
`thread-local` and `preallocated-temp` exclude all other kinds.
allocation 3: size 800, constant, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_output_that_is_not_live_out() -> None:
    check(
        SWAP,
        [("(f32[100], f32[100])|, maybe-live-out", "(f32[100], f32[100])|")],
        """
error[allocation-kind-conflict] Allocation 2 holds the output but is not marked `maybe-live-out`. The output is live
at the end of the program.
allocation 2: size 16, output shape is |(f32[100], f32[100])|:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_value_in_read_only_parameter() -> None:
    check(
        SWAP,
        [("{}, maybe-live-out:\n value: <2 Arg_1.2", "{}:\n value: <2 Arg_1.2")],
        """
error[allocation-kind-conflict] Allocation 1 holds 2 values, although it is a parameter that is not marked
`maybe-live-out`. XLA overwrites a parameter only if it was donated to an output.
allocation 1: size 400, parameter 1, shape |f32[100]| at ShapeIndex {}:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_live_range_of_thread_local_value() -> None:
    check(
        SWAP,
        [("size 800, preallocated-temp:", "size 800, thread-local:")],
        """
error[allocation-kind-conflict] Allocation 3 is thread-local but holds values with live ranges. Thread-local values
are not scheduled.
allocation 3: size 800, thread-local:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_second_output() -> None:
    check(
        SAME,
        [
            (
                "allocation 2: size 308, maybe-live-out",
                "allocation 2: size 308, output shape is |f32[77]|, maybe-live-out",
            )
        ],
        """
error[allocation-kind-conflict] Allocation 3 has an output shape, and so has allocation 2. A program has one output:
several results are elements of one tuple.
allocation 3: size 24, output shape is |(f32[77], f32[77], f32[77])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Allocation of the output
allocation 2: size 308, output shape is |f32[77]|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_missing_output() -> None:
    check(
        SWAP,
        [("output shape is |(f32[100], f32[100])|, ", "")],
        """
error[allocation-kind-conflict] No allocation has an output shape. One allocation holds the result of the program.
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_value_past_end_of_allocation() -> None:
    check(
        SWAP,
        [("(size=400,offset=400)", "(size=400,offset=464)")],
        """
error[slice-out-of-bounds] `copy.1` ends at byte 864, but allocation 3 has 800 bytes. A value outside of its
allocation overwrites other memory.
 value: <3 copy.1 @0> (size=400,offset=464): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Allocation
allocation 3: size 800, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_offset_outside_of_preallocated_temp() -> None:
    check(
        SWAP_2025,
        [("value: <2 Arg_1.2 @0> (size=400,offset=0)", "value: <2 Arg_1.2 @0> (size=200,offset=200)")],
        """
warning[slice-out-of-bounds] `Arg_1.2` starts at offset 200 of allocation 1, which is not a preallocated-temp. In
all other allocations values start at offset 0.
 value: <2 Arg_1.2 @0> (size=200,offset=200): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Allocation
allocation 1: size 400, parameter 1, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_negative_size() -> None:
    check(
        SWAP,
        [("(size=400,offset=400)", "(size=-400,offset=400)")],
        """
error[slice-out-of-bounds] `copy.1` has size -400 and offset 400. Neither can be negative.
 value: <3 copy.1 @0> (size=-400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Allocation
allocation 3: size 800, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_total() -> None:
    check(
        SWAP,
        [("Total bytes used: 1616 (1.6KiB)", "Total bytes used: 1716 (1.7KiB)")],
        """
error[total-mismatch] The printed total is 1,716 bytes, but the 4 allocations add up to 1,616 bytes, 100 B less.
Total bytes used: 1716 (1.7KiB)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_allocation_that_makes_total_wrong() -> None:
    check(
        SWAP,
        [("allocation 2: size 16,", "allocation 2: size 64,")],
        """
error[total-mismatch] Allocation 2 has 64 bytes, but its values need 16 bytes. With that size, all allocations add
up to the printed total of 1,616 bytes.
allocation 2: size 64, output shape is |(f32[100], f32[100])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Printed total
Total bytes used: 1616 (1.6KiB)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_rounded_total() -> None:
    check(
        SWAP,
        [("1616 (1.6KiB)", "1616 (1.6MiB)")],
        """
warning[human-size-mismatch] 1,616 bytes are 1.6KiB, but the dump prints 1.6MiB.
Total bytes used: 1616 (1.6MiB)
                        ^^^^^^
""",
    )
