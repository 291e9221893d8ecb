"""What the JSON of all commands has in common.

Each object of the output is a struct, from which `make docs` generates the schemas in `docs/`: the docstring of a
struct and the texts below its fields are the descriptions there. A field is `null` if the dump does not determine it.
It is absent (`UNSET`) if it was not requested or is about something else.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, to_builtins

from xla_lens.model.checks.codes import Severity
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind

Json: TypeAlias = dict[str, Any]
"""An object of JSON as a dictionary."""


class JsonObject(Struct, forbid_unknown_fields=True):
    """An object of the JSON output. The schema says that it has no other fields."""


def one_of(names: Iterable[str]) -> Meta:
    """Return what the schema says about a text that is one of some names."""
    return Meta(extra_json_schema={"enum": [*names]})


def keyed_by(names: Iterable[str]) -> Meta:
    """Return what the schema says about an object whose keys are some names. msgspec says it itself from 0.23 on, for
    types of names, and in this order.
    """
    return Meta(extra_json_schema={"propertyNames": {"enum": sorted(names)}})


Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number of bytes, of things, or a step."""

CountFrom1: TypeAlias = Annotated[int, Meta(ge=1)]

ColorNumber: TypeAlias = Annotated[int, Meta(ge=-1)]
"""XLA's number of a memory space, -1 if the dump does not have it."""

AllocationKind: TypeAlias = Annotated[str, one_of(KIND_NAMES)]
"""One of `KIND_NAMES`."""

Inexact: TypeAlias = Annotated[str, one_of(bound for bound in Bound if bound is not Bound.EXACT)]
"""A `Bound` other than `EXACT`."""

Bounds: TypeAlias = Annotated[
    dict[str, Inexact],
    Meta(
        description="The numbers beside it that are not exact. `at_least`: the true number is the same or larger. "
        "`at_most`: it is the same or smaller. `unknown`: it may be smaller or larger, so the number is null."
    ),
]

Files: TypeAlias = Annotated[Mapping[FileKind, str], Meta(min_length=1), keyed_by(FileKind)]
"""The path of each file of a dump by what the file holds."""


def bounds(**numbers: Bound) -> dict[str, Inexact]:
    """Return the bounds of the numbers that are not exact, by the names of their fields."""
    return {name: bound.value for name, bound in numbers.items() if bound is not Bound.EXACT}


def as_dictionary(json_object: JsonObject) -> Json:
    """Return an object as a dictionary, with dictionaries and lists in it."""
    found: Json = to_builtins(json_object)
    return found


class Value(JsonObject):
    """A value."""

    id: Count
    """The id of the value in the dump."""
    name: str
    """The instruction that defines the value."""
    index: str | None
    """The element of the instruction's tuple, such as "{0,1}"; null if the instruction does not return a tuple."""


def identity(dump: DumpSet, value: int) -> tuple[int, str, str | None]:
    """Return the id, the name and the index of a row of `DumpSet.values`, which are the fields of `Value`."""
    index = dump.values.index.item(value)
    return (
        dump.values.id.item(value),
        dump.label(dump.name_of(value), NONE),
        dump.indices[index].decode() if index != NONE else None,
    )


class Location(JsonObject):
    """A position in a file."""

    row: CountFrom1
    """The line, counted from 1."""
    column: CountFrom1
    """The column in characters, counted from 1."""


class Related(JsonObject):
    """A place that belongs to a finding."""

    filename: str
    """The file."""
    location: Location
    """Where it starts."""
    message: str
    """What is there."""


class Finding(JsonObject):
    """A finding."""

    code: str
    """The code; `xla-lens explain CODE` explains it."""
    severity: Severity
    """How bad it is. Errors and warnings give the exit status 1."""
    message: str
    """What is wrong."""
    filename: str
    """The file."""
    location: Location
    """Where it starts."""
    end_location: Location
    """Where it ends, exclusive."""
    related: list[Related]
    """Other places that show it."""
