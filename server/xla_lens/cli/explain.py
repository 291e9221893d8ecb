"""`xla-lens explain`: what findings with a code mean."""

import argparse

from xla_lens.cli.errors import CannotRun
from xla_lens.model.checks.codes import Code
from xla_lens.package_files import explanation_path


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if options.code not in set(Code):
        raise CannotRun(f"{options.code}: no finding has this code. `xla-lens explain --help` lists all codes")
    print(explanation_path(Code(options.code)).read_text(encoding="utf-8"), end="")
    return 0
