"""A parser of arguments with errors of one line, help for narrow terminals, and defaults from the environment."""

import argparse
import os
import re
import textwrap
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from xla_lens.words.names import nearest, unknown_name
from xla_lens.words.numbers import parse_size

VARIABLES: Final = tuple(
    f"XLA_LENS_{name}"
    for name in ("BUDGET", "COLOR", "IGNORE", "MAX_MEMORY", "MAX_PEAK", "MAX_UNPACKED", "SELECT", "TOP")
)
"""The environment variables. All but ``XLA_LENS_MAX_UNPACKED`` stand for options: ``XLA_LENS_MAX_PEAK`` for
``--max-peak``.
"""

_MAX_UNPACKED: Final = "XLA_LENS_MAX_UNPACKED"

_SIMILAR: Final = 0.88
"""How similar (0 to 1) the name of a variable must be to one of ours to be a typing error."""


class Parser(argparse.ArgumentParser):
    """A parser of arguments. `actions` are its arguments in their order, and `names` the names that those allow which
    have no `choices`, because they take lists.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.actions: list[argparse.Action] = []
        self.names: dict[str, tuple[str, ...]] = {}
        super().__init__(*arguments, **{"formatter_class": _Help, **named})

    def add_argument(self, *flags: Any, names: Iterable[str] = (), **named: Any) -> argparse.Action:
        """Add an argument. `names` are those that completion offers for it."""
        action = super().add_argument(*flags, **named)
        self.actions.append(action)
        self.names[action.dest] = tuple(names)
        return action

    def error(self, message: str) -> NoReturn:
        """Print one line and exit."""
        message = re.sub(r"^argument (?=\S+:)", "", message)
        hint = "" if re.search(r"[;?`]|\. ", message) else f"; see `{self.prog} --help`"
        self.exit(2, f"xla-lens: {message}{hint}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores that a disk is full.
        if message and file is not None:
            file.write(message)

    def read_environment(self) -> None:
        """Take the defaults of options from the environment; empty variables count as unset."""
        given = {name: value for name, value in os.environ.items() if name.startswith("XLA_LENS_") and value}
        for name in given.keys() - set(VARIABLES):
            if close := nearest(name, VARIABLES, _SIMILAR):
                self.error(f"unknown variable {name}; did you mean {close}?")
        if (size := given.get(_MAX_UNPACKED)) and parse_size(size) is None:
            self.error(f"{_MAX_UNPACKED}: not a size: {size!r}; expected for example 8GiB")
        for action in self.actions:
            name = f"XLA_LENS_{action.dest.upper()}"
            if name in VARIABLES and name in given and callable(action.type):
                try:
                    self.set_defaults(**{action.dest: action.type(given[name])})
                except argparse.ArgumentTypeError as error:
                    self.error(f"{name}: {error}")

    def reject(self, arguments: list[str]) -> NoReturn:
        """Report the first of some arguments that the parser does not know."""
        options = [option for action in self.actions for option in action.option_strings if option.startswith("--")]
        unknown = next((name for name in arguments if name.startswith("-")), None)
        if unknown is None:
            self.error(f"unexpected argument {arguments[0]!r}")
        self.error(unknown_name("option", unknown.partition("=")[0], options))


class _Help(argparse.RawDescriptionHelpFormatter):
    """Fits help into the terminal, and never breaks a code or an option at its hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs. Indented lines are examples."""
        lines: list[str] = []
        for paragraph in re.split(r"\n(?=\n)|\n(?= )|(?<=:)\n", text):
            if paragraph.startswith(" "):
                lines.append(paragraph)
            else:
                lines += [""] * paragraph.startswith("\n")
                lines += _wrapped(" ".join(paragraph.split()), width)
        return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
