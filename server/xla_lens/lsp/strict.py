"""JSON of a client as the protocol's types: nothing is taken for what it is not, and what a later version of the
protocol may have added does no harm.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final, Union, get_args, get_origin

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.protocol import default_converter


def strict_converter() -> Converter:
    """A converter for which a number is no text and a text no number; that of pygls makes one of the other, or takes
    both for anything.
    """
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    for wanted in (str, int, float, bool):
        converter.register_structure_hook(wanted, _only)
    for union, types in _UNIONS.items():
        converter.register_structure_hook(union, partial(_one_of, types))
        converter.register_structure_hook(union | None, partial(_one_of, (*types, type(None))))
    converter.register_structure_hook_func(_is_optional_enum, lambda value, wanted: _known(get_args(wanted)[0], value))
    converter.register_structure_hook_func(_is_enum_list, _all_known)
    return converter


_UNIONS: Final[Mapping[Any, tuple[type, ...]]] = {
    int | str: (int, str),
    lsp.CodeActionKind | str: (str,),
    lsp.FoldingRangeKind | str: (str,),
    lsp.LanguageKind | str: (str,),
    lsp.PositionEncodingKind | str: (str,),
    lsp.SemanticTokenModifiers | str: (str,),
    lsp.SemanticTokenTypes | str: (str,),
}
"""Unions that clients send, and what there may be in JSON. Texts that lsprotocol has no name for are as good as any."""


def _only(value: Any, wanted: type) -> Any:
    if issubclass(wanted, Enum) and not isinstance(value, bool):
        return wanted(value)
    if isinstance(value, wanted) and isinstance(value, bool) == (wanted is bool):
        return value
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"{type(value).__name__} instead of {wanted.__name__}")


def _one_of(types: tuple[type, ...], value: Any, _wanted: Any) -> Any:
    if not isinstance(value, types) or isinstance(value, bool):
        raise TypeError(f"{type(value).__name__} instead of {' or '.join(wanted.__name__ for wanted in types)}")
    return value


def _is_optional_enum(wanted: Any) -> bool:
    return get_origin(wanted) is Union and get_args(wanted)[1:] == (type(None),) and _is_enum(get_args(wanted)[0])


def _is_enum_list(wanted: Any) -> bool:
    return get_origin(wanted) is Sequence and _is_enum(get_args(wanted)[0])


def _is_enum(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Enum)


def _known(wanted: type[Enum], value: Any) -> Enum | None:
    """What a later version of the protocol may have added is as good as not told."""
    return next((member for member in wanted if member.value == value), None)


def _all_known(value: Any, wanted: Any) -> list[Enum]:
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} instead of a list")
    return [member for item in value if (member := _known(get_args(wanted)[0], item))]
