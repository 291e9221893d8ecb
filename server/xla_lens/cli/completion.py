"""`xla-lens completion`: scripts that complete commands, options, parts, codes and files in bash, zsh and fish.

`shtab` makes them from the parser, so that they never lag behind it.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import shtab

from xla_lens.cli.arguments import parsers


def run_completion(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    parser, commands = parsers()
    for name, command in commands.items():
        # The help of the command, which shtab then shows, is shorter.
        command.description = None
        for action in command.actions:
            if action.type is Path:
                vars(action)["complete"] = shtab.FILE
            elif names := command.names[action.dest]:
                vars(action)["complete"] = _list(f"_xla_lens_{name}_{action.dest}", names)
    print(shtab.complete(parser, options.shell))
    return 0


def _list(function: str, names: Iterable[str]) -> dict[str, Any]:
    """How to complete names that are separated by commas, such as `--part totals,peak`, in each shell."""
    words = " ".join(names)
    bash = f"""{function}() {{
  local done=
  [[ $1 == *,* ]] && done=${{1%,*}},
  compgen -P "$done" -W "{words}" -- "${{1##*,}}"
}}"""
    return {
        "bash": function,
        "zsh": f"_values -s , name {words}",
        "fish": f"(__fish_complete_list , \"printf '%s\\n' {words}\")",
        "preamble": {"bash": bash},
    }
