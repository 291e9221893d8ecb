"""`xla-lens oom`: explain an out-of-memory message."""

import argparse
from pathlib import Path
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    MAIN_MEMORY,
    REPORT_FORMATS,
    add_color,
    add_output,
    add_parts,
    add_paths,
    add_top,
    size,
)
from xla_lens.report.options import Part

HELP: Final = "explain an out-of-memory message"

_DESCRIPTION: Final = """\
Find XLA's out-of-memory messages in the log of a program, and show what they say: which memory ran out, what was
needed, and the buffers that the message lists. With dumps, also show which values these buffers are, what each number
stands for, and what would lower the peak.

Without such a message, show what the compiler for TPUs logged about the programs that it compiled.

The exit status is 0, 1 if there is neither or no dump fits, and 2 if the command could not run."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = f"parts: {', '.join(Part)}."
    log = "the log, which may be compressed with gzip, or - for standard input (default)"
    parser.add_argument("log", metavar="LOG", nargs="?", type=Path, default=Path("-"), help=log)
    add_paths(parser, "*")
    add_output(parser, "text (default), markdown or json", REPORT_FORMATS)
    add_parts(parser, Part, f"the parts of the dump's report that follow the message (default: {Part.ADVICE})")
    add_top(parser)
    budget = f"the size that {MAIN_MEMORY} should fit into, such as 16GiB (default: the capacity in the message)"
    # With another name than in other commands, XLA_LENS_BUDGET does not replace the capacity in the message.
    parser.add_argument("--budget", metavar="SIZE", type=size, dest="wanted_budget", help=budget)
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.oom import run_oom

    return run_oom(arguments)
