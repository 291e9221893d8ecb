"""What hovers say."""

from pathlib import Path

import pytest

from samples import DUMPS, SEED, TPU, analysis_of, analysis_of_text, assignments, dump_file, mark
from xla_lens.features.hover import hover
from xla_lens.features.hover.facts import PeakFacts, SpacePeak
from xla_lens.features.hover.steps import peak_facts
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.places.mentions import mention_at
from xla_lens.model.tables.backend import SpaceId
from xla_lens.render.hover import hover_markdown
from xla_lens.syntax.file_names import FileKind


def check(analysis: Analysis, marked: str, expected: str) -> None:
    """The hover at a marked place."""
    _, mention = mark(analysis, marked)
    assert mention is not None
    assert hover_markdown(hover(analysis, None, mention)) == expected.strip("\n")


def test_a_value() -> None:
    check(
        analysis_of(SEED),
        "    cublas-gemm.1{}:4-5\n     ^",
        """
`cublas-gemm.1` (value 4) · **4.0 KiB**

- shape `f32[64,16]{1,0}`
- size 4.0 KiB (4,096 bytes)
- at offset 0 of allocation 2 (maybe-live-out, 4.0 KiB), HBM
- live from step 4 (`cublas-gemm.1`) to 5 (`negate.0`): there it is read for the last time
- **live at the peak** of HBM: 0.7 % of 580.0 KiB
- 1 other value on the same bytes:
  - `negate.0` 4.0 KiB, steps 5 to 7
- made by `custom-call`
- op_name `parallelize(func_shard_parallel)/dot_general[dimension_numbers=(((1,), (0,)), ((), ())) precision=None preferred_element_type=None]`
- source `test_auto_sharding_basic.py:52`
""",  # noqa: E501
    )


def test_a_parameter() -> None:
    check(
        analysis_of(SEED),
        "    param{}:0-7\n     ^",
        """
`param` (value 0) · **256.0 KiB**

- shape `f32[64,256,4]{2,1,0}`
- size 256.0 KiB (262,144 bytes)
- at offset 0 of allocation 0 (parameter, 256.0 KiB), HBM
- live from step 0 (`param.1`) to 7: a parameter, whose bytes belong to the caller to the end
- **live at the peak** of HBM: 44.1 % of 580.0 KiB
- made by `parameter`
""",
    )


def test_padding() -> None:
    check(
        analysis_of(TPU),
        "    copy-start{2}:3-4\n     ^",
        """
`copy-start{2}` (value 17) · **4 B**

- shape `u32[]{:S(2)}`
- size 4 B
- at offset 4 of allocation 4 (preallocated-temp, 8 B), SMEM
- live from step 3 (`copy-start`) to 4 (`copy-done`): there it is read for the last time
- **live at the peak** of SMEM: 50.0 % of 8 B
- 1 other value on the same bytes:
  - `copy-start.1{2}` 4 B, steps 5 to 6
- made by `copy-start`
""",
    )
    seed = analysis_of(DUMPS / "seeds" / "004_58de9a4b501a9eb8.txt")
    marked = "    Arg_0.1{}:0-7\n     ^"
    text = hover_markdown(hover(seed, None, mark(seed, marked)[1]))  # type: ignore[arg-type]
    assert "- size 1.0 KiB (1,024 bytes), of which 992 B are padding, 32.0 times the shape" in text


def test_an_allocation() -> None:
    check(
        analysis_of(TPU),
        "allocation 2: size 4243456, page 0, preallocated-temp:\n   ^",
        """
**allocation 2** · **4.05 MiB** · preallocated-temp

- size 4.05 MiB (4,243,456 bytes) in HBM
- at most 4.00 MiB of it are live at once (98.9 %), first at step 3; 47.0 KiB are never used at the same time
- at the peak of HBM, step 8: 4.00 MiB live, 48.0 KiB idle
- fill over time ` ▁███████`
- its full size is needed at steps 2 to 8
- 5 values:
  - `broadcast_multiply_fusion` 4.00 MiB
  - `copy-start.1{0}` 4.00 MiB
  - `copy-start{}` 512 B
  - `copy-start.1{}` 512 B
  - `copy-start.2{}` 512 B
""",
    )


def test_a_step() -> None:
    check(
        analysis_of(TPU),
        "    5:copy-start.1\n    ^",
        """
**step 5** · `copy-start.1`

- HBM: 8.00 MiB live; before 8.00 MiB, after 8.00 MiB
- VMEM: 4.00 MiB live; before 4.00 MiB, after 4.00 MiB
- SMEM: 8 B live; before 8 B, after 8 B
- host memory: 4.00 MiB live; before 4.00 MiB, after 4.00 MiB
- born: `copy-start.1{0}` 4.00 MiB, `copy-start.1{}` 512 B, `copy-start.1{2}` 4 B
- dies after it: nothing
""",
    )


