"""Damaged dump sets through the whole engine: load, check, report, advise, diff and the features of editors.

No step may raise an exception, take more than `MOST_SECONDS` of CPU time, or let the process grow by more than
`MOST_BYTES`.
"""

import json
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commands import as_printed
from fuzzing.texts import damaged
from samples import ROOT
from xla_lens.blocks.text import text_lines
from xla_lens.cli.output import CannotRun
from xla_lens.cli.sets import find_dumps
from xla_lens.diff.compare import diff
from xla_lens.diff.data import diff_data
from xla_lens.diff.options import DiffOptions
from xla_lens.diff.outline import diff_outline
from xla_lens.editor.annotations import actions, hints, lenses
from xla_lens.editor.hover import hover
from xla_lens.editor.links import links
from xla_lens.editor.navigation import declaration, definition, implementation, type_definition
from xla_lens.editor.references import highlights, references
from xla_lens.editor.structure import document_symbols, folds, selection
from xla_lens.editor.tokens import tokens
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.limits import over_limits
from xla_lens.model.diff.comparable import DiffSide
from xla_lens.model.hlo.mentions import hlo_mention_at
from xla_lens.model.places.mentions import mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.report.data import report_data
from xla_lens.report.facts import report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.outline import report_text
from xla_lens.report.unknown_text import by_form, unknown_text, unknown_text_data
from xla_lens.words.finding_json import finding_data

MOST_SECONDS: Final = 5.0
"""The most CPU time of one step, 0 for no limit."""

MOST_BYTES: Final = 500 << 20
"""The most memory by which a step lets the process grow."""

_LONGEST: Final = 1 << 20
"""Bytes of a damaged file. Longer ones take long for a good reason."""

_LIMIT: Final = 50
_PLACES: Final = 8
"""The number of places in each file at which features are asked."""

_VALIDATED: Final = 0.1
"""The part of the reports that are validated against the schema."""

_OPTIONS: Final = (
    ReportOptions(parts=frozenset(Part), budget_bytes=1024, at_step=1),
    ReportOptions(top=20, parts=frozenset(Part), budget_bytes=1 << 30),
    ReportOptions(parts=frozenset(Part) - {Part.BUDGET}, through_loops=False),
)


class TooSlow(Exception):
    """A step takes too long."""


class TooBig(Exception):
    """The process has grown too much."""


def play_set(chance: random.Random, folder: Path, dumps: Sequence[Mapping[str, bytes]]) -> int:
    """Damage a dump set and ask everything about it. Return 1, the number of sets."""
    one = chance.choice(dumps)
    _write(folder / "new", _damaged_set(chance, one, dumps))
    found = _analyses(folder / "new")
    for files, analysis in found:
        _ask(chance, files, analysis)
    if found and chance.random() < 0.5:
        _write(folder / "old", one if chance.random() < 0.5 else _damaged_set(chance, one, dumps))
        for old in _analyses(folder / "old"):
            _compare(*old, *found[0])
            _compare(*found[0], *old)
    shutil.rmtree(folder)
    return 1


def _most_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Limit the CPU time and the memory of a step, and name it in errors."""

    def stop(*_: object) -> None:
        raise TooSlow(f"{name} takes more than {MOST_SECONDS} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    started, before = time.process_time(), _most_bytes()
    try:
        yield
    except Exception as error:
        error.add_note(f"in {name}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if MOST_SECONDS and time.process_time() - started > MOST_SECONDS:
        stop()
    if (grown := _most_bytes() - before) > MOST_BYTES:
        raise TooBig(f"{name} needs {grown >> 20} MiB more than all steps before it")


# ---------------------------------------------------------------- sets


def _damaged_set(
    chance: random.Random, dump: Mapping[str, bytes], dumps: Sequence[Mapping[str, bytes]]
) -> dict[str, bytes]:
    """Return the files of a dump with damage in some of them, missing, empty or under another's name."""
    files = dict(dump)
    for name in chance.sample(list(files), chance.randint(1, len(files))):
        other = chance.choice(list(chance.choice(dumps).values()))
        files[name] = damaged(chance, files[name], other, _LONGEST)
    names = list(files)
    match chance.randrange(12):
        case 0:
            files[chance.choice(names)] = b""
        case 1:
            one, two = chance.choice(names), chance.choice(names)
            files[one], files[two] = files[two], files[one]
        case 2:
            files[chance.choice(names)] = chance.choice(list(chance.choice(dumps).values()))
        case 3 if len(names) > 1:
            del files[chance.choice(names)]
        case 4:
            name = chance.choice(names)
            files[name.partition("-")[0] + chance.choice(_ENDS)] = files[name]
    return files


