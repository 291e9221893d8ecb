"""Findings about values that occupy the same bytes."""

from goldens import NAMES, SWAP, check
from samples import TPU


def test_reports_overlapping_values() -> None:
    check(
        SWAP,
        [("(size=400,offset=400)", "(size=400,offset=300)")],
        """
error[overlapping-slices] `copy.1` and `copy` overlap: both are live at steps 3–4 and occupy bytes 300–399 of
allocation 3. Writing one overwrites the other.
 value: <3 copy.1 @0> (size=400,offset=300): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Overlapping value
 value: <1 copy @0> (size=400,offset=0): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_start_instead_of_overlap() -> None:
    check(
        SWAP,
        [("    copy.2{}:4-7", "    copy.2{}:0-7")],
        """
warning[live-range-start] `copy.2` is live from step 0, but its instruction runs at step 4.
    copy.2{}:0-7
    ^^^^^^^^^^^^
-- Scheduled here
    4:copy.2
    ^^^^^^^^
""",
    )


def test_reports_value_that_overlaps_a_tuple_element() -> None:
    check(
        TPU,
        [("(size=512,offset=32768)", "(size=512,offset=49152)")],
        """
error[overlapping-slices] `copy-start.1{}` and `copy-start.1{0}` overlap: both are live at steps 5–6 and occupy
bytes 49,152–49,663 of allocation 2. Writing one overwrites the other.
 value: <18 copy-start.1{} @0> (size=512,offset=49152): (f32[1024,1024]{1,0:T(8,128)}, f32[1024,1024]{1,0:T(8,128)S…
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
-- Overlapping value
 value: <19 copy-start.1{0} @0> (size=4194304,offset=49152): f32[1024,1024]{1,0:T(8,128)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_warns_about_overlaps_outside_of_memory_space_0() -> None:
    check(
        NAMES,
        [("<86 fusion.16 @1> (size=12288,offset=24576)", "<86 fusion.16 @1> (size=12288,offset=12288)")],
        """
warning[overlapping-slices] `fusion.18` and `fusion.16` overlap: both are live at steps 6–7 and occupy bytes
12,288–24,575 of allocation 14. Writing one overwrites the other.
 value: <82 fusion.18 @1> (size=12288,offset=12288): f32[24,24]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Overlapping value
 value: <86 fusion.16 @1> (size=12288,offset=12288): f32[24,24]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
warning[overlapping-slices] `fusion.16` and `fusion.18` overlap: both are live at steps 6–7 and occupy bytes
12,288–24,575 of allocation 14. Writing one overwrites the other.
 value: <86 fusion.16 @1> (size=12288,offset=12288): f32[24,24]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Overlapping value
 value: <82 fusion.18 @1> (size=12288,offset=12288): f32[24,24]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )
