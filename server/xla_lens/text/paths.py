"""Paths of the machine that compiled, which a dump contains."""

import re
from collections.abc import Sequence
from typing import Final

PATH_SEPARATOR: Final = re.compile(r"[/\\]+")
"""What separates the parts of a path on any machine."""


def mapped(path: str, mapping: Sequence[tuple[str, str]]) -> str:
    """Replace the longest folder of a path that the user's mapping contains."""
    for there, here in sorted(mapping, key=lambda pair: -len(pair[0])):
        folder = there.rstrip("/\\")
        rest = path.removeprefix(folder)
        if path.startswith(folder) and (not rest or rest[0] in "/\\"):
            return "/".join((here.rstrip("/\\"), *filter(None, PATH_SEPARATOR.split(rest)))) or "/"
    return path
