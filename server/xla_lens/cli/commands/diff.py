"""`xla-lens diff`: show what changed between two dumps."""

import argparse
import re
from fractions import Fraction
from pathlib import Path
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    CI_FORMATS,
    MAIN_MEMORY,
    add_color,
    add_output,
    add_parts,
    add_path_mapping,
    add_top,
)
from xla_lens.diff.options import DEFAULT_DIFF_TOP, DiffPart, Increase
from xla_lens.report.options import FORMATS, CiFormat
from xla_lens.words.numbers import parse_size

HELP: Final = "show what changed between two dumps"

_DESCRIPTION: Final = """\
Show what changed between two dumps: where the change of each peak comes from, so that the parts add up to it exactly,
and which values changed, moved in time, were added and removed. OLD and NEW are files of a dump, or folders of dumps,
whose modules are paired by name. OLD may also be a report, the output of `xla-lens report --output-format json` in a
file named *.json. A single folder stands for the runs in it, such as those of `xla-lens run`.

The exit status is 0, 1 if a limit is exceeded, and 2 if the command could not run."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = f"parts: {', '.join(DiffPart)}."
    old = "the old dump: one of its files, a folder of dumps, or -; or all the runs"
    parser.add_argument("old", metavar="OLD", type=Path, help=old)
    new = "the new dump; without it, the folders in OLD are the runs"
    parser.add_argument("new", metavar="NEW", nargs="?", type=Path, help=new)
    more = "further dumps: shows what each module needs in all of them"
    parser.add_argument("more", metavar="MORE", nargs="*", type=Path, default=[], help=more)
    html = "html (a page with both memory maps)"
    words = f"text (default), markdown, json, {html}, {CI_FORMATS} (the exceeded limits)"
    add_output(parser, words, (*FORMATS, *CiFormat))
    add_path_mapping(parser, "for github, gitlab, sarif and junit: ")
    add_parts(parser, DiffPart)
    add_top(parser, default=DEFAULT_DIFF_TOP)
    _add_limit(parser, "--max-memory-increase", "what the program needs")
    _add_limit(parser, "--max-peak-increase", "the peak")
    add_color(parser)


def _add_limit(parser: Parser, name: str, what: str) -> None:
    grew = f"{what} of {MAIN_MEMORY} grew by more than this, such as 1%% or 64MiB"
    words = f"fail if {grew}; vmem=1MiB limits another memory space"
    parser.add_argument(name, metavar="LIMIT", type=_increase, action="append", default=[], help=words)


def _increase(text: str) -> Increase:
    """Return a limit such as ``1%``, ``64MiB`` or ``vmem=0``."""
    space, equals, limit = text.rpartition("=")
    share = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*", limit)
    limit_bytes = None if share else parse_size(limit)
    if (equals and not space.strip()) or not (share or limit_bytes is not None):
        raise argparse.ArgumentTypeError(f"{text!r} is not a limit; expected for example 1%, 64MiB or vmem=1MiB")
    # Imports numpy, which takes 100 ms, and for which an error of arguments does not have to wait.
    from xla_lens.model.tables.backend import parse_spaces

    spaces = parse_spaces(space)
    if equals and not spaces:
        expected = "expected hbm, vmem, smem, host or a number"
        raise argparse.ArgumentTypeError(f"{text}: unknown memory space {space.strip().lower()!r}; {expected}")
    return Increase(text, spaces, limit_bytes, Fraction(share[1]) if share else None)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.diff import run_diff

    return run_diff(arguments)
