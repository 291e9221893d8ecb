"""Checks JSON against the types of `xla_lens.words.contract`: no missing, additional or converted fields."""

from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from xla_lens.words import contract


class Mismatch(AssertionError):
    """A value does not match its type. The message names the place and the reason."""


def check(value: Any, name: str) -> None:
    """Check a value against a type of the contract by its name. Raises `Mismatch`."""
    _check(value, getattr(contract, name), name)


def _check(value: Any, wanted: Any, where: str) -> None:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if is_typeddict(wanted):
        _need(isinstance(value, dict), value, wanted, where)
        fields = get_type_hints(wanted, include_extras=True)
        needed = {field for field, hint in fields.items() if get_origin(hint) is not NotRequired}
        if not needed <= value.keys() <= fields.keys():
            raise Mismatch(f"{where}: {sorted(value.keys())} instead of {sorted(fields)}")
        for field in value:
            _check(value[field], fields[field], f"{where}.{field}")
    elif origin is NotRequired:
        _check(value, arguments[0], where)
    elif origin is Literal:
        _need(value in arguments, value, wanted, where)
    elif origin is UnionType:
        # All unions of the contract are with None.
        (other,) = (one for one in arguments if one is not NoneType)
        if value is not None:
            _check(value, other, where)
    elif origin is list:
        _need(isinstance(value, list), value, wanted, where)
        for number, item in enumerate(value):
            _check(item, arguments[0], f"{where}[{number}]")
    elif wanted in (str, int, bool):
        _need(type(value) is wanted, value, wanted, where)
    else:
        _need(value in list(wanted), value, wanted, where)


def _need(holds: bool, value: Any, wanted: Any, where: str) -> None:
    if not holds:
        raise Mismatch(f"{where}: {str(value)[:80]!r} is not of type {wanted}")
