"""The flags that a module was compiled with, from the ``*.debug_options`` file that XLA writes beside a dump.

The file is a protocol buffer as text. It has only the flags that are not at their defaults.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_FIELD: Final = re.compile(r"^(\w+)(?:: ?(.*)| ?\{)$")
_EXTRA: Final = re.compile(r'^\s+(key|value): ?"(.*)"$')

_ABOUT_OUTPUT: Final = ("xla_dump_", "xla_enable_dumping", "xla_detailed_logging")
"""How the names of flags begin that change no program. JAX sets `xla_detailed_logging` for some compilations only."""


def parse_flags(text: str) -> Mapping[str, str]:
    """Return the flags and their values. Those about dumps and logs are left out; repeated ones are joined."""
    found: dict[str, str] = {}
    for name, value in _fields(text.splitlines()):
        if not name.startswith(_ABOUT_OUTPUT):
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _fields(lines: list[str]) -> Iterator[tuple[str, str]]:
    key = ""
    for line in lines:
        match, extra = _FIELD.match(line), _EXTRA.match(line)
        if match and match[2] is not None:
            yield match[1], match[2].strip('"')
        elif extra and extra[1] == "key":
            key = extra[2]
        elif extra:
            yield key, extra[2]
