"""`xla-lens report`: show where the memory of dumps goes."""

import argparse
from typing import Final

from xla_lens.cli.output import CannotRun
from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    MAIN_MEMORY,
    add_choice,
    add_color,
    add_output,
    add_parts,
    add_paths,
    add_selection,
    add_top,
    number,
    size,
)
from xla_lens.report.options import FORMATS, LONG_PARTS, Part

HELP: Final = "show where the memory goes"

_DESCRIPTION: Final = """\
Show where the memory of each dump goes: totals, the recomputed and the printed peak, what is live there, which source
lines it comes from, what keeps it alive, and what would lower it."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = (
        f"parts: {', '.join(Part)}. Without --part, all parts except {', '.join(LONG_PARTS)}; "
        f"{Part.BUDGET} needs --budget."
    )
    add_paths(parser)
    html = "html: the memory map of one dump as a self-contained page"
    add_output(parser, f"text (default), markdown, json, or {html}", FORMATS)
    add_parts(parser, Part)
    add_top(parser)
    at = "also show what is live at this step of the schedule"
    parser.add_argument("--at", metavar="STEP", type=number, help=at)
    budget = f"also show which buffers to remove so that {MAIN_MEMORY} fits into this size, such as 16GiB"
    parser.add_argument("--budget", metavar="SIZE", type=size, help=budget)
    add_selection(parser)
    loops = (
        "yes (default): what a loop carries has the source of the instruction in its body that writes it; no: its own"
    )
    add_choice(parser, "--through-loops", "WHEN", loops, ("yes", "no"))
    stacks = f"also show the call stacks of each source line (adds the part {Part.STACKS})"
    parser.add_argument("--stacks", action="store_true", help=stacks)
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if Part.BUDGET in (arguments.part or ()) and arguments.budget is None:
        raise CannotRun(f"--part {Part.BUDGET} needs a size; add --budget SIZE, such as --budget 16GiB")
    from xla_lens.cli.report import run_report

    return run_report(arguments)
