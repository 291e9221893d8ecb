"""The command line: what is common to all commands. Each command is a module of `cli/commands`.

The exit status is 0 on success, 1 if `check` reports an error or a warning or `oom` has no answer, 2 if a command could
not run.
"""

import argparse
import gc
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Final, NoReturn, Protocol

from xla_lens import __version__
from xla_lens.cli.commands import (
    advise,
    annotate,
    check,
    completion,
    diff,
    explain,
    oom,
    report,
    server,
    try_dump,
    unknown,
)
from xla_lens.cli.commands import (
    run as run_command,
)
from xla_lens.cli.output import CannotRun, open_output, print_error, printable_output
from xla_lens.cli.parser import VARIABLES, Parser
from xla_lens.words.names import unknown_name


class Command(Protocol):
    """A module of `cli/commands`, which says what these are."""

    HELP: str

    def add_arguments(self, parser: Parser) -> None:
        """Add the description and the arguments of the command."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command and return the exit status."""


COMMANDS: Final[Mapping[str, Command]] = {
    "run": run_command,
    "report": report,
    "advise": advise,
    "try": try_dump,
    "annotate": annotate,
    "check": check,
    "unknown": unknown,
    "diff": diff,
    "explain": explain,
    "oom": oom,
    "completion": completion,
    "server": server,
}
"""The commands in the order of the help."""

_DESCRIPTION: Final = """\
See where the memory goes in the buffer assignment dumps of the XLA compiler.

`xla-lens run` runs a program with dumps. By itself, XLA writes them with
--xla_dump_to=DIR --xla_dump_hlo_as_text in XLA_FLAGS. PATH is any file of a dump, such as
module_0001.jit_f.*-buffer-assignment.txt, a folder of dumps, or - for standard input."""

_EXAMPLES: Final = """\
examples:
  xla-lens run python train.py                run a program, show its memory
  xla-lens report dumps/                      where the memory goes
  xla-lens report FILE --top 50               the 50 largest buffers at the peak
  xla-lens report FILE --at 120               what is live at step 120
  xla-lens report FILE --budget 16GiB         which buffers to remove to fit
  xla-lens report FILE --output-format json   the report for programs
  xla-lens report FILE --output-format html   the memory map, for a browser
  xla-lens advise FILE --budget 16GiB         what to change to fit
  xla-lens try FILE --budget 16GiB            compile it with these changes
  xla-lens annotate model.py FILE             the source and its bytes
  xla-lens diff OLD NEW                       what changed between two dumps
  xla-lens check dumps/                       verify all dumps in a folder
  xla-lens explain overlapping-slices         what a finding means
  xla-lens oom train.log dumps/               what an out-of-memory error means
  xla-lens server                             the language server, for editors

Sizes: 16GiB is 16 x 2^30 bytes, 16GB is 16 x 10^9 bytes, and 16G, as XLA prints it, is 16GiB.

Set once what holds for every run: """


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


def _run(arguments: argparse.Namespace) -> int:
    command = COMMANDS[arguments.command]
    if arguments.command == "run":
        # The output of the program is not that of the report.
        return command.run(arguments)
    if file := getattr(arguments, "output_file", None):
        arguments.output_file = None
        _refuse_inputs(file, arguments)
        with open_output(file) as output, redirect_stdout(output):
            return _run(arguments)
    if sys.stdout is None and arguments.command != "server":
        raise CannotRun("standard output is closed. Redirect it to a file, or to /dev/null")
    # NumPy would start a thread for each processor, for linear algebra, which nothing here needs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return command.run(arguments)


def _refuse_inputs(output: Path, arguments: argparse.Namespace) -> None:
    """Raise `CannotRun` if the output would replace a dump, or a file among the arguments, whatever its name is."""
    # Takes 100 ms, for which help and errors of arguments would wait.
    from xla_lens.disk.sets import is_part_of_a_dump

    given = itertools.chain(*(value if isinstance(value, list) else [value] for value in vars(arguments).values()))
    names = [path for path in given if isinstance(path, Path) and os.path.isfile(path)]
    if os.path.isfile(output) and (any(map(output.samefile, names)) or is_part_of_a_dump(output)):
        raise CannotRun(f"{output}: the output cannot replace a dump or an argument. Choose another file")


# ---------------------------------------------------------------- arguments


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of the command line; the command is in `command`. Exits with an error if they are wrong."""
    name = next(iter(arguments), None)
    parser, commands = parsers(name)
    if name is None:
        parser.error(f"expected a command: {', '.join(commands)}")
    if name not in commands and name not in ("-h", "--help", "--version"):
        if name.startswith("-"):
            parser.reject([name])
        parser.error(unknown_name("command", name, commands))
    command = commands.get(name, parser)
    command.read_environment()
    parsed, unknown_arguments = parser.parse_known_args(arguments)
    if unknown_arguments:
        command.reject(unknown_arguments)
    return parsed


def parsers(name: str | None = None) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command line, and those of the commands by name. Of most commands, their own is enough;
    the help lists all, and `completion` makes a script from all.
    """
    parser = Parser(prog="xla-lens", description=_DESCRIPTION, epilog=f"{_EXAMPLES}{', '.join(VARIABLES)}.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    # Without `prog`, argparse would format a usage line, for which it asks for the size of the terminal.
    added = parser.add_subparsers(title="commands", prog=parser.prog, metavar="COMMAND", dest="command", required=True)
    is_enough = name in COMMANDS and name != "completion"
    for each, command in COMMANDS.items():
        if each == name or not is_enough:
            command.add_arguments(added.add_parser(each, help=command.HELP))
    commands = dict(added.choices)
    if "completion" in commands:
        commands["completion"].set_defaults(parser=parser, commands=commands)
    return parser, commands
