"""What is found in edited headers of allocations."""

from goldens import REDUCE, SAME, SWAP, SWAP_2025, check


def test_a_number_that_is_there_twice() -> None:
    check(
        SWAP,
        [("allocation 3: size 800", "allocation 2: size 800")],
        """
error[duplicate-allocation] Allocation 2 is here a second time. XLA numbers allocations 0, 1, 2 ..., each once.
allocation 2: size 800, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The first time
allocation 2: size 16, output shape is |(f32[100], f32[100])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_numbers_out_of_order() -> None:
    check(
        REDUCE,
        [
            ("allocation 5: 0x15c7b040", "allocation 6: 0x15c7b040"),
            ("allocation 6: 0x15c7b0f0", "allocation 5: 0x15c7b0f0"),
        ],
        """
error[syntax] Number 5 stands after 6. XLA prints them in ascending order.
allocation 5: 0x15c7b0f0, size 4, thread-local:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_an_allocation_that_is_for_nothing() -> None:
    check(
        SWAP,
        [("size 800, preallocated-temp:", "size 800:")],
        """
error[allocation-kind-conflict] Allocation 3 does not say what it is for: a parameter, an output, maybe-live-out, a
constant, thread-local, or a preallocated-temp.
allocation 3: size 800:
^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_two_kinds_that_exclude_each_other() -> None:
    check(
        SWAP,
        [("size 800, preallocated-temp:", "size 800, constant, preallocated-temp:")],
        """
error[allocation-kind-conflict] Allocation 3 is for two things that exclude each other. A preallocated-temp, a
constant and a thread-local allocation is nothing else.
allocation 3: size 800, constant, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_an_output_that_is_not_live_at_the_end() -> None:
    check(
        SWAP,
        [("(f32[100], f32[100])|, maybe-live-out", "(f32[100], f32[100])|")],
        """
error[allocation-kind-conflict] Allocation 2 has the output's shape, but is not maybe-live-out. The output is always
live at the end.
allocation 2: size 16, output shape is |(f32[100], f32[100])|:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_parameter_that_is_written_over() -> None:
    check(
        SWAP,
        [("{}, maybe-live-out:\n value: <2 Arg_1.2", "{}:\n value: <2 Arg_1.2")],
        """
error[allocation-kind-conflict] Allocation 1 holds other values than its parameter, but is not maybe-live-out. A
parameter's memory may only be written to if it was donated to an output.
allocation 1: size 400, parameter 1, shape |f32[100]| at ShapeIndex {}:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_thread_local_values_with_live_ranges() -> None:
    check(
        SWAP,
        [("size 800, preallocated-temp:", "size 800, thread-local:")],
        """
error[allocation-kind-conflict] Allocation 3 is thread-local, but holds values with live ranges. Thread-local values
are in no schedule.
allocation 3: size 800, thread-local:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_two_outputs() -> None:
    check(
        SAME,
        [
            (
                "allocation 2: size 308, maybe-live-out",
                "allocation 2: size 308, output shape is |f32[77]|, maybe-live-out",
            )
        ],
        """
error[allocation-kind-conflict] Allocation 3 has an output's shape, and another allocation has one as well. There is
one output: several results are elements of one tuple.
allocation 3: size 24, output shape is |(f32[77], f32[77], f32[77])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The allocation of the output
allocation 2: size 308, output shape is |f32[77]|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_no_output() -> None:
    check(
        SWAP,
        [("output shape is |(f32[100], f32[100])|, ", "")],
        """
error[allocation-kind-conflict] No allocation has the output's shape. One of them holds the result of the program.
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_value_past_the_end_of_its_allocation() -> None:
    check(
        SWAP,
        [("(size=400,offset=400)", "(size=400,offset=464)")],
        """
error[slice-out-of-bounds] copy.1 takes bytes 464 to 864 of allocation 3, which has 800. A value always lies inside
of its allocation.
 value: <3 copy.1 @0> (size=400,offset=464): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The allocation
allocation 3: size 800, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_value_at_an_offset_where_there_is_none() -> None:
    check(
        SWAP_2025,
        [("value: <2 Arg_1.2 @0> (size=400,offset=0)", "value: <2 Arg_1.2 @0> (size=200,offset=200)")],
        """
warning[slice-out-of-bounds] Arg_1.2 is at offset 200 of allocation 1, which is no preallocated-temp. In all others,
values are at offset 0.
 value: <2 Arg_1.2 @0> (size=200,offset=200): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The allocation
allocation 1: size 400, parameter 1, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_negative_size() -> None:
    check(
        SWAP,
        [("(size=400,offset=400)", "(size=-400,offset=400)")],
        """
error[slice-out-of-bounds] copy.1 has a negative size or offset.
 value: <3 copy.1 @0> (size=-400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The allocation
allocation 3: size 800, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_the_total() -> None:
    check(
        SWAP,
        [("Total bytes used: 1616 (1.6KiB)", "Total bytes used: 1716 (1.7KiB)")],
        """
error[total-mismatch] The total is 1,716 bytes, but the 4 allocations add up to 1,616: 100 B less than the total.
Total bytes used: 1716 (1.7KiB)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_the_size_of_an_allocation() -> None:
    check(
        SWAP,
        [("allocation 2: size 16,", "allocation 2: size 64,")],
        """
error[total-mismatch] Allocation 2 has 64 bytes, but the values in it need 16, with which all allocations add up to
the total, 1,616.
allocation 2: size 64, output shape is |(f32[100], f32[100])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The total
Total bytes used: 1616 (1.6KiB)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_the_total_in_a_unit_that_fits() -> None:
    check(
        SWAP,
        [("1616 (1.6KiB)", "1616 (1.6MiB)")],
        """
warning[human-size-mismatch] 1,616 bytes are 1.6KiB, not 1.6MiB.
Total bytes used: 1616 (1.6MiB)
                        ^^^^^^
""",
    )
