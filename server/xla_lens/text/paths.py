"""Paths of the machine that compiled, which a dump contains."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from xla_lens.text.patterns import lazy_pattern

PATH_SEPARATOR: Final = lazy_pattern(r"[/\\]+")
"""What separates the parts of a path on any machine."""

PathMapping: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of a folder of the machine that compiled and the same folder here."""


def mapped(path: str, mapping: PathMapping) -> str:
    """Replace the longest folder of a path that the user's mapping contains."""
    for there, here in sorted(mapping, key=lambda pair: -len(pair[0])):
        folder = there.rstrip("/\\")
        rest = path.removeprefix(folder)
        if path.startswith(folder) and (not rest or rest[0] in "/\\"):
            return "/".join((here.rstrip("/\\"), *filter(None, PATH_SEPARATOR.split(rest)))) or "/"
    return path


def names_of(path: str, others: Iterable[str], mapping: PathMapping) -> frozenset[str]:
    """Return which paths of the machine that compiled name a file here: those that the user's mapping maps to its
    absolute path, else those with the same name that share the most trailing parts with it.
    """
    found = list(others)
    if same := frozenset(other for other in found if mapped(other, mapping) == path):
        return same
    parts = _parts(path)
    shared = {other: shared_parts(_parts(other), parts) for other in found}
    most = max(shared.values(), default=0)
    return frozenset(other for other, count in shared.items() if count == most > 0)


def shared_parts(parts: Sequence[str], others: Sequence[str]) -> int:
    """Count the trailing parts that two paths share."""
    pairs = zip(reversed(parts), reversed(others), strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(parts), len(others)))


def _parts(path: str) -> list[str]:
    return [part for part in PATH_SEPARATOR.split(path) if part]
