"""The part of `xla-lens report` about several dumps: their ranking, and the reports or maps of some of them."""

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.output import print_json, print_page
from xla_lens.cli.sets import DumpSets, LoadedSet
from xla_lens.cli.single import ignored, report_of, report_with_step
from xla_lens.cli.terminal import find_terminal, print_outlines
from xla_lens.features.report.facts import Report
from xla_lens.features.report.options import DEFAULT_TOP, Part, ReportOptions
from xla_lens.features.report.ranking import RankedModule, ranked_module, ranking, sort_key
from xla_lens.files import SetFiles
from xla_lens.package_files import page_sources
from xla_lens.reading import OVERVIEW_SHARE
from xla_lens.render.memory_map.page import MapContent, map_content, memory_maps_page
from xla_lens.render.numbers import counted
from xla_lens.render.ranking import ranked_data, ranking_html, ranking_outline
from xla_lens.render.report.actions import advice_sections
from xla_lens.render.report.blocks import Command, Outline, Section, Table
from xla_lens.render.report.data import report_data
from xla_lens.render.report.outline import missing_step, report_outline


def print_ranking(
    found: DumpSets,
    options: ReportOptions,
    arguments: argparse.Namespace,
    *,
    note: Callable[[Report], object] = ignored,
    has_reports: bool = True,
) -> int:
    """Print the modules, worst first, and the report of the worst, or of those that were requested. Unless parts were
    requested, the text of the worst has only its answer and the first pieces of advice. At most two sets are in memory
    at a time; those that are requested are loaded again, in the order of their ranks. Calls `note` with each report.
    Without `has_reports`, print only the ranking.
    """
    is_json = arguments.output_format == "json"
    rows: dict[RankedModule, SetFiles] = {}
    summaries: dict[RankedModule, dict[str, Any]] = {}
    worst: tuple[RankedModule, LoadedSet] | None = None
    for loaded in found.load(share=OVERVIEW_SHARE):
        row = ranked_module(loaded.analysis, [path.as_posix() for path in loaded.files.paths.values()])
        rows[row] = loaded.files
        if is_json:
            summaries[row] = report_data(report_of(loaded, ReportOptions(parts=frozenset())))
        if worst is None or sort_key(row, arguments.sort) < sort_key(worst[0], arguments.sort):
            worst = row, loaded
    ranked = ranking(rows, arguments.sort, None if arguments.all else options.top or DEFAULT_TOP, arguments.tiny)
    reports: Iterator[Report]
    is_short = arguments.output_format == "text" and not (
        arguments.part or arguments.stacks or arguments.at is not None
    )
    is_short &= not (arguments.all or arguments.module is not None)
    if not has_reports:
        reports = iter(())
    elif worst and is_short:
        short = replace(
            options, parts=frozenset({Part.LINE, Part.ADVICE}), top=min(_SHORT_TOP, options.top or _SHORT_TOP)
        )
        reports = iter([report_of(worst[1], short)])
    elif worst and not (arguments.all or arguments.module is not None):
        reports = iter([report_with_step(worst[1], options)])
    else:
        reports = _reports(replace(found, files=tuple(rows[row] for row in ranked.modules)), options)
    errors: list[bool] = []
    reports = _noted(reports, errors, note)
    if is_json:
        full = {tuple(one.files.values()): report_data(one) for one in reports}
        ranks = enumerate(ranked.modules, 1)
        print_json([ranked_data(row, rank) | summaries[row] | full.get(row.files, {}) for rank, row in ranks])
    else:
        terminal = find_terminal(arguments.color)
        show_all = "--all" if arguments.command == "report" else f"`xla-lens report {_paths(arguments)} --all`"
        outline = ranking_outline(ranked, _folder(arguments), options.budget_bytes, show_all)
        outline_of = _short_outline if is_short else report_outline
        outlines = chain([(outline, None)], ((outline_of(one), one.dump) for one in reports))
        print_outlines(outlines, arguments.output_format, terminal)
    return int(any(errors) or any(row.error_count for row in rows))


_SHORT_TOP: Final = 3
"""The pieces of advice in a short report, so that it fits below the ranking on a terminal."""


def _short_outline(one: Report) -> Outline:
    """The answer of a report, the advice without its buffers, what is wrong with the dump, and how to get the rest."""
    sections = [*advice_sections(one)]
    for number, section in enumerate(sections[1:], 1):
        blocks = tuple(block for block in section.blocks if not isinstance(block, Table))
        sections[number] = replace(section, blocks=blocks)
    command = shlex.join(["xla-lens", "report", next(iter(one.files.values()))])
    hint = Section((Command(command), " shows the whole report."))
    outline = report_outline(one)
    facts = tuple(fact for fact in outline.facts if fact[0] not in ("files", "reserved", "contains"))
    return replace(outline, facts=facts, parts=(tuple(sections), (hint,)))


def _noted(reports: Iterator[Report], errors: list[bool], note: Callable[[Report], object]) -> Iterator[Report]:
    """The reports. Notes whether each has errors, which the ranking lacks if only the HLO module shows them."""
    for one in reports:
        errors.append(not one.is_sound)
        note(one)
        yield one


def _reports(found: DumpSets, options: ReportOptions) -> Iterator[Report]:
    """The reports of all sets. Raises `CannotRun` if none of them has the requested step."""
    is_step_known = False
    for number, loaded in enumerate(found.load(share=OVERVIEW_SHARE), 1):
        one = report_of(loaded, options)
        is_step_known |= one.has_step
        if options.at_step is not None and not is_step_known and number == len(found.files):
            raise CannotRun(f"--at {options.at_step}: {missing_step(one, options.at_step)}")
        yield one


def print_pages(found: DumpSets, arguments: argparse.Namespace) -> int:
    """Print one page with the maps of all modules that the ranking shows."""
    rows: dict[RankedModule, MapContent] = {}
    share = OVERVIEW_SHARE if len(found.files) > 1 else 1
    for loaded in found.load(share=share):
        analysis, module = loaded.with_module()
        row = ranked_module(analysis, [path.as_posix() for path in loaded.files.paths.values()])
        rows[row] = map_content(analysis, module)
    ranked = ranking(rows, arguments.sort, None if arguments.all else arguments.top or DEFAULT_TOP, arguments.tiny)
    shown = [rows[ranked.modules[number]] for number in ranked.shown]
    is_one = len(rows) == 1
    folder = _folder(arguments)
    title = f"{shown[0].module}: memory map" if is_one else f"{folder}: memory maps"
    index = () if is_one else tuple(ranking_html(ranked, folder, arguments.budget))
    print_page("\n".join(memory_maps_page(title, index, shown, *page_sources())))
    return int(any(row.error_count for row in rows))


def _folder(arguments: argparse.Namespace) -> str:
    return arguments.paths[0].as_posix() if len(arguments.paths) == 1 else counted(len(arguments.paths), "path")


def _paths(arguments: argparse.Namespace) -> str:
    return shlex.join(path.as_posix() for path in arguments.paths)
