"""Code actions."""

from samples import (
    SEED,
    SPLIT,
    TPU,
    analysis_of,
    analysis_of_text,
    mark,
)
from xla_lens.editor.annotations import EditorAction, actions, source_actions
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.places import Place


def _seed_with(line: str, other: str) -> Analysis:
    text = SEED.read_text()
    assert text.count(line) == 1
    return analysis_of_text(text.replace(line, other))


_TOO_EARLY = _seed_with("    negate.0{}:5-7", "    negate.0{}:3-7")


def check(analysis: Analysis, marked: str, expected: str) -> None:
    """Return the actions at a marked place, with the lines that they go to."""
    file, _ = mark(analysis, marked)
    line = marked.strip("\n").split("\n")
    offset = (b"\n" + file.document.data).index(b"\n" + line[0].encode() + b"\n") + line[1].index("^")
    assert "\n".join(map(_action_text, actions(analysis, file, (offset, offset)))) == expected.strip("\n")


def _action_text(action: EditorAction) -> str:
    place = action.target
    if not isinstance(place, Place):
        return action.title
    return f"{action.title} -> {place.file.document.data[place.start : place.end].decode()}"


def test_schedule_has_actions() -> None:
    check(
        analysis_of(SEED),
        "    3:fusion\n    ^",
        """
Show values live at step 3
Go to the real HBM peak: 580.0 KiB at step 4 -> cublas-gemm.1
Go to Python source: test_auto_sharding_basic.py:50
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        analysis_of(SEED),
        "    3:fusion\n      ^",
        """
Show values live at step 3
Go to the real HBM peak: 580.0 KiB at step 4 -> cublas-gemm.1
Show the history of allocation 4
Go to Python source: test_auto_sharding_basic.py:50
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        analysis_of(SEED),
        "    4:cublas-gemm.1\n    ^",
        """
Show values live at step 4
Go to Python source: test_auto_sharding_basic.py:52
Show what would lower the peak
Show the report as Markdown
""",
    )


def test_live_range_has_actions() -> None:
    check(
        analysis_of(SEED),
        "    negate.0{}:5-7\n      ^",
        """
Go to the real HBM peak: 580.0 KiB at step 4 -> cublas-gemm.1
Show the history of allocation 2
Go to Python source: test_auto_sharding_basic.py:53
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        analysis_of(SEED),
        "    negate.0{}:5-7\n               ^",
        """
Show values live at step 5
Go to the real HBM peak: 580.0 KiB at step 4 -> cublas-gemm.1
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        analysis_of(TPU),
        "    copy-start{0}:3-6\n     ^",
        """
Go to the real host memory peak: 4.00 MiB at step 3 -> copy-start
Show the history of allocation 5
Show what would lower the peak
Show the report as Markdown
""",
    )


def test_printed_peak_has_actions() -> None:
    check(
        analysis_of(SEED),
        "  Live ranges at 5 (peak):\n     ^",
        """
Explain peak-understated
Show values live at step 5
Go to the real HBM peak: 580.0 KiB at step 4 -> cublas-gemm.1
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        analysis_of(TPU),
        "  Live ranges at 5 (peak):\n     ^",
        """
Explain peak-understated
Show values live at step 5
Go to the real HBM peak: 12.00 MiB at step 8 -> fusion.2
Show what would lower the peak
Show the report as Markdown
""",
    )


def test_allocation_and_its_value_have_actions() -> None:
    check(
        analysis_of(TPU),
        "allocation 2: size 4243456, page 0, preallocated-temp:\n   ^",
        """
Show the history of allocation 2
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        analysis_of(SPLIT),
        "<244 dot @0>\n   ^",
        """
Go to the real host memory peak: 4.21 MiB at step 36 -> ynn_fusion.1
Show the history of allocation 29
Show what would lower the peak
Show the report as Markdown
""",
    )


def test_findings_can_be_explained() -> None:
    check(
        _TOO_EARLY,
        "    negate.0{}:3-7\n     ^",
        """
Explain live-range-start
Show the history of allocation 2
Go to Python source: test_auto_sharding_basic.py:53
Show what would lower the peak
Show the report as Markdown
""",
    )
    check(
        _TOO_EARLY,
        "  Live ranges at 5 (peak):\n     ^",
        """
Show values live at step 5
Show what would lower the peak
Show the report as Markdown
""",
    )


def test_positions_without_a_mention_offer_only_the_report() -> None:
    check(
        analysis_of(SEED),
        "  BufferLiveRange:\n     ^",
        """
Show what would lower the peak
Show the report as Markdown
""",
    )


def test_user_frame_comes_before_library_frames() -> None:
    library, user = StackFrame("/lib/python3.11/a.py", 1), StackFrame("/home/user/b.py", 2, 3, "f")
    same = StackFrame("/home/user/b.py", 2, 9, "f")
    others = [StackFrame(f"/home/user/{number}.py", number) for number in range(9)]
    found = source_actions([library, user, same, StackFrame("<string>", 1), *others])
    assert [action.target for action in found] == [user, library, *others[:3]]
    assert [action.target for action in source_actions([library])] == [library]
    assert source_actions([StackFrame("<string>", 1)]) == source_actions([]) == []
