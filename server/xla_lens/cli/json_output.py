"""The output of commands as JSON."""

import json as standard_json
import sys
from collections.abc import Iterable
from typing import Any, Final

from msgspec import json, to_builtins

from xla_lens.cli.output import unfiltered
from xla_lens.text.printable import json_printable


def print_json(data: Any) -> None:
    """Print an object, or a list of objects, as JSON."""
    unfiltered(sys.stdout).write(f"{_json_text(data)}\n")


def print_json_list(elements: Iterable[Any]) -> None:
    """Print a list as JSON, each element as soon as it is there."""
    stream, before = unfiltered(sys.stdout), "["
    for element in elements:
        stream.write(f"{before}\n{_json_text(element)}".replace("\n", f"\n{_JSON_INDENT}"))
        before = ","
    stream.write("[]\n" if before == "[" else "\n]\n")


_JSON_INDENT: Final = "  "


def _json_text(data: Any) -> str:
    try:
        text = json.format(json.encode(data), indent=len(_JSON_INDENT))
    except UnicodeEncodeError:
        # The names of files may have bytes that are not UTF-8.
        plain = to_builtins(data)
        return json_printable(standard_json.dumps(plain, indent=len(_JSON_INDENT), ensure_ascii=False))
    # The control characters of ASCII are escaped already, except for DEL.
    return text.decode() if text.isascii() and b"\x7f" not in text else json_printable(text.decode())
