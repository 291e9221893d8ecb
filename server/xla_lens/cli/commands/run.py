"""`xla-lens run`: run a program and show where its memory goes."""

import argparse
from pathlib import Path
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    MAIN_MEMORY,
    add_color,
    add_output,
    add_parts,
    add_top,
    regex,
    size,
)
from xla_lens.report.options import FORMATS, Part

HELP: Final = "run a program and show where its memory goes"

_DESCRIPTION: Final = """\
Run a program that uses XLA, and show the modules that it compiled, worst first, and where the memory of the worst one
goes; also if the program failed, ran out of memory or was interrupted.

The output and the exit status are those of the program. The report follows on standard error. Each process dumps to a
folder of its own, and JAX's compilation cache is off, because XLA dumps only what it compiles. XLA_FLAGS still apply;
with --xla_dump_to in them, the dumps go there."""

_EXAMPLES: Final = """\
examples:
  xla-lens run python train.py
  xla-lens run --out dumps -- python -m train --steps 3"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.usage = "%(prog)s [options] [--] COMMAND ..."
    out = "a new folder for the dumps (default: one below xla-dumps/ with the name of the program and the time)"
    parser.add_argument("--out", metavar="DIR", type=Path, help=out)
    only = "dump only modules with a match of this regular expression in their name"
    parser.add_argument("--only", metavar="REGEX", type=regex, help=only)
    parser.add_argument("--keep-all", action="store_true", help="keep all files of XLA, not only those we read")
    add_output(parser, "text (default), markdown, json or html, as in `xla-lens report`", FORMATS)
    budget = f"also show what to change so that {MAIN_MEMORY} fits into this size, such as 16GiB"
    parser.add_argument("--budget", metavar="SIZE", type=size, help=budget)
    add_parts(parser, Part)
    add_top(parser)
    tries = "afterwards, compile the worst module with what the advice says, and show what it saves; see `xla-lens try`"
    parser.add_argument("--try", dest="tries", action="store_true", help=tries)
    parser.add_argument("--open", action="store_true", help="open the memory map in a browser afterwards")
    parser.add_argument("program", metavar="COMMAND", nargs="...", help="the program and its arguments")
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status, which is that of the program."""
    from xla_lens.cli.run import run_run

    return run_run(arguments)
