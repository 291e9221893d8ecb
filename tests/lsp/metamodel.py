"""A validator for messages of the Language Server Protocol, based on the types of lsprotocol.

It is stricter than lsprotocol's own conversion: it rejects unknown properties and unexpected nulls, and checks rules
that the specification states in prose, such as that a selection range lies in its range. Positions are not compared
with any text.
"""

import enum
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ForwardRef, Literal

import attrs
from lsprotocol import converters, validators
from lsprotocol import types as lsp

# Creating a converter resolves the forward references between the types.
converters.get_converter()

JSONRPC = "2.0"
DID_LOAD = "xla-lens/didLoad"


class Violation(AssertionError):
    """A message is invalid. The text of the exception names the place and the reason."""


@attrs.frozen
class DidLoadParams:
    """The parameters of `xla-lens/didLoad`."""

    uris: Sequence[str]
    loaded: bool


@attrs.frozen
class DidLoadNotification:
    """The notification `xla-lens/didLoad`."""

    params: DidLoadParams
    method: Literal["xla-lens/didLoad"]
    jsonrpc: str


def is_request(method: str) -> bool:
    """Whether a method is a request. Unknown methods count as requests."""
    if method == DID_LOAD:
        return False
    found = lsp.METHOD_TO_TYPES.get(method)
    return found is None or "id" in attrs.fields_dict(found[0])


def check_call(message: Mapping[str, Any], sender: str) -> None:
    """Check a request or notification of "client" or "server". Raises `Violation`."""
    method = message.get("method")
    if method == DID_LOAD and sender == "server":
        _check(message, DidLoadNotification, method)
        return
    if not isinstance(method, str) or method not in lsp.METHOD_TO_TYPES:
        raise Violation(f"there is no method {method!r}")
    if lsp.message_direction(method) not in ("both", {"client": "clientToServer", "server": "serverToClient"}[sender]):
        raise Violation(f"the {sender} does not send {method}")
    _check(message, lsp.METHOD_TO_TYPES[method][0], method)


def check_answer(message: Mapping[str, Any], method: str) -> None:
    """Check the response to a request of a method. Raises `Violation`."""
    where = f"answer to {method}"
    if "error" in message:
        _properties(message, {"jsonrpc", "id", "error"}, where)
        _check(message["jsonrpc"], Literal["2.0"], f"{where}.jsonrpc")
        _check(message["id"], int | str | None, f"{where}.id")
        _check(message["error"], lsp.ResponseError, f"{where}.error")
    else:
        _check(message, lsp.METHOD_TO_TYPES[method][1], where)


def _result_type(method: str) -> Any:
    response: Any = lsp.METHOD_TO_TYPES[method][1]
    return attrs.fields_dict(response)["result"].type


def check_part(value: Any, method: str) -> None:
    """Check a partial result of a request of a method. Raises `Violation`."""
    _check(value, _PARTS.get(method) or _result_type(method), method)


def check_progress(value: Any) -> None:
    """Check the value of a progress notification. Raises `Violation`."""
    _check(value, lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd, "$/progress")


def check_value(value: Any, wanted: Any) -> None:
    """Check a value of a type of the protocol. Raises `Violation`."""
    _check(value, wanted, getattr(wanted, "__name__", str(wanted)))


@attrs.frozen
class Field:
    """The requirements for the JSON of a field of a class."""

    type: Any
    is_required: bool
    may_be_null: bool
    is_unsigned: bool


@cache
def fields_of(wanted: type) -> Mapping[str, Field]:
    """Return the fields of a class of lsprotocol by their JSON names."""
    return {_json_name(field.name): _field(wanted, field) for field in attrs.fields(wanted)}


def violated_rule(value: Any, wanted: type) -> str | None:
    """Describe the rule in the prose of the specification that a value violates; None if it violates none."""
    rule = _RULES.get(wanted)
    return rule(value) if rule else None


