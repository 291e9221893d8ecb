"""`xla-lens diff`: what changed between two dumps, or between the dumps of two or more folders."""

import argparse
import json
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from xla_lens.blocks.blocks import Outline
from xla_lens.cli.json_output import print_json
from xla_lens.cli.output import CannotRun, print_error, print_unfiltered
from xla_lens.cli.report import print_outlines, report_of
from xla_lens.cli.sets import STANDARD_INPUT, LoadedSet, find_dumps
from xla_lens.diff.baseline import Baseline, NotABaseline, read_baselines
from xla_lens.diff.compare import Diff, LimitedNumber, diff, violations
from xla_lens.diff.data import diff_data, runs_data, unpaired_data
from xla_lens.diff.options import DEFAULT_DIFF_TOP, DiffOptions, DiffPart, Increase
from xla_lens.diff.outline import ModuleRow, diff_outline, folder_outline
from xla_lens.diff.runs import ModuleInRuns, RunOfModule, runs_outline
from xla_lens.diff.words import violation_text
from xla_lens.disk.device import read_flags
from xla_lens.disk.package_files import page_sources
from xla_lens.disk.reading import read_file
from xla_lens.memory_map.comparison_html import comparison_html
from xla_lens.model.diff.comparable import DiffSide, entry_parameters
from xla_lens.model.warrants import Bound
from xla_lens.report.facts import Report
from xla_lens.report.options import CiFormat, Part, ReportOptions
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.sources import frame_text

if TYPE_CHECKING:
    from xla_lens.cli.ci import CiReport


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
    limits = {LimitedNumber.NEEDED: arguments.max_memory_increase, LimitedNumber.PEAK: arguments.max_peak_increase}
    problems: list[str] = []
    ci = None
    if arguments.output_format in set(CiFormat):
        if not any(limits.values()):
            raise CannotRun(f"--output-format {arguments.output_format} needs a limit; add --max-memory-increase LIMIT")
        # Imports ssl, http and email, for which other formats do not have to wait.
        from xla_lens.cli.ci import ci_report

        ci = ci_report(arguments)
    diffs = _checked((_diff(*pair, options) for pair in pairs), limits, problems, ci)
    if ci:
        deque(diffs, maxlen=0)
        print(ci.text(), end="")
    elif is_json:
        only = [unpaired_data(module.name, module.files, is_old=True) for module in only_old]
        only += [unpaired_data(module.name, module.files, is_old=False) for module in only_new]
        print_json([*map(diff_data, diffs), *only])
    elif len(pairs) == 1 and not only_old and not only_new:
        _print([], next(diffs), arguments)
    else:
        old_labels, new_labels = ([module.label for module in only] for only in (only_old, only_new))
        _print_folders(diffs, old_labels, new_labels, top, arguments)
    for line in problems:
        print_error(line)
    return int(bool(problems))


def _checked(
    diffs: Iterable[Diff],
    limits: Mapping[LimitedNumber, Iterable[Increase]],
    problems: list[str],
    ci: "CiReport | None",
) -> Iterator[Diff]:
    """Pass comparisons on, and collect a line for each file that cannot be read and each limit that they violate."""
    for compared in diffs:
        found = tuple(violations(compared, limits))
        unreadable = (other.facts for other in compared.differences if other.kind == "unreadable")
        problems += ("{file}: {reason}".format(**facts) for facts in unreadable)
        problems += (violation_text(compared, violation) for violation in found)
        if ci:
            ci.add_violations(compared, found)
        yield compared


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
    for compared in diffs:
        space = compared.default_space
        needed, peak = (space.exact.needed_bytes, space.exact.peak_live_bytes) if space else (None, None)
        name = Path(compared.new.label).name.partition(".cl_")[0].partition("-buffer-assignment")[0]
        rows.append((name, needed, peak))
        change = max(abs(pair.change) if pair else 0 for pair in (needed, peak))
        if change > most_bytes:
            most, most_bytes = compared, change
    _print([folder_outline(rows, only_old, only_new, top)], most, arguments)


def _print(before: list[Outline], compared: Diff | None, arguments: argparse.Namespace) -> None:
    """Print some outlines, and a comparison with its maps."""
    if arguments.output_format == "html":
        print_unfiltered(comparison_html(before, compared, *page_sources()))
        return
    outlines = [*before, *([diff_outline(compared)] if compared else [])]
    # Values have no links: their ids differ between the two dumps.
    print_outlines([(outline, None) for outline in outlines], arguments.output_format, arguments.color)


# ---------------------------------------------------------------- modules


class _Module(Struct, frozen=True, eq=False):
    """A module at one of the two paths. `name` is None if unknown. `source` is its report, or what loads its dump."""

    name: str | None
    label: str
    files: Mapping[FileKind, str]
    source: Baseline | Callable[[], LoadedSet]

    def keys(self) -> Iterator[Hashable]:
        """Yield what two compilations of a module have in common, strictest first. Reports have only their names."""
        if not isinstance(self.source, Baseline):
            dump = self.source().analysis.dump
            parameters = tuple(sorted(entry_parameters(dump).items()))
            yield from ((parameters, len(dump.schedule)), parameters)


