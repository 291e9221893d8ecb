"""`xla-lens report`: where the memory of a dump goes, as text, Markdown, JSON or HTML."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.output import print_json, print_page
from xla_lens.cli.sets import DumpSets, LoadedSet, find_dumps
from xla_lens.cli.terminal import find_terminal, print_outline
from xla_lens.features.report.facts import Report, report
from xla_lens.features.report.options import (
    DEFAULT_PARTS,
    Part,
    ReportOptions,
    report_options,
)
from xla_lens.package_files import page_sources


def run_report(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if arguments.output_format == "html":
        from xla_lens.render.memory_map.page import memory_map_page

        loaded = _only_set(arguments.paths)
        print_page("\n".join(memory_map_page(loaded.analysis, loaded.module(), *page_sources())))
        return int(not loaded.analysis.is_sound)
    options = options_of(arguments)
    reports = _reports(find_dumps(arguments.paths), options)
    if arguments.output_format == "json":
        from xla_lens.render.report.data import report_data

        found = [(report_data(one), one.is_sound) for one in reports]
        print_json([data for data, _ in found])
        return int(not all(is_sound for _, is_sound in found))
    from xla_lens.render.report.outline import report_outline

    is_sound = True
    terminal = find_terminal(arguments.color)
    for number, one in enumerate(reports):
        print("\n" * bool(number), end="")
        print_outline(report_outline(one), one.dump, arguments.output_format, terminal)
        is_sound &= one.is_sound
    return int(not is_sound)


def _reports(found: DumpSets, options: ReportOptions) -> Iterator[Report]:
    """The reports of all sets. Raises `CannotRun` if none of them has the requested step."""
    is_step_known = False
    for number, loaded in enumerate(found.load(), 1):
        one = report_of(loaded, options)
        is_step_known |= one.has_step
        if options.at_step is not None and not is_step_known and number == len(found.files):
            from xla_lens.render.report.outline import missing_step

            raise CannotRun(f"--at {options.at_step}: {missing_step(one, options.at_step)}")
        yield one


def options_of(arguments: argparse.Namespace) -> ReportOptions:
    """Return the options of a report that the arguments of the command ask for."""
    return report_options(
        (arguments.part or DEFAULT_PARTS) | arguments.stacks,
        top=arguments.top,
        at_step=arguments.at,
        budget_bytes=arguments.budget,
        is_json=arguments.output_format == "json",
    )


def report_of(loaded: LoadedSet, options: ReportOptions) -> Report:
    """Return the report of a loaded set."""
    files = {kind: path.as_posix() for kind, path in loaded.files.paths.items()}
    module = loaded.module() if {Part.LINE, Part.ADVICE} & options.parts else None
    return report(loaded.analysis, files, options, module)


def _only_set(paths: Sequence[Path]) -> LoadedSet:
    """The only dump set at some paths. Raises `CannotRun` if there are more."""
    found = find_dumps(paths)
    if len(found.files) > 1:
        one = next(iter(found.files[0].paths.values()))
        given = f"{paths[0]}: contains" if len(paths) == 1 else "the paths contain"
        raise CannotRun(
            f"{given} {len(found.files):,} dumps, but an HTML page shows one. Choose one of them, such as {one}"
        )
    (loaded,) = found.load()
    return loaded
