"""Findings about edited memory usage reports."""

from pathlib import Path

from goldens import SAME, SWAP_2025, check
from samples import SPLIT, TPU, analysis_of
from xla_lens.files import find_set
from xla_lens.model.checks.problems import Problem
from xla_lens.syntax.file_names import FileKind


def test_reports_wrong_total() -> None:
    check(
        SAME,
        [("Total bytes used: 948 (948B)\n\nAllocations", "Total bytes used: 949 (949B)\n\nAllocations")],
        """
error[report-mismatch] The report prints a total of 949 bytes, but the allocations add up to 948 bytes.
Total bytes used: 949 (949B)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Printed total
Total bytes used: 948 (948B)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_rounded_total() -> None:
    check(
        SAME,
        [("Total bytes used: 948 (948B)\n\nAllocations", "Total bytes used: 948 (949B)\n\nAllocations")],
        """
warning[human-size-mismatch] 948 bytes are 948B, but the dump prints 949B.
Total bytes used: 948 (949B)
                       ^^^^
""",
    )


def test_reports_wrong_total_of_memory_space() -> None:
    check(
        TPU,
        [("Total bytes: 8 (8B)", "Total bytes: 9 (9B)")],
        """
error[report-mismatch] The report prints a total of 9 bytes for SMEM (memory space 2), but its allocations add up to
8 bytes.
Total bytes: 9 (9B)
^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_memory_space() -> None:
    check(
        TPU,
        [("Memory Space: smem (color=2)", "Memory Space: smem (color=3)")],
        """
error[report-mismatch] The report lists memory space 3 in the place of SMEM (memory space 2).
Memory Space: smem (color=3)
^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_extra_memory_space() -> None:
    check(
        TPU,
        [
            (
                "Memory Space: cmem (color=5)\nTotal bytes: 4194304 (4.00MiB)\n",
                "Memory Space: cmem (color=5)\n"
                "Total bytes: 4194304 (4.00MiB)\n"
                "Memory Space: x (color=6)\n"
                "Total bytes: 4194304 (4.00MiB)\n",
            )
        ],
        """
error[report-mismatch] The report lists memory space 6, but the allocations are in 4 memory spaces.
Memory Space: x (color=6)
^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_allocation_out_of_order() -> None:
    check(
        SAME,
        [("640B; allocation 0:", "640B; allocation 1:")],
        """
error[report-mismatch] The report lists allocation 1 in the place of allocation 0. The largest allocations come
first.
      308B( 32%);       640B; allocation 1: size 308B, parameter 0, shape |f32[77]| at ShapeIndex {}, maybe-live-ou…
                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
""",
    )


def test_reports_extra_allocation() -> None:
    check(
        SAME,
        [
            (
                "maybe-live-out:\n\n\nAllocations sorted",
                "maybe-live-out:\n"
                "      948B(100%);         0B; allocation 4: size 0B, maybe-live-out:\n"
                "\n"
                "\n"
                "Allocations sorted",
            )
        ],
        """
error[report-mismatch] The report lists allocation 4 after all 4 allocations of the buffer assignment.
      948B(100%);         0B; allocation 4: size 0B, maybe-live-out:
                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_header() -> None:
    check(
        SAME,
        [("640B; allocation 0: size 308B,", "640B; allocation 0: size 309B,")],
        """
error[report-mismatch] The header of allocation 0 is not that of the buffer assignment: `allocation 0: size 308B,
parameter 0, shape |f32[77]| at ShapeIndex {}, maybe-live-out:`
      308B( 32%);       640B; allocation 0: size 309B, parameter 0, shape |f32[77]| at ShapeIndex {}, maybe-live-ou…
                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^…
-- Allocation
allocation 0: size 308, parameter 0, shape |f32[77]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_cumulative_size_of_allocations() -> None:
    check(
        SAME,
        [("616B( 65%)", "617B( 65%)")],
        """
error[report-mismatch] The allocations up to here add up to 616B, but the report prints 617B.
      617B( 65%);       332B; allocation 1: size 308B, maybe-live-out:
      ^^^^
-- Allocation
allocation 1: size 308, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_remaining_size_of_allocations() -> None:
    check(
        SAME,
        [("332B; allocation 1", "331B; allocation 1")],
        """
error[report-mismatch] The allocations below add up to 332B, but the report prints 331B.
      616B( 65%);       331B; allocation 1: size 308B, maybe-live-out:
                        ^^^^
-- Allocation
allocation 1: size 308, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_offset_without_value() -> None:
    check(
        SWAP_2025,
        [("400B;          448;", "400B;          440;")],
        """
error[report-mismatch] The report lists offset 440 of allocation 3, but no value starts there.
      400B( 50%);       400B;          440;                1; f32[100]
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_repeated_offset() -> None:
    check(
        SWAP_2025,
        [("     400B( 50%);       400B;          448;", "     400B( 50%);       400B;            0;")],
        """
error[report-mismatch] The table of allocation 3 lists offset 0 twice.
      800B(100%);       400B;            0;                1; f32[100]
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Other occurrence
      400B( 50%);       400B;            0;                1; f32[100]
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_rows_out_of_order() -> None:
    check(
        SPLIT,
        [
            (
                "    2.80MiB(100%);     2.0KiB;      1867776;                1; f32[512]\n"
                "    2.80MiB(100%);       160B;      1593344;                1; f32[4,10]\n",
                "    2.80MiB(100%);       160B;      1593344;                1; f32[4,10]\n"
                "    2.80MiB(100%);     2.0KiB;      1867776;                1; f32[512]\n",
            )
        ],
        """
error[report-mismatch] This row is out of order. In the table of allocation 29, the largest sizes come first.
    2.80MiB(100%);     2.0KiB;      1867776;                1; f32[512]
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <247 ynn_fusion.1 @0> (size=2048,offset=1867776): f32[512]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_missing_row() -> None:
    check(
        SWAP_2025,
        [("     800B(100%);       400B;            0;                1; f32[100]\n", "")],
        """
error[report-mismatch] The table of allocation 3 has 1 offset, but its values start at 2.
 cumulative_size;       size;       offset; used_by_n_values; shapes_list
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_size_of_row() -> None:
    check(
        SWAP_2025,
        [("50%);       400B;", "50%);       401B;")],
        """
error[report-mismatch] The largest value at offset 448 of allocation 3 has 400B, but the report prints 401B.
      400B( 50%);       401B;          448;                1; f32[100]
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <3 copy.1 @0> (size=400,offset=448): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_cumulative_size_of_row() -> None:
    check(
        SWAP_2025,
        [("     800B(100%);       400B;", "     801B(100%);       400B;")],
        """
error[report-mismatch] The rows of allocation 3 up to here add up to 800B, but the report prints 801B.
      801B(100%);       400B;            0;                1; f32[100]
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <1 copy @0> (size=400,offset=0): f32[100]{0}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_number_of_values() -> None:
    check(
        TPU,
        [("4B;            4;                2; 2×u32[]", "4B;            4;                3; 2×u32[]")],
        """
error[report-mismatch] The number of values at offset 4 of allocation 4 is 2, but the report prints 3.
         4B( 50%);         4B;            4;                3; 2×u32[]
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <17 copy-start{2} @2> (size=4,offset=4): u32[]{:S(2)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_shapes() -> None:
    check(
        TPU,
        [("2; 2×u32[]", "2; 2×s32[]")],
        """
error[report-mismatch] The values at offset 4 of allocation 4 have the shapes `2×u32[]`, but the report prints
`2×s32[]`.
         4B( 50%);         4B;            4;                2; 2×s32[]
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Value in its allocation
 value: <17 copy-start{2} @2> (size=4,offset=4): u32[]{:S(2)}
 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_report_of_another_compilation_is_one_finding(tmp_path: Path) -> None:
    paths = dict(find_set(SAME).paths)
    other = find_set(SWAP_2025).paths[FileKind.MEMORY_USAGE_REPORT]
    for kind, path in paths.items():
        copied = other if kind is FileKind.MEMORY_USAGE_REPORT else path
        (tmp_path / path.name).write_bytes(copied.read_bytes())
    found = analysis_of(tmp_path / SAME.name).findings
    assert [finding.problem for finding in found] == [Problem.FOREIGN_REPORT(differences=3)]
    assert len(found[0].related) == 2
