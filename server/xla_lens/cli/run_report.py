"""The report of `xla-lens run`, which follows the output of the program."""

import argparse
import itertools
import os
import shlex
import shutil
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from xla_lens.cli.oom import print_answer
from xla_lens.cli.output import CannotRun, open_output, print_error
from xla_lens.cli.report import ReportRequest, print_reports
from xla_lens.cli.run_folder import RunFolder
from xla_lens.cli.sets import GivenDumpSets, find_dumps
from xla_lens.cli.try_dump import keep_trials, print_trials, python_with_jax, try_set
from xla_lens.disk.loading import load_set
from xla_lens.disk.measured import measured_in
from xla_lens.disk.reading import DamagedFile, file_time, log_blocks, open_file
from xla_lens.disk.sets import NotADump, SetFiles, cached_modules, find_sets
from xla_lens.model.process_memory import ProcessMemory
from xla_lens.model.warrants import Bound
from xla_lens.report.answer import MOST_OF_A_NAME, headline
from xla_lens.report.facts import Report
from xla_lens.report.options import SHORT_PARTS, TINY_IN_RUN, report_options
from xla_lens.report.outline import measured
from xla_lens.report.ranking import is_selected
from xla_lens.syntax.file_names import module_number
from xla_lens.syntax.oom import read_oom_log
from xla_lens.syntax.oom_messages import OomLog
from xla_lens.text.patterns import lazy_pattern
from xla_lens.trying.process import Limits
from xla_lens.words.numbers import counted, human, shortened


def print_report(folder: RunFolder, arguments: argparse.Namespace) -> None:
    """Print what the program's modules need, and what its out-of-memory message says."""
    is_short = arguments.part is None and arguments.output_format in ("text", "markdown")
    options = report_options(
        SHORT_PARTS if is_short else arguments.part or (),
        top=arguments.top,
        budget_bytes=arguments.budget,
        is_json=arguments.output_format == "json",
    )
    # The last lines are from the answer, whatever the format is, and say what was measured.
    options = replace(options, has_answer=True, has_measured=False)
    oom = _messages(folder.log)
    if not oom.messages:
        folder.remove_log()
    by_folder = {place: [*_sets(place, folder, arguments.only)] for place in folder.dump_folders()}
    dumps = tuple(itertools.chain(*by_folder.values()))
    found = GivenDumpSets(dumps, {}, are_several=len(dumps) > 1)
    paths = [place for place, sets in by_folder.items() if sets]
    request = ReportRequest(paths, options, arguments.output_format, arguments.color, tiny=TINY_IN_RUN)
    noted = measured_in(folder.path)
    is_cache_off = folder.remove_notes(is_measured_kept=folder.path in paths)
    report: Report | None = None
    if not arguments.output_file and (dumps or oom.messages):
        # Set the report apart from the output of the program.
        print()
    if oom.messages and arguments.output_format != "html":
        report = print_answer(
            oom, str(folder.log), found, options, output_format=arguments.output_format, color=arguments.color
        )
    elif dumps:
        _, report = print_reports(found, request)
    if is_cache_off:
        print_error("JAX's compilation cache was off, because XLA dumps only what it compiles")
    cached = sum(len(cached_modules(place)) for place in by_folder)
    print_error(_result(paths, arguments.only, cached, is_short=is_short))
    if report:
        # The last lines are what is seen first.
        for line in filter(None, (*_measured(noted, report), _change(folder, report), headline(report))):
            print_error(line)
    if report and arguments.tries:
        _try(report, arguments)
    if dumps and arguments.open:
        page = folder.path / "memory-map.html"
        if os.path.lexists(page) and not page.is_file():
            raise CannotRun(f"{page}: cannot be replaced: not a regular file")
        with open_output(page) as output, redirect_stdout(output):
            print_reports(found, replace(request, output_format="html"))
        if not webbrowser.open(page.absolute().as_uri()):
            print_error(f"no browser found. The memory map is in {page}")
    folder.remove_if_empty()


def _try(report: Report, arguments: argparse.Namespace) -> None:
    """Compile the program of a report again with what the advice says, in the Python that has run it."""
    loaded = next(find_dumps([Path(next(iter(report.files.values())))]).load(is_shown=False))
    words = [word for word in arguments.program if Path(word).name.startswith("python")]
    python = shutil.which(words[0]) if words else None
    try:
        trials = try_set(loaded, python or python_with_jax(), Limits(), arguments.budget, {})
    except CannotRun as error:
        print_error(str(error))
    else:
        keep_trials(loaded, trials)
        print_trials(loaded, trials, arguments.output_format, arguments.color)


