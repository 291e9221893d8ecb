"""`xla-lens explain`: what findings with a code and actions of a rule mean, or all codes and rules."""

import argparse

from xla_lens.model.advice.codes import Rule
from xla_lens.model.checks.codes import Code
from xla_lens.package_files import explanation, meaning


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if options.code is not None:
        print(explanation(options.code), end="")
        return 0
    codes = (*Code, *Rule)
    width = max(map(len, codes))
    for code in codes:
        print(f"{code:{width}}  {meaning(code)}")
    return 0
