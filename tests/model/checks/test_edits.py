"""The findings of edited dumps, which the files in `edits` list.

A case is a title, a dump and, for a dump that is held against its HLO module, `with its module`. The lines
with `-` are replaced by those with `+`, also several times, separated by `@@`. The findings follow as `findings_text`
prints them.
"""

from pathlib import Path

import pytest

from goldens import MATMUL, NAMES, REDUCE, SAME, SWAP, SWAP_2025, edited, findings_text, held
from samples import SPLIT, TPU, WHILE
from xla_lens.disk.sets import find_set
from xla_lens.syntax.file_names import FileKind

_DUMPS = {
    "SWAP": SWAP,
    "SWAP_2025": SWAP_2025,
    "SAME": SAME,
    "REDUCE": REDUCE,
    "MATMUL": MATMUL,
    "NAMES": NAMES,
    "SPLIT": SPLIT,
    "TPU": TPU,
    "WHILE": WHILE,
}
_CASES = [
    (path.stem, *case.strip("\n").split("\n", 2))
    for path in sorted((Path(__file__).parent / "edits").glob("*.txt"))
    for case in path.read_text().split("=== ")[1:]
]


@pytest.mark.parametrize(("dump", "case"), [case[2:] for case in _CASES], ids=[" ".join(case[:2]) for case in _CASES])
def test_findings_of_edited_dump(dump: str, case: str) -> None:
    changes, expected = case.split("\n\n", 1)
    edits = [(_lines(change, "-"), _lines(change, "+")) for change in changes.split("\n@@\n")]
    name, _, with_module = dump.partition(" ")
    path = _DUMPS[name]
    if not with_module:
        assert findings_text(edited(path, edits)) == expected
        return
    module = find_set(path).paths[FileKind.HLO].read_text()
    in_module = [edit for edit in edits if edit[0] in module]
    in_dump = [edit for edit in edits if edit not in in_module]
    assert findings_text(held(path, in_dump, in_module)) == expected


def _lines(change: str, sign: str) -> str:
    return "".join(f"{line[1:]}\n" for line in change.split("\n") if line[0] == sign)
