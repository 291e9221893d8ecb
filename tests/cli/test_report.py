"""The parts of `xla-lens report`: their wording, and that their numbers agree with each other."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import printed, run
from samples import DUMPS, SEED, SPLIT, TPU, WHILE, assignments
from xla_lens.features.report.options import Part
from xla_lens.files import find_set
from xla_lens.syntax.file_names import FileKind


def _json(*arguments: object) -> Any:
    (one,) = json.loads(printed("report", *arguments, "--output-format", "json"))
    return one


def _part(path: Path, *arguments: object) -> str:
    """What a report prints below the answer and the head."""
    return printed("report", path, *arguments).split("\n\n", 2)[2].rstrip("\n")


def test_peak_takes_the_printed_peak_apart() -> None:
    assert (
        _part(SEED, "--part", "peak").split("\n\n")[1]
        == """\
What XLA's printed peak counts         printed list  counted at step 5  counted at step 4
  live in HBM                             324.0 KiB          324.0 KiB          580.0 KiB
  ended one step earlier                        0 B         +256.0 KiB                0 B
  shared bytes counted more than once      +4.0 KiB           +4.0 KiB                0 B
  = XLA's sum                             328.0 KiB          584.0 KiB          580.0 KiB
  XLA prints the first step at which its own sum is largest."""
    )


def test_curve_shows_live_bytes_as_bars() -> None:
    assert (
        _part(SEED, "--part", "curve")
        == """\
HBM live bytes over time (maximum of the steps in each row)
  0  320.0 KiB  █████████████████████████████████▏
  1  320.0 KiB  █████████████████████████████████▏
  2  320.0 KiB  █████████████████████████████████▏
  3  576.0 KiB  ███████████████████████████████████████████████████████████▋
  4  580.0 KiB  ████████████████████████████████████████████████████████████
  5  324.0 KiB  █████████████████████████████████▌
  6  324.0 KiB  █████████████████████████████████▌
  7  324.0 KiB  █████████████████████████████████▌"""
    )


def test_source_shows_trees_that_add_up() -> None:
    assert (
        _part(SPLIT, "--part", "source").split("\nHost memory peak by kind")[0]
        == """\
Parameters at the host memory peak by path: 2.43 MiB
 2.04 MiB  48.5 %    params  6 values
 1.53 MiB  36.4 %      [0]  2 values
 1.53 MiB  36.3 %        [0]  1 value
  2.0 KiB   0.0 %        (smaller)
513.0 KiB  11.9 %      [1]  2 values
512.0 KiB  11.9 %        [0]  1 value
  1.0 KiB   0.0 %        (smaller)
 10.0 KiB   0.2 %      (smaller)
392.0 KiB   9.1 %    x  1 value
  5.0 KiB   0.1 %    (smaller)
Host memory peak by op_name: 4.21 MiB
 2.29 MiB  54.4 %    jit(train_step)  8 values
 1.78 MiB  42.3 %      transpose(jvp())  3 values
 1.53 MiB  36.3 %        transpose  1 value
256.0 KiB   5.9 %        add_any  1 value
  2.0 KiB   0.0 %        (smaller)
523.0 KiB  12.1 %      sub  4 values
      4 B   0.0 %      (smaller)
 1.53 MiB  36.3 %    params[0][0]  1 value
392.0 KiB   9.1 %    x  1 value
  7.0 KiB   0.2 %    (smaller)
Host memory peak by opcode: 4.21 MiB
 1.92 MiB  45.6 %    parameter  4 values
 1.53 MiB  36.3 %    dot  1 value
781.0 KiB  18.1 %    fusion  7 values
      4 B   0.0 %    (smaller)"""
    )


def test_line_shows_the_biggest_lines_and_the_rest() -> None:
    assert (
        _part(SPLIT, "--part", "line", "--top", 2)
        == """\
Host memory peak by source line: 4.21 MiB
  ███████▎  1.53 MiB  36.4 %  parameters params[0]  2 values
  ███████▎  1.53 MiB  36.4 %  /home/user/programs/programs.py:50 in mlp_apply  2 values
  ▏              4 B   0.0 %  (no source: 1 constant buffer)
            1.15 MiB  27.2 %  (5 more lines)"""
    )


def test_stacks_show_the_calls_of_each_line() -> None:
    text = _part(SPLIT, "--part", "totals", "--top", 2, "--stacks").partition("\n\n")[0]
    assert (
        text
        == """\
