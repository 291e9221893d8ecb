"""Parameters by their paths, compared with sums that are computed from the texts alone."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from samples import DUMPS, SHARED_DUMPS, analysis_of, facts, module_of, needs_shared_dumps, space_facts
from xla_lens.model.attribution.breakdowns import BytesNode, bytes_by_op
from xla_lens.model.attribution.parameters import argument_of, folded_paths, path_parts, told_path

_PARAMETER = re.compile(r"^ *%?(\S+) = [^\n]* parameter\((\d+)\)[^\n]*op_name=\"((?:[^\"\\]|\\.)*)\"", re.MULTILINE)
_ALLOCATION = re.compile(
    r"^allocation \d+: [^\n]*?\bparameter (\d+), shape [^\n]*ShapeIndex \{\}[^\n]*\n((?: value:[^\n]*\n)*)", re.M
)
_OTHER = re.compile(
    r"^allocation \d+: (?![^\n]*, color )(?![^\n]*\bparameter \d+, shape [^\n]*ShapeIndex)[^\n]*\n"
    r"((?: value:[^\n]*\n)*)",
    re.M,
)
_OP_NAME = re.compile(r"^ +(?:ROOT )?%?(\S+) = [^\n]*op_name=\"((?:[^\"\\]|\\.)*)\"", re.MULTILINE)
_VALUE = re.compile(r" value: <\d+ (\S+?)(\{[\d,]*\})? @\d+> \(size=(\d+),offset=(\d+)\)")
_RANGE = re.compile(r"^    (\S+?)(\{[\d,]*\}):(\d+)-(\d+)$", re.MULTILINE)


def _expected(path: Path, step: int) -> Counter[str]:
    """The bytes of parameters at a step by their paths: the paths from the HLO module, the buffers from the lines of
    the assignment, and what is live there from those of the live ranges. XLA gives the op_name of a parameter to what
    it makes of that alone, in other buffers.
    """
    stem = path.name.removesuffix("-buffer-assignment.txt")
    module = (path.parent / f"{stem}.txt").read_text()
    ranges = path.parent / f"{stem}-live-range.txt"
    entry = module[module.index("\nENTRY") :]
    paths = {int(number): name.replace("\\'", "'") for _, number, name in _PARAMETER.findall(entry)}
    text = (ranges if ranges.exists() else path).read_text()
    live = {(name, index) for name, index, start, end in _RANGE.findall(text) if int(start) <= step <= int(end)}
    found: Counter[str] = Counter()
    for number, lines in _ALLOCATION.findall(path.read_text()):
        covered = set()
        for name, index, size, offset in _VALUE.findall(lines):
            if (name, index or "{}") in live:
                covered.add((int(offset), int(offset) + int(size)))
        assert all(one == other or one[1] <= other[0] or other[1] <= one[0] for one in covered for other in covered)
        if int(number) in paths and covered:
            found[paths[int(number)]] += sum(end - start for start, end in covered)
    op_names = {name: op_name.replace("\\'", "'") for name, op_name in _OP_NAME.findall(module)}
    for lines in _OTHER.findall(path.read_text()):
        for name, index, size, _ in _VALUE.findall(lines):
            if op_names.get(name) in paths.values() and (name, index or "{}") in live:
                found[op_names[name]] += int(size)
    return found


def _leaves(node: BytesNode, path: str = "") -> dict[str, int]:
    own = {path: node.own_bytes} if node.own_bytes else {}
    for child in node.children:
        if child.name is not None:
            own |= _leaves(child, path + child.name)
    return own


def _check(path: Path, step: int) -> None:
    expected = _expected(path, step)
    assert expected
    folded = folded_paths(expected)
    by_path: Counter[str] = Counter()
    for name, size_bytes in expected.items():
        by_path[folded[name]] += size_bytes
    tree = bytes_by_op(analysis_of(path).dump, None, step, 0).by_parameter
    assert _leaves(tree) == by_path


_PEAKS: dict[str, Any] = {
    fact["file"]: space_facts(fact)[0].get("peak_step")
    for folder in (DUMPS, SHARED_DUMPS)
    if (folder / "FACTS.jsonl").exists()
    for fact in facts(folder)
    if fact["memory_spaces"] and fact["memory_spaces"][0]["color"] == 0
}


def _trains(folder: Path) -> list[str]:
    """The training steps of a folder whose parameters have paths."""
    return [
        file
        for file in _PEAKS
        if re.search("mlp_train/|transformer_train|kvcache|llama3_8b.*/module_0000", file)
        and not re.match("cpu-(tf|jaxlib0.4.(13|2.))", file)
        and (folder / file).exists()
    ]


@pytest.mark.parametrize("file", _trains(DUMPS))
def test_paths_have_the_bytes_of_the_texts(file: str) -> None:
    _check(DUMPS / file, _PEAKS[file])


@needs_shared_dumps
def test_paths_of_training_steps_of_all_backends_have_the_bytes_of_the_texts() -> None:
    files = _trains(SHARED_DUMPS)
    assert {file.partition("-")[0] for file in files} == {"cpu", "gpu", "tpu"}
    assert len(files) > 20
    for file in files:
        _check(SHARED_DUMPS / file, _PEAKS[file])


def test_copies_belong_to_the_path_of_the_parameter() -> None:
    """The module prefetches `x` and `params[1][0]` with `copy-start`, and `params[0][0]` with four slices. Together
    they are as large as the parameters, since nothing is padded.
    """
    (path,) = DUMPS.glob("tpu-v5e2x2-*/mlp_train/module_0000*-buffer-assignment.txt")
    tree = bytes_by_op(analysis_of(path).dump, module_of(path), 55, 1).by_parameter
    assert _leaves(tree) == {"params[0][0]": 4 * 784 * 512, "params[1][0]": 4 * 512 * 256, "x": 4 * 128 * 784}
    # Without the module nothing shows what a copy copies.
    assert not _leaves(bytes_by_op(analysis_of(path).dump, None, 55, 1).by_parameter)


@pytest.mark.parametrize("folder", ["cpu-jaxlib0.4.20", "cpu-tf2.5.3", "cpu-tf2.8.4", "cpu-tf2.16.2"])
def test_parameters_without_a_path(folder: str) -> None:
    """TensorFlow gives all parameters the same op_name, and old releases of JAX none."""
    for file, step in _PEAKS.items():
        if file.startswith(folder) and (DUMPS / file).exists():
            tree = bytes_by_op(analysis_of(DUMPS / file).dump, None, step or 0, 0).by_parameter
            assert {child.name for child in tree.children} <= {None}


# ---------------------------------------------------------------- paths of frameworks

_FRAMEWORKS = {
    # What JAX prints for the arguments of train steps: flax.linen, haiku, equinox with `jax.jit` and `eqx.filter_jit`,
    # `nnx.jit`.
    "state.params['params']['Dense_0']['kernel']": "state.params",
    "state.opt_state[0].mu['params']['Dense_0']['kernel']": "state.opt_state",
    "params['mlp/~/linear_0']['w']": "params",
    "model.layers[0].weight": "model.layers",
    "dynamic_nodonate['first'][12]": "dynamic_nodonate",
    "model.states[0][12]": "model.states",
    "state['layers'][3]['kernel'].raw_value": "state",
    "state[1]['layers'][12]['w_down']": "state[1]",
    "opt_state[0][1].nu[<flat index 3>]": "opt_state[0]",
    "args[0]": "args[0]",
    "batch['tokens']": "batch",
    "x": "x",
}


@pytest.mark.parametrize("path", _FRAMEWORKS)
def test_arguments_of_the_paths_of_frameworks(path: str) -> None:
    assert argument_of(path) == _FRAMEWORKS[path]
    assert "".join(part or "" for part in path_parts(path)) == path


@pytest.mark.parametrize(
    ("paths", "folded"),
    [
        ([f"params['Dense_{number}']['kernel']" for number in range(5)], {"params['Dense_*']['kernel']"}),
        ([f"params['mlp/~/linear_{number}']['w']" for number in range(9)], {"params['mlp/~/linear_*']['w']"}),
        ([f"model.layers[{number}].weight" for number in range(5)], {"model.layers[*].weight"}),
        # Four alike parts can be parameters and moments.
        ([f"state[{number}]['w']" for number in range(4)], {f"state[{number}]['w']" for number in range(4)}),
        # The first layer has an embedding, which the others lack.
        (
            ["p[0]['e']", *(f"p[{number}]['w']" for number in range(6))],
            {"p[0]['e']", "p[0]['w']", "p[*]['w']"},
        ),
        # Layers within layers.
        (
            [f"p[{outer}]['b'][{inner}]['w']" for outer in range(6) for inner in range(5 + outer)],
            {"p[*]['b'][*]['w']"},
        ),
        (
            [f"torch['model.layers.{number}.mlp.weight']" for number in range(12)],
            {"torch['model.layers.*.mlp.weight']"},
        ),
    ],
)
def test_what_counts_as_a_layer(paths: list[str], folded: set[str]) -> None:
    assert set(folded_paths(paths).values()) == folded


@pytest.mark.parametrize(
    ("op_name", "path"),
    [
        ("params['net/linear']['w']", "params['net/linear']['w']"),
        ("XLA_Args", None),
        # The partitioner of XLA may give a parameter the op_name of the loop that reads it.
        ("jit(step)/jvp()/shard_map/while", None),
    ],
)
def test_told_path(op_name: str, path: str | None) -> None:
    assert told_path(op_name) == path
