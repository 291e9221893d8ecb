"""`xla-lens diff`: what changed between two dumps, or between the dumps of two or more folders."""

import argparse
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from xla_lens.cli.ci import CiReport, ci_report
from xla_lens.cli.output import CannotRun, print_error, print_json, print_page
from xla_lens.cli.report import report_of
from xla_lens.cli.sets import STANDARD_INPUT, LoadedSet, find_dumps
from xla_lens.cli.terminal import find_terminal, print_outlines
from xla_lens.features.diff.baseline import Baseline, NotABaseline, read_baselines
from xla_lens.features.diff.facts import Diff, DiffSide, IncreaseLimit, diff, diff_with_baseline, violations
from xla_lens.features.diff.options import DEFAULT_DIFF_TOP, DiffOptions, DiffPart
from xla_lens.features.diff.pairing import Fingerprint, fingerprint, paired
from xla_lens.features.report.facts import Report
from xla_lens.features.report.options import CiFormat, Part, ReportOptions
from xla_lens.files import read_flags
from xla_lens.model.diff.comparable import DifferenceKind, parse_flags
from xla_lens.model.warrants import Bound
from xla_lens.package_files import page_sources
from xla_lens.reading import read_file
from xla_lens.render.diff.data import diff_data, unpaired_data
from xla_lens.render.diff.outline import ModuleRow, diff_outline, folder_outline
from xla_lens.render.diff.page import comparison_html
from xla_lens.render.diff.runs import ModuleInRuns, RunOfModule, runs_data, runs_outline
from xla_lens.render.diff.words import violation_text
from xla_lens.render.memory_spaces import parse_spaces
from xla_lens.render.report.blocks import Outline
from xla_lens.render.sources import frame_text
from xla_lens.syntax.file_names import FileKind


