"""`xla-lens report` and `advise`: where the memory of dumps goes, as text, Markdown, JSON or HTML.

The report of several dumps begins with their ranking.
"""

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from xla_lens.blocks.blocks import Outline, Section, Table, command
from xla_lens.blocks.markdown import markdown_text, shortened
from xla_lens.blocks.text import terminal_lines, text_lines
from xla_lens.cli.output import CannotRun, print_json_list, print_lines, print_unfiltered
from xla_lens.cli.sets import DumpSets, LoadedSet, find_dumps
from xla_lens.cli.terminal import find_terminal
from xla_lens.disk.package_files import page_sources
from xla_lens.disk.reading import OVERVIEW_SHARE
from xla_lens.disk.sets import SetFiles
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.memory_map.page import memory_maps_page, packed_map
from xla_lens.memory_map.ranking_html import ranking_html
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.report.data import ranked_data, report_data
from xla_lens.report.facts import Report, report
from xla_lens.report.options import (
    DEFAULT_PARTS,
    DEFAULT_TOP,
    SHORT_PARTS,
    ReportOptions,
    needs_module,
    report_options,
)
from xla_lens.report.outline import missing_step, report_outline
from xla_lens.report.ranking import RankedModule, Ranking, is_selected, ranked_module, ranking, sort_key
from xla_lens.report.ranking_table import ranking_outline
from xla_lens.report.report_json import Report as ReportJson
from xla_lens.report.sections import sections_of_advice
from xla_lens.words.numbers import counted


