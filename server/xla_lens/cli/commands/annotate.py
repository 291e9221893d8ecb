"""`xla-lens annotate`: print a Python file with the bytes at the peak beside its lines."""

import argparse
from pathlib import Path
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import add_module, add_output_file, add_path_mapping, add_paths

HELP: Final = "show the source and its bytes"

_DESCRIPTION: Final = """\
Print a Python file of the program with the bytes at the peak beside its lines. Of several modules, the one with the
most bytes from the file counts."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.add_argument("source", metavar="FILE", type=Path, help="the Python file")
    add_paths(parser)
    add_module(parser, "use only")
    add_path_mapping(parser)
    add_output_file(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.annotate import run_annotate

    return run_annotate(arguments)
