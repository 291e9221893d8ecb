"""Which edits of the columns of dumps are found: the golden file has how many of each set, and those that are not.

A refactoring that loses a check changes this file. `XLA_LENS_GOLDENS=keep` writes it again.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from column_edits import column_edits
from lsp.reading import check_golden
from mutate import ALARMS, Dump, load
from samples import GLUED, TPU, WHILE, fact_of
from xla_lens.disk.sets import find_set

_EDITS: Final = 150
_GOLDEN: Final = Path(__file__).parent / "column_edits"


@pytest.mark.parametrize("path", [WHILE, TPU, GLUED], ids=["while", "tpu", "glued"])
def test_edits_of_columns_are_found_as_recorded(path: Path, request: pytest.FixtureRequest) -> None:
    paths = {str(kind): file for kind, file in find_set(path).paths.items()}
    dump, found, missed = load(paths), Counter[str](), []
    for edit in column_edits(dump.files, random.Random(fact_of(path)["file"]), _EDITS):
        where = _where(dump, {**dump.files, edit.file: edit.data}, edit.file, edit.row)
        found[where] += 1
        if where == "not found":
            missed.append(f"  {edit.column}, {edit.edit}: line {edit.row + 1}, {edit.before!r} → {edit.after!r}")
    lines = [*(f"{where}: {count}" for where, count in sorted(found.items())), *sorted(missed)]
    check_golden(_GOLDEN / f"{request.node.callspec.id}.txt", "\n".join(lines) + "\n")


def _where(dump: Dump, files: dict[str, bytes], kind: str, row: int) -> str:
    """Where the dump has more errors or warnings than before the edit."""
    known = Counter({code: count for (code, *_), count in dump.known.items()})
    alarms = [one for one in dump.findings(files) if one.severity in ALARMS and not known[one.code]]
    places = [place for one in alarms for place in (one.place, *(related.place for related in one.related))]
    rows = [place.file.document.row(place.start) for place in places if str(place.file.kind) == kind]
    if any(abs(other - row) <= 1 for other in rows):
        return "at its line"
    return "elsewhere" if alarms else "not found"
