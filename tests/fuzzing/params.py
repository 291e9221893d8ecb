"""Random parameters of requests, generated from the types of the protocol, so that new requests are covered."""

import enum
import itertools
import random
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, ForwardRef, Literal

import attrs
from lsprotocol import types as lsp

from fuzzing.positions import Text

_STRINGS = (
    "",
    " ",
    "x",
    "peak",
    "fusion",
    "param",
    "size:>1KiB",
    "🚀",
    "\ud800",
    "\0",
    "é\n",
    "x" * 5000,
    "xla-lens",
    "quickfix",
)
_INTEGERS = (0, 1, 2, 5, 100, 2**31 - 1)

_GIVEN_BY = {
    lsp.CallHierarchyItem: lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY,
    lsp.CodeAction: lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.DocumentLink: lsp.TEXT_DOCUMENT_DOCUMENT_LINK,
    lsp.InlayHint: lsp.TEXT_DOCUMENT_INLAY_HINT,
    lsp.WorkspaceSymbol: lsp.WORKSPACE_SYMBOL,
}
"""Types that editors send back from earlier answers, mostly unchanged."""

_TOKENS = itertools.count()


def fields_of(wanted: Any) -> "Mapping[str, attrs.Attribute[Any]]":
    """Return the fields of a class of lsprotocol by their JSON names."""
    return {_json_name(field.name): field for field in attrs.fields(wanted)}


def _json_name(name: str) -> str:
    first, *others = name.removesuffix("_").split("_")
    return first + "".join(other.title() for other in others)