_PARTS: Mapping[str, Any] = {
    lsp.WORKSPACE_DIAGNOSTIC: lsp.WorkspaceDiagnosticReportPartialResult,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.RelatedFullDocumentDiagnosticReport
    | lsp.RelatedUnchangedDocumentDiagnosticReport
    | lsp.DocumentDiagnosticReportPartialResult,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: lsp.SemanticTokensPartialResult,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: lsp.SemanticTokensPartialResult,
}
"""Types of partial results that are not a list of the result's items."""

_MAY_BE_LEFT_OUT = {
    "InitializeParams.root_path",
    "InitializeParams.workspace_folders",
    "SignatureHelp.active_parameter",
    "SignatureInformation.active_parameter",
}
"""Types that include null."""

_UNSIGNED = {"SemanticTokens.data", "SemanticTokensPartialResult.data", "SemanticTokensEdit.data"}
"""Types for which lsprotocol does not declare a constraint."""


def _check(value: Any, wanted: Any, where: str) -> None:
    """Check a value against a type, recursively."""
    if isinstance(wanted, ForwardRef):
        wanted = wanted.__forward_arg__
    if isinstance(wanted, str):
        wanted = lsp.ALL_TYPES_MAP[wanted]
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is lsp.LSPObject:
        _check_any(value, where)
    elif origin in (typing.Union, types.UnionType):
        _check_union(value, arguments, where)
    elif origin is Literal:
        _need(any(value == literal and type(value) is type(literal) for literal in arguments), value, wanted, where)
    elif origin is tuple:
        _need(isinstance(value, list) and len(value) == len(arguments), value, wanted, where)
        for number, (item, argument) in enumerate(zip(value, arguments, strict=True)):
            _check(item, argument, f"{where}[{number}]")
    elif origin is not None and issubclass(origin, Sequence):
        _need(isinstance(value, list), value, wanted, where)
        for number, item in enumerate(value):
            _check(item, arguments[0], f"{where}[{number}]")
    elif origin is not None and issubclass(origin, Mapping):
        _need(isinstance(value, dict), value, wanted, where)
        for name, item in value.items():
            _check(name, arguments[0], f"{where}.{name}")
            _check(item, arguments[1], f"{where}.{name}")
    elif attrs.has(wanted):
        _check_object(value, wanted, where)
    elif issubclass(wanted, enum.Enum):
        members = [member.value for member in wanted]
        _need(any(value == member and type(value) is type(member) for member in members), value, wanted, where)
    else:
        _check_plain(value, wanted, where)


def _check_union(value: Any, alternatives: Sequence[Any], where: str) -> None:
    reasons = []
    for alternative in alternatives:
        try:
            _check(value, alternative, where)
        except Violation as violation:
            reasons.append(str(violation))
        else:
            return
    # Report the alternative that matched furthest, unless its kind or property names differ.
    raise Violation(max(reasons, key=lambda why: ("Literal" not in why, why.index(": "), "has no" not in why)))


def _check_object(value: Any, wanted: type, where: str) -> None:
    fields = fields_of(wanted)
    _need(isinstance(value, dict), value, wanted, where)
    for name, item in value.items():
        if name not in fields:
            raise Violation(f"{where}: {wanted.__name__} has no {name!r}")
        field = fields[name]
        if item is None and not field.may_be_null:
            raise Violation(f"{where}.{name}: null")
        _check(item, field.type, f"{where}.{name}")
        if field.is_unsigned:
            numbers = item if isinstance(item, list) else [item]
            _need(all(number is None or number >= 0 for number in numbers), item, "uinteger", f"{where}.{name}")
    for name, field in fields.items():
        if field.is_required and name not in value:
            raise Violation(f"{where}: {wanted.__name__} needs {name!r}")
    if reason := violated_rule(value, wanted):
        raise Violation(f"{where}: {reason}")


def _check_plain(value: Any, wanted: type, where: str) -> None:
    if wanted is float:
        _need(isinstance(value, int | float) and not isinstance(value, bool), value, wanted, where)
    else:
        _need(type(value) is wanted, value, wanted, where)
    if wanted is int:
        in_range = validators.INTEGER_MIN_VALUE <= value <= validators.INTEGER_MAX_VALUE
        _need(in_range, value, "an integer of 32 bits", where)


