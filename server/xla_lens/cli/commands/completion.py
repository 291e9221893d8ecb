"""`xla-lens completion`: print a script that completes arguments in a shell."""

import argparse
from pathlib import Path
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import add_choice

HELP: Final = "print a script that completes arguments"

_DESCRIPTION: Final = "Print a script that completes commands, options, parts, codes and files in a shell."

_EXAMPLES: Final = """\
bash, in ~/.bashrc:
  source <(xla-lens completion bash)

zsh, in ~/.zshrc below compinit:
  eval "$(xla-lens completion zsh)"

fish, in ~/.config/fish/config.fish:
  xla-lens completion fish | source"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add_choice(parser, "shell", "SHELL", "bash, zsh or fish", ("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> int:
    """Print a script for a shell, which `shtab` makes from the parsers of all commands, and return the exit status."""
    # Takes 15 ms, for which the answer of the server to `initialize` would wait.
    import shtab

    commands: dict[str, Parser] = arguments.commands
    for command in commands.values():
        # The help of the command, which shtab then shows, is shorter.
        command.description = None
        for action in command.actions:
            if action.type is Path:
                vars(action)["complete"] = shtab.FILE
            elif names := command.names[action.dest]:
                action.choices = names
    print(shtab.complete(arguments.parser, arguments.shell))
    return 0
