"""Findings about edited values, positions and uses."""

import pytest

from goldens import SWAP, check, files_of, findings_text
from samples import SPLIT, TPU
from xla_lens.model.analysis import analyse
from xla_lens.syntax.file_names import FileKind


def test_reports_repeated_row() -> None:
    check(
        SWAP,
        [
            (
                " value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})\n",
                " value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})\n"
                " value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})\n",
            )
        ],
        """
error[duplicate-value] `tuple{}` (value 6) is listed twice. Each id belongs to one value.
 value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Other occurrence
 value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_id_of_two_values() -> None:
    check(
        SWAP,
        [("<5 copy.3 @0>\n", "<4 copy.3 @0>\n")],
        """
error[duplicate-value] `copy.2` and `copy.3` have the same id, 4. Each id belongs to one value.
<4 copy.3 @0>
^^^^^^^^^^^^^
-- Other occurrence
<4 copy.2 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_ids_out_of_order() -> None:
    check(
        SWAP,
        [
            (
                " value: <1 copy @0> (size=400,offset=0): f32[100]{0}\n"
                " value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}\n",
                " value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}\n"
                " value: <1 copy @0> (size=400,offset=0): f32[100]{0}\n",
            )
        ],
        """
error[syntax] Value 1 follows value 3. XLA prints values in ascending order of their ids.
 value: <1 copy @0> (size=400,offset=0): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_name_in_allocation() -> None:
    check(
        SWAP,
        [("<3 copy.1 @0> (size", "<3 copy.9 @0> (size")],
        """
error[undefined-value] Value 3 is named `copy.9` in its allocation, but `copy.1` in the used values, which define
it.
 value: <3 copy.9 @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Same value in the other list
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_name_in_used_values() -> None:
    check(
        SWAP,
        [("<3 copy.1 @0>\n", "<3 copy.9 @0>\n")],
        """
error[unassigned-value] Value 3 is named `copy.9` in the used values, but `copy.1` in its allocation and in its
first position.
<3 copy.9 @0>
^^^^^^^^^^^^^
-- Same value in the other list
 value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_id() -> None:
    check(
        SWAP,
        [("<3 copy.1 @0> (size", "<9 copy.1 @0> (size")],
        """
error[undefined-value] `copy.1` has id 9 in its allocation, but id 3 in the used values.
 value: <9 copy.1 @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Same value in the other list
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_value_missing_from_used_values() -> None:
    check(
        SWAP,
        [
            (
                "<6 tuple{} @0>\n"
                " positions:\n"
                "  tuple {}\n"
                " uses:\n"
                " from instruction:%tuple = (f32[100]{0}, f32[100]{0})"
                " tuple(f32[100]{0} %copy.2, f32[100]{0} %copy.3)\n",
                "",
            )
        ],
        """
error[undefined-value] `tuple{}` (value 6) is in an allocation, but missing from the used values.
 value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_used_value_without_allocation() -> None:
    check(
        SWAP,
        [(" value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}\n", "")],
        """
error[unassigned-value] `copy.1` (value 3) is in no allocation. Each used value occupies bytes of one allocation.
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_first_position() -> None:
    check(
        SWAP,
        [(" positions:\n  copy.1\n", " positions:\n  copy.2 {9}\n")],
        """
error[undefined-value] The first position of `copy.1` is `copy.2{9}`. A value's first position is the instruction
that defines it and has its name.
  copy.2 {9}
  ^^^^^^^^^^
""",
    )


def test_reports_value_without_positions() -> None:
    check(
        SWAP,
        [(" positions:\n  copy.1\n", " positions:\n")],
        """
error[undefined-value] `copy.1` has no position. A value has at least that of the instruction that defines it.
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_live_range_of_unknown_value() -> None:
    check(
        SWAP,
        [("    copy.2{}:4-7", "    copy.2{1}:4-7")],
        """
error[undefined-value] `copy.2{1}` has a live range, but the dump has no value of this name and index.
    copy.2{1}:4-7
    ^^^^^^^^^^^^^
""",
    )


def test_reports_repeated_position() -> None:
    check(
        SWAP,
        [("  tuple {1}\n", "  tuple {1}\n  tuple {1}\n")],
        """
error[duplicate-position] `copy.3` lists the position `tuple{1}` twice.
  tuple {1}
  ^^^^^^^^^
-- Other occurrence
  tuple {1}
  ^^^^^^^^^
""",
    )


def test_reports_position_of_two_values() -> None:
    check(
        SWAP,
        [("  tuple {1}\n", "  tuple {0}\n")],
        """
error[duplicate-position] `tuple{0}` is a position of both `copy.3` and `copy.2`. A position holds one value.
  tuple {0}
  ^^^^^^^^^
-- Other occurrence
  tuple {0}
  ^^^^^^^^^
""",
    )


def test_reports_repeated_use() -> None:
    check(
        SWAP,
        [("  tuple, operand 1\n", "  tuple, operand 1\n  tuple, operand 1\n")],
        """
error[duplicate-use] `copy.3` lists its use as operand 1 of `tuple` twice.
  tuple, operand 1
  ^^^^^^^^^^^^^^^^
-- Other occurrence
  tuple, operand 1
  ^^^^^^^^^^^^^^^^
""",
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            FileKind.VALUES,
            """
error[undefined-value] This file belongs to another dump: 12 of its 12 used values are in no allocation.
<13 x.1 @0>
^^^^^^^^^^^
""",
        ),
        (
            FileKind.LIVE_RANGE,
            """
error[undefined-value] This file belongs to another dump: 10 of its 12 live ranges are of unknown values.
    x.1{}:0-9
    ^^^^^^^^^
""",
        ),
    ],
)
def test_reports_file_of_another_dump(kind: FileKind, expected: str) -> None:
    files = files_of(SPLIT) | {kind: files_of(TPU)[kind]}
    assert findings_text(analyse(files.values())) == expected.strip("\n")


def test_reports_quote_of_another_instruction() -> None:
    check(
        SWAP,
        [("from instruction:%copy.1 = ", "from instruction:%copy.9 = ")],
        """
error[undefined-value] `copy.1` quotes the instruction `copy.9`. A value quotes the instruction that defines it.
 from instruction:%copy.9 = f32[100]{0} copy(f32[100]{0} %Arg_1.2)
                  ^^^^^^^
-- Value that quotes it
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_phi_in_one_list_only() -> None:
    check(
        SWAP,
        [(" value: <3 copy.1 @0>", " value: <3 copy.1 (phi) @0>")],
        """
error[undefined-value] `copy.1` is marked `(phi)` in its allocation, but is not in the used values.
 value: <3 copy.1 (phi) @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Same value in the other list
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_reports_missing_and_repeated_quotes() -> None:
    quote = " from instruction:%copy.1 = f32[100]{0} copy(f32[100]{0} %Arg_1.2)\n"
    check(
        SWAP,
        [(quote, "")],
        """
error[syntax] `copy.1` quotes no instruction, unlike the other values of the dump.
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )
    check(
        SWAP,
        [(quote, quote + quote)],
        """
error[syntax] `copy.1` quotes its instruction twice.
 from instruction:%copy.1 = f32[100]{0} copy(f32[100]{0} %Arg_1.2)
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_missing_total() -> None:
    check(
        SWAP,
        [("Total bytes used: 1616 (1.6KiB)\n", "")],
        """
error[syntax] The header `Total bytes used: N` is missing before this line.
Used values:
^^^^^^^^^^^^
""",
    )


def test_reports_table_of_a_tuple_that_is_too_small() -> None:
    check(
        SWAP,
        [("tuple{} @0> (size=16,offset=0)", "tuple{} @0> (size=15,offset=0)")],
        """
error[size-below-shape] `tuple{}` has 15 bytes, but its shape `(f32[100]{0}, f32[100]{0})` needs 16 bytes. Padding
can only add bytes.
 value: <6 tuple{} @0> (size=15,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )
