"""Findings about the form of a dump: files that were cut off, and parts without their header."""

import random
from pathlib import Path

import pytest

from samples import DUMPS, SEED, SPLIT, TPU, analysis_of_text, dump_files, member
from xla_lens.files import find_set
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.findings import Code
from xla_lens.model.members import Member
from xla_lens.render.messages import message
from xla_lens.syntax.file_names import MemberKind

_CUTS = 30


def _members(path: Path) -> dict[MemberKind, Member]:
    paths = find_set(path).paths
    return {kind: member(path.read_bytes(), kind) for kind, path in paths.items() if kind is not MemberKind.HLO}


def _messages(analysis: Analysis) -> list[str]:
    return [f"{finding.code}: {message(finding)}" for finding in analysis.findings]


@pytest.mark.parametrize("path", dump_files(DUMPS), ids=lambda path: str(path.relative_to(DUMPS)))
def test_a_cut_within_a_line_is_always_found(path: Path) -> None:
    text = path.read_bytes().rstrip()
    chance = random.Random(str(path.name))
    for _ in range(_CUTS):
        cut = chance.randrange(1, len(text) + 1)
        if text[cut - 1 : cut] != b"\n":
            assert analyse([member(text[:cut])]).findings, f"{path}: {cut}"


@pytest.mark.parametrize("path", [SPLIT, TPU], ids=["cpu", "tpu"])
@pytest.mark.parametrize("kind", [MemberKind.BUFFER_ASSIGNMENT, MemberKind.VALUES, MemberKind.LIVE_RANGE])
def test_a_cut_between_lines_of_a_file_of_a_set_is_found(path: Path, kind: MemberKind) -> None:
    members = _members(path)
    starts = members[kind].document.line_starts.tolist()
    found = set()
    for cut in starts[1:-1] if len(starts) < 200 else random.Random(0).sample(starts[1:-1], 200):
        text = members[kind].document.data[:cut]
        rest = members[kind].document.data[cut:].split(b"\n")[0]
        # Older releases end before the stack traces, and a branch may have no bytes of its own.
        is_whole = rest.startswith(b"  Stack trace") or b"current: 0 bytes" in rest or not text.strip()
        if not is_whole:
            findings = analyse(
                [members[other] if other is not kind else member(text, kind) for other in members]
            ).findings
            assert findings, f"{cut}: {text[-80:]!r}"
            found |= {finding.code for finding in findings}
    assert Code.TRUNCATED_DUMP in found


def test_where_a_cut_file_ends() -> None:
    members = _members(SPLIT)
    live = members[MemberKind.LIVE_RANGE].document.data
    for last, expected in (
        (b"    35:dot\n", "before the live ranges"),
        (b"    dot{}:35-37\n", "before all that is live at the peak is listed"),
        (b"    dot{}:35-", "in the middle of a line"),
    ):
        text = live[: live.index(last) + len(last)]
        cut = analyse(
            [
                *(members[kind] for kind in members if kind is not MemberKind.LIVE_RANGE),
                member(text, MemberKind.LIVE_RANGE),
            ]
        )
        assert _messages(cut) == [
            f"truncated-dump: The file ends {expected}: cut off, so that what is told here may be wrong."
        ]
        place = cut.findings[0].place
        assert text[place.start : place.end] == last.rstrip()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("BufferAssignment:\n", "`BufferAssignment:` is missing"),
        ("Used values:\n", "`Used values:` is missing"),
        ("HloLiveRange (max 7):\n", "`HloLiveRange (max ...):` is missing"),
        ("  InstructionSequence:\n", "`InstructionSequence:` is missing"),
        ("  BufferLiveRange:\n", "`BufferLiveRange:` is missing"),
        ("<5 fusion @0>\n", "`<...>, a value` is missing"),
    ],
)
def test_a_missing_header(line: str, expected: str) -> None:
    text = SEED.read_text()
    assert text.count(line) == 1
    messages = _messages(analysis_of_text(text.replace(line, "")))
    assert len(messages) == 1
    assert messages[0].startswith("syntax: ")
    assert expected in messages[0]


def test_an_allocation_without_header_is_one_finding() -> None:
    members = _members(SPLIT)
    lines = members[MemberKind.BUFFER_ASSIGNMENT].document.data.split(b"\n")
    lines.remove(next(line for line in lines if line.startswith(b"allocation 1:")))
    kinds = [kind for kind in members if kind is not MemberKind.BUFFER_ASSIGNMENT]
    broken = analyse([member(b"\n".join(lines)), *(members[kind] for kind in kinds)])
    assert _messages(broken) == [
        "syntax: Allocation 1 is missing before this one. XLA numbers allocations without gaps."
    ]
