"""`xla-lens explain`: what findings with a code and actions of a rule mean, or all codes and rules."""

import argparse
import re
from typing import Final

from xla_lens.advice.codes import Rule
from xla_lens.blocks.terminal import Style, StyledText
from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import ALL_CODES, add_color, one_of
from xla_lens.cli.terminal import find_terminal, print_pieces
from xla_lens.disk.package_files import explanation, meaning
from xla_lens.model.checks.codes import Code

HELP: Final = "explain a finding or an action"

_DESCRIPTION: Final = """\
Explain a finding of `xla-lens check`: the rule, what usually breaks it, and what to check. Or explain an action of
`xla-lens advise`. Without a code, list all codes."""

_CODES: Final = tuple(map(str, (*Code, *Rule)))


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = f"codes of findings: {', '.join(Code)}.\n\nrules of actions: {', '.join(Rule)}."
    words = "the code of the finding, such as overlapping-slices, or the rule of the action, such as donate"
    code = one_of("code", _CODES, ALL_CODES)
    parser.add_argument("code", metavar="CODE", nargs="?", type=code, choices=_CODES, help=words)
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status. On a terminal, paragraphs fit its width."""
    terminal = find_terminal(arguments.color)
    if arguments.code is None:
        width = max(map(len, _CODES)) + 2
        for code in (*Code, *Rule):
            print_pieces([StyledText(f"{code:{width}}", Style.NAME), StyledText(meaning(code))], terminal, width)
    elif terminal is None:
        print(explanation(arguments.code), end="")
    else:
        for paragraph in re.split(r"\n(?=\n|- )", explanation(arguments.code)):
            text = " ".join(paragraph.split())
            if paragraph.startswith("\n"):
                print()
            style = Style.TITLE if text.startswith("#") else Style.PLAIN
            print_pieces([StyledText(text.lstrip("# "), style)], terminal, 2 * text.startswith("- "))
    return 0
