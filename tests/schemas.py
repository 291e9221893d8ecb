"""Writes `docs/*.schema.json` from the structs that the commands print: `make docs`.

The docstring of a struct describes its objects, and the text below a field describes the field.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from samples import ROOT
from xla_lens.diff import diff_json
from xla_lens.report.report_json import Oom, Report
from xla_lens.report.unknown_text import UnknownForm
from xla_lens.trying.tried_json import TriedModule
from xla_lens.words.json_types import Finding, JsonObject

Json = dict[str, Any]


class Output(NamedTuple):
    """What a command prints: its name in `$defs`, and an object or a list of objects of some types."""

    name: str
    kinds: type[JsonObject] | tuple[type[JsonObject], ...]
    description: str = ""


class Schema(NamedTuple):
    """A file in `docs/`, with the outputs that it describes."""

    file: str
    title: str
    description: str
    outputs: tuple[Output, ...]

    @property
    def path(self) -> Path:
        """Where it is."""
        return ROOT / "docs" / self.file


SCHEMAS = (
    Schema(
        "report.schema.json",
        "JSON output of xla-lens",
        "What `xla-lens report --output-format json` and `xla-lens advise --output-format json` (#/$defs/reports), "
        "`xla-lens check --output-format json` (#/$defs/findings) and `xla-lens unknown --output-format json` "
        "(#/$defs/unknown_forms) print. Sizes are in bytes. Steps are positions in the schedule, counted from 0.",
        (
            Output("reports", (Report,), "One object for each dump, the worst first."),
            Output("findings", (Finding,), "The findings, errors first."),
            Output("unknown_forms", (UnknownForm,), "The forms of text that are not known, the most frequent first."),
        ),
    ),
    Schema(
        "diff.schema.json",
        "JSON output of xla-lens diff",
        "What `xla-lens diff --output-format json` prints. Sizes are in bytes. Steps are positions in the schedule, "
        "counted from 0.",
        (
            Output(
                "diffs",
                (diff_json.Diff, diff_json.Unpaired),
                "One object for each pair of modules, then one for each module that only one side has.",
            ),
            Output(
                "runs",
                (diff_json.ModuleInRuns,),
                "The output for more than two dumps or folders: one object for each module, the one that needs most "
                "first.",
            ),
        ),
    ),
    Schema(
        "oom.schema.json",
        "JSON output of xla-lens oom",
        "What `xla-lens oom --output-format json` prints: the out-of-memory messages of a log, and the report of the "
        "dump that the first failure is about. Sizes are in bytes.",
        (Output("oom", Oom),),
    ),
    Schema(
        "try.schema.json",
        "JSON output of xla-lens try",
        "What `xla-lens try --output-format json` prints: what the compiler says about changes of a program. Sizes are "
        "in bytes.",
        (Output("tried_module", TriedModule),),
    ),
)


def schema_text(schema: Schema) -> str:
    """Return the text of a schema."""
    kinds = [kind for output in schema.outputs for kind in _kinds(output)]
    _, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    by_name = {kind.__name__: kind for kind in _subclasses(JsonObject)}
    # An enumeration may have the name of a struct in another schema.
    objects = sorted(name for name, component in components.items() if "properties" in component)
    structs = {name: by_name[name] for name in objects}
    definitions: Json = {}
    for output in schema.outputs:
        if isinstance(output.kinds, tuple):
            items = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in output.kinds]
            item = items[0] if len(items) == 1 else {"anyOf": items}
            definitions[output.name] = {"description": output.description, "type": "array", "items": item}
    for name, struct in structs.items():
        definitions[_snake(name)] = _described(components[name], struct)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema.title,
        "description": schema.description,
        "anyOf": [{"$ref": f"#/$defs/{output.name}"} for output in schema.outputs],
        "$defs": definitions,
    }
    return json.dumps(_resolved(whole, components, structs), indent=2, ensure_ascii=False) + "\n"


def _kinds(output: Output) -> tuple[type[JsonObject], ...]:
    return output.kinds if isinstance(output.kinds, tuple) else (output.kinds,)


def _subclasses(kind: type[JsonObject]) -> Iterator[type[JsonObject]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _described(definition: Json, struct: type[JsonObject]) -> Json:
    """The definition of a struct with the texts of its fields."""
    del definition["title"]
    definition["description"] = _joined(definition["description"])
    texts, properties = _field_texts(struct), definition["properties"]
    for field in msgspec.structs.fields(struct):
        if text := texts.get(field.name):
            properties[field.encode_name] = {"description": text, **properties[field.encode_name]}
    return definition


@cache
def _field_texts(struct: type) -> Mapping[str, str]:
    """The texts below the fields of a struct and of those that it extends."""
    found: dict[str, str] = {}
    for kind in reversed(struct.__mro__):
        if not kind.__module__.startswith("xla_lens"):
            continue
        (node,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(node, ast.ClassDef)
        for field, text in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[ast.unparse(field.target)] = _joined(str(text.value.value))
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


def _resolved(one: Any, components: Mapping[str, Any], structs: Mapping[str, type]) -> Any:
    """Part of a schema with the values of enumerations in place, because fields describe them, and with our names."""
    if isinstance(one, list):
        return [_resolved(each, components, structs) for each in one]
    if not isinstance(one, dict):
        return one
    name = one["$ref"].rpartition("/")[2] if "$ref" in one else ""
    if name in structs:
        one = {**one, "$ref": f"#/$defs/{_snake(name)}"}
    elif name in components:
        one = {"enum": components[name]["enum"], **{key: text for key, text in one.items() if key != "$ref"}}
    return _with_null({key: _resolved(each, components, structs) for key, each in one.items()})


def _with_null(one: Json) -> Json:
    """A type or null in the shorter of the two ways to say so."""
    # Releases of msgspec differ in the order.
    parts = sorted(one.get("anyOf", ()), key=_NULL.__eq__)
    if len(parts) != 2 or parts[1] != _NULL or "$ref" in parts[0]:
        return {**one, "anyOf": parts} if parts else one
    found = {**one, **parts[0]}
    del found["anyOf"]
    if "type" in found:
        found["type"] = [found["type"], "null"]
    if "enum" in found:
        found["enum"] = [*found["enum"], None]
    return found


_NULL: Final = {"type": "null"}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


if __name__ == "__main__":
    for schema in SCHEMAS:
        schema.path.write_text(schema_text(schema), encoding="utf-8")
