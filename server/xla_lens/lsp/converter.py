"""Conversion between JSON and the types of lsprotocol."""

from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin

from cattrs import Converter
from msgspec import Struct
from pygls.protocol import default_converter

_T = TypeVar("_T")

Json: TypeAlias = dict[str, Any]


class RawJson(Struct, frozen=True):
    """A long result that a handler builds as JSON, ten times as fast as through objects of lsprotocol."""

    json: Any


@cache
def message_converter() -> Converter:
    """Return the converter, which takes 20 ms to make: that of pygls, but values that a later version of the protocol
    may add are ignored, and `RawJson` stays as it is.
    """
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_unstructure_hook(RawJson, lambda raw: raw.json)
    converter.register_structure_hook(int | str, _number_or_text)
    converter.register_structure_hook_func(_is_optional_enum, lambda value, wanted: _known(get_args(wanted)[0], value))
    converter.register_structure_hook_func(_is_enum_list, _all_known)
    return converter


def _number_or_text(value: Any, _wanted: Any) -> int | str:
    if not isinstance(value, int | str):
        raise TypeError(f"expected a number or a string, not {type(value).__name__}")
    return value


def _is_optional_enum(wanted: Any) -> bool:
    return get_origin(wanted) is Union and get_args(wanted)[1:] == (type(None),) and _is_enum(get_args(wanted)[0])


def _is_enum_list(wanted: Any) -> bool:
    return get_origin(wanted) is Sequence and _is_enum(get_args(wanted)[0])


def _is_enum(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Enum)


def _known(wanted: type[Enum], value: Any) -> Enum | None:
    """Return a member of an enumeration by its value, None for a value that a later version of the protocol may add."""
    return next((member for member in wanted if member.value == value), None)


def _all_known(value: Any, wanted: Any) -> list[Enum]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {type(value).__name__}")
    return [member for item in value if (member := _known(get_args(wanted)[0], item))]


def from_json(value: Any, wanted: type[_T]) -> _T:
    """Convert JSON to a type of lsprotocol. Raises `ValueError`, `TypeError` or an `ExceptionGroup` of those."""
    return message_converter().structure(value, wanted)


def to_json(value: Any) -> Any:
    """Convert an object of lsprotocol, a list of those, or a `RawJson` to JSON."""
    return message_converter().unstructure(value)
