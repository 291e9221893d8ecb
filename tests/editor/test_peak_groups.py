"""What is live at a peak, by source line and by parameter path."""

from hypothesis import given
from hypothesis import strategies as st

from samples import (
    SHARED_DUMPS,
    joined,
    needs_shared_dumps,
    on_dumps,
)
from xla_lens.editor.peak_groups import peak_groups_data
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.parameters import path_parts
from xla_lens.words.contract import PeakGroups, ValueGroup


@needs_shared_dumps
def test_layers_and_parameters_of_a_scanned_llama() -> None:
    path = next(SHARED_DUMPS.glob("tpu-v5p-big-*/llama3_8b_scan_L32/module_0000*-buffer-assignment.txt"))
    made = peak_groups_data(joined(path), 0)
    assert made
    # The residuals that the forward pass of `lax.scan` saves count for the line in its body.
    first = made["lines"][0]
    assert (first["label"].rpartition("/")[2], first["count"]) == ("big_programs.py:31", 9)
    assert (first["groups"][0]["label"], first["groups"][0]["count"]) == ("bf16[32,64,2048,1792]", 2)
    assert first["groups"][0]["size_bytes"] == 2 * 2 * 32 * 64 * 2048 * 1792
    state, batch = made["parameters"]
    # Three of them are what XLA makes of one parameter alone and gives its op_name: multiply.108 and two slices.
    assert (state["label"], state["count"], batch["label"]) == ("state", 42, "batch")
    # The optimizer keeps two copies of the parameters in f32, which are twice as large as in bf16.
    sizes = {group["label"]: group["size_bytes"] for group in state["groups"]}
    assert sizes["[1]"] == sizes["[2]"]
    layers = state["groups"][0]["groups"][0]
    assert (layers["label"], layers["groups"][0]["label"]) == ("['layers']", "['w_down']")
    assert layers["groups"][0]["size_bytes"] == 4 * 32 * 1792 * 512


def _check_group(group: ValueGroup) -> list[int]:
    """Return the values of a group, after a check that the groups below it add up to it."""
    values = [value for one in group["groups"] for value in _check_group(one)] + group["values"]
    assert len(set(values)) == len(values) == group["count"]
    below = sum(one["size_bytes"] for one in group["groups"])
    assert below == group["size_bytes"] if not group["values"] else below <= group["size_bytes"]
    return values


def _check_groups(found: PeakGroups, peak_bytes: int) -> None:
    assert sum(line["size_bytes"] for line in found["lines"]) == peak_bytes
    lines, parameters = (
        [value for group in groups for value in _check_group(group)] for groups in (found["lines"], found["parameters"])
    )
    assert len(set(lines)) == len(lines)
    assert len(set(parameters)) == len(parameters)
    assert set(parameters) <= set(lines) <= set(found["values"])


@on_dumps
def test_groups_add_up_to_the_peak(analysis: Analysis) -> None:
    for space in analysis.memory.spaces:
        found = peak_groups_data(analysis, space.color)
        assert (found is None) == (space.peak_step is None)
        if found:
            _check_groups(found, space.peak_live_bytes)


def test_parts_of_parameter_paths() -> None:
    for op_name, expected in {
        "state[1]['layers']['w_down']": ("state", "[1]", "['layers']", "['w_down']"),
        "state.params['a.b/c[0]']": ("state", ".params", "['a.b/c[0]']"),
        "args[0].mu": ("args", "[0]", ".mu"),
        "XLA_Args": ("XLA_Args",),
        "a/b": ("a", "/b"),
        "": (None,),
    }.items():
        assert path_parts(op_name) == expected
    assert path_parts(None) == (None,)


@given(st.text(alphabet="ab[]'./\n", min_size=1, max_size=300))
def test_parts_of_a_path_join_to_the_path(op_name: str) -> None:
    parts = path_parts(op_name)
    assert "".join(part or "" for part in parts) == op_name
    assert len(parts) <= 64