def run_diff(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if arguments.new is None:
        arguments.old, arguments.new, *arguments.more = _runs(arguments.old)
    if arguments.more:
        return _print_runs(arguments)
    is_json = arguments.output_format == "json"
    top = DEFAULT_DIFF_TOP if arguments.top is None and not is_json else arguments.top
    options = DiffOptions(top, arguments.part or frozenset(DiffPart))
    if arguments.old == arguments.new == STANDARD_INPUT:
        raise CannotRun("-: standard input can be one of the two dumps, not both")
    if arguments.new.suffix == ".json":
        raise CannotRun(f"{arguments.new}: only OLD, the first argument, can be a report. Expected a dump")
    pairs, only_old, only_new = _paired(_modules(arguments.old, is_shown=False), _modules(arguments.new, is_shown=True))
    limits = tuple(_limits(arguments))
    problems: list[str] = []
    ci = ci_report(arguments)
    if ci and not limits:
        raise CannotRun(f"--output-format {arguments.output_format} needs a limit; add --max-memory-increase LIMIT")
    diffs = _checked((_diff(*pair, options) for pair in pairs), limits, problems, ci)
    if ci:
        deque(diffs, maxlen=0)
        print(ci.text(), end="")
    elif is_json:
        data = [diff_data(one) for one in diffs]
        data += [unpaired_data(one.name, one.files, is_old=True) for one in only_old]
        data += [unpaired_data(one.name, one.files, is_old=False) for one in only_new]
        print_json(data)
    elif len(pairs) == 1 and not only_old and not only_new:
        _print([], next(diffs), arguments)
    else:
        only = [one.label for one in only_old], [one.label for one in only_new]
        _print_folders(diffs, *only, top, arguments)
    for line in problems:
        print_error(line)
    return int(bool(problems))


def _limits(arguments: argparse.Namespace) -> Iterator[IncreaseLimit]:
    """The limits of the command line. Raises `CannotRun` for an unknown memory space."""
    given = ((arguments.max_memory_increase, True), (arguments.max_peak_increase, False))
    for increase, is_needed in ((one, is_needed) for increases, is_needed in given for one in increases):
        spaces = parse_spaces(increase.space) if increase.space else frozenset()
        if increase.space and not spaces:
            raise CannotRun(
                f"{increase.text}: unknown memory space {increase.space!r}; expected hbm, vmem, smem, host or a number"
            )
        yield IncreaseLimit(increase, is_needed, spaces)


def _checked(
    diffs: Iterable[Diff], limits: Sequence[IncreaseLimit], problems: list[str], ci: CiReport | None
) -> Iterator[Diff]:
    """Pass comparisons on, and collect a line for each file that cannot be read and each limit that they violate."""
    for one in diffs:
        found = tuple(violations(one, limits))
        unreadable = (other.facts for other in one.differences if other.kind is DifferenceKind.UNREADABLE)
        problems += ("{file}: {reason}".format(**facts) for facts in unreadable)
        problems += (violation_text(one, violation) for violation in found)
        if ci:
            ci.add_violations(one, found)
        yield one


def _print_folders(
    diffs: Iterator[Diff],
    only_old: Sequence[str],
    only_new: Sequence[str],
    top: int | None,
    arguments: argparse.Namespace,
) -> None:
    """Print the table of all modules, then the comparison of the one that changed most."""
    rows: list[ModuleRow] = []
    most: Diff | None = None
    most_bytes = 0
    for one in diffs:
        space = one.default_space
        needed, peak = (space.exact(name) if space else None for name in ("needed_bytes", "peak_live_bytes"))
        label = Path(one.new.label).name.partition(".cl_")[0].partition("-buffer-assignment")[0]
        rows.append((label, needed, peak))
        change = max(abs(pair.change) if pair else 0 for pair in (needed, peak))
        if change > most_bytes:
            most, most_bytes = one, change
    _print([folder_outline(rows, only_old, only_new, top)], most, arguments)


def _print(before: list[Outline], one: Diff | None, arguments: argparse.Namespace) -> None:
    """Print some outlines, and a comparison with its maps."""
    if arguments.output_format == "html":
        print_page("\n".join(comparison_html(before, one, *page_sources())))
        return
    outlines = [*before, *([diff_outline(one)] if one else [])]
    # Values have no links: their ids differ between the two dumps.
    print_outlines([(outline, None) for outline in outlines], arguments.output_format, find_terminal(arguments.color))


@dataclass(frozen=True, slots=True)
class _Module:
    """A module at one of the two paths. `name` is None if unknown. `source` is its report, or what loads its dump."""

    name: str | None
    label: str
    files: Mapping[FileKind, str]
    source: Baseline | Callable[[], LoadedSet]


def _modules(path: Path, *, is_shown: bool) -> list[_Module]:
    """The dumps at a path, or the reports in a file of JSON."""
    if path.suffix == ".json":
        return [_Module(one.name, one.name or one.label, one.files, one) for one in _baselines(path)]
    sets = find_dumps([path])
    return [
        _Module(files.module, files.stem.name, files.labels, partial(sets.load_one, files, is_shown=is_shown))
        for files in sets.files
    ]


def _baselines(path: Path) -> tuple[Baseline, ...]:
    try:
        return read_baselines(json.loads(read_file(path, is_named=True)), str(path))
    except NotABaseline as error:
        raise CannotRun(str(error)) from error
    except OSError as error:
        raise CannotRun(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise CannotRun(f"{path}: not JSON. Expected a report of `xla-lens report --output-format json`") from error


def _side(load: Callable[[], LoadedSet]) -> DiffSide:
    loaded = load()
    text = read_flags(loaded.files)
    flags = parse_flags(text) if text is not None else None
    return DiffSide(*loaded.read_module(), loaded.files.labels, flags)


def _diff(old: _Module, new: _Module, options: DiffOptions) -> Diff:
    # Only the old side can be a report.
    assert not isinstance(new.source, Baseline)
    if isinstance(old.source, Baseline):
        return diff_with_baseline(old.source, _side(new.source), options)
    # Most of loading is C code that runs beside that of another thread.
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(_side, old.source)
        side = _side(new.source)
        return diff(loading.result(), side, options)


def _paired(
    old: list[_Module], new: list[_Module]
) -> tuple[list[tuple[_Module, _Module]], list[_Module], list[_Module]]:
    """The modules of two folders that belong together, and those that only one folder has."""
    if len(old) == len(new) == 1:
        return [(old[0], new[0])], [], []

    def fingerprint_of(one: _Module) -> Fingerprint:
        # Reports have no parameters.
        return (None, None) if isinstance(one.source, Baseline) else fingerprint(one.source().analysis)

    return paired(old, new, lambda one: one.name or one.label, fingerprint_of)


# ---------------------------------------------------------------- more than two


def _runs(folder: Path) -> list[Path]:
    """The folders in a folder that have dumps, in the order of their names, which in those of `xla-lens run` is that of
    time. Raises `CannotRun` for fewer than two.
    """
    if not folder.is_dir():
        raise CannotRun(f"{folder}: not a folder of runs. Give OLD and NEW, or a folder of runs")
    inside = (files.stem.relative_to(folder).parts for files in find_dumps([folder]).files)
    runs = sorted({folder / parts[0] for parts in inside if len(parts) > 1})
    if len(runs) < 2:
        raise CannotRun(f"{folder}: not two folders with dumps in it. Give OLD and NEW, or a folder of runs")
    return runs


def _print_runs(arguments: argparse.Namespace) -> int:
    """Print a table for each module, with a row for each run, and return the exit status."""
    if arguments.max_memory_increase or arguments.max_peak_increase or arguments.output_format in [*CiFormat]:
        raise CannotRun("limits compare two dumps, OLD and NEW; give no other")
    paths = [arguments.old, arguments.new, *arguments.more]
    found: dict[tuple[str, int], dict[int, RunOfModule]] = {}
    for place, path in enumerate(paths):
        for key, run in _modules_of_run(path):
            found.setdefault(key, {})[place] = run
    labels = tuple(path.as_posix() for path in paths)
    modules = [ModuleInRuns(name, tuple(map(runs.get, range(len(paths))))) for (name, _), runs in found.items()]
    modules.sort(key=lambda one: -max(one.needed_bytes, default=0))
    if arguments.output_format == "json":
        print_json(runs_data(modules, labels))
        return 0
    _print([runs_outline(modules, labels, arguments.top or DEFAULT_DIFF_TOP)], None, arguments)
    return 0


def _modules_of_run(path: Path) -> Iterator[tuple[tuple[str, int], RunOfModule]]:
    """Yield the modules of a run by name. A number tells modules of the same name apart: their order in the run."""
    names = Counter[str]()
    for loaded in find_dumps([path]).load():
        report = report_of(loaded, ReportOptions(parts=frozenset({Part.LINE})))
        name = report.module or ""
        yield (name, names[name]), _run(report)
        names[name] += 1


def _run(report: Report) -> RunOfModule:
    one = report.hbm
    if one is None:
        return RunOfModule()
    space, line = one.space, next(iter(one.lines.lines), None) if one.lines else None
    name = (frame_text(line.frame) if line.frame else line.argument) if line else None
    return RunOfModule(
        space.needed_bytes if space.reserved_bound is Bound.EXACT else None,
        space.peak_live_bytes if space.live_bound is Bound.EXACT else None,
        name,
        line.size_bytes if line else None,
    )
