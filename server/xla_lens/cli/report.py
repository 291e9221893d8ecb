"""`xla-lens report`: where the memory of a dump goes, as text, Markdown, JSON or HTML."""

import argparse
import re
from collections.abc import Callable
from dataclasses import replace

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.output import print_json
from xla_lens.cli.sets import DumpSets, find_dumps
from xla_lens.cli.single import ignored, options_of, report_with_step
from xla_lens.features.report.facts import Report


def run_report(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    return print_reports(selected(find_dumps(arguments.paths), arguments.module), arguments)


def print_reports(found: DumpSets, arguments: argparse.Namespace, *, note: Callable[[Report], object] = ignored) -> int:
    """Print the report of a dump set, or the ranking of several and the report of the worst. Calls `note` with each
    report that it prints. Returns 1 for errors.
    """
    options = options_of(arguments)
    if arguments.output_format == "html":
        from xla_lens.cli.ranking import print_pages

        return print_pages(found, arguments)
    if len(found.files) > 1:
        from xla_lens.cli.ranking import print_ranking

        return print_ranking(found, options, arguments, note=note)
    (loaded,) = found.load()
    one = report_with_step(loaded, options)
    note(one)
    if arguments.output_format == "json":
        from xla_lens.render.report.data import report_data

        print_json([report_data(one)])
    else:
        from xla_lens.cli.terminal import find_terminal, print_outlines
        from xla_lens.render.report.outline import report_outline

        terminal = find_terminal(arguments.color)
        print_outlines([(report_outline(one), one.dump)], arguments.output_format, terminal)
    return int(not one.is_sound)


def selected(found: DumpSets, pattern: str | None) -> DumpSets:
    """Return the sets that `--module` selects. Raises `CannotRun` if there are none."""
    if pattern is None:
        return found
    from xla_lens.features.report.ranking import is_selected

    try:
        files = tuple(one for one in found.files if is_selected(map(str, one.paths.values()), pattern))
    except re.error as error:
        raise CannotRun(f"--module {pattern}: not a regular expression: {error}") from error
    if not files:
        raise CannotRun(f"--module {pattern}: none of the {len(found.files):,} modules matches")
    return replace(found, files=files, are_several=len(files) > 1)
