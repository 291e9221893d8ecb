"""`xla-lens completion`: scripts that complete commands, options, parts, codes and files in bash, zsh and fish.

`shtab` makes them from the parser, so that they never lag behind it.
"""

import argparse
from pathlib import Path

import shtab

from xla_lens.cli.arguments import parsers


def run_completion(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    parser, commands = parsers()
    for command in commands.values():
        # The help of the command, which shtab then shows, is shorter.
        command.description = None
        for action in command.actions:
            if action.type is Path:
                vars(action)["complete"] = shtab.FILE
            elif names := command.names[action.dest]:
                action.choices = names
    print(shtab.complete(parser, options.shell))
    return 0