def _messages(log: Path) -> OomLog:
    """The out-of-memory messages in the log. The program may have removed it, or put something else in its place."""
    if os.path.lexists(log):
        try:
            with open_file(log) as stream:
                return read_oom_log(itertools.islice(log_blocks(stream, str(log)), _MOST_BLOCKS))
        except (OSError, DamagedFile) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            print_error(f"{log}: no out-of-memory messages are explained, because it cannot be read: {reason}")
    return read_oom_log(())


_MOST_BLOCKS: Final = 80
"""The blocks of a megabyte that are read from the log. It has 64, unless the program has written into it."""


def _measured(noted: Mapping[int, ProcessMemory], report: Report) -> Iterator[str]:
    """What the process of a module used at most, beside what the module needs."""
    found = report.analysis
    if found.measured is None:
        # A folder that the user has chosen has the dumps of all processes.
        memory = max(noted.values(), key=lambda memory: memory.most_bytes, default=None)
        report = replace(report, analysis=replace(found, measured=memory))
    for words in measured(report):
        yield f"measured: {words}"


_RUN: Final = lazy_pattern(r"(.+-)\d{8}-(\d\d)(\d\d)\d\d(-\d+)?")
"""The name of a folder: the program, the date and the time."""


def _change(folder: RunFolder, report: Report) -> str:
    """How much more or less the module needs than in the last run of the same program, empty if there was none."""
    this, names = _RUN.fullmatch(folder.path.name), list[str]()
    with suppress(OSError):
        names += os.listdir(folder.path.parent)
    runs = [run for run in map(_RUN.fullmatch, names) if run and this and run[1] == this[1] and run[0] < this[0]]
    if not (runs and report.hbm and report.hbm.space.reserved_bound is Bound.EXACT):
        return ""
    run, number = max(runs, key=lambda run: run[0]), module_number(next(iter(report.files.values())))
    before = folder.path.with_name(run[0])
    with suppress(NotADump, OSError):
        sets = [files for files in find_sets(before) if files.module == report.module]
        # One of the same number comes first.
        for files in sorted(sets, key=lambda files: module_number(str(files.stem)) != number)[:1]:
            space = load_set(files, {}, {})[1].memory.space(report.hbm.space.color)
            if space and space.reserved_bound is Bound.EXACT:
                more = report.hbm.space.needed_bytes - space.needed_bytes
                words = f"{human(abs(more))} {'more' if more > 0 else 'less'} than" if more else "as much as"
                command = shlex.join(["xla-lens", "diff", str(before), str(folder.path)])
                when = f"in the run at {run[2]}:{run[3]}"
                module = shortened(report.module or "", MOST_OF_A_NAME)
                return f"{module} needs {words} {when}; `{command}` shows what changed"
    return ""


def _result(paths: Sequence[Path], only: str | None, cached: int, *, is_short: bool) -> str:
    """Where the dumps are, or why there are none, in a sentence or two."""
    from_cache = f"{counted(cached, 'module')} {'was' if cached == 1 else 'were'} loaded from the compilation cache"
    if paths:
        places = [str(path) for path in paths]
        rest = f"; {from_cache} and {'has' if cached == 1 else 'have'} no dump" if cached else ""
        command = f" `xla-lens report {shlex.join(places)}` shows the whole report." if is_short else ""
        return f"the dumps are in {', '.join(places)}{rest}.{command}"
    if cached:
        return f"no dumps: {from_cache}, which the program switches on itself. Empty the cache, or switch it off there"
    if only is not None:
        return f"no dumps: the program compiled no module with a match of --only {only}"
    return "no dumps: the program compiled nothing with XLA, or ended before XLA wrote a buffer assignment"


def _sets(place: Path, folder: RunFolder, only: str | None) -> Iterator[SetFiles]:
    """The dump sets of the run in a folder, those with a match of `only` in their names."""
    with suppress(NotADump):
        for files in find_sets(place):
            paths = files.paths.values()
            is_of_run = place == folder.path or any(file_time(path) >= folder.started for path in paths)
            if is_of_run and (only is None or is_selected(map(str, paths), only)):
                yield files
