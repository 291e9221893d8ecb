"""What is found in edited values, positions and uses."""

import pytest

from goldens import SWAP, check, files_of, findings_text
from samples import SPLIT, TPU
from xla_lens.model.analysis import analyse
from xla_lens.syntax.file_names import FileKind


def test_a_row_that_is_there_twice() -> None:
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
error[duplicate-value] Value 6 (tuple{}) is here a second time. An id has one place only.
 value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The first time
 value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_an_id_that_is_there_twice() -> None:
    check(
        SWAP,
        [("<5 copy.3 @0>\n", "<4 copy.3 @0>\n")],
        """
error[duplicate-value] Value 4 (copy.3) is here a second time; the first time it is copy.2. An id has one place
only.
<4 copy.3 @0>
^^^^^^^^^^^^^
-- The first time
<4 copy.2 @0>
^^^^^^^^^^^^^
""",
    )


def test_rows_out_of_order() -> None:
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
error[syntax] Number 1 stands after 3. XLA prints them in ascending order.
 value: <1 copy @0> (size=400,offset=0): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_another_name_in_the_allocation() -> None:
    check(
        SWAP,
        [("<3 copy.1 @0> (size", "<3 copy.9 @0> (size")],
        """
error[undefined-value] Value 3 is called copy.9 here, but copy.1 among the used values, where it is defined.
 value: <3 copy.9 @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- What the other list says
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_another_name_among_the_used_values() -> None:
    check(
        SWAP,
        [("<3 copy.1 @0>\n", "<3 copy.9 @0>\n")],
        """
error[unassigned-value] Value 3 is called copy.9 here, but copy.1 in its allocation and where it is defined.
<3 copy.9 @0>
^^^^^^^^^^^^^
-- What the other list says
 value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_another_id() -> None:
    check(
        SWAP,
        [("<3 copy.1 @0> (size", "<9 copy.1 @0> (size")],
        """
error[undefined-value] copy.1 has the id 9 here, but 3 among the used values.
 value: <9 copy.1 @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- What the other list says
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_a_value_that_is_not_defined() -> None:
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
error[undefined-value] tuple{} (value 6) is in an allocation, but not among the used values.
 value: <6 tuple{} @0> (size=16,offset=0): (f32[100]{0}, f32[100]{0})
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_value_that_is_in_no_allocation() -> None:
    check(
        SWAP,
        [(" value: <3 copy.1 @0> (size=400,offset=400): f32[100]{0}\n", "")],
        """
error[unassigned-value] copy.1 (value 3) is in no allocation. Each used value has its place in one.
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_a_first_position_of_another_name() -> None:
    check(
        SWAP,
        [(" positions:\n  copy.1\n", " positions:\n  copy.2 {9}\n")],
        """
error[undefined-value] The first position of copy.1 is copy.2{9}. A value's first position is the instruction that
defines it, whose name it has.
  copy.2 {9}
  ^^^^^^^^^^
""",
    )


def test_a_value_without_positions() -> None:
    check(
        SWAP,
        [(" positions:\n  copy.1\n", " positions:\n")],
        """
error[undefined-value] copy.1 has no position. A value has at least that of the instruction that defines it.
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_a_live_range_of_no_value() -> None:
    check(
        SWAP,
        [("    copy.2{}:4-7", "    copy.2{1}:4-7")],
        """
error[undefined-value] copy.2{1} has a live range, but there is no value of that name and index.
    copy.2{1}:4-7
    ^^^^^^^^^^^^^
""",
    )


def test_a_position_that_is_there_twice() -> None:
    check(
        SWAP,
        [("  tuple {1}\n", "  tuple {1}\n  tuple {1}\n")],
        """
error[duplicate-position] copy.3 has the position tuple{1} twice.
  tuple {1}
  ^^^^^^^^^
-- The first time
  tuple {1}
  ^^^^^^^^^
""",
    )


def test_a_position_of_two_values() -> None:
    check(
        SWAP,
        [("  tuple {1}\n", "  tuple {0}\n")],
        """
error[duplicate-position] tuple{0} is a position of copy.3 here, but of copy.2, too. What an instruction shows at an
index is one value.
  tuple {0}
  ^^^^^^^^^
-- The first time
  tuple {0}
  ^^^^^^^^^
""",
    )


def test_a_use_that_is_there_twice() -> None:
    check(
        SWAP,
        [("  tuple, operand 1\n", "  tuple, operand 1\n  tuple, operand 1\n")],
        """
error[duplicate-use] The use of copy.3 as operand 1 of tuple is here a second time.
  tuple, operand 1
  ^^^^^^^^^^^^^^^^
-- The first time
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
error[undefined-value] This file is of another dump than the buffer assignment: 12 of its used values are not in the
allocations, 0 are.
<13 x.1 @0>
^^^^^^^^^^^
""",
        ),
        (
            FileKind.LIVE_RANGE,
            """
error[undefined-value] This file is of another dump than the buffer assignment: 10 of its live ranges are not in the
allocations, 2 are.
    x.1{}:0-9
    ^^^^^^^^^
""",
        ),
    ],
)
def test_a_file_of_another_dump(kind: FileKind, expected: str) -> None:
    files = files_of(SPLIT) | {kind: files_of(TPU)[kind]}
    assert findings_text(analyse(files.values())) == expected.strip("\n")


def test_a_quote_of_another_instruction() -> None:
    check(
        SWAP,
        [("from instruction:%copy.1 = ", "from instruction:%copy.9 = ")],
        """
error[undefined-value] The instruction that is quoted for copy.1 is copy.9.
 from instruction:%copy.9 = f32[100]{0} copy(f32[100]{0} %Arg_1.2)
                  ^^^^^^^
-- The value that quotes it
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )


def test_a_value_that_is_a_phi_in_one_list_only() -> None:
    check(
        SWAP,
        [(" value: <3 copy.1 @0>", " value: <3 copy.1 (phi) @0>")],
        """
error[undefined-value] copy.1 is marked as `(phi)` here, but is not among the used values.
 value: <3 copy.1 (phi) @0> (size=400,offset=400): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- What the other list says
<3 copy.1 @0>
^^^^^^^^^^^^^
""",
    )
