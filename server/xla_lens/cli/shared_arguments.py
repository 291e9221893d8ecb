"""Arguments that several commands have, and the types of their values. Imports nothing of the engine, so that help and
errors come at once.
"""

import argparse
import re
from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from xla_lens.cli.parser import Parser
from xla_lens.report.options import DEFAULT_TOP, SortKey
from xla_lens.words.names import allowed_names, unknown_name
from xla_lens.words.numbers import Size, parse_size

MAIN_MEMORY: Final = "HBM (on CPU: host memory)"
"""What the help calls the memory that budgets and limits are about."""

REPORT_FORMATS: Final = ("text", "markdown", "json")
"""The formats of reports without a memory map."""

ALL_CODES: Final = "`xla-lens explain` lists all"
CI_FORMATS: Final = "or for continuous integration github, gitlab, sarif or junit"
_MAPPED: Final = "source files below folder FROM of the machine that compiled are below TO here; may be repeated"

_Name = TypeVar("_Name", bound=StrEnum)

# ---------------------------------------------------------------- arguments


def add_paths(parser: Parser, nargs: str = "+") -> None:
    """Add the paths of dumps."""
    words = "a file of a dump, a folder of dumps, or - for standard input; files may be compressed with gzip or zstd"
    parser.add_argument("paths", metavar="PATH", nargs=nargs, type=Path, help=words)


def add_output(parser: Parser, words: str, formats: Collection[str]) -> None:
    """Add the format of the output, of which the first is the default, and the file that it is written to."""
    add_choice(parser, "--output-format", "FORMAT", words, formats)
    add_output_file(parser)


def add_output_file(parser: Parser) -> None:
    """Add the file that the output is written to."""
    parser.add_argument("--output-file", metavar="FILE", type=Path, help="write to this file, not to standard output")


def add_parts(parser: Parser, parts: type[StrEnum], words: str = "show only these parts") -> None:
    """Add the parts of what is shown."""
    words = f"{words}, separated by commas"
    parser.add_argument("--part", metavar="PARTS", type=names_of("part", parts), names=parts, help=words)


def add_top(parser: Parser, words: str = "maximum number of rows in each list", default: int = DEFAULT_TOP) -> None:
    """Add the number of rows of each list."""
    parser.add_argument("--top", metavar="N", type=number, help=f"{words} (default: {default}; json: all)")


def add_selection(parser: Parser) -> None:
    """Add which of several modules to report, and their order."""
    add_module(parser, "report")
    parser.add_argument("--all", action="store_true", help="of several modules, report all, not only the worst")
    words = f"rank several modules by {', '.join(SortKey)} (default: {SortKey.PEAK})"
    add_choice(parser, "--sort", "KEY", words, tuple(SortKey))


def add_module(parser: Parser, verb: str) -> None:
    """Add which of several modules a command is about."""
    words = "those with this number, or with a match of this regular expression in their name"
    parser.add_argument("--module", metavar="MODULE", help=f"of several modules, {verb} {words}")


def add_path_mapping(parser: Parser, formats: str = "") -> None:
    """Add where the sources of the program are, which only the output in some `formats` uses."""
    words = f"{formats}{_MAPPED}"
    parser.add_argument("--path-mapping", metavar="FROM=TO", type=folders, action="append", default=[], help=words)


def add_color(parser: Parser) -> None:
    """Add when to use colors."""
    words = "auto (default): colors and links if the output is a terminal and NO_COLOR is unset; always; or never"
    add_choice(parser, "--color", "WHEN", words, ("auto", "always", "never"))


def add_choice(parser: Parser, name: str, metavar: str, words: str, choices: Collection[str]) -> None:
    """Add an argument with some allowed values. Of an option, the first is the default."""
    noun = "choice" if metavar == "WHEN" else metavar.lower()
    default = next(iter(choices)) if name.startswith("-") else None
    parser.add_argument(
        name, metavar=metavar, type=one_of(noun, choices), choices=tuple(choices), default=default, help=words
    )


# ---------------------------------------------------------------- types of values


def number(text: str) -> int:
    """Return a number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; expected a whole number of at least 0")
    return int(text)


def size(text: str) -> Size:
    """Return a size such as ``15.9GiB`` in bytes."""
    parsed = parse_size(text)
    if parsed is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; expected for example 16GiB, 16GB or 17179869184")
    return parsed


def regex(text: str) -> str:
    """Return a regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from error
    return text


def folders(text: str) -> tuple[str, str]:
    """Return a folder of the machine that compiled, and the folder here: ``/build/src=.``."""
    there, equals, here = text.partition("=")
    if not (there.strip() and equals and here.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not FROM=TO; expected for example /build/src=.")
    return there.strip(), here.strip()


def one_of(noun: str, allowed: Collection[str], all_are: str = "") -> Callable[[str], str]:
    """Return the type of an argument with some allowed values; `all_are` says in errors where many are listed."""

    def value(text: str) -> str:
        if text not in allowed:
            raise argparse.ArgumentTypeError(unknown_name(noun, text, allowed, all_are))
        return text

    return value


def names_of(noun: str, names: type[_Name]) -> Callable[[str], frozenset[_Name]]:
    """Return the type of a list of names that is separated by commas."""
    name_of = one_of(noun, tuple(names), ALL_CODES)

    def values(text: str) -> frozenset[_Name]:
        given = [name_of(name.strip()) for name in text.split(",") if name.strip()]
        if not given:
            raise argparse.ArgumentTypeError(f"no {noun} given. {allowed_names(noun, tuple(names), ALL_CODES)}")
        return frozenset(map(names, given))

    return values
