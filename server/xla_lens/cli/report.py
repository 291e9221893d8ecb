"""`xla-lens report` and `advise`: where the memory of dumps goes, as text, Markdown, JSON or HTML.

The report of several dumps begins with their ranking.
"""

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.blocks.blocks import Outline, Section, Table, command
from xla_lens.blocks.markdown import markdown_text, shortened
from xla_lens.blocks.terminal import Terminal
from xla_lens.blocks.text import terminal_lines, text_lines
from xla_lens.cli.output import CannotRun, print_lines, print_unfiltered
from xla_lens.cli.sets import GivenDumpSets, LoadedSet, find_dumps
from xla_lens.cli.terminal import find_terminal
from xla_lens.disk.reading import OVERVIEW_SHARE
from xla_lens.disk.sets import SetFiles
from xla_lens.model.analysis import Analysis
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.report.facts import Report, report
from xla_lens.report.options import (
    DEFAULT_PARTS,
    DEFAULT_TOP,
    SHORT_PARTS,
    TINY,
    Part,
    ReportOptions,
    SortKey,
    needs_module,
    report_options,
)
from xla_lens.report.outline import missing_step, report_outline
from xla_lens.report.ranking import RankedModule, Ranking, compiled_again, is_selected, ranked_module, ranking, sort_key
from xla_lens.report.ranking_table import ranking_outline
from xla_lens.report.sections import sections_of_advice
from xla_lens.words.numbers import counted, human

if TYPE_CHECKING:
    from xla_lens.report.report_json import Report as ReportJson

# What only JSON or only maps need is imported where it is used: a report as text does not wait for it.

Form = TypeVar("Form")


class ReportRequest(Struct, frozen=True):
    """What to report, and how to print it.

    `shows_all` leaves no module out of the ranking; otherwise those with less than the part `tiny` of the worst peak
    are folded into one line, and `show_all` is what shows them. `reports_all` reports each module, not only the worst.
    `is_short` prints only the answer and the first pieces of advice of the worst of several modules.
    """

    paths: Sequence[Path]
    options: ReportOptions
    output_format: str
    color: str
    sort: SortKey = SortKey.PEAK
    tiny: float = TINY
    shows_all: bool = False
    show_all: str = "--all"
    reports_all: bool = False
    is_short: bool = False

    @property
    def title(self) -> str:
        """Where the modules are."""
        return self.paths[0].as_posix() if len(self.paths) == 1 else counted(len(self.paths), "path")


def run_report(arguments: argparse.Namespace) -> int:
    """Run `xla-lens report` and return the exit status."""
    options = report_options(
        (arguments.part or DEFAULT_PARTS) | ({Part.STACKS} if arguments.stacks else set()),
        top=arguments.top,
        at_step=arguments.at,
        budget_bytes=arguments.budget,
        is_json=arguments.output_format == "json",
        through_loops=arguments.through_loops == "yes",
    )
    are_parts_chosen = arguments.part or arguments.stacks or arguments.at is not None
    is_short = arguments.output_format == "text" and not are_parts_chosen
    return _report(arguments, options, "--all", is_short=is_short)


def run_advise(arguments: argparse.Namespace) -> int:
    """Run `xla-lens advise` and return the exit status."""
    options = report_options(
        {Part.ADVICE},
        top=arguments.top,
        budget_bytes=arguments.budget,
        is_json=arguments.output_format == "json",
    )
    paths = shlex.join(path.as_posix() for path in arguments.paths)
    return _report(arguments, options, f"`xla-lens report {paths} --all`")


def _report(arguments: argparse.Namespace, options: ReportOptions, show_all: str, *, is_short: bool = False) -> int:
    request = ReportRequest(
        paths=arguments.paths,
        options=options,
        output_format=arguments.output_format,
        color=arguments.color,
        sort=SortKey(arguments.sort),
        shows_all=arguments.all,
        show_all=show_all,
        reports_all=arguments.all or arguments.module is not None,
        is_short=is_short,
    )
    return print_reports(selected(find_dumps(arguments.paths), arguments.module), request)[0]


def selected(found: GivenDumpSets, pattern: str | None) -> GivenDumpSets:
    """Return the sets that `--module` selects. Raises `CannotRun` if there are none."""
    if pattern is None:
        return found
    try:
        files = tuple(each for each in found.files if is_selected(map(str, each.paths.values()), pattern, each.module))
    except re.error as error:
        raise CannotRun(f"--module {pattern}: not a regular expression: {error}") from error
    if not files:
        raise CannotRun(f"--module {pattern}: none of the {len(found.files):,} modules matches")
    return replace(found, files=files, are_several=len(files) > 1)


