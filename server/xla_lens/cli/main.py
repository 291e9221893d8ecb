"""The command line: `xla-lens run`, `report`, `advise`, `diff`, `check`, `explain`, `oom` and `server`.

The exit status is 0 on success, 1 if `check` reports an error or a warning or `oom` has no answer, 2 if a command could
not run.
"""

import argparse
import gc
import itertools
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

from xla_lens.cli.arguments import parse_arguments
from xla_lens.cli.output import CannotRun, open_output, print_error, printable_output


def run() -> NoReturn:
    """Run the command line as the program, and exit."""
    status = main()
    # `main` has flushed standard output, and standard error holds back no whole lines. Without this, Python would first
    # free every object.
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    # Imports and analyses allocate many objects, hardly any of them garbage.
    gc.set_threshold(50_000, 20, 20)
    with printable_output():
        return _status(sys.argv[1:] if arguments is None else arguments)


def _status(arguments: Sequence[str]) -> int:
    try:
        try:
            status = _run(parse_arguments(arguments))
        finally:
            # Also after help, which exits.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CannotRun as error:
        print_error(str(error))
        return 2
    except OSError as error:
        if error.filename is not None:
            raise
        # The disk may be full. Errors of reading name a file.
        if sys.stdout is not None:
            # The interpreter must not try again at its exit.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # The reader, such as `head`, has closed the pipe.
            return 0
        print_error(f"standard output: cannot be written: {error.strerror or error}")
        return 2
    except MemoryError:
        print_error("not enough memory for these dumps. Name fewer of them, or a smaller one")
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def _run(options: argparse.Namespace) -> int:
    """Run the command. Each is imported when it runs, so that none waits for what only another needs."""
    if options.command == "run":
        from xla_lens.cli.run import run_run

        return run_run(options)
    if file := getattr(options, "output_file", None):
        options.output_file = None
        _refuse_inputs(file, options)
        with open_output(file) as output, redirect_stdout(output):
            return _run(options)
    if sys.stdout is None and options.command != "server":
        raise CannotRun("standard output is closed. Redirect it to a file, or to /dev/null")
    # NumPy would start a thread for each processor, for linear algebra, which nothing here needs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    variant = next((name for name in ("oom", "annotate", "unknown") if getattr(options, name, None)), "")
    module, function = _FUNCTIONS[f"{options.command} {variant}".strip()]
    status: int = getattr(import_module(f"xla_lens.cli.{module}"), function)(options)
    return status


def _refuse_inputs(output: Path, options: argparse.Namespace) -> None:
    """Raise `CannotRun` if the output would replace a dump, or a file among the arguments, whatever its name is."""
    from xla_lens.disk.sets import is_part_of_a_dump

    given = itertools.chain(*(value if isinstance(value, list) else [value] for value in vars(options).values()))
    names = [path for path in given if isinstance(path, Path) and os.path.isfile(path)]
    if os.path.isfile(output) and (any(map(output.samefile, names)) or is_part_of_a_dump(output)):
        raise CannotRun(f"{output}: the output cannot replace a dump or an argument. Choose another file")


_FUNCTIONS: Final = {
    "report": ("report", "run_report"),
    "report oom": ("oom", "run_report_of_oom"),
    "report annotate": ("annotate", "run_annotate"),
    "advise": ("report", "run_report"),
    "check": ("check", "run_check"),
    "check unknown": ("check", "run_unknown"),
    "diff": ("diff", "run_diff"),
    "explain": ("explain", "run_explain"),
    "oom": ("oom", "run_oom"),
    "completion": ("arguments", "run_completion"),
    "server": ("main", "_run_server"),
}
"""The module and the function of each command, and of options that make it another command."""


def _run_server(options: argparse.Namespace) -> int:
    # The types of the protocol take 200 ms to import.
    from xla_lens.lsp.serve import RemoteAddress, serve

    host, port = options.tcp or ("", 0)
    try:
        return serve(options.tcp, allow_remote=options.allow_remote)
    except RemoteAddress as error:
        raise CannotRun(
            f"{host}:{port}: other machines can reach this address, and whoever connects can read all dumps "
            f"that you can read. Use 127.0.0.1:{port}, or add --allow-remote"
        ) from error
    except OSError as error:
        raise CannotRun(f"{host}:{port}: cannot listen: {error.strerror or error}. Choose another address") from error
