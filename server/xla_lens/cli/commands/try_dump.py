"""`xla-lens try`: compile the program of a dump with what the advice says."""

import argparse
from typing import Final

from xla_lens.cli.parser import Parser
from xla_lens.cli.shared_arguments import (
    MAIN_MEMORY,
    REPORT_FORMATS,
    add_color,
    add_module,
    add_output,
    add_paths,
    number,
    size,
)

HELP: Final = "compile the program of a dump with what the advice says"

_DESCRIPTION: Final = f"""\
Compile the program of a dump again with each change that the advice says, and show what each was estimated to save and
what it really saves of {MAIN_MEMORY}, and the best of them together. Nothing is executed. Also programs that ran out of
memory, and those for a TPU that is not here, can be compiled.

This needs a Python with jax, and the file module.mlir, which current releases of jaxlib write into a folder beside a
dump. Changes of the source, such as jax.checkpoint, need the function: see Capture.try_advice in the library.

The exit status is 0, 1 if nothing could be measured, 2 if the command could not run, and 130 after an interrupt, which
keeps what is measured."""

_EXAMPLES: Final = """\
examples:
  xla-lens try dumps/ --budget 16GiB
  xla-lens try dumps/ --flag xla_tpu_max_hbm_size_mib=8192"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add_paths(parser)
    add_module(parser, "try")
    budget = "take only the changes that are needed to fit into this size, such as 16GiB"
    parser.add_argument("--budget", metavar="SIZE", type=size, help=budget)
    flag = "also try this flag of the compiler; may be given several times"
    parser.add_argument("--flag", metavar="NAME=VALUE", type=_flag, action="append", default=[], help=flag)
    python = "a Python that has jax (default: the one of xla-lens, else the one on the PATH)"
    parser.add_argument("--python", metavar="PYTHON", help=python)
    seconds = "stop the compiler after this time (default: 600)"
    parser.add_argument("--seconds", metavar="N", type=number, default=600, help=seconds)
    memory = "stop the compiler when it uses more memory than this size"
    parser.add_argument("--memory", metavar="SIZE", type=size, help=memory)
    add_output(parser, "text (default), markdown or json", REPORT_FORMATS)
    add_color(parser)


def _flag(text: str) -> tuple[str, str]:
    """Return the name and the value of a flag."""
    name, equals, value = text.removeprefix("--").partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE; expected for example xla_test_flag=true")
    return name, value


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from xla_lens.cli.try_dump import run_try

    return run_try(arguments)
