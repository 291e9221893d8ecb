"""The user's settings, which editors send as the section `xla-lens`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.checks.codes import Code
from xla_lens.words.names import nearest
from xla_lens.words.numbers import parse_size

SECTION: Final = "xla-lens"


class Settings(Struct, frozen=True):
    """The settings.

    `place_limit` is the maximum number of places in one answer. `max_memory` and `max_peak` are limits in bytes for
    the device's main memory, as in `xla-lens check`; None means no limit. `device_memory` is the size of that memory,
    None if the user does not state it. Findings in `ignored_codes` are not reported.
    `source_lines` shows the memory of the lines of Python files that a loaded dump names.
    `checks_workspace` reports the findings of all sets of the workspace, not only of those with open documents.
    `path_mapping` maps folders of the machine that compiled to folders here.
    """

    inlay_hints: bool = True
    code_lenses: bool = True
    place_limit: int = 10_000
    ignored_codes: frozenset[str] = frozenset()
    max_memory: int | None = None
    max_peak: int | None = None
    device_memory: int | None = None
    checks_workspace: bool = False
    source_lines: bool = False
    path_mapping: tuple[tuple[str, str], ...] = ()


_MAX_DEPTH: Final = 3
"""Maximum nesting of settings objects."""

_SIMILAR: Final = 0.85
"""How similar (0 to 1) the name of a setting must be to one of ours to be a typing error."""


class InvalidSetting(Exception):
    """A setting is invalid. The text continues the name of the setting."""


def read_settings(given: Any) -> tuple[Settings, list[str]]:
    """Read settings from JSON, and a message for each invalid one. Invalid and missing ones have their defaults."""
    settings, errors = Settings(), []
    if given is not None and not isinstance(given, Mapping):
        return settings, [f"{SECTION}: expected an object with settings"]
    for name, value in _flat(given or {}, ""):
        if name not in _SETTINGS:
            # Editors keep settings of their own in this section, with names unlike ours.
            if close := nearest(name, _SETTINGS, _SIMILAR):
                errors.append(f"{SECTION}.{name}: unknown setting; did you mean {SECTION}.{close}?")
            continue
        field, read = _SETTINGS[name]
        try:
            settings = replace(settings, **{field: read(value)})
        except InvalidSetting as error:
            errors.append(f"{SECTION}.{name}: expected {error}")
    return settings, errors


def _flat(given: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Return the settings by their full names. Some editors nest them, others do not."""
    for name, value in given.items():
        if isinstance(value, Mapping) and f"{prefix}{name}" not in _SETTINGS and prefix.count(".") < _MAX_DEPTH:
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidSetting("true or false")
    return value


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidSetting("an integer of at least 1")
    return value


def _size(value: Any) -> int | None:
    # An empty field in an editor.
    if value == "":
        return None
    size_bytes = parse_size(value) if isinstance(value, str) else None
    if size_bytes is None:
        raise InvalidSetting('a size such as "16GiB" or "16GB"')
    return size_bytes


def _codes(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise InvalidSetting("a list of finding codes")
    for code in value:
        if code not in set(Code):
            close = nearest(code, Code)
            raise InvalidSetting(f"finding codes, not {code!r}" + (f"; did you mean {close!r}?" if close else ""))
    return frozenset(value)


def _mapping(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = tuple(value.items()) if isinstance(value, Mapping) else ()
    if not isinstance(value, Mapping) or not all(isinstance(path, str) and path for pair in pairs for path in pair):
        raise InvalidSetting("an object that maps folders of the compiling machine to local ones")
    return pairs


_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "inlayHints.enable": ("inlay_hints", _boolean),
    "codeLens.enable": ("code_lenses", _boolean),
    "references.limit": ("place_limit", _positive),
    "diagnostics.ignore": ("ignored_codes", _codes),
    "diagnostics.maxMemory": ("max_memory", _size),
    "diagnostics.maxPeak": ("max_peak", _size),
    "device.memory": ("device_memory", _size),
    "diagnostics.workspace": ("checks_workspace", _boolean),
    "sourceLines.enable": ("source_lines", _boolean),
    "sources.pathMapping": ("path_mapping", _mapping),
}
