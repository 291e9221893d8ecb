"""`xla-lens try`: compile the program of a dump again with changes, and show what they really save."""

import argparse
import os
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from msgspec.structs import replace

from xla_lens.advice.advise import advise
from xla_lens.blocks.blocks import Outline
from xla_lens.cli.json_output import print_json
from xla_lens.cli.output import CannotRun, print_error
from xla_lens.cli.report import print_outlines, selected
from xla_lens.cli.sets import GivenDumpSets, LoadedSet, find_dumps
from xla_lens.disk.device import has_folder
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.summary import module_of
from xla_lens.trying.kept import keep
from xla_lens.trying.process import CannotTry, Limits, program_of
from xla_lens.trying.table import trials_section, tried_module
from xla_lens.trying.trials import Attempt, Trials, try_candidates
from xla_lens.trying.tried_json import TriedModule


def run_try(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status: 1 if nothing could be measured, 130 if the user interrupts."""
    worst = _worst(selected(find_dumps(arguments.paths), arguments.module))
    python = arguments.python or python_with_jax()
    limits = Limits(arguments.seconds, arguments.memory)
    trials = try_set(worst, python, limits, arguments.budget, dict(arguments.flag))
    keep_trials(worst, trials)
    print_trials(worst, trials, arguments.output_format, arguments.color)
    return 130 if trials.is_interrupted else int(trials.before is None)


def _worst(found: GivenDumpSets) -> LoadedSet:
    """The dump that needs the most of the main memory."""

    def needed(loaded: LoadedSet) -> int:
        space = loaded.analysis.memory.space(DEFAULT_COLOR)
        return space.needed_bytes if space else 0

    return max(found.load(), key=needed)


def python_with_jax() -> str:
    """Return the Python that compiles: this one if it has jax, else the one on the PATH."""
    if find_spec("jax"):
        return sys.executable
    found = (shutil.which(name) for name in ("python3", "python"))
    return next(filter(None, found), sys.executable)


def try_set(
    loaded: LoadedSet, python: str, limits: Limits, budget_bytes: int | None, flags: Mapping[str, str]
) -> Trials:
    """Try what the advice for a dump says, and some flags. Raises `CannotRun` if it does not tell how to compile it."""
    analysis = loaded.read_module()
    space = analysis.memory.space(DEFAULT_COLOR)
    try:
        program = replace(program_of(loaded.files, analysis), python=os.path.expanduser(python))
    except CannotTry as error:
        raise CannotRun(f"{loaded.files.stem}: cannot be compiled again: {error}") from error
    attempt = Attempt(program, analysis.dump, limits, lambda words: print_error(f"compiling {words}"))
    # What was tried before is no estimate.
    advice = advise(replace(analysis, tried=None), analysis.module, DEFAULT_COLOR, budget_bytes)
    return try_candidates(attempt, advice, space.needed_bytes if space else 0, budget_bytes, flags)


def keep_trials(loaded: LoadedSet, trials: Trials) -> None:
    """Keep what was measured beside the dump, for its advice in later reports and in editors."""
    if trials.before is None or not has_folder(loaded.files):
        return
    try:
        path = keep(_found(loaded, trials), loaded.files)
    except OSError as error:
        reason = error.strerror or error
        print_error(f"{loaded.files.stem}: reports will not show what is measured: it cannot be kept there: {reason}")
    else:
        print_error(f"reports show what is measured: it is kept in {path}")


def _found(loaded: LoadedSet, trials: Trials) -> TriedModule:
    analysis = loaded.analysis
    return tried_module(trials, analysis.dump, module_of(analysis), loaded.files.labels.values())


def print_trials(loaded: LoadedSet, trials: Trials, output_format: str, color: str) -> None:
    """Print what was tried on a dump."""
    if output_format == "json":
        print_json(_found(loaded, trials))
    else:
        outline = Outline(module_of(loaded.analysis), parts=((trials_section(trials),),))
        print_outlines([(outline, loaded.analysis.dump)], output_format, color)
