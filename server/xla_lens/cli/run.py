"""`xla-lens run`: run a program, and report the memory of the modules that it compiles."""

import argparse
import itertools
import os
import re
import shlex
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from xla_lens.cli.child import CannotStart, child_environment, run_program
from xla_lens.cli.errors import CannotRun
from xla_lens.cli.inside.sitecustomize import own_folder
from xla_lens.cli.output import check_output, open_output, print_error
from xla_lens.cli.run_folder import RunFolder, create_folder

if TYPE_CHECKING:
    from xla_lens.cli.sets import DumpSets
    from xla_lens.features.report.facts import Report
    from xla_lens.files import SetFiles


def run_run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status, which is that of the program, whatever becomes of the report."""
    command = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not command:
        raise CannotRun("no command given; expected for example `xla-lens run python train.py`")
    if arguments.output_file:
        check_output(arguments.output_file)
    chosen = own_folder(os.environ.get("XLA_FLAGS", ""))
    folder = create_folder(arguments.out or _default_folder(command), Path(chosen).absolute() if chosen else None)
    try:
        status = run_program(command, child_environment(os.environ, folder.path.absolute(), arguments.only), folder.log)
    except CannotStart as error:
        folder.log.unlink(missing_ok=True)
        folder.remove_if_empty()
        print_error(str(error))
        return error.status
    try:
        folder.tidy(is_everything_kept=arguments.keep_all)
        if not (arguments.output_file or folder.ends_its_line()):
            print(file=sys.stderr)
        output = open_output(arguments.output_file) if arguments.output_file else nullcontext(sys.stderr)
        with output as stream, redirect_stdout(stream):
            _report(folder, arguments)
    except CannotRun as error:
        print_error(str(error))
    except OSError as error:
        print_error(f"the report cannot be written: {error.strerror or error}")
    except KeyboardInterrupt:
        print_error(f"interrupted. `xla-lens report {folder.path}` shows the report")
    except Exception:
        # An error of ours, which must not change the exit status.
        traceback.print_exc()
    return status


def _default_folder(command: Sequence[str]) -> Path:
    """A folder that is named for the script, the module after ``-m``, or the program, and the time."""
    scripts = (Path(word).stem for word in command if word.endswith(".py"))
    modules = (module for option, module in pairwise(command) if option == "-m")
    name = next(itertools.chain(scripts, modules), Path(command[0]).stem)
    first = Path("xla-dumps", f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    others = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain((first,), others) if not path.exists())


def _report(folder: RunFolder, arguments: argparse.Namespace) -> None:
    """Print what the program's modules need, and what its out-of-memory message says."""
    # The program has its own number of threads, and the report needs no more than one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from xla_lens.cli.oom import print_answer, read_log
    from xla_lens.cli.ranking import print_ranking
    from xla_lens.cli.report import print_reports
    from xla_lens.cli.sets import DumpSets
    from xla_lens.cli.single import options_of
    from xla_lens.features.report.options import SHORT_PARTS
    from xla_lens.files import cached_modules
    from xla_lens.render.report.answer import headline
    from xla_lens.syntax.oom import read_oom_log

    is_short = arguments.part is None and arguments.output_format in ("text", "markdown")
    if is_short:
        arguments.part = SHORT_PARTS

    oom = read_log(folder.log, str(folder.log)) if folder.log.exists() else read_oom_log(())
    if not oom.messages:
        folder.log.unlink(missing_ok=True)
    by_folder = {place: _sets(place, folder, arguments.only) for place in folder.dump_folders()}
    dumps = tuple(one for sets in by_folder.values() for one in sets)
    found = DumpSets(dumps, {}, are_several=len(dumps) > 1)
    arguments.paths = [place for place, sets in by_folder.items() if sets]
    is_cache_off = folder.is_cache_off()
    folder.remove_notes()
    reports: list[Report] = []
    if not arguments.output_file and (found.files or oom.messages):
        # Set the report apart from the output of the program.
        print()
    if oom.messages and arguments.output_format != "html":
        options = options_of(arguments)
        if len(found.files) > 1 and arguments.output_format in ("text", "markdown"):
            print_ranking(found, options, arguments, has_reports=False)
            print()
        reports += filter(None, [print_answer(oom, str(folder.log), found, options, arguments)])
    elif found.files:
        print_reports(found, arguments, note=reports.append)
    if is_cache_off:
        print_error(_CACHE_OFF)
    cached = sum(len(cached_modules(place)) for place in by_folder)
    print_error(_result(found, arguments, cached, is_short=is_short))
    if reports:
        # The last lines are what is seen first.
        last_lines = (_change(folder, reports[0]), headline(reports[0]))
        for line in filter(None, last_lines):
            print_error(line)
    if found.files and arguments.open:
        _open(found, arguments, folder.path / "memory-map.html")
    folder.remove_if_empty()


