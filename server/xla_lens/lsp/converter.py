"""Conversion between JSON and the types of lsprotocol.

Messages from the editor are checked strictly: no number is accepted as a string or the other way round. Values that a
later version of the protocol may add are ignored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.protocol import default_converter

_T = TypeVar("_T")

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RawJson:
    """A long result that a handler builds as JSON. Building objects of lsprotocol and converting those takes ten times
    as long.
    """

    json: Any


_UNIONS: Final[Mapping[Any, tuple[type, ...]]] = {
    int | str: (int, str),
    lsp.CodeActionKind | str: (str,),
    lsp.FoldingRangeKind | str: (str,),
    lsp.LanguageKind | str: (str,),
    lsp.PositionEncodingKind | str: (str,),
    lsp.SemanticTokenModifiers | str: (str,),
    lsp.SemanticTokenTypes | str: (str,),
}
"""Unions in messages from the editor, and the JSON types allowed for each. lsprotocol accepts anything for them."""


@cache
def strict_converter() -> Converter:
    """Return the converter, which takes 20 ms to make. It rejects JSON of the wrong type, where that of pygls turns
    numbers into strings and strings into numbers, and leaves `RawJson` as it is.
    """
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_unstructure_hook(RawJson, lambda raw: raw.json)
    for wanted in (str, int, float, bool):
        converter.register_structure_hook(wanted, _exactly)
    for union, types in _UNIONS.items():
        converter.register_structure_hook(union, partial(_one_of, types))
        converter.register_structure_hook(union | None, partial(_one_of, (*types, type(None))))
    converter.register_structure_hook_func(_is_optional_enum, lambda value, wanted: _known(get_args(wanted)[0], value))
    converter.register_structure_hook_func(_is_enum_list, _all_known)
    return converter


def _exactly(value: Any, wanted: type) -> Any:
    if issubclass(wanted, Enum) and not isinstance(value, bool):
        return wanted(value)
    if isinstance(value, wanted) and isinstance(value, bool) == (wanted is bool):
        return value
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"expected {wanted.__name__}, not {type(value).__name__}")


def _one_of(types: tuple[type, ...], value: Any, _wanted: Any) -> Any:
    if not isinstance(value, types) or isinstance(value, bool):
        raise TypeError(f"expected {' or '.join(wanted.__name__ for wanted in types)}, not {type(value).__name__}")
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
    return strict_converter().structure(value, wanted)


def to_json(value: Any) -> Any:
    """Convert an object of lsprotocol, a list of those, or a `RawJson` to JSON."""
    return strict_converter().unstructure(value)
