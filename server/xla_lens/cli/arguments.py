"""What the commands accept. Imports nothing that reads or analyses dumps, so that help and errors come at once."""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from xla_lens import __version__
from xla_lens.advice.codes import Rule
from xla_lens.cli.output import print_error
from xla_lens.cli.parser import VARIABLES, Parser, one_of
from xla_lens.diff.options import DEFAULT_DIFF_TOP, DiffPart, Increase
from xla_lens.model.checks.codes import Code
from xla_lens.report.options import (
    DEFAULT_TOP,
    FORMATS,
    LONG_PARTS,
    TINY,
    TINY_IN_RUN,
    CiFormat,
    Part,
    SortKey,
)
from xla_lens.words.names import RENAMED, allowed_names, renamed, unknown_name
from xla_lens.words.numbers import Size, parse_size

_DESCRIPTION: Final = """\
See where the memory goes in the buffer assignment dumps of the XLA compiler.

`xla-lens run` runs a program with dumps. By itself, XLA writes them with
--xla_dump_to=DIR --xla_dump_hlo_as_text in XLA_FLAGS. PATH is any file of a dump, such as
module_0001.jit_f.*-buffer-assignment.txt, a folder of dumps, or - for standard input."""

_EXAMPLES: Final = """\
examples:
  xla-lens run python train.py                run a program, show its memory
  xla-lens report dumps/                      where the memory goes
  xla-lens report FILE --top 50               the 50 largest buffers at the peak
  xla-lens report FILE --at 120               what is live at step 120
  xla-lens report FILE --budget 16GiB         which buffers to remove to fit
  xla-lens report FILE --output-format json   the report for programs
  xla-lens report FILE --output-format html   the memory map, for a browser
  xla-lens report FILE --annotate model.py    the source and its bytes
  xla-lens advise FILE --budget 16GiB         what to change to fit
  xla-lens diff OLD NEW                       what changed between two dumps
  xla-lens check dumps/                       verify all dumps in a folder
  xla-lens explain overlapping-slices         what a finding means
  xla-lens oom train.log dumps/               what an out-of-memory error means
  xla-lens server                             the language server, for editors

Sizes: 16GiB is 16 x 2^30 bytes, 16GB is 16 x 10^9 bytes, and 16G, as XLA prints it, is 16GiB.

Set once what holds for every run: """

