"""The report of one dump set, for all commands that print one."""

import argparse

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.sets import LoadedSet
from xla_lens.features.report.facts import Report, report
from xla_lens.features.report.options import DEFAULT_PARTS, ReportOptions, needs_module, report_options


def ignored(_: Report) -> None:
    """Do nothing with a report that was printed."""


def report_with_step(loaded: LoadedSet, options: ReportOptions) -> Report:
    """Return the report of a set. Raises `CannotRun` if it lacks the requested step."""
    one = report_of(loaded, options)
    if options.at_step is not None and not one.has_step:
        from xla_lens.render.report.outline import missing_step

        raise CannotRun(f"--at {options.at_step}: {missing_step(one, options.at_step)}")
    return one


def options_of(arguments: argparse.Namespace) -> ReportOptions:
    """Return the options of a report that the arguments of the command ask for."""
    return report_options(
        (arguments.part or DEFAULT_PARTS) | arguments.stacks,
        top=arguments.top,
        at_step=arguments.at,
        budget_bytes=arguments.budget,
        is_json=arguments.output_format == "json",
        through_loops=arguments.through_loops == "yes",
    )


def report_of(loaded: LoadedSet, options: ReportOptions) -> Report:
    """Return the report of a loaded set. If it needs the HLO module, the dump is also checked against that."""
    files = {kind: path.as_posix() for kind, path in loaded.files.paths.items()}
    analysis, module = loaded.with_module() if needs_module(options) else (loaded.analysis, None)
    return report(analysis, files, options, module)
