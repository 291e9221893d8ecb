"""`xla-lens diff` of more than two dumps or folders: the memory of each module over the runs."""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.output import print_json, print_page
from xla_lens.cli.sets import find_dumps
from xla_lens.cli.single import report_of
from xla_lens.cli.terminal import find_terminal, print_outlines
from xla_lens.features.diff.options import DEFAULT_DIFF_TOP
from xla_lens.features.report.facts import Report
from xla_lens.features.report.options import CiFormat, Part, ReportOptions
from xla_lens.model.warrants import Bound
from xla_lens.package_files import page_sources
from xla_lens.render.diff.page import comparison_html
from xla_lens.render.diff.runs import ModuleInRuns, RunOfModule, runs_data, runs_outline


def print_runs(arguments: argparse.Namespace) -> int:
    """Print a table for each module, with a row for each run, and return the exit status."""
    if arguments.max_memory_increase or arguments.max_peak_increase or arguments.output_format in [*CiFormat]:
        raise CannotRun("limits compare two dumps, OLD and NEW; give no other")
    paths = [arguments.old, arguments.new, *arguments.more]
    found: dict[tuple[str, int], dict[int, RunOfModule]] = {}
    for place, path in enumerate(paths):
        for key, run in _modules(path):
            found.setdefault(key, {})[place] = run
    labels = tuple(path.as_posix() for path in paths)
    modules = [ModuleInRuns(name, tuple(map(runs.get, range(len(paths))))) for (name, _), runs in found.items()]
    modules.sort(key=lambda one: -max(one.needed_bytes, default=0))
    if arguments.output_format == "json":
        print_json(runs_data(modules, labels))
        return 0
    outline = runs_outline(modules, labels, arguments.top or DEFAULT_DIFF_TOP)
    if arguments.output_format == "html":
        print_page("\n".join(comparison_html([outline], None, *page_sources())))
    else:
        print_outlines([(outline, None)], arguments.output_format, find_terminal(arguments.color))
    return 0


def _modules(path: Path) -> Iterator[tuple[tuple[str, int], RunOfModule]]:
    """Yield the modules of a run. Those of one name are told apart by their order."""
    names = Counter[str]()
    for loaded in find_dumps([path]).load():
        report = report_of(loaded, ReportOptions(parts=frozenset({Part.LINE})))
        name = report.module or ""
        yield (name, names[name]), _run(report)
        names[name] += 1


def _run(report: Report) -> RunOfModule:
    one = report.hbm
    if one is None:
        return RunOfModule(None, None, None)
    needed, peak = (
        size if bound is Bound.EXACT else None
        for size, bound in (
            (one.space.needed_bytes, one.space.reserved_bound),
            (one.space.peak_live_bytes, one.space.live_bound),
        )
    )
    return RunOfModule(needed, peak, one.lines.lines[0] if one.lines and one.lines.lines else None)
