"""The parts of `xla-lens report`: their wording, and that their numbers agree with each other."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import printed, run
from samples import SEED, WHILE, on_each_dump
from xla_lens.disk.sets import find_set
from xla_lens.report.options import Part
from xla_lens.syntax.file_names import FileKind


def _json(*arguments: object) -> Any:
    (one,) = json.loads(printed("report", *arguments, "--output-format", "json"))
    return one


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
        if space["budget"]:
            assert space["budget"]["peak_bytes"] <= 1024


def _check_tree(node: dict[str, Any]) -> None:
    assert node["size_bytes"] == node["own_bytes"] + sum(child["size_bytes"] for child in node["children"])
    assert node["count"] == len(node["values"]) + sum(child["count"] for child in node["children"])
    for child in node["children"]:
        _check_tree(child)


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
