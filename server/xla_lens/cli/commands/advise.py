"""`xla-lens advise`: show what would lower the peak."""

import argparse
from typing import Final

from xla_lens.advice.codes import Rule
from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    MAIN_MEMORY,
    REPORT_FORMATS,
    add_color,
    add_output,
    add_paths,
    add_selection,
    add_top,
    size,
)

HELP: Final = "show what would lower the peak"

_DESCRIPTION: Final = f"""\
Show what would lower the peak of {MAIN_MEMORY}: actions, those that save the most first, each with its buffers, the
recomputed peak after it, and how certain that is.

This is the last part of `xla-lens report`."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = f"rules: {', '.join(Rule)}. `xla-lens explain RULE` explains a rule."
    add_paths(parser)
    add_selection(parser)
    budget = "also show whether the program can fit into this size, such as 16GiB, and which actions reach it"
    parser.add_argument("--budget", metavar="SIZE", type=size, help=budget)
    add_output(parser, "text (default), markdown, or json: the report with the part advice only", REPORT_FORMATS)
    add_top(parser, "maximum number of actions")
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.report import run_advise

    return run_advise(arguments)
