"""`xla-lens run`: run a program, and report the memory of the modules that it compiles.

What reports needs 0.2 s to import. That happens when the program has ended.
"""

import argparse
import itertools
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path

from xla_lens.cli.child import CannotStart, child_environment, run_program
from xla_lens.cli.inside.sitecustomize import own_folder
from xla_lens.cli.output import CannotRun, check_output, open_output, print_error
from xla_lens.cli.run_folder import RunFolder, create_folder


def run_run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status, which is that of the program, whatever becomes of the report."""
    command = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not command:
        raise CannotRun("no command given; expected for example `xla-lens run python train.py`")
    if arguments.tries and arguments.output_format not in ("text", "markdown"):
        raise CannotRun("--try prints text or markdown; for JSON, run `xla-lens try` on the dumps afterwards")
    if arguments.output_file:
        check_output(arguments.output_file)
    chosen = own_folder(os.environ.get("XLA_FLAGS", ""))
    folder = create_folder(arguments.out or _default_folder(command), Path(chosen).absolute() if chosen else None)
    try:
        status = run_program(command, child_environment(os.environ, folder.path.absolute(), arguments.only), folder.log)
    except CannotStart as error:
        folder.remove_log()
        folder.remove_if_empty()
        print_error(str(error))
        return error.status
    try:
        # The program has its own number of threads, and the report needs no more than one.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from xla_lens.cli.run_report import print_report

        folder.tidy(is_everything_kept=arguments.keep_all)
        output = open_output(arguments.output_file) if arguments.output_file else nullcontext(sys.stderr)
        with output as stream, redirect_stdout(stream):
            print_report(folder, arguments)
    except CannotRun as error:
        print_error(str(error))
    except OSError as error:
        print_error(f"the report cannot be written: {error.strerror or error}")
    except KeyboardInterrupt:
        print_error(f"interrupted. `xla-lens report {folder.path}` shows the report")
    except Exception:
        # An error of ours, which must not change the exit status.
        traceback.print_exc()
    if status:
        # A report ends like that of a program that has done its work.
        print_error(_failure(status, folder))
    return status


def _failure(status: int, folder: RunFolder) -> str:
    """How the program has failed, and the module that XLA was compiling."""
    words = f"the program failed: exit status {status}"
    with suppress(ValueError):
        words += f" ({signal.Signals(status - 128).name})"
    module = folder.unfinished_module()
    return f"{words}, while XLA compiled {module}" if module else words


def _default_folder(command: Sequence[str]) -> Path:
    """A folder that is named for the script, the module after ``-m``, or the program, and the time."""
    scripts = [Path(word).stem for word in command if word.endswith(".py")]
    modules = [module for option, module in pairwise(command) if option == "-m"]
    name, *_ = *scripts, *modules, Path(command[0]).stem
    first = path = Path("xla-dumps", f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    numbers = itertools.count(2)
    while path.exists():
        path = first.with_name(f"{first.name}-{next(numbers)}")
    return path
