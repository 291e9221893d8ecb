"""The command line: `xla-lens report`, `xla-lens check`, `xla-lens explain`, `xla-lens server`.

The exit status is 0 on success, 1 if `check` reports an error or a warning, 2 if a command could not run.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from xla_lens.cli.arguments import parse_arguments
from xla_lens.cli.errors import CannotRun


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(options)
        sys.stdout.flush()
    except CannotRun as error:
        print(f"xla-lens: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return status


def _run(options: argparse.Namespace) -> int:
    """Run the command. Each is imported when it runs, so that none waits for what only another needs."""
    match options.command:
        case "report":
            from xla_lens.cli.report import run_report

            return run_report(options)
        case "check":
            from xla_lens.cli.check import run_check

            return run_check(options)
        case "explain":
            from xla_lens.cli.explain import run_explain

            return run_explain(options)
        case _:
            return _run_server(options)


def _run_server(options: argparse.Namespace) -> int:
    # The server takes longer to import than the other commands take to run. Imports leave no garbage to collect.
    gc.disable()
    from xla_lens.lsp.serve import serve

    gc.enable()
    try:
        return serve(options.tcp)
    except OSError as error:
        where = f"{options.tcp[0]}:{options.tcp[1]}"
        raise CannotRun(f"{where}: cannot listen: {error.strerror or error}. Choose another address") from error