_CACHE_OFF: Final = "JAX's compilation cache was off, because XLA dumps only what it compiles"

_RUN: Final = re.compile(r"(.+-)(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)\d\d(-\d+)?")
"""The name of a folder: the program and the time."""


def _change(folder: RunFolder, report: "Report") -> str:
    """How much more or less the module needs than in the last run of the same program, empty if there was none."""
    from xla_lens.cli.sets import DumpSets
    from xla_lens.files import NotADump, find_sets
    from xla_lens.model.warrants import Quantity
    from xla_lens.render.numbers import human
    from xla_lens.syntax.file_names import module_name, module_number

    this = _RUN.fullmatch(folder.path.name)
    if not this or not report.hbm or not report.warrants.of(Quantity.RESERVED).is_exact:
        return ""
    names = (path.name for path in folder.path.parent.iterdir())
    runs = [run for run in map(_RUN.fullmatch, names) if run and run[1] == this[1] and run[0] < this[0]]
    if not runs:
        return ""
    last = max(runs, key=lambda run: run[0])
    before = folder.path.with_name(last[0])
    number = next(map(module_number, report.files.values()))
    try:
        sets = [one for one in find_sets(before) if module_name(str(one.stem)) == report.module]
    except NotADump:
        return ""
    sets.sort(key=lambda one: module_number(str(one.stem)) != number)
    for loaded in DumpSets(tuple(sets[:1]), {}, are_several=True).load(is_shown=False):
        spaces = {space.color: space for space in loaded.analysis.memory.spaces}
        space = spaces.get(report.hbm.space.color)
        if space and loaded.analysis.warrants.of(Quantity.RESERVED).is_exact:
            more = report.hbm.space.needed_bytes - space.needed_bytes
            words = f"{human(abs(more))} {'more' if more > 0 else 'less'} than" if more else "as much as"
            _, *date, hour, minute, _ = last.groups()
            when = "" if date == [*this.groups()[1:4]] else f"{'-'.join(date)} "
            command = shlex.join(["xla-lens", "diff", str(before), str(folder.path)])
            return f"{report.module} needs {words} in the run at {when}{hour}:{minute}; `{command}` shows what changed"
    return ""


def _result(found: "DumpSets", arguments: argparse.Namespace, cached: int, *, is_short: bool) -> str:
    """Where the dumps are, or why there are none, in a sentence or two."""
    from xla_lens.render.numbers import counted

    from_cache = f"{counted(cached, 'module')} {'was' if cached == 1 else 'were'} loaded from the compilation cache"
    if found.files:
        places = [str(path) for path in arguments.paths]
        rest = f"; {from_cache} and {'has' if cached == 1 else 'have'} no dump" if cached else ""
        command = f" `xla-lens report {shlex.join(places)}` shows the whole report." if is_short else ""
        return f"the dumps are in {', '.join(places)}{rest}.{command}"
    if cached:
        return f"no dumps: {from_cache}, which the program switches on itself. Empty the cache, or switch it off there"
    if arguments.only is not None:
        return f"no dumps: the program compiled no module with a match of --only {arguments.only}"
    return "no dumps: the program compiled nothing with XLA, or ended before XLA wrote a buffer assignment"


def _sets(place: Path, folder: RunFolder, only: str | None) -> "list[SetFiles]":
    """The dump sets of the run in a folder, those with a match of `only` in their names."""
    from xla_lens.features.report.ranking import is_selected
    from xla_lens.files import NotADump, find_sets

    try:
        sets = find_sets(place)
    except NotADump:
        return []
    return [
        one
        for one in sets
        if (only is None or is_selected(map(str, one.paths.values()), only))
        and (place == folder.path or any(map(folder.is_of_this_run, one.paths.values())))
    ]


def _open(found: "DumpSets", arguments: argparse.Namespace, page: Path) -> None:
    """Write the memory maps to a page and open it in a browser."""
    import webbrowser

    from xla_lens.cli.ranking import print_pages

    with open_output(page) as output, redirect_stdout(output):
        print_pages(found, arguments)
    if not webbrowser.open(page.absolute().as_uri()):
        print_error(f"no browser found. The memory map is in {page}")
