"""The settings of the user, as an editor sends them in its section `xla-lens`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from xla_lens.render.numbers import parse_size

SECTION: Final = "xla-lens"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. `place_limit` is how many places one answer has at most; `max_peak` and `max_reserved` are limits
    for the default memory space, as in `xla-lens check`, in bytes; None: there is no limit. `ignored_codes` are not
    reported. `checks_workspace` tells whether sets of which nothing is open are checked, too. `path_mapping` are
    folders of the machine that compiled, and the same folders here.
    """

    inlay_hints: bool = True
    code_lenses: bool = True
    place_limit: int = 10_000
    ignored_codes: frozenset[str] = frozenset()
    max_peak: int | None = None
    max_reserved: int | None = None
    checks_workspace: bool = False
    path_mapping: tuple[tuple[str, str], ...] = ()


_DEEPEST: Final = 3
"""Objects in objects: no setting lies as deep."""


class Unreadable(Exception):
    """A setting is not what it should be. Says in one line why."""


def read_settings(given: Any) -> tuple[Settings, list[str]]:
    """The settings in some JSON, and what is wrong with it, a line each. What is wrong or missing is as by default."""
    settings, wrong = Settings(), []
    if given is not None and not isinstance(given, Mapping):
        return settings, [f"the settings of {SECTION} are no object"]
    for name, value in _flat(given or {}, ""):
        if name not in _SETTINGS:
            # Editors have settings of their own in the same section.
            continue
        field, read = _SETTINGS[name]
        try:
            settings = replace(settings, **{field: read(value)})
        except Unreadable as error:
            wrong.append(f"{SECTION}.{name} {error}")
    return settings, wrong


def _flat(given: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """The settings by their full names: editors nest them, or do not."""
    for name, value in given.items():
        if isinstance(value, Mapping) and f"{prefix}{name}" not in _SETTINGS and prefix.count(".") < _DEEPEST:
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unreadable("is true or false")
    return value


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Unreadable("is a number from 1")
    return value


def _size(value: Any) -> int | None:
    # An editor's empty field.
    if value == "":
        return None
    size_bytes = parse_size(value) if isinstance(value, str) else None
    if size_bytes is None:
        raise Unreadable('is a size such as "16GiB"')
    return size_bytes


def _codes(value: Any) -> frozenset[str]:
    # Here, since the engine is slow to import.
    from xla_lens.model.checks.codes import Code

    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise Unreadable("is a list of codes")
    unknown = [code for code in value if code not in set(Code)]
    if unknown:
        raise Unreadable(f"has codes that there are not: {', '.join(unknown)}")
    return frozenset(value)


def _folders(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = tuple(value.items()) if isinstance(value, Mapping) else ()
    if not isinstance(value, Mapping) or not all(isinstance(path, str) and path for pair in pairs for path in pair):
        raise Unreadable("is an object: folders of the machine that compiled, and for each the folder here")
    return pairs


_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "inlayHints.enable": ("inlay_hints", _switch),
    "codeLens.enable": ("code_lenses", _switch),
    "references.limit": ("place_limit", _number),
    "diagnostics.ignore": ("ignored_codes", _codes),
    "diagnostics.maxPeak": ("max_peak", _size),
    "diagnostics.maxReserved": ("max_reserved", _size),
    "diagnostics.workspace": ("checks_workspace", _switch),
    "sources.pathMapping": ("path_mapping", _folders),
}
