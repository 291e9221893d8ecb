"""The parts of `xla-lens report`: their wording, and that their numbers agree with each other."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import printed, run
from samples import DUMPS, SEED, SPLIT, TPU, WHILE, on_each_dump
from xla_lens.features.report.options import Part
from xla_lens.files import find_set
from xla_lens.syntax.file_names import FileKind


def _json(*arguments: object) -> Any:
    (one,) = json.loads(printed("report", *arguments, "--output-format", "json"))
    return one


def _part(path: Path, *arguments: object) -> str:
    """What a report prints below the answer and the head."""
    return printed("report", path, *arguments).split("\n\n", 2)[2].rstrip("\n")


def test_stacks_have_the_calls_of_each_line() -> None:
    lines = _json(SPLIT, "--part", "line")["memory_spaces"][0]["lines"]
    assert [frame["line"] for frame in lines["lines"][1]["stacks"][0]["frames"]] == [50, 57, 58, 54, 1]


def test_padding_adds_up_and_names_dimensions() -> None:
    seed = DUMPS / "seeds" / "004_58de9a4b501a9eb8.txt"
    text = _part(seed, "--part", "padding", "--top", 3)
    one = _json(seed, "--part", "padding")
    space = next(space for space in one["memory_spaces"] if space["color"] == 0)
    assert text.splitlines()[0].startswith("Padding at the HBM peak: ")
    assert space["padding"]["padding_bytes"] == sum(value["padding_bytes"] for value in space["padding"]["values"])
    assert space["padding"]["padding_bytes"] > 0
    for value in space["padding"]["values"]:
        if not value["unexplained"]:
            added = sum(cause["size_bytes"] for cause in value["causes"])
            assert value["logical_bytes"] + added == value["size_bytes"]
    assert "dimension " in text


def test_donation_adds_up() -> None:
    donation = _json(SPLIT, "--part", "donation")["donation"]
    assert donation["donated_bytes"] == sum(row["size_bytes"] for row in donation["donated"])
    assert donation["copies_count"] == len(donation["copies"]) == 3


def test_budget_leads_to_the_peak_without_the_buffer() -> None:
    alive = {row["name"]: row for row in _json(SPLIT, "--part", "alive")["memory_spaces"][0]["alive_at_peak"]}
    budget = _json(SPLIT, "--budget", "4MiB")["memory_spaces"][0]["budget"]
    (value,) = budget["values"]
    assert budget["peak_bytes"] == alive[value["name"]]["next_peak_bytes"]


@on_each_dump
def test_the_numbers_of_all_parts_agree(path: Path) -> None:
    one = _json(path, "--budget", "1KiB", "--part", ",".join(Part))
    for sums in (one["printed"]["explained"] or {}).values():
        if sums:
            terms = ("live", "died", "tuple", "other_space", "shared", "unplaced")
            assert sums["total_bytes"] == sum(sums[f"{term}_bytes"] for term in terms) - sums["padding_bytes"]
    for space in one["memory_spaces"]:
        peak = space["peak_live_bytes"] or 0
        if space["peak_step"] is None:
            continue
        assert max(live_bytes for _, live_bytes in space["curve"]) == peak
        assert next(step for step, live_bytes in space["curve"] if live_bytes == peak) == space["peak_step"]
        for tree in (space["sources"][name] for name in ("by_op_name", "by_opcode", "by_kind", "by_parameter")):
            assert tree["size_bytes"] == peak
            _check_tree(tree)
        assert space["lines"]["size_bytes"] == sum(line["size_bytes"] for line in space["lines"]["lines"]) == peak
        for line in space["lines"]["lines"]:
            in_stacks = sum(stack["size_bytes"] for stack in line["stacks"])
            assert in_stacks == (line["size_bytes"] if line["file"] is not None else 0)
        for row in space["alive_at_peak"]:
            assert peak - row["freed_bytes"] <= row["next_peak_bytes"] <= peak
        assert {row["id"] for row in space["alive_at_peak"]} <= {row["id"] for row in space["live_at_peak"]}
        for arena in space["arenas"]:
            assert arena["peak_bytes"] <= arena["size_bytes"]
            if arena["fragmentation"] is not None:
                assert arena["fragmentation"] == 1 - arena["peak_bytes"] / arena["size_bytes"]
            assert arena["history"] is not None
        if space["budget"]:
            assert space["budget"]["peak_bytes"] <= 1024


def _check_tree(node: dict[str, Any]) -> None:
    assert node["size_bytes"] == node["own_bytes"] + sum(child["size_bytes"] for child in node["children"])
    assert node["count"] == len(node["values"]) + sum(child["count"] for child in node["children"])
    for child in node["children"]:
        _check_tree(child)


def test_parts_that_were_not_requested_are_absent() -> None:
    one = _json(TPU, "--part", "totals")
    assert "donation" not in one
    assert one["printed"].keys() == {"total_bytes", "peak_step", "peak_bytes", "bounds"}
    assert one["memory_spaces"][0].keys() == {
        "color",
        "reserved_bytes",
        "needed_bytes",
        "fits",
        "parameter_bytes",
        "output_bytes",
        "temporary_bytes",
        "aliased_bytes",
        "peak_step",
        "peak_instruction",
        "peak_live_bytes",
        "live_bytes_at_printed_peak",
        "bounds",
    }
    text = _part(TPU, "--part", "totals")
    assert text.startswith("Memory space")
    assert "\n\n" not in text


def test_small_memory_spaces_have_few_parts() -> None:
    text = printed("report", TPU)
    assert "Live at the SMEM peak" in text
    assert "Preallocated temps in SMEM" not in text
    assert "Preallocated temps in VMEM" in text


@pytest.mark.parametrize("others", [[], [SEED]], ids=["one", "ranking"])
def test_report_of_a_dump_that_contradicts_its_module_says_so(tmp_path: Path, others: list[Path]) -> None:
    files = find_set(WHILE).paths
    for kind, path in files.items():
        text = path.read_text()
        old, new = "copy(%arg_tuple.1#1)", "copy(%arg_tuple.1#2)"
        assert (old in text) is (kind is FileKind.HLO)
        (tmp_path / path.name).write_text(text.replace(old, new))
    edited, options = tmp_path / WHILE.name, ("--all", "--output-format", "json")
    status, out, _ = run("report", edited, *others, *options)
    assert status == 1
    found = next(one for one in json.loads(out) if one["module"] == "jit_tuple_while")
    assert not found["complete"]
    assert [one["code"] for one in found["findings"]] == ["operand-mismatch"]
    assert [one["finding"] for one in found["incomplete"]] == ["operand-mismatch"]
    # Without the module's source lines, the report does not read the module.
    assert printed("report", edited, "--part", "totals", "--output-format", "json")