_Name = TypeVar("_Name", bound=StrEnum)


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of the command line; the command is in `command`. Exits with an error if they are wrong."""
    arguments = list(map(_current, arguments))
    name = next(iter(arguments), None)
    parser, commands = parsers(name)
    if name is None:
        parser.error(f"expected a command: {', '.join(commands)}")
    if name not in commands and name not in ("-h", "--help", "--version"):
        if name.startswith("-"):
            parser.reject([name])
        parser.error(unknown_name("command", name, commands))
    command = commands.get(name, parser)
    command.read_environment()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        command.reject(unknown)
    if name == "check" and options.unknown and options.output_format in set(CiFormat):
        command.error(f"--unknown lists no findings; {options.output_format} is not allowed, expected text or json")
    if name == "report" and Part.BUDGET in (options.part or ()) and options.budget is None:
        command.error(f"--part {Part.BUDGET} needs a size; add --budget SIZE, such as --budget 16GiB")
    return options


def _current(argument: str) -> str:
    """An argument with the new name of an option that has been renamed."""
    option, equals, value = argument.partition("=")
    new = RENAMED.get(option.removeprefix("--")) if option.startswith("--") else None
    if new is None:
        return argument
    print_error(renamed(option, f"--{new}"))
    return f"--{new}{equals}{value}"


def parsers(command: str | None = None) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command line, and those of the commands by name: only that of `command` if it is one."""
    parser = Parser(prog="xla-lens", description=_DESCRIPTION, epilog=f"{_EXAMPLES}{', '.join(VARIABLES)}.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    # Without `prog`, argparse would format a usage line, for which it asks for the size of the terminal.
    commands = parser.add_subparsers(
        title="commands", prog=parser.prog, metavar="COMMAND", dest="command", required=True
    )
    for name, one in _COMMANDS.items():
        if command == name or command not in _COMMANDS:
            _add_arguments(commands.add_parser(name, help=one.words, description=one.description), one)
    return parser, dict(commands.choices)


def run_completion(options: argparse.Namespace) -> int:
    """Print a script for a shell, which `shtab` makes from the parser, and return the exit status."""
    import shtab

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


# ---------------------------------------------------------------- arguments of several commands

_MAIN: Final = "HBM (on CPU: host memory)"
_CI_WORDS: Final = "or for continuous integration github, gitlab, sarif or junit"
_TEXTS: Final = tuple(name for name in FORMATS if name != "html")

_PATHS: Final = (
    "a file of a dump, a folder of dumps, or - for standard input; files may be compressed with gzip or zstd"
)
_FILE: Final = {"--output-file FILE": "write to this file, not to standard output"}
_PART: Final = {"--part PARTS": "show only these parts, separated by commas"}
_TOP: Final = {"--top N": f"maximum number of rows in each list (default: {DEFAULT_TOP}; json: all)"}
_COLOR: Final = {
    "--color WHEN": "auto (default): colors and links if the output is a terminal and NO_COLOR is unset; always; or "
    "never"
}
_SELECTION: Final = {
    "--module MODULE": "of several modules, report those with this number, or with a match of this regular expression "
    "in their name",
    "--all": "of several modules, report all, not only the worst",
    "--sort KEY": f"rank several modules by {', '.join(SortKey)} (default: {SortKey.PEAK})",
}
"""Which of several modules to report, and their order."""

_MAPPED: Final = "source files below folder FROM of the machine that compiled are below TO here; may be repeated"
_MAPPED_IN_CI: Final = {"--path-mapping FROM=TO": f"for github, gitlab, sarif and junit: {_MAPPED}"}
_GROWTH: Final = (
    f"fail if {{}} of {_MAIN} grew by more than this, such as 1%% or 64MiB; vmem=1MiB limits another memory space"
)
_NOT_ONE: Final = {"at": None, "stacks": frozenset[Part](), "through_loops": "yes"}
"""The defaults of options of `report` that other commands with reports lack."""

# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its help in the list of commands, its own help, and the help of its arguments.

    An argument is a flag such as ``--all``, or a name and what the help calls its value, which says how it is read:
    ``--top N``, ``paths PATH+``. The end is what argparse calls `nargs`. `formats` and `parts` are what the options of
    these names allow, and `defaults` are values that the code of the command needs and that no argument sets.
    """

    words: str
    description: str
    arguments: Mapping[str, str]
    epilog: str | None = None
    formats: Sequence[str] = ()
    parts: type[StrEnum] = Part
    defaults: Mapping[str, Any] = field(default_factory=dict)
    usage: str | None = None


_COMMANDS: Final = {
    "run": _Command(
        "run a program and show where its memory goes",
        "Run a program that uses XLA, and show the modules that it compiled, worst first, and where the memory of the "
        "worst one goes; also if the program failed, ran out of memory or was interrupted.\n\n"
        "The output and the exit status are those of the program. The report follows on standard error. Each process "
        "dumps to a folder of its own, and JAX's compilation cache is off, because XLA dumps only what it compiles. "
        "XLA_FLAGS still apply; with --xla_dump_to in them, the dumps go there.",
        {
            "--out DIR": "a new folder for the dumps (default: one below xla-dumps/ with the name of the program and "
            "the time)",
            "--only REGEX": "dump only modules with a match of this regular expression in their name",
            "--keep-all": "keep all files of XLA, not only those we read",
            "--output-format FORMAT": "text (default), markdown, json or html, as in `xla-lens report`",
            **_FILE,
            "--budget SIZE": f"also show what to change so that {_MAIN} fits into this size, such as 16GiB",
            **_PART,
            **_TOP,
            "--open": "open the memory map in a browser afterwards",
            "program COMMAND...": "the program and its arguments",
            **_COLOR,
        },
        "examples:\n  xla-lens run python train.py\n  xla-lens run --out dumps -- python -m train --steps 3",
        FORMATS,
        defaults={"module": None, "all": False, "sort": SortKey.PEAK, "tiny": TINY_IN_RUN, **_NOT_ONE},
        usage="%(prog)s [options] [--] COMMAND ...",
    ),
    "report": _Command(
        "show where the memory goes",
        "Show where the memory of each dump goes: totals, the recomputed and the printed peak, what is live there, "
        "which source lines it comes from, what keeps it alive, and what would lower it.",
        {
            "paths PATH+": _PATHS,
            "--output-format FORMAT": "text (default), markdown, json, or html: the memory map of one dump as a "
            "self-contained page",
            **_FILE,
            **_PART,
            **_TOP,
            "--at STEP": "also show what is live at this step of the schedule",
            "--budget SIZE": f"also show which buffers to remove so that {_MAIN} fits into this size, such as 16GiB",
            **_SELECTION,
            "--through-loops WHEN": "yes (default): what a loop carries has the source of the instruction in its body "
            "that writes it; no: its own",
            "--oom LOG": "begin with the out-of-memory message in this log (see `xla-lens oom`), and report its dump",
            "--stacks": f"also show the call stacks of each source line (adds the part {Part.STACKS})",
            "--annotate FILE": "print this Python file with the bytes at the peak beside its lines, instead of the "
            "report",
            "--path-mapping FROM=TO": f"for --annotate: {_MAPPED}",
            **_COLOR,
        },
        f"parts: {', '.join(Part)}. Without --part, all parts except {', '.join(LONG_PARTS)}; "
        f"{Part.BUDGET} needs --budget.",
        FORMATS,
        defaults={"tiny": TINY},
    ),
    "advise": _Command(
        "show what would lower the peak",
        f"Show what would lower the peak of {_MAIN}: actions, those that save the most first, each with its buffers, "
        "the recomputed peak after it, and how certain that is.\n\nThis is the last part of `xla-lens report`.",
        {
            "paths PATH+": _PATHS,
            **_SELECTION,
            "--budget SIZE": "also show whether the program can fit into this size, such as 16GiB, and which actions "
            "reach it",
            "--output-format FORMAT": "text (default), markdown, or json: the report with the part advice only",
            **_FILE,
            "--top N": f"maximum number of actions (default: {DEFAULT_TOP}; json: all)",
            **_COLOR,
        },
        f"rules: {', '.join(Rule)}. `xla-lens explain RULE` explains a rule.",
        _TEXTS,
        defaults={"part": frozenset({Part.ADVICE}), "tiny": TINY, **_NOT_ONE},
    ),
    "check": _Command(
        "verify dumps",
        "Verify dumps: report every place where a dump contradicts itself or XLA's own rules.\n\n"
        "The exit status is 0 without errors and warnings, 1 if there are any, and 2 if the command could not run.",
        {
            "paths PATH+": _PATHS,
            "--output-format FORMAT": f"text (default), json, {_CI_WORDS}",
            **_FILE,
            **_MAPPED_IN_CI,
            "--select CODES": "report only these codes, separated by commas",
            "--ignore CODES": "do not report these codes",
            "--max-memory SIZE": f"report an error if a program needs more {_MAIN} than this size, such as 16GiB, and "
            "so does not fit",
            "--max-peak SIZE": f"report an error if more {_MAIN} than this size is live at once, which is less than "
            "what the program needs",
            "--unknown": "list the text that XLA Lens does not know instead, with counts, for a bug report (text and "
            "json)",
            **_COLOR,
        },
        f"codes: {', '.join(Code)}",
        ("text", "json", *CiFormat),
    ),
    "diff": _Command(
        "show what changed between two dumps",
        "Show what changed between two dumps: where the change of each peak comes from, so that the parts add up to it "
        "exactly, and which values changed, moved in time, were added and removed. OLD and NEW are files of a dump, or "
        "folders of dumps, whose modules are paired by name. OLD may also be a report, the output of "
        "`xla-lens report --output-format json` in a file named *.json. A single folder stands for the runs in it, "
        "such as those of `xla-lens run`.\n\n"
        "The exit status is 0, 1 if a limit is exceeded, and 2 if the command could not run.",
        {
            "old OLD": "the old dump: one of its files, a folder of dumps, or -; or all the runs",
            "new NEW?": "the new dump; without it, the folders in OLD are the runs",
            "more MORE*": "further dumps: shows what each module needs in all of them",
            "--output-format FORMAT": "text (default), markdown, json, html (a page with both memory maps), "
            f"{_CI_WORDS} (the exceeded limits)",
            **_FILE,
            **_MAPPED_IN_CI,
            **_PART,
            "--top N": f"maximum number of rows in each list (default: {DEFAULT_DIFF_TOP}; json: all)",
            "--max-memory-increase LIMIT": _GROWTH.format("what the program needs"),
            "--max-peak-increase LIMIT": _GROWTH.format("the peak"),
            **_COLOR,
        },
        f"parts: {', '.join(DiffPart)}.",
        (*FORMATS, *CiFormat),
        DiffPart,
    ),
    "explain": _Command(
        "explain a finding or an action",
        "Explain a finding of `xla-lens check`: the rule, what usually breaks it, and what to check. Or explain an "
        "action of `xla-lens advise`. Without a code, list all codes.",
        {
            "code CODE?": "the code of the finding, such as overlapping-slices, or the rule of the action, such as "
            "donate",
            **_COLOR,
        },
        f"codes of findings: {', '.join(Code)}.\n\nrules of actions: {', '.join(Rule)}.",
    ),
    "oom": _Command(
        "explain an out-of-memory message",
        "Find XLA's out-of-memory messages in the log of a program, and show what they say: which memory ran out, what "
        "was needed, and the buffers that the message lists. With dumps, also show which values these buffers are, "
        "what each number stands for, and what would lower the peak.\n\n"
        "The exit status is 0, 1 if there is no message or no dump fits, and 2 if the command could not run.",
        {
            "log LOG?": "the log, which may be compressed with gzip, or - for standard input (default)",
            "paths PATH*": _PATHS,
            "--output-format FORMAT": "text (default), markdown or json",
            **_FILE,
            **_TOP,
            **_COLOR,
        },
        formats=_TEXTS,
    ),
    "completion": _Command(
        "print a script that completes arguments",
        "Print a script that completes commands, options, parts, codes and files in a shell.",
        {"shell SHELL": "bash, zsh or fish"},
        "bash, in ~/.bashrc:\n  source <(xla-lens completion bash)\n\n"
        'zsh, in ~/.zshrc below compinit:\n  eval "$(xla-lens completion zsh)"\n\n'
        "fish, in ~/.config/fish/config.fish:\n  xla-lens completion fish | source",
    ),
    "server": _Command(
        "run the language server",
        "Run the language server. Editors start it and talk to it over standard input and output.",
        {
            "--tcp HOST:PORT": "listen on this TCP port for one editor instead",
            "--allow-remote": "allow --tcp to use an address that other machines can reach: anyone who connects can "
            "read your dumps",
        },
    ),
}
"""The commands in the order of the help."""


def _add_arguments(parser: Parser, command: _Command) -> None:
    parser.epilog, parser.usage = command.epilog, command.usage
    for argument, words in command.arguments.items():
        name, _, value = argument.partition(" ")
        metavar = value.rstrip("+*?.")
        named: dict[str, Any] = {"help": words}
        if value:
            named |= {"metavar": metavar, "type": _TYPES.get(metavar, str)}
        if metavar != value:
            named["nargs"] = value.removeprefix(metavar)
        if name == "--part":
            named |= {"type": _names_of("part", command.parts), "names": command.parts}
        if choices := tuple(command.formats if metavar == "FORMAT" else _CHOICES.get(name, ())):
            named |= {"type": one_of("choice" if metavar == "WHEN" else metavar.lower(), choices), "choices": choices}
            named["default"] = choices[0] if name.startswith("-") else None
        named |= _MORE.get(value or name, {} if value else {"action": "store_true"})
        parser.add_argument(name, **named)
    parser.set_defaults(**command.defaults)


# ---------------------------------------------------------------- values


def _number(text: str) -> int:
    """Return a number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; expected a whole number of at least 0")
    return int(text)


def _size(text: str) -> Size:
    """Return a size such as ``15.9GiB`` in bytes."""
    size = parse_size(text)
    if size is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; expected for example 16GiB, 16GB or 17179869184")
    return size


def _increase(text: str) -> Increase:
    """Return a limit such as ``1%``, ``64MiB`` or ``vmem=0``."""
    space, equals, limit = text.rpartition("=")
    share = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*", limit)
    limit_bytes = None if share else parse_size(limit)
    if (equals and not space.strip()) or not (share or limit_bytes is not None):
        raise argparse.ArgumentTypeError(f"{text!r} is not a limit; expected for example 1%, 64MiB or vmem=1MiB")
    from fractions import Fraction

    from xla_lens.model.tables.backend import parse_spaces

    spaces = parse_spaces(space)
    if equals and not spaces:
        expected = "expected hbm, vmem, smem, host or a number"
        raise argparse.ArgumentTypeError(f"{text}: unknown memory space {space.strip().lower()!r}; {expected}")
    return Increase(text, spaces, limit_bytes, Fraction(share[1]) if share else None)


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from error
    return text


def _folders(text: str) -> tuple[str, str]:
    """Return a folder of the machine that compiled, and the folder here: ``/build/src=.``."""
    there, equals, here = text.partition("=")
    if not (there.strip() and equals and here.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not FROM=TO; expected for example /build/src=.")
    return there.strip(), here.strip()


def _names_of(noun: str, names: type[_Name]) -> Callable[[str], frozenset[_Name]]:
    """The type of a list of names that is separated by commas."""
    read_one = one_of(noun, tuple(names), _ALL_CODES)

    def read(text: str) -> frozenset[_Name]:
        given = [read_one(name.strip()) for name in text.split(",") if name.strip()]
        if not given:
            raise argparse.ArgumentTypeError(f"no {noun} given. {allowed_names(noun, tuple(names), _ALL_CODES)}")
        return frozenset(map(names, given))

    return read


_ALL_CODES: Final = "`xla-lens explain` lists all"


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT; expected for example 127.0.0.1:2087")
    return host.removeprefix("[").removesuffix("]"), int(port)


_CODES: Final = tuple(map(str, (*Code, *Rule)))
_TYPES: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("DIR", "FILE", "PATH", "LOG", "OLD", "NEW", "MORE"), Path),
    **dict.fromkeys(("N", "STEP"), _number),
    "SIZE": _size,
    "REGEX": _regex,
    "LIMIT": _increase,
    "FROM=TO": _folders,
    "HOST:PORT": _host_and_port,
    "CODE": one_of("code", _CODES, _ALL_CODES),
    "CODES": _names_of("code", Code),
}
"""What reads the values of arguments, by what the help calls them. The others are texts."""

_CHOICES: Final[Mapping[str, Iterable[str]]] = {
    "--color": ("auto", "always", "never"),
    "--through-loops": ("yes", "no"),
    "--sort": SortKey,
    "shell": ("bash", "zsh", "fish"),
}
"""The values that arguments allow. Of options, the first is the default."""

_MORE: Final[Mapping[str, Mapping[str, Any]]] = {
    "LIMIT": {"action": "append", "default": []},
    "FROM=TO": {"action": "append", "default": []},
    "MORE*": {"default": []},
    "LOG?": {"default": Path("-")},
    "CODES": {"names": Code},
    "CODE?": {"choices": _CODES},
    "--stacks": {"action": "store_const", "const": frozenset({Part.STACKS}), "default": frozenset()},
}
"""What else `Parser.add_argument` takes, by the values, or by the names of flags."""