Host memory peak by source line: 4.21 MiB
  ███████▎  1.53 MiB  36.4 %  parameters params[0]  2 values
  ███████▎  1.53 MiB  36.4 %  /home/user/programs/programs.py:50 in mlp_apply  2 values
                                /home/user/programs/programs.py:50:13 in mlp_apply
                                /home/user/programs/programs.py:57:30 in mlp_train.<locals>.train_step.<locals>.loss
                                /home/user/programs/programs.py:58:16 in mlp_train.<locals>.train_step
                                /home/user/programs/run_progs.py:54:23 in child
                                <string>:1:68 in <module>
  ▏              4 B   0.0 %  (no source: 1 constant buffer)
            1.15 MiB  27.2 %  (5 more lines)"""
    )
    lines = _json(SPLIT, "--part", "line")["memory_spaces"][0]["lines"]
    assert [frame["line"] for frame in lines["lines"][1]["stacks"][0]["frames"]] == [50, 57, 58, 54, 1]


def test_line_without_the_module_says_what_is_missing(tmp_path: Path) -> None:
    for path in SPLIT.parent.glob("module_0000*-*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert (
        _part(tmp_path, "--part", "line")
        == """\
Host memory peak by source line: 4.21 MiB (the HLO module is missing)
  ████████▌   ≤ 1.78 MiB  42.3 %  (no source)
  ███████▎    ≥ 1.53 MiB  36.4 %  parameters params[0]  ≥ 2 values
  ██▍        ≥ 513.0 KiB  11.9 %  parameters params[1]  ≥ 2 values
  █▉         ≥ 392.0 KiB   9.1 %  parameters x  ≥ 1 value
  ▏           ≥ 10.0 KiB   0.2 %  parameters params[2]  ≥ 2 values
  ▏            ≥ 5.0 KiB   0.1 %  parameters y  ≥ 1 value
  2.29 MiB have a source line that only the HLO module contains, and that file is missing or lacks the line."""
    )


def test_line_uses_source_lines_in_the_dump_itself() -> None:
    assert (
        _part(SEED, "--part", "line")
        == """\
HBM peak by source line: 580.0 KiB
  ███████████  320.0 KiB  55.2 %  (no source: 2 parameter buffers)
  ████████▉    256.0 KiB  44.1 %  test_auto_sharding_basic.py:50  1 value
  ▏              4.0 KiB   0.7 %  test_auto_sharding_basic.py:52  1 value"""
    )


def test_alive_shows_the_peak_without_each_value_and_what_frees_it() -> None:
    assert (
        _part(SPLIT, "--part", "alive", "--top", 4)
        == """\
Host memory peak if one buffer were gone (now 4.21 MiB)
  peak without it  at step      saves  own bytes  value                       live until  freed by
         3.83 MiB       36  392.0 KiB  392.0 KiB  x.1                                 40  parameter, live to the end
         3.96 MiB       37  256.0 KiB   1.53 MiB  params_0__0_.1                      37  last read by multiply_subtract_fusion.5
         4.06 MiB       30  162.0 KiB   1.53 MiB  dot                                 37  last read by multiply_subtract_fusion.5
         4.06 MiB       30  162.0 KiB  512.0 KiB  multiply_subtract_fusion.3          40  part of the result, live to the end"""  # noqa: E501
    )


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


def test_arenas_and_history_show_preallocated_temps() -> None:
    assert (
        _part(SEED, "--part", "arenas,history")
        == """\
Preallocated temps in HBM       size       peak  fragmentation  free at the HBM peak  last byte in use at steps
  allocation 4             256.0 KiB  256.0 KiB          0.0 %        0 B in 0 holes  3–4
  The size of allocation 4 is set by fusion.
  History of allocation 4
    start offset  end offset       size  live  value
               0     262,144  256.0 KiB  3–4   fusion"""
    )


def test_donation_shows_reused_parameters_and_copies() -> None:
    text = _part(SPLIT, "--part", "donation", "--top", 1)
    assert (
        text
        == """\
Donation: outputs reuse the memory of 6 parameters (2.04 MiB); no other candidates found
  3 copies keep parameters and outputs apart (522.0 KiB):
  512.0 KiB  copy.2  of params_1__0_.1"""
    )
    donation = _json(SPLIT, "--part", "donation")["donation"]
    assert donation["donated_bytes"] == sum(row["size_bytes"] for row in donation["donated"])
    assert donation["copies_count"] == len(donation["copies"]) == 3


def test_budget_names_the_buffers_to_remove() -> None:
    assert (
        _part(SPLIT, "--part", "totals", "--budget", "4MiB").split("\n\n")[0]
        == """\
To fit into 4 MiB of host memory, remove this buffer (no smaller set suffices); the program \
then needs 3.96 MiB, if the 56 B that are not live at the peak stay
      size  value           live  op_name
  1.53 MiB  params_0__0_.1  0–37  params[0][0]"""
    )
    text = _part(SPLIT, "--part", "totals", "--budget", "1GiB")
    assert text.startswith("The program fits into 1 GiB of host memory already\n")
    alive = {row["name"]: row for row in _json(SPLIT, "--part", "alive")["memory_spaces"][0]["alive_at_peak"]}
    budget = _json(SPLIT, "--budget", "4MiB")["memory_spaces"][0]["budget"]
    (value,) = budget["values"]
    assert budget["peak_bytes"] == alive[value["name"]]["next_peak_bytes"]


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
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
