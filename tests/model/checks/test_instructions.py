"""Findings about values that contradict their quoted instructions."""

from goldens import check
from samples import TPU


def test_reports_quotes_with_different_operands() -> None:
    check(
        TPU,
        [("copy-start(%broadcast_multiply_fusion)\n<16", "copy-start(%x.1)\n<16")],
        """
error[operand-mismatch] The dump quotes `copy-start` with two different texts. All values of an instruction quote
the same text.
 from instruction: %copy-start = (f32[1024,1024]{1,0:T(8,128)S(5)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) cop…
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
-- Quoted instruction
 from instruction: %copy-start = (f32[1024,1024]{1,0:T(8,128)S(5)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) cop…
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
""",
    )


def test_reports_quotes_with_different_shapes() -> None:
    check(
        TPU,
        [
            (
                "copy-done, operand 0 {}\n from instruction: %copy-start = (f32[1024,1024]",
                "copy-done, operand 0 {}\n from instruction: %copy-start = (f32[1024,1025]",
            )
        ],
        """
error[shape-mismatch] The dump quotes `copy-start` with two different shapes. All values of an instruction quote the
same text.
 from instruction: %copy-start = (f32[1024,1025]{1,0:T(8,128)S(5)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) cop…
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
-- Quoted instruction
 from instruction: %copy-start = (f32[1024,1024]{1,0:T(8,128)S(5)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) cop…
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
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
""",
    )