_ENDS: Final = (
    "-buffer-assignment.txt",
    "-buffer-assignment-values.txt",
    "-live-range.txt",
    "-memory-usage-report.txt",
    ".txt",
)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
        # Commands wait for what XLA seems to be writing.
        os.utime(folder / name, (1, 1))


def _analyses(folder: Path) -> list[tuple[Mapping[Any, str], Analysis]]:
    """The labels and the analyses of the sets in a folder, each checked against its module."""
    with _step("load"):
        try:
            return [(one.files.labels, one.analysis) for one in find_dumps([folder]).load(is_checked=True)]
        except CannotRun:
            return []


# ---------------------------------------------------------------- questions


def _ask(chance: random.Random, files: Mapping[Any, str], analysis: Analysis) -> None:
    with _step("check"):
        limits = over_limits(analysis.dump, analysis.memory, 1024, 1024)
        as_printed([finding_data(finding) for finding in (*analysis.findings, *limits)])
        as_printed(unknown_text_data(by_form(unknown_text(analysis))))
    with _step("report"):
        made = report(analysis, files, chance.choice(_OPTIONS))
    with _step("report as text"):
        assert list(report_text(made, chance.choice((20, 80, 200))))
    with _step("report as JSON"):
        _check_report(chance, as_printed(report_data(made)))
    with _step("map"):
        json.dumps(memory_map_data(analysis))
    for file in analysis.dump.files:
        _ask_about(chance, analysis, file)
    if analysis.module:
        _ask_about(chance, analysis, analysis.module.file)


def _ask_about(chance: random.Random, analysis: Analysis, file: DumpFile) -> None:
    """Ask the features of editors about a file."""
    dump, module, size = analysis.dump, analysis.module, len(file.document.data)
    start = chance.randint(0, size)
    span = start, min(size, start + 2000)
    with _step("features of a file"):
        document_symbols(dump, module, file, _LIMIT)
        folds(file, module, _LIMIT)
        links(dump, module, file, _LIMIT)
        lenses(analysis, file, _LIMIT)
        hints(analysis, file, span, _LIMIT)
        tokens(analysis, file, span, _LIMIT)
        actions(analysis, file, span)
    for _ in range(_PLACES):
        offset = chance.randint(0, size)
        with _step(f"features of a place: byte {offset} of {Path(file.label).name}"):
            selection(file, module, offset, _LIMIT)
            mention = (
                hlo_mention_at(module, offset) if module and file is module.file else mention_at(dump, file, offset)
            )
            if mention is None:
                continue
            assert isinstance(hover(analysis, mention), str)
            for find in (definition, declaration, type_definition, implementation):
                find(dump, module, mention, _LIMIT)
            references(dump, module, mention.target, _LIMIT)
            highlights(dump, module, file, mention, _LIMIT)


def _compare(old_files: Mapping[Any, str], old: Analysis, new_files: Mapping[Any, str], new: Analysis) -> None:
    sides = DiffSide(old, old_files), DiffSide(new, new_files)
    with _step("diff"):
        made = diff(*sides, DiffOptions())
    with _step("diff as text"):
        assert list(text_lines(diff_outline(made), 100))
    with _step("diff as JSON"):
        as_printed(diff_data(made))


def _check_report(chance: random.Random, data: Any) -> None:
    """Check the types and the ranges of all fields of some reports, which takes longer than all else."""
    if chance.random() < _VALIDATED:
        for error in validator().iter_errors(data):
            raise AssertionError(f"{error.json_path}: {error.message[:300]}")


@cache
def validator() -> Draft202012Validator:
    """Validates a report against the schema."""
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": "#/$defs/report", "$defs": schema["$defs"]})
