"""The terminal on standard output: whether there is one, its width, colors and links; and printing on it."""

import os
import shutil
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from urllib.parse import quote

from xla_lens.blocks.terminal import NARROWEST, StyledTexts, Terminal, painted, wrapped
from xla_lens.cli.output import print_lines, print_unfiltered


def find_terminal(color: str) -> Terminal | None:
    """Return the terminal, None if the output goes elsewhere and `color` (auto, always or never) does not insist."""
    environment = os.environ
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    if color == "auto" and environment.get("NO_COLOR"):
        color = "never"
    if color == "auto" and environment.get("FORCE_COLOR", "0") not in ("", "0"):
        color = "always"
    if not is_terminal and color != "always":
        return None
    is_capable = is_terminal and environment.get("TERM") != "dumb"
    has_colors = color == "always" or (color == "auto" and is_capable)
    # Terminals without links ignore them.
    has_links = has_colors and is_capable and environment.get("FORCE_HYPERLINK") != "0"
    return Terminal(max(_width(), NARROWEST), has_colors, _links() if has_links else None)


def print_pieces(pieces: StyledTexts, terminal: Terminal | None, hanging: int = 0) -> None:
    """Print a text: on a terminal in the lines that fit, else in one line."""
    if terminal is None:
        print_lines(["".join(piece.text for piece in pieces)])
    else:
        print_unfiltered(painted(line, terminal).rstrip(" ") for line in wrapped(pieces, terminal.width, hanging))


def _width() -> int:
    """The width of the terminal, which may be behind a pager."""
    if not os.environ.get("COLUMNS"):
        for stream in (sys.stdout, sys.stderr, sys.stdin):
            try:
                return os.get_terminal_size(stream.fileno()).columns or 80
            except (AttributeError, OSError, ValueError):
                continue
    return shutil.get_terminal_size().columns


def _links() -> Callable[[str, int | None], str | None]:
    """Return what finds the link to a file that exists, and to a line, in the form that the terminal understands. It is
    picklable, for reports that other processes make.
    """
    environment = os.environ
    if environment.get("TERM_PROGRAM") == "vscode":
        return partial(_url_of, "vscode://file", ":")
    is_kitty = "KITTY_WINDOW_ID" in environment or environment.get("TERM", "").startswith("xterm-kitty")
    return partial(_url_of, f"file://{os.uname().nodename if hasattr(os, 'uname') else ''}", "#" if is_kitty else None)


@lru_cache(maxsize=4096)
def _url_of(start: str, line_mark: str | None, path: str, line: int | None) -> str | None:
    if not os.path.isfile(path) or path.endswith(".gz"):
        return None
    absolute = quote(os.fsencode(os.path.abspath(path)))
    return f"{start}{absolute}" + (f"{line_mark}{line}" if line_mark and line is not None else "")
