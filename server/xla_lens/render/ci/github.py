"""GitHub Actions: workflow commands, which become annotations of a commit."""

from collections.abc import Iterable, Iterator
from typing import Final

from xla_lens.model.checks.codes import Severity
from xla_lens.render.ci.annotations import Annotation

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}

_ESCAPES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_PROPERTIES: Final = str.maketrans({**_ESCAPES, ":": "%3A", ",": "%2C"})
_OF_DATA: Final = str.maketrans(_ESCAPES)


def github_text(annotations: Iterable[Annotation]) -> str:
    """Return one workflow command for each annotation: ``::error file=train.py,line=31,title=max-peak::…``."""
    return "".join(f"{_command(one)}\n" for one in annotations)


def _command(one: Annotation) -> str:
    properties = ",".join(f"{name}={value.translate(_OF_PROPERTIES)}" for name, value in _properties(one))
    return f"::{_COMMANDS.get(one.severity, 'notice')} {properties}::{one.message.translate(_OF_DATA)}"


def _properties(one: Annotation) -> Iterator[tuple[str, str]]:
    yield "file", one.place.path
    if one.place.line is not None:
        yield "line", str(one.place.line)
    if one.place.column is not None:
        yield "col", str(one.place.column)
    yield "title", f"xla-lens: {one.rule}"
