"""`xla-lens completion`: scripts that complete commands, options, parts, codes and files in bash, zsh and fish.

They are made from the parser, so that they never lag behind it. Names in lists, such as `--part totals,peak`, are
completed after each comma.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from xla_lens.cli.arguments import parsers
from xla_lens.cli.parser import Parser


def run_completion(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    _, commands = parsers()
    known = {
        name: _Command(_first_clause(parser.description or ""), tuple(_arguments(parser)))
        for name, parser in commands.items()
    }
    print("\n".join(_SCRIPTS[options.shell](known)))
    return 0


class _Kind(Enum):
    """What an argument takes."""

    NOTHING = 0
    TEXT = 1
    FILE = 2
    WORD = 3
    LIST = 4


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument of a command; one without `options` is positional. `words` are the allowed ones, if they are few."""

    options: tuple[str, ...]
    help: str
    metavar: str
    kind: _Kind
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Command:
    help: str
    arguments: tuple[_Argument, ...]

    @property
    def options(self) -> list[str]:
        return [option for argument in self.arguments for option in argument.options]

    @property
    def positional(self) -> _Argument | None:
        """The first positional argument. The others of a command take the same."""
        return next((argument for argument in self.arguments if not argument.options), None)

    @property
    def completed(self) -> list[_Argument]:
        """The options and the first positional argument."""
        return [argument for argument in self.arguments if argument.options or argument is self.positional]


def _arguments(parser: Parser) -> Iterator[_Argument]:
    for action in parser.actions:
        words, kind = parser.names.get(action.dest, ()), _Kind.TEXT
        if action.nargs == 0:
            kind = _Kind.NOTHING
        elif words:
            kind = _Kind.LIST if action.option_strings else _Kind.WORD
        elif action.choices is not None:
            kind, words = _Kind.WORD, tuple(map(str, action.choices))
        elif action.type is Path:
            kind = _Kind.FILE
        metavar = action.metavar if isinstance(action.metavar, str) else action.dest
        # The help of options with a few allowed words lists them.
        text = metavar.lower() if kind is _Kind.WORD else _first_clause(action.help or "")
        yield _Argument(tuple(action.option_strings), text, metavar, kind, words)


def _first_clause(text: str) -> str:
    """The start of a help text, which fits beside a completion."""
    text = re.sub(r" \([^)]*\)", "", text.replace("%%", "%"))
    return re.split(r"[:;,.]\s", text)[0].rstrip(".")


# ---------------------------------------------------------------- bash


def _bash(commands: Mapping[str, _Command]) -> Iterator[str]:
    yield "# Completion for bash. Add to ~/.bashrc: source <(xla-lens completion bash)"
    yield "_xla_lens() {"
    yield "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= words= kind= word"
    yield "    # Bash separates an option from its value at the equals sign."
    yield '    [[ $before == "=" ]] && before=${COMP_WORDS[COMP_CWORD-2]}'
    yield '    [[ $current == "=" ]] && current='
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield "        [[ $word != -* ]] && command=$word && break"
    yield "    done"
    yield '    case "$command $before $current" in'
    yield f'        " "*) kind=word words="{" ".join(["--help", "--version", *commands])}" ;;'
    for name, command in commands.items():
        for argument in command.arguments:
            if argument.options and argument.kind is not _Kind.NOTHING:
                patterns = "|".join(f'"{name} {option} "*' for option in argument.options)
                yield f'        {patterns}) kind={argument.kind.name.lower()} words="{" ".join(argument.words)}" ;;'
        yield f'        "{name} "*" -"*) kind=word words="{" ".join(command.options)}" ;;'
        if positional := command.positional:
            kind, words = positional.kind.name.lower(), " ".join(positional.words)
            yield f'        "{name} "*) kind={kind} words="{words}" ;;'
    yield "    esac"
    yield "    COMPREPLY=()"
    yield "    case $kind in"
    yield '        word) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;'
    yield "        list)"
    yield "            local done="
    yield "            [[ $current == *,* ]] && done=${current%,*},"
    yield '            mapfile -t COMPREPLY < <(compgen -P "$done" -W "$words" -- "${current##*,}") ;;'
    yield '        file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;'
    yield "    esac"
    yield "}"
    yield "complete -F _xla_lens xla-lens"