def run_report(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    return print_reports(selected(find_dumps(arguments.paths), arguments.module), arguments)[0]


def selected(found: DumpSets, pattern: str | None) -> DumpSets:
    """Return the sets that `--module` selects. Raises `CannotRun` if there are none."""
    if pattern is None:
        return found
    try:
        files = tuple(one for one in found.files if is_selected(map(str, one.paths.values()), pattern, one.module))
    except re.error as error:
        raise CannotRun(f"--module {pattern}: not a regular expression: {error}") from error
    if not files:
        raise CannotRun(f"--module {pattern}: none of the {len(found.files):,} modules matches")
    return replace(found, files=files, are_several=len(files) > 1)


def options_of(arguments: argparse.Namespace) -> ReportOptions:
    """Return the options of a report that the arguments of the command ask for."""
    options = report_options(
        (arguments.part or DEFAULT_PARTS) | arguments.stacks,
        top=arguments.top,
        at_step=arguments.at,
        budget_bytes=arguments.budget,
        is_json=arguments.output_format == "json",
        through_loops=arguments.through_loops == "yes",
    )
    # The last lines of a run are from the answer, whatever the format of the report is.
    return replace(options, has_answer=True) if arguments.command == "run" else options


def report_of(loaded: LoadedSet, options: ReportOptions) -> Report:
    """Return the report of a loaded set. If it needs the HLO module, the dump is also checked against that."""
    analysis = loaded.with_module() if needs_module(options) else loaded.analysis
    return report(analysis, loaded.files.labels, options)


def print_reports(found: DumpSets, arguments: argparse.Namespace) -> tuple[int, Report | None]:
    """Print the report of a dump set, or several modules, worst first, and the report of the worst, or of those that
    were requested. Unless parts were requested, the text of the worst has only its answer and the first pieces of
    advice. At most two sets are in memory at a time; those that are requested are loaded again, in the order of their
    ranks. As HTML, print a page with the maps of the modules.

    Returns the exit status, which is 1 for errors, and the first report that was printed.
    """
    options, is_one = options_of(arguments), len(found.files) == 1
    is_json, is_html = (arguments.output_format == one for one in ("json", "html"))
    rows: dict[RankedModule, SetFiles] = {}
    summaries: dict[RankedModule, ReportJson] = {}
    maps: dict[RankedModule, str] = {}
    worst: tuple[RankedModule, LoadedSet] | None = None
    for loaded in found.load(share=1 if is_one else OVERVIEW_SHARE):
        analysis = loaded.with_module() if is_html else loaded.analysis
        row = ranked_module(analysis, [*loaded.files.labels.values()], arguments.budget)
        rows[row] = loaded.files
        if is_json and not is_one:
            summaries[row] = report_data(report_of(loaded, ReportOptions(parts=frozenset(), has_answer=False)))
        if is_html:
            maps[row] = packed_map(memory_map_data(analysis))
        elif worst is None or sort_key(row, arguments.sort) < sort_key(worst[0], arguments.sort):
            worst = row, loaded
    ranked = ranking(rows, arguments.sort, None if arguments.all else options.top or DEFAULT_TOP, arguments.tiny)
    first, errors = None, any(row.error_count for row in rows)
    if is_html:
        _print_maps(ranked, maps, arguments)
        return int(errors), first
    is_for_all = not is_one and (arguments.all or arguments.module is not None)
    is_asked = is_one or is_for_all or arguments.part or arguments.stacks or arguments.at is not None
    outline_of = report_outline
    if arguments.output_format == "text" and not is_asked:
        outline_of = _short_outline
        options = replace(options, parts=SHORT_PARTS, top=min(_SHORT_TOP, options.top or _SHORT_TOP))
    if is_for_all:
        asked = replace(found, files=tuple(rows[row] for row in ranked.modules))
        shown: Iterable[Report] = (report_of(loaded, options) for loaded in asked.load(share=OVERVIEW_SHARE))
    else:
        one = report_of(worst[1], options) if worst else None
        if one and options.at_step is not None and not one.has_step:
            raise CannotRun(f"--at {options.at_step}: {missing_step(one, options.at_step)}")
        shown = [one] if one else []

    def reports() -> Iterator[Report]:
        nonlocal first, errors
        for one in shown:
            # Errors that only the HLO module shows are not in the ranking.
            first, errors = first or one, errors or not one.analysis.is_sound
            yield one

    if is_json and is_one:
        print_json_list(map(report_data, reports()))
    elif is_json:
        full = {tuple(one.files.values()): report_data(one) for one in reports()}
        ranks = enumerate(ranked.modules, 1)
        print_json_list(ranked_data(full.get(row.files, summaries[row]), row, rank) for rank, row in ranks)
    else:
        paths = shlex.join(path.as_posix() for path in arguments.paths)
        show_all = "--all" if arguments.command == "report" else f"`xla-lens report {paths} --all`"
        overview = ranking_outline(ranked, _folder(arguments), arguments.budget, show_all)
        outlines = ((outline_of(one), one.dump) for one in reports())
        print_outlines(outlines if is_one else chain([(overview, None)], outlines), arguments)
    return int(errors), first


def print_outlines(outlines: Iterable[tuple[Outline, DumpSet | None]], arguments: argparse.Namespace) -> None:
    """Print reports of dumps one after another as text, fitted to the terminal if there is one, or as Markdown, all
    together short enough for a comment on GitHub.
    """
    is_markdown, terminal = arguments.output_format == "markdown", find_terminal(arguments.color)

    def lines_of_reports() -> Iterator[str]:
        for number, (outline, dump) in enumerate(outlines):
            if number:
                yield ""
            if is_markdown:
                yield from markdown_text(outline)
            elif terminal:
                yield from terminal_lines(outline, dump, terminal)
            else:
                yield from (line.text for line in text_lines(outline, _WIDTH_OF_FILES))

    lines = lines_of_reports()
    if terminal and not is_markdown:
        print_unfiltered(lines)
    else:
        print_lines(shortened(lines) if is_markdown else lines)


_WIDTH_OF_FILES: Final = 200
"""The width of text that does not go to a terminal."""

_SHORT_TOP: Final = 3
"""The pieces of advice in a short report, so that it fits below the ranking on a terminal."""


def _short_outline(report: Report) -> Outline:
    """The answer of a report, the advice without its buffers, what is wrong with the dump, and how to get the rest."""
    sections = sections_of_advice(report)
    actions = (
        replace(section, blocks=tuple(block for block in section.blocks if not isinstance(block, Table)))
        for section in sections[1:]
    )
    whole = shlex.join(["xla-lens", "report", next(iter(report.files.values()))])
    hint = Section((command(whole), " shows the whole report."))
    outline = report_outline(report)
    facts = tuple(fact for fact in outline.facts if fact[0] not in ("files", "reserved", "contains"))
    return replace(outline, facts=facts, parts=((*sections[:1], *actions), (hint,)))


def _print_maps(ranked: Ranking, maps: Mapping[RankedModule, str], arguments: argparse.Namespace) -> None:
    """Print one page with the maps of all modules that the ranking shows."""
    folder, is_one = _folder(arguments), len(maps) == 1
    title = f"{ranked.modules[0].name}: memory map" if is_one else f"{folder}: memory maps"
    index = () if is_one else tuple(ranking_html(ranked, folder, arguments.budget))
    print_unfiltered(memory_maps_page(title, index, [maps[row] for row in ranked.shown], *page_sources()))


def _folder(arguments: argparse.Namespace) -> str:
    return arguments.paths[0].as_posix() if len(arguments.paths) == 1 else counted(len(arguments.paths), "path")
