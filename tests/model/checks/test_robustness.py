"""Any edit of a dump can be analyzed, and all findings have messages and places."""

import random
import re
from pathlib import Path

import pytest

from goldens import files_of
from samples import DUMPS, PALLAS, SEED, SPLIT, TPU, dump_file, facts, sweep
from xla_lens.features.report.facts import report
from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.model.analysis import analyse
from xla_lens.model.checks.findings import MAXIMUM_RELATED
from xla_lens.render.memory_map.data import memory_map_data
from xla_lens.render.messages import message
from xla_lens.render.report.outline import report_text

_PATHS = [DUMPS / fact["file"] for fact in facts(DUMPS)]
_ROUNDS = 12
_MOST_EDITS = 4


def _edited(chance: random.Random, lines: list[bytes]) -> list[bytes]:
    """Lines after a random edit: one is deleted, repeated, swapped, inserted elsewhere, or has other numbers."""
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case 3:
            lines[one:one] = lines[other : other + 10]
        case 4:
            del lines[one : one + chance.randrange(40)]
        case _:
            lines[one] = re.sub(rb"\d+", lambda _: b"%d" % chance.choice([0, 1, 7, 10**6, 2**62]), lines[one])
    return lines or [b"\n"]


_TOO_BIG = (b"9" * 19, b"9" * 20, b"-" + b"9" * 30, b"9" * 5000)
"""Numbers that do not fit into 64 bits, and one with more digits than Python parses."""


@pytest.mark.parametrize("most", sweep([2, 40], 2))
@pytest.mark.parametrize("path", [SEED, SPLIT, TPU, PALLAS], ids=lambda path: path.parent.name)
def test_numbers_over_64_bits_are_analyzed_without_errors(path: Path, most: int) -> None:
    """Includes numbers in shapes and instructions, which have readers of their own."""
    chance = random.Random(path.name)
    files = files_of(path)
    for kind, file in files.items():
        text = file.document.data
        numbers = list(re.finditer(rb"\d+", text))
        spaces = [number for number in numbers if text[number.start() - 2 : number.start()] == b"S("]
        for number in chance.sample(numbers, min(most, len(numbers))) + spaces[: most // 2]:
            edited = text[: number.start()] + chance.choice(_TOO_BIG) + text[number.end() :]
            analysis = analyse(
                [other if other.kind is not kind else dump_file(edited, kind) for other in files.values()]
            )
            assert all(map(message, analysis.findings))
            assert memory_map_data(analysis, None)["values"]["label"]
            made = report(analysis, dict.fromkeys(files, "a"), ReportOptions(parts=frozenset(Part)))
            assert list(report_text(made, 100))


@pytest.mark.parametrize("path", sweep(_PATHS, 9), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_findings_of_random_edits_have_messages(path: Path) -> None:
    chance = random.Random(path.name)
    files = files_of(path)
    for number in range(_ROUNDS):
        kind = chance.choice(sorted(files))
        lines = files[kind].document.data.splitlines(keepends=True)
        for _ in range(chance.randint(1, _MOST_EDITS)):
            lines = _edited(chance, lines)
        edited = [file if file.kind is not kind else dump_file(b"".join(lines), kind) for file in files.values()]
        for finding in analyse(edited).findings:
            text = message(finding)
            assert text, number
            assert "\n" not in text
            assert len(finding.related) <= MAXIMUM_RELATED
            for place in (finding.place, *(related.place for related in finding.related)):
                assert 0 <= place.start <= place.end <= len(place.file.document.data)
