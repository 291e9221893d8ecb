"""`xla-lens explain`: what findings with a code mean, or all codes."""

import argparse

from xla_lens.model.checks.codes import Code
from xla_lens.package_files import explanation_path


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if options.code is not None:
        print(_explanation(options.code), end="")
        return 0
    width = max(map(len, Code))
    for code in Code:
        print(f"{code:<{width}}  {_meaning(code)}")
    return 0


def _explanation(code: Code) -> str:
    return explanation_path(code).read_text(encoding="utf-8")


def _meaning(code: Code) -> str:
    """The sentence under the title of an explanation."""
    return _explanation(code).split("**")[1].rstrip(".")
