"""`xla-lens check`: verify dumps."""

import argparse
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    CI_FORMATS,
    MAIN_MEMORY,
    add_color,
    add_output,
    add_path_mapping,
    add_paths,
    names_of,
    size,
)
from xla_lens.model.checks.codes import Code
from xla_lens.report.options import CiFormat

HELP: Final = "verify dumps"

_DESCRIPTION: Final = """\
Verify dumps: report every place where a dump contradicts itself or XLA's own rules.

The exit status is 0 without errors and warnings, 1 if there are any, and 2 if the command could not run."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = f"codes: {', '.join(Code)}"
    add_paths(parser)
    add_output(parser, f"text (default), json, {CI_FORMATS}", ("text", "json", *CiFormat))
    add_path_mapping(parser, "for github, gitlab, sarif and junit: ")
    codes = names_of("code", Code)
    select = "report only these codes, separated by commas"
    parser.add_argument("--select", metavar="CODES", type=codes, names=Code, help=select)
    parser.add_argument("--ignore", metavar="CODES", type=codes, names=Code, help="do not report these codes")
    memory = f"report an error if a program needs more {MAIN_MEMORY} than this size, such as 16GiB, and so does not fit"
    parser.add_argument("--max-memory", metavar="SIZE", type=size, help=memory)
    live = "live at once, which is less than what the program needs"
    peak = f"report an error if more {MAIN_MEMORY} than this size is {live}"
    parser.add_argument("--max-peak", metavar="SIZE", type=size, help=peak)
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.check import run_check

    return run_check(arguments)
