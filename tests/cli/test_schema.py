"""JSON output matches `docs/*.schema.json`, which are up to date and describe no field that is never printed."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec.structs import replace

from commands import as_printed, printed_json
from samples import (
    DUMPS,
    FIELD,
    ROOT,
    SEED,
    analysis_of,
    damaged,
    dump_file,
    fact_of,
    on_all_dumps,
    on_each_dump,
    space_facts,
)
from schemas import SCHEMAS, Schema, schema_text
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.report.data import report_data
from xla_lens.report.facts import report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.unknown_text import by_form, unknown_text, unknown_text_data
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.finding_json import finding_data

SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))

EVERYTHING = ReportOptions(top=30, at_step=0, parts=frozenset(Part), budget_bytes=1024)


@cache
def validator(name: str) -> Draft202012Validator:
    """Validates the output of a command, or a part of it, against its definition in the schema."""
    return Draft202012Validator(SCHEMA | {"anyOf": [{"$ref": f"#/$defs/{name}"}]})


def definitions(schema: Any) -> Iterator[Any]:
    """All objects of the schema that describe objects with fields."""
    return (definition for definition in schema["$defs"].values() if "properties" in definition)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.file)
def test_schemas_are_up_to_date(schema: Schema) -> None:
    assert schema.path.read_text(encoding="utf-8") == schema_text(schema), "run `make docs` and review the changes"


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.file)
def test_schemas_are_valid_and_describe_every_field(schema: Schema) -> None:
    data = json.loads(schema.path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(data)
    for definition in definitions(data):
        assert definition["description"].endswith(".")
        assert definition["additionalProperties"] is False, definition["description"]
        for name, field in definition["properties"].items():
            assert field["description"].endswith("."), name


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """All objects in some output."""
    if isinstance(data, dict):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _objects(part)


def printed_fields(data: Any) -> Iterator[str]:
    """The names of all fields in some output."""
    return (name for found in _objects(data) for name in found)


@on_each_dump
def test_reports_match_the_schema_and_the_facts(path: Path) -> None:
    # Some dumps have no schedule, so they need company to ask for a step.
    everything = (SEED, "--part", ",".join(Part), "--budget", "1KiB", "--at", "0")
    for arguments in (everything, ("--top", "2"), ("--part", "totals"), ()):
        reports = printed_json("report", path, *arguments)
        validator("reports").validate(reports)
    (report,) = reports
    fact = fact_of(path)
    assert {
        key: report[key] for key in ("instructions", "values", "allocations", "reserved_bytes")
    }.items() <= fact.items()
    assert fact["printed"].items() <= report["printed"].items()
    for space, expected in zip(report["memory_spaces"], space_facts(fact), strict=True):
        assert expected.items() <= space.items()
        sizes = [value["size_bytes"] for value in space["live_at_peak"]]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) >= (space["peak_live_bytes"] or 0)


def measured_run(folder: Path) -> Path:
    """The folder of a run, with a function that was compiled twice and what the process measured."""
    dumps = folder / "process-7"
    dumps.mkdir()
    for file in (DUMPS / "cpu-jaxlib0.12.0.1" / "mlp_train").iterdir():
        for number in ("0000", "0001"):
            shutil.copyfile(file, dumps / file.name.replace("module_0000", f"module_{number}"))
    device = "7\tdevice\tTPU_0\tpeak_bytes_in_use\t9"
    noted = ("7\tresident\t99", device, "7\tarrays\tfloat32[2]\t3\t24", "7\tprograms\t2\t8\t5\t3")
    (folder / "measured.txt").write_text("\n".join(noted))
    return folder


def test_every_described_field_is_printed(tmp_path: Path) -> None:
    """Every field of the schema is in some output, and that of damaged dumps matches it, too."""
    seen: set[str] = set()
    of_run = printed_json("report", measured_run(tmp_path), "--part", "totals")
    validator("reports").validate(of_run)
    seen.update(printed_fields(of_run))

    arguments = ("--all", "--part", ",".join(Part), "--budget", "1KiB", "--at", "0")
    seen.update(printed_fields(printed_json("report", DUMPS, *arguments)))
    incomplete = printed_json("report", FIELD, "--all")
    validator("reports").validate(incomplete)
    seen.update(printed_fields(incomplete))
    on_device = analysis_of(SEED).on_device(1 << 30)
    found = as_printed(report_data(report(on_device, {FileKind.BUFFER_ASSIGNMENT: "a.txt"}, ReportOptions())))
    validator("report").validate(found)
    seen.update(printed_fields(found))
    validator("findings").validate(printed_json("check", DUMPS, "--max-peak", "1", "--max-memory", "1"))
    for _, broken in islice(damaged(SEED.read_bytes()), 0, None, 3):
        file = dump_file(broken)
        analysis = analyse([file])
        findings = as_printed([finding_data(finding) for finding in analysis.findings])
        validator("findings").validate(findings)
        one = as_printed(report_data(report(analysis, {file.kind: file.label}, EVERYTHING)))
        validator("report").validate(one)
        for found in _objects(one):
            assert found.get("bounds", {}).keys() <= found.keys()
        unknown = as_printed(unknown_text_data(by_form(unknown_text(analysis))))
        validator("unknown_forms").validate(unknown)
        seen.update(printed_fields([findings, one, unknown]))
    described = {name for definition in definitions(SCHEMA) for name in definition["properties"]}
    # Only dumps that are too big for this folder have a policy or a suggestion, and none was tried.
    tried = {"is_stale", "measured_needed_bytes", "taken", "taken_needed_bytes", "flags"}
    assert described - tried - {"kept", "measured"} <= seen


def _check(analysis: Analysis) -> str | None:
    """The first error of a report, None if it matches. Trees by op_name nest too deep for the usual recursion limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * limit)
    try:
        return _first_error(analysis)
    finally:
        sys.setrecursionlimit(limit)


def _first_error(analysis: Analysis) -> str | None:
    files = {file.kind: file.label for file in analysis.dump.files}
    # A budget of 1 KiB for a big dump takes half a minute.
    options = replace(EVERYTHING, parts=frozenset(Part) - {Part.BUDGET})
    data = as_printed(report_data(report(analysis, files, options)))
    error = next(iter(validator("report").iter_errors(data)), None)
    return str(error)[:2000] if error else None


@on_all_dumps(_check)
def test_reports_of_the_collection_match_the_schema(of_all_dumps: Mapping[str, str | None]) -> None:
    assert {file: error for file, error in of_all_dumps.items() if error} == {}
