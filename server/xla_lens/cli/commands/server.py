"""`xla-lens server`: run the language server."""

import argparse
import gc
from typing import Final

from xla_lens.cli.output import CannotRun
from xla_lens.cli.parser import Parser

HELP: Final = "run the language server"

_DESCRIPTION: Final = "Run the language server. Editors start it and talk to it over standard input and output."


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    tcp = "listen on this TCP port for one editor instead"
    parser.add_argument("--tcp", metavar="HOST:PORT", type=_host_and_port, help=tcp)
    remote = "allow --tcp to use an address that other machines can reach: anyone who connects can read your dumps"
    parser.add_argument("--allow-remote", action="store_true", help=remote)


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT; expected for example 127.0.0.1:2087")
    return host.removeprefix("[").removesuffix("]"), int(port)


def run(arguments: argparse.Namespace) -> int:
    """Run the server until the editor ends it, and return the exit status."""
    from xla_lens.lsp.kept_code import default_path, keep_code

    # The types of the protocol take 100 ms to import, the first time 300 ms. They stay until the end: to look for
    # garbage among them is in vain.
    gc.disable()
    keep_code(default_path())
    from xla_lens.lsp.serve import RemoteAddress, serve

    gc.freeze()
    gc.enable()

    host, port = arguments.tcp or ("", 0)
    try:
        return serve(arguments.tcp, allow_remote=arguments.allow_remote)
    except RemoteAddress as error:
        raise CannotRun(
            f"{host}:{port}: other machines can reach this address, and whoever connects can read all dumps "
            f"that you can read. Use 127.0.0.1:{port}, or add --allow-remote"
        ) from error
    except OSError as error:
        raise CannotRun(f"{host}:{port}: cannot listen: {error.strerror or error}. Choose another address") from error
