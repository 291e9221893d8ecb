"""Every cut of every file of a dump set is found, or changes nothing that is shown, or what is shown says so."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from samples import DUMPS, FORMS, SHARED_DUMPS, dump_file, module_of_text, needs_shared_dumps, sweep
from xla_lens.features.report.facts import report
from xla_lens.features.report.options import Part, report_options
from xla_lens.files import SetFiles, find_sets
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.findings import Finding
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile, kind_of_content
from xla_lens.render.report.data import report_data
from xla_lens.syntax.file_names import FileKind

_PARTS = frozenset(Part) - {Part.BUDGET}
_ABOUT_WARRANTS = ("complete", "incomplete", "left_out", "findings", "bounds")


class _Set:
    """A dump set as `xla-lens check` and `xla-lens report` show it, and after a cut of one of its files."""

    def __init__(self, files: SetFiles, kinds: tuple[FileKind, ...]) -> None:
        self.labels = {kind: str(files.paths[kind]) for kind in kinds}
        self.texts = {kind: files.paths[kind].read_bytes() for kind in kinds}
        texts = [(kind, text) for kind, text in self.texts.items() if kind is not FileKind.HLO]
        self._files: dict[FileKind, DumpFile] = {kind: dump_file(text, kind) for kind, text in texts}
        text = self.texts.get(FileKind.HLO)
        self._module = module_of_text(text) if text is not None else None
        self.analysis, self.shown = self._shown(self._files, self._module)
        self._known = Counter(map(_identity, self.analysis.findings))

    def _shown(self, files: Mapping[FileKind, DumpFile], module: HloModule | None) -> tuple[Analysis, Any]:
        analysis = analyse(files.values())
        options = report_options(_PARTS, top=None, at_step=None, budget_bytes=None, is_json=True, through_loops=True)
        shown = report_data(report(analysis, self.labels, options, module))
        checked = analysis.with_module(module) if module else analysis
        return checked, json.loads(json.dumps(shown))

    def outcome(self, kind: FileKind, size: int) -> tuple[str, Any]:
        """What a cut of a file at `size` bytes does, and what is wrong with that."""
        text = self.texts[kind][:size]
        files, module = self._files, self._module
        if kind is FileKind.HLO:
            # A file that does not begin like a module counts as missing.
            module = module_of_text(text)
        else:
            files = {**files, kind: dump_file(text, kind)}
        analysis, shown = self._shown(files, module)
        known = self._known.copy()
        found: list[Finding] = []
        for finding in analysis.findings:
            if finding.severity in (Severity.ERROR, Severity.WARNING):
                if known[_identity(finding)]:
                    known[_identity(finding)] -= 1
                else:
                    found.append(finding)
        if found:
            codes = tuple(sorted(finding.code.value for finding in found))
            return "found" if codes == (Code.TRUNCATED_DUMP,) else "found as", codes
        if shown == self.shown:
            return "equal", ()
        wrong = list(_unmarked(self.shown, shown))
        return ("unmarked", wrong) if wrong or shown["complete"] else ("marked", ())


def _identity(finding: Finding) -> tuple[str, str, str]:
    document = finding.place.file.document
    start, end = document.line_span(document.row(finding.place.start))
    return finding.code, finding.place.file.kind, document.data[start:end].decode(errors="replace")


def _unmarked(whole: Any, cut: Any, where: str = "") -> Iterator[str]:
    """The numbers of a report that differ from those of the whole dump, although nothing says that they may."""
    if isinstance(whole, dict) and isinstance(cut, dict):
        bounds = cut.get("bounds", {})
        for key in (whole.keys() | cut.keys()) - {*_ABOUT_WARRANTS}:
            one: Any = whole.get(key)
            other: Any = cut.get(key)
            is_bound = bounds.get(key) == "at_least" and (not isinstance(other, int) or one is None or other <= one)
            if key == "memory_spaces" and "reserved_bytes" in bounds:
                # Allocations of further spaces may be missing.
                colors = [space["color"] for space in other]
                one = [space for space in whole[key] if space["color"] in colors]
            if one != other and other not in (None, [], {}) and not is_bound:
                yield from _unmarked(one, other, f"{where}/{key}")
    elif isinstance(whole, list) and isinstance(cut, list) and len(whole) == len(cut):
        for number, (one, other) in enumerate(zip(whole, cut, strict=True)):
            yield from _unmarked(one, other, f"{where}/{number}") if one != other else ()
    else:
        yield f"{where}: {str(cut)[:60]}, not {str(whole)[:60]}"


def _sizes(data: bytes, lines: int, others: int, chance: random.Random) -> list[int]:
    """Sizes to which a file is cut: ends of lines, and any bytes."""
    ends = [place + 1 for place, byte in enumerate(data[:-1]) if byte == 10]
    start = next((end for end in range(1, min(99, len(data))) if kind_of_content(data[:end])), 1)
    anywhere = range(start, len(data))
    return sorted({*chance.sample(ends, min(lines, len(ends))), *chance.sample(anywhere, min(others, len(anywhere)))})


def _outcomes(files: SetFiles, lines: int, others: int) -> Iterator[tuple[str, str, Any]]:
    """The outcomes of cuts of a set: with its HLO module, without it, and of each file alone. Each with the place of
    the cut and details.
    """
    kinds = tuple(files.paths)
    dumps = tuple(kind for kind in kinds if kind is not FileKind.HLO)
    for variant in dict.fromkeys([kinds, dumps, *((kind,) for kind in dumps)]):
        one, chance = _Set(files, variant), random.Random(f"{files.stem.name} {variant}")
        for kind in variant:
            for size in _sizes(one.texts[kind], lines, others, chance):
                yield f"{' '.join(variant)}: {kind} to {size} bytes", *one.outcome(kind, size)


def _check(files: SetFiles, lines: int, others: int) -> Counter[str]:
    """Assert that each cut is found, equal or marked, and return how many have each outcome."""
    found = [*_outcomes(files, lines, others)]
    wrong = [(place, details) for place, outcome, details in found if outcome == "unmarked"]
    assert not wrong
    return Counter(outcome for _, outcome, _ in found)


@pytest.mark.parametrize("files", sweep(FORMS, 6), ids=lambda files: files.stem.name[:60])
def test_cut_is_found_or_marked(files: SetFiles) -> None:
    counts = _check(files, lines=6, others=2)
    assert counts["found"] > counts["found as"] + counts["marked"]


@pytest.mark.slow
def test_more_cuts_of_every_form_are_found_or_marked() -> None:
    """Few cuts are named otherwise, by the first consequence of what is missing."""
    counts = sum((_check(files, lines=25, others=8) for files in find_sets(DUMPS)), Counter[str]())
    assert counts["found as"] + counts["marked"] < 0.1 * counts["found"]


@pytest.mark.slow
@needs_shared_dumps
def test_cuts_of_the_collection_are_found_or_marked() -> None:
    folders = [path for path in sorted(SHARED_DUMPS.glob("*/*")) if path.is_dir() and path.parent.name != "big"]
    counts = sum(
        (_check(files, lines=4, others=2) for folder in folders[::6] for files in find_sets(folder)[:3]),
        Counter[str](),
    )
    assert counts["found as"] + counts["marked"] < 0.1 * counts["found"]