# ---------------------------------------------------------------- zsh


def _zsh(commands: Mapping[str, _Command]) -> Iterator[str]:
    yield "#compdef xla-lens"
    yield "# Completion for zsh. Add to ~/.zshrc, below compinit: source <(xla-lens completion zsh)"
    yield "_xla_lens() {"
    yield "    local curcontext=$curcontext state line"
    yield "    local -a commands"
    yield "    typeset -A opt_args"
    options = "'(-h --help)'{-h,--help}'[show help]' '--version[show the version]'"
    yield f"    _arguments -C {options} '1: :->command' '*:: :->rest'"
    yield "    case $state in"
    yield "        command)"
    described = (_zsh_quoted(f"{name}:{command.help}") for name, command in commands.items())
    yield f"            commands=({' '.join(described)})"
    yield "            _describe command commands ;;"
    yield "        rest)"
    yield "            case $words[1] in"
    for name, command in commands.items():
        specs = " ".join(_zsh_spec(argument) for argument in command.completed)
        yield f"                {name}) _arguments {specs} ;;"
    yield "            esac ;;"
    yield "    esac"
    yield "}"
    yield 'if [[ $funcstack[1] == _xla_lens ]]; then _xla_lens "$@"; else compdef _xla_lens xla-lens; fi'


def _zsh_spec(argument: _Argument) -> str:
    words = " ".join(argument.words)
    action = {
        _Kind.NOTHING: "",
        _Kind.TEXT: f":{argument.metavar}: ",
        _Kind.FILE: f":{argument.metavar}:_files",
        _Kind.WORD: f":{argument.metavar}:({words})",
        _Kind.LIST: f":{argument.metavar}:_values -s , {argument.metavar} {words}",
    }[argument.kind]
    if not argument.options:
        return _zsh_quoted(f"*{action}")
    text = re.sub(r"[\[\]]", "", argument.help)
    specs = [f"{option}[{text}]{action}" for option in argument.options]
    return " ".join(map(_zsh_quoted, specs))


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# ---------------------------------------------------------------- fish


def _fish(commands: Mapping[str, _Command]) -> Iterator[str]:
    yield "# Completion for fish. Add to ~/.config/fish/config.fish: xla-lens completion fish | source"
    yield "complete -c xla-lens -f"
    yield "complete -c xla-lens -n __fish_use_subcommand -l version -d 'show the version'"
    yield "complete -c xla-lens -n __fish_use_subcommand -s h -l help -d 'show help'"
    for name, command in commands.items():
        yield f"complete -c xla-lens -n __fish_use_subcommand -a {name} -d {_fish_quoted(command.help)}"
        for argument in command.completed:
            yield f"complete -c xla-lens -n '__fish_seen_subcommand_from {name}' {_fish_spec(argument)}"


def _fish_spec(argument: _Argument) -> str:
    flags = [f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}" for option in argument.options]
    listed = f"(__fish_complete_list , \"printf '%s\\n' {' '.join(argument.words)}\")"
    takes = {
        _Kind.NOTHING: "",
        _Kind.TEXT: "-x" if flags else "",
        _Kind.FILE: "-rF" if flags else "-F",
        _Kind.WORD: f"{'-x ' if flags else ''}-a '{' '.join(argument.words)}'",
        _Kind.LIST: f"-x -a {_fish_quoted(listed)}",
    }[argument.kind]
    text = f"-d {_fish_quoted(argument.help)}" if flags else ""
    return " ".join(part for part in (*flags, takes, text) if part)


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Final[Mapping[str, Callable[[Mapping[str, _Command]], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
