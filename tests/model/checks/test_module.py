"""Findings of a dump against its HLO module."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from goldens import SAME, SWAP_2025, findings_text, held
from samples import DUMPS, WHILE, analysis_of, facts, joined, module_of, module_of_text, never, on_all_dumps, sweep
from xla_lens.disk.loading import load_module
from xla_lens.disk.sets import find_set
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.problems import Finding, Problem
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind

_WITH_MODULE = [path for fact in facts(DUMPS) if FileKind.HLO in find_set(path := DUMPS / fact["file"]).paths]


def _check(path: Path, edits: Sequence[tuple[str, str]], in_module: Sequence[tuple[str, str]], expected: str) -> None:
    assert findings_text(held(path, edits, in_module)) == expected.strip("\n")


@pytest.mark.parametrize("path", _WITH_MODULE, ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_dumps_agree_with_their_modules(path: Path) -> None:
    analysis = joined(path)
    assert analysis.with_module(analysis.module) is analysis


def _added(analysis: Analysis, module: HloModule) -> list[Finding]:
    """The findings that a module adds."""
    return [finding for finding in analysis.with_module(module).findings if finding not in analysis.findings]


def _added_by_own_module(analysis: Analysis) -> int:
    """The number of findings that the HLO module beside a dump adds, NONE without a module."""
    loaded = load_module(find_set(Path(analysis.dump.files[0].label)), {}, None, never)
    return len(_added(analysis, loaded.module)) if loaded and loaded.module else NONE


@on_all_dumps(_added_by_own_module)
def test_all_dumps_agree_with_their_modules(of_all_dumps: Mapping[str, int]) -> None:
    counts = Counter(of_all_dumps.values())
    assert counts.keys() <= {0, NONE}
    assert counts[0] > 270


def test_reads_elements_of_elements() -> None:
    """Recent releases print no `get-tuple-element`, also where an element is a tuple itself."""
    path = next(DUMPS.glob("gpu-b200-*/reductions/*-buffer-assignment.txt"))
    element = "%input_maximum_reduce_reduce_window_fusion#7#"
    assert not findings_text(held(path, [], []))
    found = findings_text(held(path, [], [(f"{element}1, ", f"{element}0, ")]))
    assert "`input_maximum_reduce_reduce_window_fusion{7,0}`" in found


def _only_error(edit: tuple[str, str]) -> str:
    """The findings after an edit to a module, on one line. One of them is an error."""
    found = findings_text(held(WHILE, [], [edit]))
    assert found.count("error[") == 1
    return " ".join(found.split())


def test_reports_quotes_that_differ_from_the_module() -> None:
    """The first part that differs, once."""
    expected = {
        ("copy.9 = f32[8]{0} copy(%x.1)", "copy.9 = f32[8]{0} negate(%x.1)"): "opcode of `copy.9`",
        ("copy.9 = f32[8]{0} copy(%x.1)", "copy.9 = f32[8]{0} copy(%y.2)"): "operands of `copy.9`",
        ("calls=%wrapped_add_computation", "calls=%other"): "attributes of `wrapped_add`",
    }
    for edit, message in expected.items():
        assert f"print the {message} differently" in _only_error(edit)


@pytest.mark.parametrize(
    ("folder", "old", "new", "message"),
    [
        # Without blanks between parameters.
        (
            "cpu-tf2.13.1/matmul",
            "{(f32[64,32]{1,0},f32[32,128]{1,0})->",
            "{(f32[64,32]{1,0},f32[32,128]{0,1})->",
            "`arg1.2` has the shape `f32[32,128]{0,1}` in `entry_computation_layout`, but `f32[32,128]{1,0}` in its",
        ),
        (
            "cpu-tf2.13.1/matmul",
            "f32[32,128]{1,0})->f32[64,128]{1,0}}",
            "f32[32,128]{1,0})->f64[64,128]{1,0}}",
            "has the shape `f64[64,128]{1,0}` in `entry_computation_layout`, but `f32[64,128]{1,0}` in its instruction",
        ),
        (
            "cpu-tf2.13.1/matmul",
            "{(f32[64,32]{1,0},f32[32,128]{1,0})->",
            "{(f32[64,32]{1,0})->",
            "has the shape `(f32[64,32]{1,0})->f32[64,128]{1,0}` in `entry_computation_layout`, but `(f32",
        ),
        # Where a memory space or the bits of an element are in one place only, everything else still has to agree.
        (
            "cpu-jaxlib0.12.0.1-programs/pinned_host_output",
            "->f32[1024,1024]{1,0:S(5)}}",
            "->f32[1024,1025]{1,0:S(5)}}",
            "has the shape `f32[1024,1025]{1,0:S(5)}` in `entry_computation_layout`, but `f32[1024,1024]{1,0}` in its",
        ),
        (
            "gpu-h100-jaxlib0.12.0.1/offload_state",
            "->(f32[2048,2048]{1,0}, f32[2048,2048]{1,0:S(5)})}",
            "->(f32[2048,2048]{1,0}, f32[2048,2048]{1,0:S(6)})}",
            "`tuple.2` has the shape `(f32[2048,2048]{1,0}, f32[2048,2048]{1,0:S(6)})` in `entry_computation_layout`",
        ),
        (
            "cpu-jaxlib0.4.20/dtype_int4",
            "s4[16,8]{1,0:E(4)})->",
            "s4[16,8]{1,0:E(2)})->",
            "`Arg_1.2` has the shape `s4[16,8]{1,0:E(2)}` in `entry_computation_layout`, but `s4[16,8]{1,0:E(4)}`",
        ),
        # A TPU has the same layout in both places.
        (
            "tpu-v5e2x2-libtpu0.0.51/host_offload",
            "{(f32[1024,1024]{1,0:T(8,128)})->",
            "{(f32[1024,1024]{1,0:T(8,128)S(5)})->",
            "{1,0:T(8,128)S(5)}` in `entry_computation_layout`, but `f32[1024,1024]{1,0:T(8,128)}` in its instruction.",
        ),
    ],
)
def test_reports_first_shape_that_differs_from_the_entry_layout(folder: str, old: str, new: str, message: str) -> None:
    path = next((DUMPS / folder).glob("*-buffer-assignment.txt"))
    assert not findings_text(held(path, [], []))
    found = " ".join(findings_text(held(path, [], [(old, new)])).split())
    assert found.count("error[") == 1
    assert message in found


def test_only_tokens_of_asynchronous_instructions_need_no_position() -> None:
    path = next(DUMPS.glob("tpu-v5p-*0.0.37/embedding_big/*-buffer-assignment.txt"))
    name = "sparse-core-data-format-call.cloned.1.call-start"
    assert not findings_text(held(path, [], []))
    found = " ".join(findings_text(held(path, [(f"  {name} {{0,0}}\n", "")], [])).split())
    assert f"No value of the dump lists 1 position of `{name}`" in found


@pytest.mark.parametrize(
    ("program", "old", "new", "reason"),
    [
        # What an asynchronous computation returns is live until it is done.
        ("reduced", "custom-call{}:9-11", "custom-call{}:9-12", "nothing reads it after step 11"),
        # In one buffer, each of these lives on until the next one starts, as its predecessor would.
        ("switch", "fusion.3{}:16-21", "fusion.3{}:16-20", "nothing reads it after step 18"),
        ("switch", "fusion.3{}:16-21", "fusion.3{}:16-22", "nothing reads it after step 18"),
    ],
)
def test_reports_end_that_no_rule_explains(program: str, old: str, new: str, reason: str) -> None:
    path = next(DUMPS.glob(f"tpu-7x-*/{program}/*-buffer-assignment.txt"))
    found = " ".join(findings_text(held(path, [(f"    {old}", f"    {new}")], [])).split())
    assert found.startswith("warning[live-range-end]")
    assert f"is live until step {new.rsplit('-', maxsplit=1)[-1]}, but {reason}." in found


def test_module_of_another_compilation_is_one_finding() -> None:
    [finding] = _added(analysis_of(SWAP_2025), module_of(SAME))
    assert finding.problem.kind is Problem.FOREIGN_MODULE
    assert finding.problem.facts["differences"] > 3


@pytest.mark.parametrize("path", [WHILE, SWAP_2025], ids=["three files", "one file"])
def test_any_module_can_be_compared(path: Path) -> None:
    chance, lines = Random(0), module_of(path).data.splitlines(keepends=True)
    texts = [b"HloModule a\n\nENTRY %a () -> () {\n}\n\n", b"\nENTRY \n\n"]
    for _ in range(60):
        kept = [line for line in lines if chance.random() < 0.8]
        texts.append(re.sub(rb"\d+", lambda match: chance.choice((match[0], match[0], b"7")), b"".join(kept)) + b"\n\n")
    for text in texts:
        assert len(_added(analysis_of(path), module_of_text(text))) <= 4


@pytest.mark.parametrize("every", sweep([211, 1], 2))
@pytest.mark.parametrize("path", [WHILE, SWAP_2025], ids=["three files", "one file"])
def test_every_cut_of_a_module_is_found(path: Path, every: int) -> None:
    data = module_of(path).data
    for size in range(data.index(b"\n") + 1, len(data.rstrip()), every):
        [finding] = _added(analysis_of(path), module_of_text(data[:size]))
        assert finding.problem.kind is Problem.TRUNCATED_FILE, size
        assert finding.place.file.kind is FileKind.HLO