def report_of(loaded: LoadedSet, options: ReportOptions) -> Report:
    """Return the report of a loaded set. If it needs the HLO module, the dump is also checked against that."""
    analysis = loaded.with_module() if needs_module(options) else loaded.analysis
    return report(analysis, loaded.files.labels, options)


# ---------------------------------------------------------------- the reports of some modules


def print_reports(found: GivenDumpSets, request: ReportRequest) -> tuple[int, Report | None]:
    """Print the report of a dump set. Of several, print the ranking, worst first, and the report of the worst, or that
    of each if the request says so. As HTML, print a page with the maps of the modules.

    Returns the exit status, which is 1 for errors, and the report of the worst module unless other ones were printed.
    At most two sets are in memory at a time, and a small one in each other process: all are loaded for the ranking, and
    again if each is reported.
    """
    if request.output_format == "html":
        return _print_maps(found, request), None
    ranked = _rank(found, request)
    is_alone, options, worst = len(found.files) == 1, request.options, None
    is_short = request.is_short and not is_alone and not request.reports_all
    if is_short:
        options = replace(options, parts=SHORT_PARTS, top=min(_SHORT_TOP, options.top or _SHORT_TOP))
    if is_alone or not request.reports_all:
        worst = report_of(ranked.worst or found.load_one(ranked.in_order[0], share=OVERVIEW_SHARE), options)
        if options.at_step is not None and not worst.has_step:
            raise CannotRun(f"--at {options.at_step}: {missing_step(worst, options.at_step)}")
    # Errors that only the HLO module shows are not in the ranking.
    are_sound = [not module.error_count for module in ranked.ranking.modules]

    def printed(form: Callable[[Report], Form]) -> Iterator[Form]:
        """The reports as they are printed. Notes whether each dump is sound."""
        if worst is not None:
            are_sound.append(worst.analysis.is_sound)
            yield form(worst)
            return
        in_order = replace(found, files=ranked.in_order)
        make = partial(_report_in_form, options=options, form=form)
        for _, (made, is_sound) in in_order.map(make, share=OVERVIEW_SHARE, is_printed=True):
            are_sound.append(is_sound)
            yield made

    if request.output_format == "json":
        from xla_lens.report.data import report_data

        _print_json(ranked, printed(report_data))
    else:
        outline_of = _short_outline if is_short else report_outline
        terminal = find_terminal(request.color)
        lines_of = partial(_report_lines, outline_of=outline_of, output_format=request.output_format, terminal=terminal)
        _print_texts(ranked, printed(lines_of), request, terminal)
    return int(not all(are_sound)), worst


def _report_in_form(loaded: LoadedSet, options: ReportOptions, form: Callable[[Report], Form]) -> tuple[Form, bool]:
    """The report of a set as it is printed, and whether the dump is sound."""
    made = report_of(loaded, options)
    return form(made), made.analysis.is_sound


class _Ranked(NamedTuple):
    """The ranking of all modules, with the files of each in that order, and, for JSON, a summary of each that is not
    reported. `worst` is the first one, None if another process has loaded it.
    """

    ranking: Ranking
    in_order: tuple[SetFiles, ...]
    summaries: "Mapping[RankedModule, ReportJson]"
    worst: LoadedSet | None


def _rank(found: GivenDumpSets, request: ReportRequest) -> _Ranked:
    """Load all sets and rank them. Keeps only the worst."""
    is_alone = len(found.files) == 1
    has_summaries = request.output_format == "json" and not is_alone and not request.reports_all
    files: dict[RankedModule, SetFiles] = {}
    summaries: dict[RankedModule, ReportJson] = {}
    worst: tuple[RankedModule, LoadedSet | None] | None = None

    def worst_so_far() -> str:
        if worst is None or worst[0].peak_bytes is None:
            return ""
        return f"Worst so far: {worst[0].name}, {human(worst[0].peak_bytes)}. "

    measure = partial(_measured, request=request, has_summary=has_summaries)
    for loaded, (module, found_files, summary) in found.map(
        measure, share=1 if is_alone else OVERVIEW_SHARE, note=worst_so_far
    ):
        files[module] = found_files
        if summary:
            summaries[module] = summary
        if worst is None or sort_key(module, request.sort) < sort_key(worst[0], request.sort):
            worst = module, loaded
    assert worst is not None, "there is at least one set"
    ranked = _ranking(files, request)
    return _Ranked(ranked, tuple(files[module] for module in ranked.modules), summaries, worst[1])


def _measured(
    loaded: LoadedSet, request: ReportRequest, *, has_summary: bool
) -> "tuple[RankedModule, SetFiles, ReportJson | None]":
    """What is kept of a set for the ranking."""
    summary = None
    if has_summary:
        from xla_lens.report.data import report_data

        summary = report_data(report_of(loaded, ReportOptions(parts=frozenset(), has_answer=False)))
    return _ranked_module(loaded.analysis, loaded, request), loaded.files, summary


