"""`xla-lens explain`: what findings with a code and actions of a rule mean, or all codes and rules."""

import argparse
import re

from xla_lens.advice.codes import Rule
from xla_lens.blocks.terminal import Piece, Style
from xla_lens.cli.terminal import find_terminal, print_pieces
from xla_lens.disk.package_files import explanation, meaning
from xla_lens.model.checks.codes import Code


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status. On a terminal, paragraphs fit its width."""
    terminal = find_terminal(options.color)
    if options.code is None:
        codes = (*Code, *Rule)
        width = max(map(len, codes)) + 2
        for code in codes:
            print_pieces([Piece(f"{code:{width}}", Style.NAME), Piece(meaning(code))], terminal, width)
    elif terminal is None:
        print(explanation(options.code), end="")
    else:
        for paragraph in re.split(r"\n(?=\n|- )", explanation(options.code)):
            text = " ".join(paragraph.split())
            if paragraph.startswith("\n"):
                print()
            style = Style.TITLE if text.startswith("#") else Style.PLAIN
            print_pieces([Piece(text.lstrip("# "), style)], terminal, 2 * text.startswith("- "))
    return 0
