"""`xla-lens explain`: what findings with a code and actions of a rule mean, or all codes and rules."""

import argparse

from xla_lens.model.advice.codes import Rule
from xla_lens.model.checks.codes import Code
from xla_lens.package_files import explanation_path


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if options.code is not None:
        print(_explanation(options.code), end="")
        return 0
    codes = (*Code, *Rule)
    width = max(map(len, codes))
    for code in codes:
        print(f"{code:<{width}}  {_meaning(code)}")
    return 0


def _explanation(code: Code | Rule) -> str:
    return explanation_path(code).read_text(encoding="utf-8")


def _meaning(code: Code | Rule) -> str:
    """The sentence under the title of an explanation."""
    return _explanation(code).split("**")[1].rstrip(".")