def _ranked_module(analysis: Analysis, loaded: LoadedSet, request: ReportRequest) -> RankedModule:
    return ranked_module(analysis, [*loaded.files.labels.values()], request.options.budget_bytes)


def _ranking(modules: Iterable[RankedModule], request: ReportRequest) -> Ranking:
    top = None if request.shows_all else request.options.top or DEFAULT_TOP
    return ranking(modules, request.sort, top, request.tiny)


def _print_json(ranked: _Ranked, reports: "Iterator[ReportJson]") -> None:
    """Print the report of one module. Of several, print the reports of the first ones, and summaries of the others."""
    from xla_lens.cli.json_output import print_json_list
    from xla_lens.report.data import ranked_data

    modules = ranked.ranking.modules
    if len(modules) == 1:
        print_json_list(reports)
        return
    again = {module: each for each in compiled_again(modules) for module in each.modules}
    print_json_list(
        ranked_data(next(reports, None) or ranked.summaries[module], module, rank, again.get(module))
        for rank, module in enumerate(modules, 1)
    )


def _print_texts(
    ranked: _Ranked, reports: Iterable[Sequence[str]], request: ReportRequest, terminal: Terminal | None
) -> None:
    """Print reports as text or Markdown, those of several modules below their ranking."""
    if len(ranked.in_order) > 1:
        overview = ranking_outline(ranked.ranking, request.title, request.options.budget_bytes, request.show_all)
        reports = chain([_lines(overview, None, request.output_format, terminal)], reports)
    _print_lines_of(reports, request.output_format, terminal)


def _print_maps(found: GivenDumpSets, request: ReportRequest) -> int:
    """Print one page with the maps of all modules that the ranking shows, and return the exit status."""
    from xla_lens.disk.package_files import page_sources
    from xla_lens.memory_map.page import memory_maps_page
    from xla_lens.memory_map.ranking_html import ranking_html

    is_alone = len(found.files) == 1
    measured = found.map(partial(_mapped, request=request), share=1 if is_alone else OVERVIEW_SHARE)
    maps = dict(mapped for _, mapped in measured)
    ranked = _ranking(maps, request)
    title = f"{ranked.modules[0].name}: memory map" if is_alone else f"{request.title}: memory maps"
    index = () if is_alone else tuple(ranking_html(ranked, request.title, request.options.budget_bytes))
    print_unfiltered(memory_maps_page(title, index, [maps[module] for module in ranked.shown], *page_sources()))
    return int(any(module.error_count for module in ranked.modules))


def _mapped(loaded: LoadedSet, request: ReportRequest) -> tuple[RankedModule, str]:
    """The row of a set in the ranking, and its map."""
    from xla_lens.memory_map.map_data import memory_map_data
    from xla_lens.memory_map.page import packed_map

    analysis = loaded.with_module()
    return _ranked_module(analysis, loaded, request), packed_map(memory_map_data(analysis))


# ---------------------------------------------------------------- text


def print_outlines(outlines: Iterable[tuple[Outline, DumpSet | None]], output_format: str, color: str) -> None:
    """Print reports of dumps one after another as text, fitted to the terminal if there is one, or as Markdown, all
    together short enough for a comment on GitHub.
    """
    terminal = find_terminal(color)
    texts = (_lines(outline, dump, output_format, terminal) for outline, dump in outlines)
    _print_lines_of(texts, output_format, terminal)


def _report_lines(
    report: Report, outline_of: Callable[[Report], Outline], output_format: str, terminal: Terminal | None
) -> Sequence[str]:
    return _lines(outline_of(report), report.dump, output_format, terminal)


def _lines(outline: Outline, dump: DumpSet | None, output_format: str, terminal: Terminal | None) -> Sequence[str]:
    """The lines of a report as text, fitted to the terminal if there is one, or as Markdown."""
    if output_format == "markdown":
        return [*markdown_text(outline)]
    if terminal:
        return [*terminal_lines(outline, dump, terminal)]
    return [line.text for line in text_lines(outline, _WIDTH_OF_FILES)]


def _print_lines_of(texts: Iterable[Sequence[str]], output_format: str, terminal: Terminal | None) -> None:
    """Print texts one after another, Markdown only as long as a comment on GitHub may be."""
    lines = chain.from_iterable(["", *text] if number else text for number, text in enumerate(texts))
    if output_format == "markdown":
        print_lines(shortened(lines))
    elif terminal:
        print_unfiltered(lines)
    else:
        print_lines(lines)


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
