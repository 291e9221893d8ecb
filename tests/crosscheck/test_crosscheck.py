"""Our numbers agree with XLA's protos and with xprof, as `crosscheck.py` recorded them."""

import json
from pathlib import Path
from typing import Any

import pytest

from crosscheck.ours import WHOLE_LIFE, Ours
from crosscheck.rules import Result, compare
from crosscheck.tables import peak_table
from samples import analysis_of, big_dumps, module_of, needs_shared_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.columns import Kind

_HERE = Path(__file__).parent
_FACTS = json.loads((_HERE / "facts.json").read_text())
_MODULES: dict[str, Any] = _FACTS["modules"]


def _path(module: str, folder: Path = _HERE / "dumps") -> Path:
    return next(folder.glob(f"module_*.{module}.*-buffer-assignment.txt"))


def _result(module: str) -> Result:
    return _compared(module, analysis_of(_path(module)), _MODULES[module])


def _compared(module: str, analysis: Analysis, facts: dict[str, Any]) -> Result:
    return compare(module, analysis, module_of(_path(module)), facts)


@pytest.mark.parametrize("module", _MODULES)
def test_peers_agree_or_a_rule_explains_the_difference(module: str) -> None:
    result = _result(module)
    assert not result.differences
    assert len(result.comparisons) == 7 + 13 * len(result.spaces)


def test_readme_shows_the_recorded_tables() -> None:
    shown = peak_table([_result(module) for module in _MODULES], _FACTS["versions"])
    assert f"<!-- tables -->\n\n{shown}\n<!-- end of tables -->" in (_HERE / "README.md").read_text()


# ---------------------------------------------------------------- sensitivity to wrong numbers


@pytest.mark.parametrize(
    ("ending", "old", "new", "what"),
    [
        ("-assignment.txt", "allocation 22: size 89856", "allocation 22: size 89857", "allocations"),
        ("-assignment.txt", "(size=12288,offset=24576)", "(size=12288,offset=24640)", "blocks"),
        ("-assignment.txt", "parameter 1, shape |f32[96]|", "parameter 2, shape |f32[96]|", "allocations"),
        ("-assignment.txt", ", maybe-live-out", "", "live-out"),
        ("-live-range.txt", "    multiply_tanh_fusion{}:15-23", "    multiply_tanh_fusion{}:15-24", "heap simulator"),
        ("-live-range.txt", "    multiply_tanh_fusion{}:15-23", "    multiply_tanh_fusion{}:14-23", "starts"),
        ("-live-range.txt", "    28:multiply_add_fusion\n", "    28:multiply_add_fusion.1\n", "schedule"),
    ],
)
def test_any_changed_number_of_a_text_is_found(tmp_path: Path, ending: str, old: str, new: str, what: str) -> None:
    module = "jit_mlp_donated"
    for path in _path(module).parent.glob(f"module_*.{module}.*"):
        text = path.read_text()
        if path.name.endswith(ending):
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / path.name).write_text(text)
    result = _compared(module, analysis_of.__wrapped__(_path(module, tmp_path)), _MODULES[module])
    assert what in [one.what for one in result.differences]


# ---------------------------------------------------------------- TPU


@needs_shared_dumps
def test_rules_reproduce_the_numbers_of_xprof_for_a_tpu(tmp_path_factory: pytest.TempPathFactory) -> None:
    """README.md explains xprof's two numbers, 49,809.8 and 62.3 MiB."""
    big = big_dumps(tmp_path_factory.getbasetemp() / "big")
    path = next(big.glob("tpu-v5p-big-libtpu0.0.51/llama3_8b_unroll_L32/module_0000*-buffer-assignment.txt"))
    ours = Ours(analysis_of.__wrapped__(path))
    own = [ours.memory.spaces[color].peak_live_bytes for color in (0, 1)]
    heaps = [ours.rows(color, Kind(0)) for color in (0, 1)]
    theirs = [
        ours.size(ours.rows(color, WHOLE_LIFE)) + int(ours.counted_whole(heap).max())
        for color, heap in enumerate(heaps)
    ]
    assert [f"{size / 2**20:,.1f}" for size in own] == ["49,807.7", "47.5"]
    assert [f"{size / 2**20:,.1f}" for size in theirs] == ["49,809.8", "62.3"]
    assert ours.size(heaps[1]) == 47.5 * 2**20
