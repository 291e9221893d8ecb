"""Findings about values that contradict their quoted instructions."""

from goldens import MATMUL, SWAP, SWAP_2025, check
from samples import TPU


def test_reports_size_below_shape() -> None:
    check(
        SWAP_2025,
        [("copy.3 @0> (size=400,", "copy.3 @0> (size=399,")],
        """
error[size-below-shape] `copy.3` has 399 bytes, but its shape `f32[100]{0}` needs 400 bytes. Padding can only add
bytes.
 value: <5 copy.3 @0> (size=399,offset=0): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_use_of_another_value() -> None:
    check(
        SWAP,
        [("  copy, operand 0", "  copy.1, operand 0")],
        """
error[operand-mismatch] `Arg_0.1` is listed as operand 0 of `copy.1`, but the instruction reads `Arg_1.2`.
  copy.1, operand 0
  ^^^^^^^^^^^^^^^^^
-- Quoted instruction
 from instruction:%copy.1 = f32[100]{0} copy(f32[100]{0} %Arg_1.2)
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_missing_operand() -> None:
    check(
        SWAP,
        [("  tuple, operand 1", "  tuple, operand 2")],
        """
error[operand-mismatch] `copy.3` is listed as operand 2 of `tuple`, which has 2 operands.
  tuple, operand 2
  ^^^^^^^^^^^^^^^^
-- Quoted instruction
 from instruction:%tuple = (f32[100]{0}, f32[100]{0}) tuple(f32[100]{0} %copy.2, f32[100]{0} %copy.3)
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_unknown_operand() -> None:
    check(
        SWAP,
        [("copy(f32[100]{0} %Arg_1.2)", "copy(f32[100]{0} %Arg_1.3)")],
        """
error[operand-mismatch] `copy.1` reads `Arg_1.3`, which appears nowhere else in the dump. According to the used
values, its operand 0 is `Arg_1.2`.
 from instruction:%copy.1 = f32[100]{0} copy(f32[100]{0} %Arg_1.3)
                                                         ^^^^^^^^
-- Use of the operand
  copy.1, operand 0
  ^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_operand_of_two_values() -> None:
    check(
        TPU,
        [("  copy-done, operand 0 {1}", "  copy-done, operand 0 {0}")],
        """
error[operand-mismatch] Operand 0 {0} of `copy-done` is listed as a use of both `copy-start{0}` and
`broadcast_multiply_fusion`. An operand is one value.
  copy-done, operand 0 {0}
  ^^^^^^^^^^^^^^^^^^^^^^^^
-- Other occurrence
  copy-done, operand 0 {0}
  ^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


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


def test_reports_wrong_shape_in_allocation() -> None:
    check(
        SWAP,
        [("(size=400,offset=400): f32[100]{0}", "(size=400,offset=400): f32[50]{0}")],
        """
error[shape-mismatch] `copy.1` has the shape `f32[50]{0}` in its allocation, but its instruction has `f32[100]{0}`.
 value: <3 copy.1 @0> (size=400,offset=400): f32[50]{0}
                                             ^^^^^^^^^^
-- Quoted instruction
 from instruction:%copy.1 = f32[100]{0} copy(f32[100]{0} %Arg_1.2)
                            ^^^^^^^^^^^
""",
    )


def test_reports_wrong_shape_in_instruction() -> None:
    check(
        SWAP,
        [("%copy.1 = f32[100]{0}", "%copy.1 = f32[50]{0}")],
        """
error[shape-mismatch] `copy.1` has the shape `f32[100]{0}` in its allocation, but its instruction has `f32[50]{0}`.
 from instruction:%copy.1 = f32[50]{0} copy(f32[100]{0} %Arg_1.2)
                            ^^^^^^^^^^
-- Value in its allocation
 value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}
                                             ^^^^^^^^^^^
""",
    )


def test_reports_missing_tuple_element() -> None:
    check(
        MATMUL,
        [
            ("<10 custom-call.1.0{0} @0> (size", "<10 custom-call.1.0{5} @0> (size"),
            ("<10 custom-call.1.0{0} @0>\n", "<10 custom-call.1.0{5} @0>\n"),
            (" positions:\n  custom-call.1.0 {0}", " positions:\n  custom-call.1.0 {5}"),
            ("custom-call.1.0{0}:", "custom-call.1.0{5}:"),
        ],
        """
error[shape-mismatch] `custom-call.1.0{5}` has the shape `f32[512,1024]{1,0}` in its allocation, but its instruction
has no element with that index.
 from instruction: %custom-call.1.0 = (f32[512,1024]{1,0}, s8[1572864]{0}) custom-call(f32[512,256]{1,0} %Arg_0.1.0…
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <10 custom-call.1.0{5} @0> (size=2097152,offset=0): f32[512,1024]{1,0}
                                                            ^^^^^^^^^^^^^^^^^^
""",
    )
