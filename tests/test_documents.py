"""The examples and lists in the documents match the commands, the library and the code."""

import re
from itertools import takewhile
from pathlib import Path

import pytest

import xla_lens
import xla_lens.api
from documents import DOCS, documents, updated
from xla_lens.model.chip import HBM, HBM_RELEASE
from xla_lens.model.tables.backend import SPACES, Backend, Space, Where
from xla_lens.report.options import Part
from xla_lens.syntax.file_names import SUFFIXES


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_examples_are_up_to_date(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert updated(text) == text, "run `make docs` and review the changes"


def test_every_part_of_a_report_is_explained() -> None:
    text = (DOCS / "reports.md").read_text(encoding="utf-8")
    assert re.findall(r"^### `(\w+)`", text, re.MULTILINE) == list(Part)


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "library.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^### `(\w+)`", text, re.MULTILINE)) == set(xla_lens.api.__all__)
    for name in xla_lens.api.__all__:
        assert getattr(xla_lens, name) is getattr(xla_lens.api, name)
        assert len(getattr(xla_lens, name).__doc__.split()) > 3, f"{name} has no docstring"


def test_every_kind_of_file_is_explained() -> None:
    text = (DOCS / "what-the-numbers-mean.md").read_text(encoding="utf-8")
    for kind, suffix in SUFFIXES.items():
        assert f"| `STEM{suffix}` | `{kind}` |" in text


def test_documented_memory_space_names_match_the_code() -> None:
    text = (DOCS / "what-the-numbers-mean.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    start = next(number for number, row in enumerate(rows) if row[:2] == ["backend", "color"])
    documented = dict[Backend, dict[int, Space]]()
    for backend, color, name, where, _ in takewhile(lambda row: len(row) == 5, rows[start + 2 :]):
        space = Space(name, Where(where.removeprefix("on ")))
        documented.setdefault(Backend(backend.lower()), {})[int(color)] = space
    assert documented == SPACES


def test_documented_memory_of_chips_matches_the_code() -> None:
    text = (DOCS / "what-the-numbers-mean.md").read_text(encoding="utf-8")
    assert f"by libtpu {HBM_RELEASE}" in text
    for name, sizes in HBM.items():
        parts = (f"{size:.2f}: {', '.join(f'`{config}`' for config in names.split())}" for size, names in sizes.items())
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert row.endswith(f" | {'; '.join(parts)} |")
