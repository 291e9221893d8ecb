"""`xla-lens explain`: what findings of a code mean."""

import argparse

from xla_lens.cli.errors import CannotRun
from xla_lens.files import explanation_path
from xla_lens.model.checks.findings import Code


def add_explain(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "explain",
        help="explain a finding",
        description="Explains what findings of a code mean: the rule, what usually breaks it, and what to look at.",
        epilog=f"codes: {', '.join(Code)}",
    )
    parser.add_argument("code", metavar="CODE", help="such as overlapping-slices")
    parser.set_defaults(run=run_explain)


def run_explain(options: argparse.Namespace) -> int:
    """Runs the command; gives the exit status."""
    if options.code not in set(Code):
        raise CannotRun(f"no such code: {options.code} (`xla-lens explain --help` lists them)")
    print(explanation_path(Code(options.code)).read_text(encoding="utf-8"), end="")
    return 0