def _modules(path: Path, *, is_shown: bool) -> list[_Module]:
    """The dumps at a path, or the reports in a file of JSON."""
    if path.suffix != ".json":
        sets = find_dumps([path])
        return [
            _Module(files.module, files.stem.name, files.labels, partial(sets.load_one, files, is_shown=is_shown))
            for files in sets.files
        ]
    try:
        reports = read_baselines(json.loads(read_file(path, is_named=True)), str(path))
    except NotABaseline as error:
        raise CannotRun(str(error)) from error
    except OSError as error:
        raise CannotRun(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise CannotRun(f"{path}: not JSON. Expected a report of `xla-lens report --output-format json`") from error
    return [_Module(baseline.name, baseline.name or baseline.label, baseline.files, baseline) for baseline in reports]


def _paired(
    old: list[_Module], new: list[_Module]
) -> tuple[list[tuple[_Module, _Module]], list[_Module], list[_Module]]:
    """The modules of two folders that belong together, in the order of the new folder, and those that only one folder
    has: modules with the same name. Where several have one name, those with the same parameters and equally many
    instructions come first, then those with the same parameters, then the others, each in their order.
    """
    if len(old) == len(new) == 1:
        return [(old[0], new[0])], [], []
    counts = [Counter(module.name or module.label for module in side) for side in (old, new)]
    keys: dict[_Module, list[Hashable]] = {}
    for module in (*old, *new):
        name = module.name or module.label
        of_name = [count[name] for count in counts]
        keys[module] = [*(module.keys() if all(of_name) and sum(of_name) > 2 else ()), name]
    left_old, partners = [*old], dict[_Module, _Module]()
    for level in (3, 2, 1):
        for module in new:
            found = (other for other in left_old if keys[other][-level:] == keys[module][-level:])
            if module not in partners and (partner := next(found, None)):
                partners[module] = partner
                left_old.remove(partner)
    left_new = [module for module in new if module not in partners]
    return [(partners[module], module) for module in new if module in partners], left_old, left_new


def _side(load: Callable[[], LoadedSet]) -> DiffSide:
    loaded = load()
    return DiffSide(loaded.read_module(), loaded.files.labels, read_flags(loaded.files))


def _diff(old: _Module, new: _Module, options: DiffOptions) -> Diff:
    # Only the old side can be a report.
    assert not isinstance(new.source, Baseline)
    if isinstance(old.source, Baseline):
        return diff(old.source, _side(new.source), options)
    # Most of loading is C code that runs beside that of another thread.
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(_side, old.source)
        side = _side(new.source)
        return diff(loading.result(), side, options)


# ---------------------------------------------------------------- more than two


def _runs(folder: Path) -> list[Path]:
    """The folders in a folder that have dumps, in the order of their names, which in those of `xla-lens run` is that of
    time. Raises `CannotRun` for fewer than two.
    """
    problem, runs = "a folder of runs", set[Path]()
    if folder.is_dir():
        problem = "two folders with dumps in it"
        inside = (files.stem.relative_to(folder).parts for files in find_dumps([folder]).files)
        runs = {folder / parts[0] for parts in inside if len(parts) > 1}
    if len(runs) < 2:
        raise CannotRun(f"{folder}: not {problem}. Give OLD and NEW, or a folder of runs")
    return sorted(runs)


def _print_runs(arguments: argparse.Namespace) -> int:
    """Print a table for each module, with a row for each run, and return the exit status."""
    if arguments.max_memory_increase or arguments.max_peak_increase or arguments.output_format in [*CiFormat]:
        raise CannotRun("limits compare two dumps, OLD and NEW; give no other")
    paths = [arguments.old, arguments.new, *arguments.more]
    found: dict[tuple[str, int], list[RunOfModule]] = {}
    for place, path in enumerate(paths):
        names = Counter[str]()
        for loaded in find_dumps([path]).load():
            report = report_of(loaded, ReportOptions(parts=frozenset({Part.LINE}), has_answer=False))
            name = report.module or ""
            # A number tells modules of the same name apart: their order in the run.
            found.setdefault((name, names[name]), [RunOfModule()] * len(paths))[place] = _run(report)
            names[name] += 1
    labels = [path.as_posix() for path in paths]
    modules = [ModuleInRuns(name, tuple(runs)) for (name, _), runs in found.items()]
    modules.sort(key=lambda module: -max(module.needed_bytes, default=0))
    if arguments.output_format == "json":
        print_json(runs_data(modules, labels))
    else:
        _print([runs_outline(modules, labels, arguments.top or DEFAULT_DIFF_TOP)], None, arguments)
    return 0


def _run(report: Report) -> RunOfModule:
    if report.hbm is None:
        return RunOfModule(has_module=True)
    space, lines = report.hbm.space, report.hbm.lines
    line = next(iter(lines.lines), None) if lines else None
    return RunOfModule(
        has_module=True,
        needed_bytes=space.needed_bytes if space.reserved_bound is Bound.EXACT else None,
        peak_live_bytes=space.peak_live_bytes if space.live_bound is Bound.EXACT else None,
        line=(frame_text(line.frame) if line.frame else line.argument) if line else None,
        line_bytes=line.size_bytes if line else None,
    )
