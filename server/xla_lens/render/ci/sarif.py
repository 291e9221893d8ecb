"""SARIF 2.1.0, which GitHub code scanning and many editors read."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from xla_lens import __version__
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.render.ci.annotations import Annotation, CiPlace, fingerprints

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}

_EXPLAINED: Final = frozenset(Code)

_ROOT: Final = "%SRCROOT%"
"""The folder of the repository, as SARIF's own examples and GitHub name it."""


def sarif_text(annotations: Sequence[Annotation]) -> str:
    """Return a log with one run, whose rules are those of its results."""
    rules = {one.rule: one for one in annotations}
    driver = {
        "name": "XLA Lens",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": one.meaning},
                "help": {"text": f"Run `xla-lens {f'explain {rule}' if rule in _EXPLAINED else 'diff --help'}`."},
                "defaultConfiguration": {"level": _level(one)},
            }
            for rule, one in rules.items()
        ],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [*_results(annotations, [*rules])]}
    return f"{json.dumps({'$schema': _SCHEMA, 'version': '2.1.0', 'runs': [run]}, indent=2)}\n"


_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def _results(annotations: Sequence[Annotation], rules: Sequence[str]) -> Iterator[dict[str, Any]]:
    for one, fingerprint in zip(annotations, fingerprints(annotations), strict=True):
        yield {
            "ruleId": one.rule,
            "ruleIndex": rules.index(one.rule),
            "level": _level(one),
            "message": {"text": one.message},
            "locations": [{"physicalLocation": _location(one.place)}],
            "partialFingerprints": {"xlaLens/v1": fingerprint},
        }


def _level(one: Annotation) -> str:
    return _LEVELS.get(one.severity, "note")


def _location(place: CiPlace) -> dict[str, Any]:
    is_absolute = place.path.startswith("/")
    artifact = {"uri": ("file://" if is_absolute else "") + quote(place.path.encode("utf-8", "surrogateescape"))}
    if not is_absolute:
        artifact["uriBaseId"] = _ROOT
    if place.line is None:
        return {"artifactLocation": artifact}
    region = {"startLine": place.line} | ({"startColumn": place.column} if place.column is not None else {})
    return {"artifactLocation": artifact, "region": region}
