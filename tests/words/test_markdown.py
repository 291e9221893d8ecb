"""Reports as Markdown: no name from a dump can become markup or break a table."""

import re

import pytest
from msgspec.structs import replace

from samples import SEED, analysis_of, on_all_dumps, on_each_dump
from xla_lens.blocks.blocks import Name, Outline, Section, command, table
from xla_lens.blocks.markdown import LONGEST_COMMENT, markdown_text, shortened
from xla_lens.cli.main import main
from xla_lens.model.analysis import Analysis
from xla_lens.report.facts import Report, report
from xla_lens.report.options import DEFAULT_PARTS, Part, ReportOptions
from xla_lens.report.outline import report_markdown
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.markdown import code

HOSTILE = [
    "a",
    "`",
    "a`b``c",
    "[x](command:y)",
    "x](https://example.com)",
    '<img src="x" onerror="y">',
    "a\nb",
    "`` `",
    "a|b",
    "a\\|b",
    "a\\\\|b\\",
    "| --- |",
    "# a",
    "</code><script>",
    "&lt;b&gt; **c** _d_ ~~e~~ :smile: @someone #1",
    "\x1b[31m",
]


def outside_of_code(markdown: str) -> str:
    """A line without inline code: as in CommonMark, from a run of backticks to the next run of the same length."""
    left = ""
    while found := re.search("`+", markdown):
        end = re.search(f"(?<!`){found[0]}(?!`)", markdown[found.end() :])
        assert end, f"a fence without an end: {markdown!r}"
        left += markdown[: found.start()] + "CODE"
        markdown = markdown[found.end() + end.end() :]
    return left + markdown


def cell_counts(row: str) -> set[int]:
    """The possible numbers of cells in a row: some readers treat any backslash before a pipe as an escape, others only
    one that is not escaped itself.
    """
    naive = re.sub(r"\\\|", "", row)
    careful = re.sub(r"\\.", "", row)
    return {naive.count("|") - 1, careful.count("|") - 1}


def check_structure(lines: list[str]) -> None:
    """Check that only our own words are outside of code, and that each row has as many cells as its header."""
    columns: set[int] = set()
    fence = ""
    for line in lines:
        assert "\n" not in line
        if re.fullmatch("`{3,}", line):
            assert fence in ("", line)
            fence = "" if fence else line
            continue
        if fence:
            continue
        assert re.fullmatch(r"[\w .,:;()%+=…×█▏▎▍▌▋▊▉≥≤−/'|&#^–-]*", outside_of_code(line)), line
        columns = (columns or cell_counts(line)) if line.startswith("|") else set()
        assert not columns or cell_counts(line) == columns, line
    assert not fence


def _report(analysis: Analysis, name: str = "a/b.txt", **options: object) -> Report:
    return report(analysis, {FileKind.BUFFER_ASSIGNMENT: name}, replace(ReportOptions(top=5), **options))


@pytest.mark.parametrize("text", HOSTILE)
def test_code_quotes_any_text(text: str) -> None:
    quoted = code(text)
    fence = quoted[: len(quoted) - len(quoted.lstrip("`"))]
    assert quoted.endswith(fence)
    assert fence not in quoted[len(fence) : -len(fence)].split(" ")
    assert "\n" not in quoted
    assert outside_of_code(f"before {quoted} after") == "before CODE after"


def test_code_of_blank_text_is_empty() -> None:
    assert code(" \n") == ""


@pytest.mark.parametrize("text", HOSTILE)
def test_names_stay_in_their_cells_and_lines(text: str) -> None:
    name = Name(text)
    rows = ((name, "1", ("  ", name, " words")), ((name, ", ", name), "2", name))
    section = Section(("Title ", name), (table("< | size | <name", rows), ("sentence ", name), name))
    outline = Outline(name, (("label", (name, command(f"run {text}"))),), ((section,),))
    check_structure(list(markdown_text(outline)))