def test_the_printed_peak() -> None:
    check(
        analysis_of(SEED),
        "  Live ranges at 5 (peak):\n     ^",
        """
**Printed peak**: 328.0 KiB at step 5

| memory space | true peak | at step | live at the printed step | reserved |
|---|--:|--:|--:|--:|
| HBM | 580.0 KiB | 4 `cublas-gemm.1` | 324.0 KiB | 580.0 KiB |

Why the numbers differ:
- XLA looks for the step with sums of its own: 584.0 KiB at step 5, 580.0 KiB at step 4. There an element of a tuple \
counts as the tuple's whole table of pointers, each value counts for one step more (here 256.0 KiB), and all memory \
spaces count together.
- Its list has values twice on the same bytes, where one hands them over to the next: 4.0 KiB as assigned.
""",
    )
    check(
        analysis_of(TPU),
        "  Live ranges at 5 (peak):\n     ^",
        """
**Printed peak**: 16.00 MiB at step 5

| memory space | true peak | at step | live at the printed step | reserved |
|---|--:|--:|--:|--:|
| HBM | 12.00 MiB | 8 `fusion.2` | 8.00 MiB | 12.05 MiB |
| VMEM | 4.00 MiB | 1 `copy-start.2` | 4.00 MiB | 4.00 MiB |
| SMEM | 8 B | 3 `copy-start` | 8 B | 8 B |
| host memory | 4.00 MiB | 3 `copy-start` | 4.00 MiB | 4.00 MiB |

Why the numbers differ:
- XLA looks for the step with sums of its own: 8,388,824 bytes at step 5, 8,388,704 bytes at step 8. There an element \
of a tuple counts as the tuple's whole table of pointers, each value counts for one step more (here 4.00 MiB), and all \
memory spaces count together.
- Its list mixes memory spaces: 8.00 MiB of it are not in HBM.
- It adds up shapes without padding; what it lists was given 976 B more.
""",
    )


def test_whole_tuples_are_told_of_where_they_are_printed() -> None:
    analysis = analysis_of(DUMPS / "seeds" / "003_a3085531593bac68.txt")
    assert peak_facts(analysis, 0).is_whole_tuples
    dump = analysis.dump
    labels = [dump.value_label(value) for value in dump.value_of_peak_buffer]
    printed = dict(zip(labels, dump.peak_buffers.size_bytes.tolist(), strict=True))
    assert printed["copy-start{0}"] == 3 * 8
    assert not peak_facts(analysis_of(SEED), 0).is_whole_tuples


def test_a_set_with_files_missing_says_so() -> None:
    analysis = analyse([dump_file(TPU.read_bytes())])
    check(
        analysis,
        " value: <13 x.1 @0> (size=4194304,offset=0): f32[1024,1024]{1,0:T(8,128)}\n           ^",
        """
`x.1` (value 13) · **4.00 MiB**

- shape `f32[1024,1024]{1,0:T(8,128)}`
- size 4.00 MiB (4,194,304 bytes)
- at offset 0 of allocation 1 (parameter, 4.00 MiB), HBM
- the set has no values (`-buffer-assignment-values.txt`): positions, uses and instructions are not known
- the set has no live ranges (`-live-range.txt` since 2026): when it is live is not known
""",
    )
    live = next(TPU.parent.glob("*roundtrip*-live-range.txt")).read_bytes()
    alone = analyse([dump_file(live, FileKind.LIVE_RANGE)])
    assert mark(alone, "    x.1{}:0-9\n     ^")[1] is not None
    missing = (
        "- the set has no buffer assignment (`-buffer-assignment.txt`): size and place are not known\n"
        "- the set has no values (`-buffer-assignment-values.txt`): positions, uses and instructions are not known"
    )
    check(alone, "    x.1{}:0-9\n     ^", f"`x.1` runs at step 0.\n\n{missing}")
    check(alone, "    3:copy-start\n    ^", f"**step 3** · `copy-start`\n\n{missing}")
    check(alone, "  Live ranges at 5 (peak):\n     ^", f"**Printed peak**: 16.00 MiB at step 5\n\n{missing}")


def test_an_alias_says_whose_bytes_it_shows() -> None:
    _, mention = mark(analysis_of(TPU), "    6:copy-done.1\n      ^")
    assert mention
    lines = hover_markdown(hover(analysis_of(TPU), None, mention)).split("\n")
    assert lines[0] == "`copy-start.1{0}` (value 19) · **4.00 MiB**"
    assert "- `copy-done.1` shows its bytes and has none of its own" in lines


def test_an_instruction_without_a_value() -> None:
    text = SEED.read_text().replace("    3:fusion", "    3:after-all")
    check(
        analysis_of_text(text),
        "    3:after-all\n        ^",
        "`after-all` runs at step 3.\n\nIt holds no value of its own.",
    )


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_every_byte_of_every_file_can_be_hovered(path: Path) -> None:
    analysis = analysis_of(path)
    for file in analysis.dump.files:
        mentions = {mention_at(analysis.dump, file, at) for at in range(0, len(file.document.data), 7)}
        for mention in mentions - {None}:
            assert hover_markdown(hover(analysis, None, mention))  # type: ignore[arg-type]


def test_no_reason_is_told_where_there_is_none() -> None:
    space = SpacePeak(SpaceId(0, None), 200, 100, 3, "a", 100)
    facts = PeakFacts(3, 100, 0, 100, 8, 8, None, is_whole_tuples=True, spaces=(space,), missing=())
    assert "Why" not in hover_markdown(facts)
