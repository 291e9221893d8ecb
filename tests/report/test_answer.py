"""The first lines of a report, and the sentences beside the numbers of a memory space in editors."""

import json

import pytest

from commands import run
from samples import DUMPS, joined
from xla_lens.editor.overview import Locate, overview_data
from xla_lens.model.attribution.breakdowns import layer_of


def _head(*arguments: object) -> list[str]:
    """The lines of a report above its first section, without the name of the module."""
    text = run("report", *arguments)[1]
    return [line.strip() for line in text.partition("\n\n")[0].splitlines()[1:]]


def _facts(*arguments: object) -> dict[str, str]:
    """The labelled facts below the first lines of a report."""
    lines = run("report", *arguments)[1].split("\n\n")[1].splitlines()
    return {line[2:12].strip(): line[13:] for line in lines}


def test_printed_peak_stands_below_the_first_advice() -> None:
    assert _head(DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "host_offload") == [
        "It needs 12.05 MiB of HBM.",
        "At most 12.00 MiB are live at once, at step 8 of 9 (fusion.2); the rest is 48.0 KiB of gaps between "
        "temporaries.",
        "66.7 % of the peak comes from /home/user/programs/tpu_programs.py:81 in host_offload.<locals>.roundtrip, "
        "33.3 % of the peak is in parameters (x).",
        "Donate x if nothing uses it after the call: saves 4.00 MiB (estimated).",
        "XLA prints its peak at step 5, where 8.00 MiB are live: 33.3 % short.",
    ]


@pytest.mark.parametrize("folder", ["tpu-7x-libtpu0.0.52/reduced", "gpu-b200-jaxlib0.12.0.1/reductions"])
def test_printed_peak_that_is_short_by_next_to_nothing_is_not_mentioned(folder: str) -> None:
    """It is 64 B short of 5.13 MiB, and 36 B short of 85.3 KiB."""
    assert not [line for line in _head(DUMPS / folder) if "XLA prints" in line]


def test_padding_of_half_of_the_peak_is_mentioned_with_its_dimension_and_its_line() -> None:
    (line,) = [line for line in _head(DUMPS / "tpu-7x-libtpu0.0.47.1" / "scatter") if "padding" in line]
    assert line == (
        "1.86 MiB of the peak (50.4 %) is padding. The most is in f32[5000,32] (programs.py:272 in "
        "scatter_gather.<locals>.emb_grad.<locals>.<lambda>), whose dimension 1 is padded from 32 to 128."
    )


def test_padding_of_less_than_half_of_the_peak_is_not_mentioned() -> None:
    """10.0 KiB of 2.44 MiB."""
    assert not [line for line in _head(DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "mlp_train") if "padding" in line]


def test_reserved_bytes_that_are_not_needed_are_explained() -> None:
    facts = _facts(DUMPS / "tpu-7x-libtpu0.0.52" / "reduced")
    assert facts["reserved"].startswith("11.27 MiB")
    assert facts["not needed"].startswith(
        "3.00 MiB of it is thread-local, which XLA's total counts: inside fusions and calls"
    )
    assert "not needed" not in _facts(DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "host_offload")


_CHAIN = DUMPS / "cpu-jaxlib0.12.0.1-programs" / "ynn_chain"
_HEDGE = "ynn_fusion also takes memory that no dump shows: the products inside it have 2.00 MiB."


def test_products_inside_a_fusion_stand_beside_what_is_needed() -> None:
    assert _head(_CHAIN)[:3:2] == ["It needs 1.00 MiB of host memory in the dump.", _HEDGE]
    fits = "It needs 1.00 MiB of 2 MiB of host memory in the dump (50.0 %) and fits the budget: 1024.0 KiB stay free."
    assert _head(_CHAIN, "--budget", "2MiB")[:3:2] == [fits, _HEDGE]
    (one,) = json.loads(run("report", _CHAIN, "--output-format", "json")[1])
    assert one["unseen"] == [{"kind": "ynn_fusion", "instruction": "ynn_fusion", "size_bytes": 2097152}]
    assert (
        f"\n\n`ynn_fusion`{_HEDGE.removeprefix('ynn_fusion')}\n"
        in run("report", _CHAIN, "--output-format", "markdown")[1]
    )
    assert not [line for line in _head(DUMPS / "cpu-jaxlib0.12.0.1" / "mlp_train") if "no dump shows" in line]


def test_scratch_of_libraries_stands_below_what_is_reserved() -> None:
    folder = DUMPS / "cpu-jaxlib0.12.0.1-programs" / "eigh"
    assert _head(folder)[0] == "It needs 769.1 KiB of host memory."
    assert _facts(folder)["unseen"] == "LAPACK's workspace, about two matrices (eigh.0): no dump shows it"


def test_editors_show_the_same_sentences() -> None:
    def nowhere(_: object) -> dict[str, object]:
        return {}

    analysis = joined(next(_CHAIN.glob("*-buffer-assignment.txt")))
    overview = overview_data(analysis, 1, Locate(nowhere, nowhere))  # type: ignore[arg-type]
    assert overview["spaces"][0]["notes"] == [_HEDGE]


def test_a_limit_that_the_dump_is_within_has_a_note() -> None:
    status, shown, _ = run("check", _CHAIN, "--max-memory", "2MiB")
    assert status == 0
    assert "information[max-memory] The program needs 1.00 MiB (1,048,580 bytes) of host memory in the dump" in shown
    assert "but `ynn_fusion` also takes memory that no dump shows" in shown
    assert "no findings" in run("check", DUMPS / "cpu-jaxlib0.12.0.1-programs" / "eigh", "--max-memory", "2MiB")[1]


def test_line_of_a_framework_is_no_source() -> None:
    """TensorFlow gives every instruction a line of its own."""
    folder = DUMPS / "cpu-tf2.16.2" / "while"
    assert "site-packages" not in run("report", folder, "--all")[1]
    sentence = "What has no source has only lines of tensorflow. `--part source` groups it by op_name."
    assert sentence in run("report", folder, "--part", "line")[1]
    (found,) = json.loads(run("report", folder, "--output-format", "json")[1])
    (space,) = found["memory_spaces"]
    assert space["lines"]["library"] == "tensorflow"
    assert [line["file"] for line in space["lines"]["lines"] if line["file"]] == []


@pytest.mark.parametrize(
    ("op_name", "layer"),
    [
        ("functional_1/conv2d_1/Relu", "functional_1/conv2d_1"),
        ("gradient_tape/functional_1/conv2d_1/Conv2D/Conv2DBackpropFilter", "functional_1/conv2d_1"),
        ("functional_1/encoder/dense_2/MatMul", "functional_1/encoder"),
        ("gradient_tape/matmul/MatMul", "matmul"),
        ("XLA_Args", None),
        ("MatMul", None),
        ("", None),
        (None, None),
    ],
)
def test_layer_of_an_op_name_of_tensorflow(op_name: str | None, layer: str | None) -> None:
    assert layer_of(op_name) == layer


def test_layers_stand_where_a_framework_gives_no_lines() -> None:
    folder = DUMPS / "cpu-tf2.16.2" / "while"
    (found,) = json.loads(run("report", folder, "--output-format", "json")[1])
    (space,) = found["memory_spaces"]
    layers = space["lines"]["layers"]
    assert sum(layer["size_bytes"] for layer in layers) in (0, space["peak_live_bytes"])
    shown = run("report", folder, "--part", "line")[1]
    assert (" peak by layer: " in shown) is bool(layers)
