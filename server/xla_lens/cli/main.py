"""The command line: `xla-lens report`, `xla-lens check`, `xla-lens explain`, `xla-lens server`.

The exit status is 0 on success, 1 if `check` reports an error or a warning, 2 if a command could not run.
"""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from xla_lens import __version__
from xla_lens.cli.errors import CannotRun

_DESCRIPTION: Final = """\
See where the memory goes in the buffer assignment dumps of the XLA compiler.

XLA writes dumps with --xla_dump_to=DIR --xla_dump_hlo_as_text. PATH is any file of a dump, such as
module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt, or a folder of dumps."""

_EXAMPLES: Final = """\
examples:
  xla-lens report dumps/                        where the memory of each module goes
  xla-lens report FILE --top 50                 the 50 largest buffers at the peak
  xla-lens report FILE --at 120                 what is live at step 120
  xla-lens report FILE --budget 16GiB           which buffers to remove to fit into 16 GiB
  xla-lens report FILE --output-format json     the report for other programs
  xla-lens report FILE --output-format html     the memory map, for a browser
  xla-lens check dumps/                         verify all dumps in a folder
  xla-lens explain overlapping-slices           what a finding means
  xla-lens server                               the language server, on standard input and output"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser(is_server=arguments[:1] == ["server"]).parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        status = run(options)
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


def _parser(*, is_server: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xla-lens",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if not is_server:
        # Editors wait for the server. It starts faster without the imports of the other commands.
        from xla_lens.cli.check import add_check
        from xla_lens.cli.explain import add_explain
        from xla_lens.cli.report import add_report

        add_report(commands)
        add_check(commands)
        add_explain(commands)
    _add_server(commands)
    return parser


def _add_server(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "server",
        help="run the language server",
        description="Run the language server. Editors start it and talk to it over standard input and output.",
    )
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", type=_host_and_port, help="listen on this TCP port for one editor instead"
    )
    parser.set_defaults(run=_run_server)


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT; expected for example 127.0.0.1:2087")
    return host, int(port)


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
