"""`xla-lens explain`: what findings with a code mean."""

import argparse

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.sets import paragraphs
from xla_lens.files import explanation_path
from xla_lens.model.checks.codes import Code


def add_explain(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "explain",
        help="explain a finding",
        description="Explain a finding of `xla-lens check`: the rule, what usually breaks it, and what to check.",
        epilog=paragraphs(f"codes: {', '.join(Code)}"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("code", metavar="CODE", help="the code of the finding, such as overlapping-slices")
    parser.set_defaults(run=run_explain)


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if options.code not in set(Code):
        raise CannotRun(f"{options.code}: no finding has this code. `xla-lens explain --help` lists all codes")
    print(explanation_path(Code(options.code)).read_text(encoding="utf-8"), end="")
    return 0