def test_report_as_markdown() -> None:
    parts = frozenset({Part.TOTALS, Part.PEAK, Part.LIVE, Part.SOURCE, Part.ARENAS})
    text = "\n".join(report_markdown(_report(analysis_of(SEED), parts=parts, top=2)))
    assert (
        text
        == """\
## `b.txt`

It needs 580.0 KiB of HBM.

All but 8 B of it is live at once, at step 4 of 7 (`cublas-gemm.1`).

XLA prints its peak at step 5, where 324.0 KiB are live: 44.1 % short.

- files: buffer-assignment in `a`
- reserved: 580.0 KiB in 5 allocations
- contains: 6 values, 7 scheduled instructions

### Live at the HBM peak: 580.0 KiB in 4 values at step 4 (`cublas-gemm.1`)

| size | share | value | source | shape | live | op_name |
|--:|--:|---|---|---|---|---|
| 256.0 KiB | 44.1 % | `param` |  | `f32[64,256,4]{2,1,0}` | 0–7 |  |
| 256.0 KiB | 44.1 % | `fusion` | `test_auto_sharding_basic.py:50` | `f32[64,1024]{1,0}` | 3–4 | `parallelize(func_shard_parallel)/reshape[new_sizes=(64, 1024) dimensions=None]` |

... and 2 smaller values

### HBM peak by op_name: 580.0 KiB

| size | share | op_name |
|--:|--:|---|
| 320.0 KiB | 55.2 % | (no op_name)  2 values |
| 260.0 KiB | 44.8 % | `parallelize(func_shard_parallel)`  2 values |
| 256.0 KiB | 44.1 % | &emsp;`reshape[new_sizes=(64, 1024) dimensions=None]`  1 value |
| 4.0 KiB | 0.7 % | &emsp;(smaller) |

### HBM peak by opcode: 580.0 KiB

| size | share | opcode |
|--:|--:|---|
| 320.0 KiB | 55.2 % | `parameter`  2 values |
| 256.0 KiB | 44.1 % | `fusion`  1 value |
| 4.0 KiB | 0.7 % | (smaller) |

### HBM peak by kind: 580.0 KiB

| size | share | kind |
|--:|--:|---|
| 320.0 KiB | 55.2 % | `parameter`  2 values |
| 256.0 KiB | 44.1 % | `temp`  1 value |
| 4.0 KiB | 0.7 % | (smaller) |

### Preallocated temps in HBM

|  | size | peak | fragmentation | free at the HBM peak | size set by |
|---|--:|--:|--:|--:|---|
| allocation 4 | 256.0 KiB | 256.0 KiB | 0.0 % | 0 B in 0 holes | `fusion` |

### Memory space

|  | needed | reserved | parameter | temp | output |
|---|--:|--:|--:|--:|--:|
| HBM | 580.0 KiB | 580.0 KiB | 320.0 KiB | 256.0 KiB | 4.0 KiB |

### Peak

|  | live bytes | of reserved | at step | instruction | live at the printed peak |
|---|--:|--:|--:|---|--:|
| HBM | 580.0 KiB | 100.0 % | 4 | `cublas-gemm.1` | 324.0 KiB |

XLA prints a peak of 328.0 KiB at step 5.

### What XLA's printed peak counts

|  | printed list | counted at step 5 | counted at step 4 |
|---|--:|--:|--:|
| live in HBM | 324.0 KiB | 324.0 KiB | 580.0 KiB |
| ended one step earlier | 0 B | +256.0 KiB | 0 B |
| shared bytes counted more than once | +4.0 KiB | +4.0 KiB | 0 B |
| = XLA's sum | 328.0 KiB | 584.0 KiB | 580.0 KiB |

XLA prints the first step at which its own sum is largest."""  # noqa: E501
    )


@on_each_dump
def test_tables_of_every_report_are_well_formed(path: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(path), "--output-format", "markdown", "--part", ",".join(Part), "--budget", "1KiB"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("## `")
    check_structure(lines)
    assert lines.count("") >= sum(line.startswith("#") for line in lines)


def _markdown(analysis: Analysis) -> list[str]:
    return list(report_markdown(_report(analysis, parts=DEFAULT_PARTS - {Part.ALIVE, Part.DONATION, Part.SOURCE})))


@on_all_dumps(_markdown)
def test_tables_of_the_collection_are_well_formed(of_all_dumps: dict[str, list[str]]) -> None:
    for lines in of_all_dumps.values():
        check_structure(lines)


# ---------------------------------------------------------------- comments


@pytest.mark.parametrize("length", [99, 1])
def test_lines_that_just_fit_into_a_comment_are_complete(length: int) -> None:
    lines = ["x" * length] * (LONGEST_COMMENT // (length + 1))
    assert len("\n".join(lines)) in range(LONGEST_COMMENT - 100, LONGEST_COMMENT + 1)
    assert [*shortened(lines)] == lines


@pytest.mark.parametrize("last", ["x" * 99, "x" * 999_999])
def test_longer_markdown_is_cut_at_a_line_and_says_so(last: str) -> None:
    lines = ["x" * 99] * (LONGEST_COMMENT // 100) + [last]
    cut = [*shortened(lines)]
    assert len("\n".join(cut)) in range(LONGEST_COMMENT - 100, LONGEST_COMMENT + 1)
    assert cut[:-2] == lines[: len(cut) - 2]
    assert cut[-2:] == [
        "",
        "**Cut here:** a comment on GitHub has at most 65,536 characters. `--top` and `--part` show less.",
    ]
