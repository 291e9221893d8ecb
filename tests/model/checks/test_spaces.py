"""Findings about contradicting memory spaces."""

from goldens import check
from samples import TPU


def test_reports_wrong_memory_space_of_allocation() -> None:
    check(
        TPU,
        [("allocation 3: size 4194304, color 1", "allocation 3: size 4194304, color 4")],
        """
error[memory-space-mismatch] Allocation 3 is in memory space 4, but its values are in VMEM (memory space 1).
allocation 3: size 4194304, color 4, page 0, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <22 copy-start.2{0} @1> (size=4194304,offset=0): f32[1024,1024]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_memory_space_of_slice() -> None:
    check(
        TPU,
        [("<22 copy-start.2{0} @1> (size", "<22 copy-start.2{0} @4> (size")],
        """
error[memory-space-mismatch] `copy-start.2{0}` is in memory space 4, but allocation 3 is in VMEM (memory space 1). A
value is in the memory space of its allocation.
 value: <22 copy-start.2{0} @4> (size=4194304,offset=0): f32[1024,1024]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Allocation
allocation 3: size 4194304, color 1, page 0, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_memory_space_of_used_value() -> None:
    check(
        TPU,
        [("<22 copy-start.2{0} @1>\n", "<22 copy-start.2{0} @5>\n")],
        """
error[memory-space-mismatch] `copy-start.2{0}` is in host memory (memory space 5) here, but in VMEM (memory space 1)
in its allocation.
<22 copy-start.2{0} @5>
^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <22 copy-start.2{0} @1> (size=4194304,offset=0): f32[1024,1024]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_warns_about_wrong_memory_space_in_layout() -> None:
    check(
        TPU,
        [
            (
                "fusion @0> (size=4194304,offset=49152): f32[1024,1024]{1,0:T(8,128)}",
                "fusion @0> (size=4194304,offset=49152): f32[1024,1024]{1,0:T(8,128)S(1)}",
            ),
            (
                "%broadcast_multiply_fusion = f32[1024,1024]{1,0:T(8,128)} ",
                "%broadcast_multiply_fusion = f32[1024,1024]{1,0:T(8,128)S(1)} ",
            ),
        ],
        """
warning[memory-space-mismatch] The layout of `broadcast_multiply_fusion` is for VMEM (memory space 1), but the value
is in HBM (memory space 0).
 value: <14 broadcast_multiply_fusion @0> (size=4194304,offset=49152): f32[1024,1024]{1,0:T(8,128)S(1)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_hints_at_value_in_arena_of_another_memory_space() -> None:
    check(
        TPU,
        [
            (" value: <23 copy-start.2{2} @2> (size=4,offset=0): u32[]{:S(2)}\n", ""),
            ("allocation 4: size 8,", "allocation 4: size 8,"),
            (
                "allocation 3: size 4194304, color 1",
                " value: <23 copy-start.2{2} @2> (size=4,offset=4096): u32[]{:S(2)}\n"
                "allocation 3: size 4194304, color 1",
            ),
        ],
        """
hint[memory-space-mismatch] `copy-start.2{2}` is in SMEM (memory space 2), but allocation 2 is in HBM (memory space
0). XLA releases of 2026 reuse arenas in this way.
 value: <23 copy-start.2{2} @2> (size=4,offset=4096): u32[]{:S(2)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Allocation
allocation 2: size 4243456, page 0, preallocated-temp:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
error[report-mismatch] The report lists offset 0 of allocation 4, but no value starts there.
         8B(100%);         4B;            0;                1; u32[]
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )
