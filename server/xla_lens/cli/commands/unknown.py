"""`xla-lens unknown`: list the text of dumps that XLA Lens does not know."""

import argparse
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import add_output, add_paths

HELP: Final = "list the text that XLA Lens does not know"

_DESCRIPTION: Final = """\
List the text of dumps that XLA Lens does not know, as a newer release of XLA may print, with counts, for a bug report.

The exit status is 0 without such text, 1 if there is any, and 2 if the command could not run."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    add_paths(parser)
    add_output(parser, "text (default) or json", ("text", "json"))


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.unknown import run_unknown

    return run_unknown(arguments)
