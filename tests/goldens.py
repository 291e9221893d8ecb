"""Findings of edited dumps as text, to compare with expected texts."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from samples import DUMPS, dump_file, lines_with_marks, module_of_text
from xla_lens.disk.sets import find_set
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.problems import Finding
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.messages import message

REDUCE: Final = DUMPS / "seeds" / "000_65ac1592097277d9.txt"
"""One file from 2022, with values of the computation of a reduction."""

SWAP: Final = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/module_0002.jit_swap*-buffer-assignment.txt"))
"""One file from 2023, with two donated parameters."""

SAME: Final = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/module_0007.jit_same*-buffer-assignment.txt"))
"""Two files from 2025: a peak list with cumulative sizes, and a memory usage report with a list of allocations."""

SWAP_2025: Final = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/module_0005.jit_swap*-buffer-assignment.txt"))
"""The program of `SWAP` in 2025, with a memory usage report that has tables."""

MATMUL: Final = next(DUMPS.glob("gpu-h100-jaxlib0.4.38/matmul/*-buffer-assignment.txt"))
"""One file from 2024, with a tuple."""

NAMES: Final = next(DUMPS.glob("tpu-v5e2x2-*/peak_names/*-buffer-assignment.txt"))
"""Four files from 2026, with values in VMEM."""

_WIDTH: Final = 116


def findings_text(analysis: Analysis) -> str:
    """The severity, code, message, place and related places of each finding.

    Leaves out understated peaks, which half of all dumps have.
    """
    return "\n".join(
        line
        for finding in analysis.findings
        if finding.code is not Code.PEAK_UNDERSTATED
        for line in finding_lines(finding)
    )


def finding_lines(finding: Finding) -> list[str]:
    """One finding; long lines of the dump are truncated."""
    lines = [*_wrapped(f"{finding.severity}[{finding.code}] {message(finding)}"), *_place(finding.place)]
    for related in finding.related:
        lines += [f"-- {related.relation.value}", *_place(related.place)]
    return lines


def _wrapped(text: str) -> list[str]:
    assert "\n" not in text
    assert "  " not in text
    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _place(place: Place) -> list[str]:
    """The line of a place, and a mark below the place unless it is the whole line."""
    # Marks are one column wide, so tabs have to be, too.
    line, mark = lines_with_marks([place]).replace("\t", " ").split("\n")
    is_whole = len(mark) == len(line) and mark.strip() == "^" * len(line.lstrip())
    return [
        part if len(part) <= _WIDTH else part[: _WIDTH - 1] + "…" for part in ([line] if is_whole else [line, mark])
    ]


def files_of(path: Path) -> dict[FileKind, DumpFile]:
    """The parsed files of a dump set."""
    paths = find_set(path).paths
    return {kind: dump_file(path.read_bytes(), kind) for kind, path in paths.items() if kind is not FileKind.HLO}


def edited(path: Path, edits: Sequence[tuple[str, str]]) -> Analysis:
    """Analyze a dump set after replacing texts, each of which occurs exactly once."""
    files = {kind: file.document.data for kind, file in files_of(path).items()}
    for before, after in edits:
        counts = {kind: text.count(before.encode()) for kind, text in files.items()}
        assert sum(counts.values()) == 1, (before, counts)
        kind = max(counts, key=lambda kind: counts[kind])
        files[kind] = files[kind].replace(before.encode(), after.encode())
    return analyse(dump_file(text, kind) for kind, text in files.items())


def held(path: Path, edits: Sequence[tuple[str, str]], in_module: Sequence[tuple[str, str]] = ()) -> Analysis:
    """Analyze a dump set against its HLO module after replacing texts in both, each of which occurs exactly once."""
    text = find_set(path).paths[FileKind.HLO].read_bytes()
    for before, after in in_module:
        assert text.count(before.encode()) == 1, before
        text = text.replace(before.encode(), after.encode())
    return edited(path, edits).with_module(module_of_text(text))


def all_goldens() -> str:
    """The tests of all findings, which print them as `error[syntax]`."""
    folder = Path(__file__).parent / "model" / "checks"
    return "".join(path.read_text() for path in [*folder.glob("test_*.py"), *folder.glob("edits/*.txt")])
