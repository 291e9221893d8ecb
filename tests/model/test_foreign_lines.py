"""A line of an unknown form changes no number and no warrant in any format."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from foreign_lines import KINDS, ROWS, analysis_of_texts, numbers, texts_of, with_lines
from samples import DUMPS, SHARED_DUMPS, dump_file, needs_shared_dumps, never, sweep
from xla_lens.disk.sets import SetFiles, find_sets
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Severity
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.rows import read_columns
from xla_lens.syntax.tables import DumpSection

_SETS = list(find_sets(DUMPS))


def _name(files: SetFiles) -> str:
    return f"{files.stem.parent.parent.name}-{files.stem.parent.name}-{files.stem.name[:12]}"


def _alarms(analysis: Analysis) -> Counter[str]:
    severe = (Severity.ERROR, Severity.WARNING)
    return Counter(repr(finding.problem) for finding in analysis.findings if finding.severity in severe)


def _assert_same(
    before: tuple[Analysis, object, str, str, str], texts: Mapping[FileKind, bytes], line: bytes, kind: FileKind
) -> None:
    after = analysis_of_texts(texts)
    assert _alarms(after[0]) == _alarms(before[0]), (line, kind)
    assert after[0].warrants == before[0].warrants, (line, kind)
    assert after[1:] == before[1:], (line, kind)


@pytest.mark.parametrize("files", sweep(_SETS, 14), ids=_name)
def test_foreign_lines_change_nothing(files: SetFiles) -> None:
    texts = texts_of(files)
    before, chance = analysis_of_texts(texts), random.Random(_name(files))
    for kind, text in texts.items():
        lines = [chance.choice(some) for some in chance.sample(KINDS, 2)]
        for line, changed in with_lines(chance, text, kind, lines):
            _assert_same(before, {**texts, kind: changed}, line, kind)


@pytest.mark.slow
@needs_shared_dumps
def test_foreign_lines_change_nothing_in_the_collection() -> None:
    for files in find_sets(SHARED_DUMPS):
        paths = files.paths.values()
        if all(path.suffix == ".txt" for path in paths) and sum(path.stat().st_size for path in paths) < 2_000_000:
            test_foreign_lines_change_nothing(files)


def _with_rows(chance: random.Random, text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Put a row of another section into the middle of each section."""
    columns = read_columns(text, never)
    tables = (
        (DumpSection.BUFFER_ASSIGNMENT, columns.slices),
        (DumpSection.USED_VALUES, columns.used_values),
        (DumpSection.INSTRUCTION_SEQUENCE, columns.schedule),
        (DumpSection.BUFFER_LIVE_RANGES, columns.live_ranges),
        (DumpSection.PEAK, columns.peak_buffers),
    )
    for section, table in tables:
        others = [row for other, rows in ROWS.items() if other is not section for row in rows]
        for start in table.start[1:-1][:1].tolist():
            place = text.rfind(b"\n", 0, start) + 1
            line = chance.choice(others)
            if text[place:start].isspace() or place == start:
                yield line, text[:place] + line + b"\n" + text[place:]


@pytest.mark.parametrize("files", sweep(_SETS[::2], 6), ids=_name)
def test_rows_of_other_sections_change_nothing(files: SetFiles) -> None:
    texts = texts_of(files)
    before, chance = analysis_of_texts(texts), random.Random(_name(files))
    for kind, text in texts.items():
        if kind in (FileKind.HLO, FileKind.MEMORY_USAGE_REPORT):
            continue
        for line, changed in _with_rows(chance, text):
            _assert_same(before, {**texts, kind: changed}, line, kind)


def _analysed(texts: Mapping[FileKind, bytes]) -> Analysis:
    return analyse(dump_file(text, kind) for kind, text in texts.items())


_DAMAGE: Final = {
    "no comma": (rb",", b""),
    "no colon": (rb":", b""),
    "no digit": (rb"(?<=\d)\d", b""),
    "letter for a digit": (rb"\d", b"x"),
    "no bracket": (rb"[<>(){}]", b""),
    "unreadable": (rb"[^\n]+", b"?!"),
    "deleted": (rb"[^\n]+", b""),
}


@pytest.mark.parametrize("damage", _DAMAGE)
@pytest.mark.parametrize("files", sweep(_SETS[::5], 14), ids=_name)
def test_damaged_rows_make_bounds(files: SetFiles, damage: str) -> None:
    """The warrant of a number that a damaged row changes says that the number is not exact."""
    texts = texts_of(files)
    texts.pop(FileKind.HLO, None)
    before, chance = _analysed(texts), random.Random(damage)
    truth, (pattern, replacement) = numbers(before), _DAMAGE[damage]
    for kind, text in texts.items():
        lines = text.splitlines(keepends=True)
        for _ in range(10):
            row = chance.randrange(len(lines))
            found = list(re.finditer(pattern, lines[row]))
            if not found or b"from instruction" in lines[row]:
                continue
            match = chance.choice(found)
            line = lines[row][: match.start()] + replacement + lines[row][match.end() :]
            one = _analysed({**texts, kind: b"".join([*lines[:row], line, *lines[row + 1 :]])})
            after = numbers(one)
            for key in truth.keys() | after.keys():
                # Nothing shows that a value had another use.
                is_shown = key[0] is not Quantity.USES or damage not in ("unreadable", "deleted")
                if is_shown and truth.get(key, 0) != after.get(key, 0):
                    bound = one.warrants.of(key[0]).bound
                    assert bound is not Bound.EXACT, (key, lines[row], line)
                    assert bound is Bound.UNKNOWN or after.get(key, 0) <= truth.get(key, 0), (key, lines[row], line)
