"""`xla-lens explain`: what findings with a code and actions of a rule mean, or all codes and rules."""

import argparse
import re
from collections.abc import Iterator

from xla_lens.cli.terminal import find_terminal, print_pieces
from xla_lens.model.advice.codes import Rule
from xla_lens.model.checks.codes import Code
from xla_lens.package_files import explanation, meaning
from xla_lens.render.terminal import Piece, Style, Terminal


def run_explain(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    terminal = find_terminal(options.color)
    if options.code is not None and terminal is None:
        print(explanation(options.code), end="")
        return 0
    if options.code is not None and terminal is not None:
        _print_fitted(explanation(options.code), terminal)
        return 0
    codes = (*Code, *Rule)
    width = max(map(len, codes))
    for code in codes:
        pieces = [Piece(code, Style.NAME), Piece(" " * (width + 2 - len(code))), Piece(meaning(code))]
        print_pieces(pieces, terminal, width + 2)
    return 0


def _print_fitted(markdown: str, terminal: Terminal) -> None:
    """Print an explanation, which has headings, paragraphs and lists, on a terminal."""
    for number, block in enumerate(markdown.strip().split("\n\n")):
        if number:
            print()
        if block.startswith("#"):
            print_pieces([Piece(block.lstrip("# "), Style.TITLE)], terminal)
            continue
        for paragraph in re.split(r"\n(?=- )", block):
            text = " ".join(paragraph.split())
            print_pieces(list(_inlines(text)), terminal, 2 * text.startswith("- "))


def _inlines(text: str) -> Iterator[Piece]:
    for part in re.split(r"(\*\*.+?\*\*|`[^`]+`)", text):
        if part.startswith("**"):
            yield Piece(part.strip("*"), Style.TITLE)
        else:
            yield Piece(part, Style.NAME if part.startswith("`") else Style.PLAIN)