def _check_any(value: Any, where: str) -> None:
    if isinstance(value, list):
        for number, item in enumerate(value):
            _check_any(item, f"{where}[{number}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            _need(isinstance(name, str), name, str, where)
            _check_any(item, f"{where}.{name}")
    else:
        _need(value is None or type(value) in (bool, int, float, str), value, "JSON", where)


def _need(holds: bool, value: Any, wanted: Any, where: str) -> None:
    if not holds:
        raise Violation(f"{where}: {str(value)[:100]!r} ({type(value).__name__}) instead of {wanted}")


def _properties(value: Any, names: set[str], where: str) -> None:
    _need(isinstance(value, dict), value, dict, where)
    if value.keys() != names:
        raise Violation(f"{where}: {sorted(value)} instead of {sorted(names)}")


# ---------------------------------------------------------------- types of lsprotocol


def _field(wanted: type, field: "attrs.Attribute[Any]") -> Field:
    if isinstance(field.default, str):
        # A constant such as the method, a kind or the version of JSON-RPC, which is always present.
        return Field(Literal[field.default], is_required=True, may_be_null=False, is_unsigned=False)
    name = f"{wanted.__name__}.{field.name}"
    is_special = lsp.is_special_property(wanted, field.name)
    return Field(
        field.type,
        is_required=field.default is attrs.NOTHING or (is_special and name not in _MAY_BE_LEFT_OUT),
        may_be_null=is_special or Any in (field.type, *typing.get_args(field.type)),
        is_unsigned=name in _UNSIGNED or "uinteger_validator" in repr(field.validator),
    )


def _json_name(name: str) -> str:
    first, *others = name.removesuffix("_").split("_")
    return first + "".join(other.title() for other in others)


# ---------------------------------------------------------------- rules in the specification's prose


def _start(range_: Mapping[str, Any]) -> tuple[int, int]:
    return range_["start"]["line"], range_["start"]["character"]


def _end(range_: Mapping[str, Any]) -> tuple[int, int]:
    return range_["end"]["line"], range_["end"]["character"]


def _holds(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> bool:
    return _start(outer) <= _start(inner) and _end(inner) <= _end(outer)


def _range(value: Any) -> str | None:
    return None if _start(value) <= _end(value) else "ends before it starts"


def _named(value: Any) -> str | None:
    return None if value["name"].strip() else "the name is empty"


def _selected(value: Any) -> str | None:
    return None if _holds(value["range"], value["selectionRange"]) else "the selection range is not in the range"


def _link(value: Any) -> str | None:
    is_inside = _holds(value["targetRange"], value["targetSelectionRange"])
    return None if is_inside else "the selection range of the target is not in its range"


def _nested(value: Any) -> str | None:
    parent = value.get("parent")
    return None if parent is None or _holds(parent["range"], value["range"]) else "the parent does not hold the range"


def _folding(value: Any) -> str | None:
    return None if value["startLine"] <= value["endLine"] else "ends before it starts"


def _tokens(value: Any) -> str | None:
    return "five numbers make a token" if len(value["data"]) % 5 else None


def _location(name: str) -> Callable[[Any], str | None]:
    return lambda value: None if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value[name]) else "a URI without a scheme"


def _all(*rules: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    return lambda value: next((reason for rule in rules if (reason := rule(value))), None)


_RULES: Mapping[type, Callable[[Any], str | None]] = {
    lsp.CallHierarchyItem: _all(_selected, _named, _location("uri")),
    lsp.CodeDescription: _location("href"),
    lsp.DocumentSymbol: _all(_selected, _named),
    lsp.FoldingRange: _folding,
    lsp.Location: _location("uri"),
    lsp.LocationLink: _all(_link, _location("targetUri")),
    lsp.PublishDiagnosticsParams: _location("uri"),
    lsp.Range: _range,
    lsp.SelectionRange: _nested,
    lsp.SemanticTokens: _tokens,
    lsp.SemanticTokensPartialResult: _tokens,
    lsp.SymbolInformation: _named,
    lsp.WorkspaceSymbol: _named,
}