class Maker:
    """Generates parameters. `texts` are the open documents by URI, `answers` the last results by method, `uris` the
    URIs of pages, and `share` the fraction of optional properties that are present.
    """

    def __init__(self, chance: random.Random, commands: Sequence[str]) -> None:
        self.chance = chance
        self.texts: dict[str, Text] = {}
        self.answers: dict[str, list[Any]] = {}
        self.uris: list[str] = []
        self.share = 0.3
        self._commands: list[Mapping[str, Any]] = [{"command": command} for command in commands]
        self._uri = ""

    def params(self, method: str, uri: str | None = None) -> Any:
        """Return parameters for a method."""
        self._uri = self._some_uri() if uri is None else uri
        if method == lsp.WORKSPACE_EXECUTE_COMMAND:
            return self._command()
        of_method: Any = lsp.METHOD_TO_TYPES[method][2]
        return self._of_class(of_method)

    def learn(self, method: str, result: Any) -> None:
        """Remember a result for later requests."""
        if isinstance(result, list) and result:
            self.answers[method] = result[:50]
        for found in _objects(result):
            if isinstance(found.get("command"), str) and found["command"]:
                self._commands = [
                    *self._commands[-30:],
                    {key: found[key] for key in ("command", "arguments") if key in found},
                ]
            if str(found.get("uri", "")).startswith("xla-lens:"):
                self.uris = [*self.uris[-10:], found["uri"]]

    def _of(self, wanted: Any, name: str) -> Any:
        chance = self.chance
        if isinstance(wanted, ForwardRef):
            wanted = lsp.ALL_TYPES_MAP[wanted.__forward_arg__]
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if name in ("workDoneToken", "partialResultToken"):
            token = next(_TOKENS)
            return token if chance.random() < 0.5 else f"token-{token}"
        if name in ("uri", "targetUri", "href"):
            return self._uri
        if wanted is Any or wanted is lsp.LSPObject:
            return self._any()
        if origin in (typing.Union, types.UnionType):
            return self._of(chance.choice([argument for argument in arguments if argument is not type(None)]), name)
        if origin is Literal:
            return arguments[0]
        if origin is not None and issubclass(origin, Sequence):
            return [self._of(arguments[0], name) for _ in range(chance.choice((0, 1, 1, 3)))]
        if origin is not None and issubclass(origin, Mapping):
            return {}
        if attrs.has(wanted):
            return self._of_class(wanted)
        if issubclass(wanted, enum.Enum):
            return chance.choice(list(wanted)).value
        if wanted is bool:
            return chance.random() < 0.5
        if wanted is str:
            return chance.choice((*_STRINGS, self._word()))
        return chance.choice(_INTEGERS)

    def _of_class(self, wanted: type) -> Any:
        text = self.texts.get(self._uri, Text("", "utf-16"))
        if wanted is lsp.Position:
            return text.some(self.chance)
        if wanted is lsp.Range:
            return text.some_range(self.chance)
        known = self.answers.get(_GIVEN_BY.get(wanted, ""))
        if known and self.chance.random() < 0.8:
            return self._sent_back(self.chance.choice(known))
        return {
            name: self._of(field.type, name)
            for name, field in fields_of(wanted).items()
            if field.default is attrs.NOTHING or self.chance.random() < self.share
        }

    def _sent_back(self, item: Any) -> Any:
        """Return an item of an answer, sometimes with other data."""
        data = item.get("data")
        if data is None or self.chance.random() > 0.2:
            return item
        known = isinstance(data, dict) and data and self.chance.random() < 0.8
        return {**item, "data": {**data, self.chance.choice(list(data)): self._any()} if known else self._any()}

    def _command(self) -> Any:
        command = dict(self.chance.choice(self._commands))
        if "arguments" not in command or self.chance.random() < 0.2:
            names = (
                "uri",
                "position",
                "step",
                "allocation",
                "value",
                "code",
                "format",
                "top",
                "parts",
                "budget",
                "range",
                "atStep",
                *("old", "new", "query", "limit", "color", "values", "dump", "search", "path", "line", "character"),
            )
            given = {
                "uri": self._uri,
                "position": self.texts[self._uri].some(self.chance) if self._uri in self.texts else {},
                **{name: self._any() for name in names if self.chance.random() < 0.2},
            }
            command["arguments"] = self.chance.choice(([given], [given], [given], [], [given, 1], [None]))
        return command

    def _any(self) -> Any:
        chance = self.chance
        plain = (None, True, -1, 0, 7, 2**31, 2**53, 10**400, 1.5, -1e300, *_STRINGS, self._uri, self._word())
        match chance.randrange(8):
            case 0:
                return [chance.choice(plain) for _ in range(3)]
            case 1:
                names = ("uri", "kind", "number", "path", "line", "step", "row", "x")
                return {name: chance.choice(plain) for name in names if chance.random() < 0.5}
            case _:
                return chance.choice(plain)

    def _some_uri(self) -> str:
        odd = (
            "x:",
            "x:y",
            "file:///",
            "file:///nothing.txt",
            "untitled:Untitled-1",
            "xla-lens:",
            "xla-lens:/a/summary.txt",
            "file://[",
            *("file:///\0", "file:///\ud800", "file:///%ff%fe/x-buffer-assignment.txt", "file:///a#L99999999999"),
            *(f"file:///{'a/' * 3_000}", "http://[x", "%", "//x", "xla-lens://[/report.txt", "xla-lens:/../x.txt"),
            *(f"xla-lens:/{name}/report.txt" for name in (".", "..", "%00", "\ud800", "a" * 5_000)),
            *(f"xla-lens:/x/comparison.txt?{old}" for old in ("", "..", "%00", "\ud800", "/x")),
        )
        if not self.texts or self.chance.random() < 0.1:
            return self.chance.choice((*odd, *self.uris))
        return self.chance.choice(list(self.texts))

    def _word(self) -> str:
        text = self.texts.get(self._uri)
        start = self.chance.randint(0, len(text.text)) if text else 0
        return text.text[start : start + self.chance.randint(0, 12)] if text else ""


def _objects(value: Any) -> typing.Iterator[Mapping[str, Any]]:
    """Return all objects in some JSON, the first ones only of long lists."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value[:50]:
            yield from _objects(item)
