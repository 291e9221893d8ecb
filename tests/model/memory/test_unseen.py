"""Memory that no dump shows. What the same programs took when they ran is in docs/what-the-numbers-mean.md."""

import pytest

from samples import DUMPS, analysis_of, joined, module_of_text
from xla_lens.model.memory.unseen import Unseen, UnseenKind, much_unseen, unseen_by, unseen_memory

_PROGRAMS = DUMPS / "cpu-jaxlib0.12.0.1-programs"
_STEM = "module_0000.jit_f.cpu_after_optimizations-buffer-assignment.txt"
_CHAIN, _EIGH = _PROGRAMS / "ynn_chain" / _STEM, _PROGRAMS / "eigh" / _STEM


def test_products_inside_a_fusion_are_not_in_the_dump() -> None:
    """`sum(sin(a @ a) @ a)` with two products of 512 × 512: the process grew by three matrices."""
    one = joined(_CHAIN)
    assert unseen_memory(one.dump, one.module) == (Unseen(UnseenKind.YNN_FUSION, "ynn_fusion", 2 * 4 * 512 * 512),)


def test_products_are_unknown_without_the_module() -> None:
    assert unseen_memory(analysis_of(_CHAIN).dump, None) == (Unseen(UnseenKind.YNN_FUSION, "ynn_fusion", None),)
    assert much_unseen(unseen_memory(analysis_of(_CHAIN).dump, None), 1) == []


@pytest.mark.parametrize("has_module", [True, False])
def test_workspace_of_lapack_is_not_in_the_dump(has_module: bool) -> None:
    one = joined(_EIGH)
    found = unseen_memory(one.dump, one.module if has_module else None)
    assert found == (Unseen(UnseenKind.LAPACK, "eigh.0", 4 * 256 * 256),)
    assert much_unseen(found, 787_540) == []
    assert [*much_unseen(found, 787_540, is_fused=False)] == [*found]


def test_products_that_are_the_result_of_a_fusion_are_in_the_dump() -> None:
    """A train step with seven `ynn_fusion`s, each of which is one product."""
    one = joined(DUMPS / "cpu-jaxlib0.12.0.1" / "mlp_train" / "module_0000.jit_train_step.cpu_after_optimizations.txt")
    assert one.module
    assert one.module.data.count(b'"kind":"__ynn_fusion"') == 7
    assert unseen_memory(one.dump, one.module) == ()


def test_other_backends_have_none() -> None:
    one = joined(next((DUMPS / "gpu-h100-jaxlib0.12.0.1" / "smap_loop").glob("*buffer-assignment.txt")))
    assert unseen_memory(one.dump, one.module) == ()


_FUSION = """
%inside (p: {type}[8,16,16]) -> {type}[] {{
  %p = {type}[8,16,16]{{2,1,0}} parameter(0)
  {body}
}}

ENTRY %main (a: {type}[8,16,16]) -> {type}[] {{
  %a = {type}[8,16,16]{{2,1,0}} parameter(0)
  ROOT %f = {type}[] fusion(%a), calls=%inside, backend_config={{"fusion_config":{{"kind":"__ynn_fusion"}}}}
}}
"""
_DOT = "dot(%p, %p), lhs_batch_dims={0}, rhs_batch_dims={0}"


@pytest.mark.parametrize(
    ("type_", "body", "size_bytes"),
    [
        # In float32 at least, also where the result has fewer bits.
        ("f32", f"ROOT %d = f32[8,16,16] {_DOT}", None),
        ("bf16", f"ROOT %d = bf16[8,16,16] {_DOT}", 4 * 2048),
        ("s32", f"ROOT %d = s32[8,16,16] {_DOT}", None),
        ("f64", f"%d = f64[8,16,16] {_DOT}\n  ROOT %r = f64[] reduce(%d), dimensions={{0,1,2}}", 8 * 2048),
        ("bf16", f"%d = bf16[8,16,16] {_DOT}\n  ROOT %r = bf16[] reduce(%d), dimensions={{0,1,2}}", 4 * 2048),
        # The result in another shape.
        ("f32", f"%d = f32[8,16,16] {_DOT}\n  ROOT %b = f32[2048] bitcast(%d)", None),
        # Only products stay whole: a softmax does not take more while it runs.
        ("f32", "%e = f32[8,16,16] exponential(%p)\n  ROOT %r = f32[] reduce(%e), dimensions={0,1,2}", None),
        # Damaged texts.
        ("f32", "ROOT %b = f32[2048] bitcast(%b)", None),
        ("f32", "ROOT %b = f32[2048] bitcast(%gone)", None),
    ],
)
def test_products_inside_a_fusion(type_: str, body: str, size_bytes: int | None) -> None:
    module = module_of_text(("HloModule m\n" + _FUSION.format(type=type_, body=body)).encode())
    instruction = module.instruction(module.row_of(b"f"))
    assert instruction
    found = unseen_by(instruction, module)
    assert (found and found.size_bytes) == size_bytes


@pytest.mark.parametrize(
    ("text", "kind", "size_bytes"),
    [
        ("f32[1024] sort(%a), dimensions={0}, is_stable=true, to_apply=%c", UnseenKind.SORT, 4096),
        ("(f32[64,1024], s32[64,1024]) sort(%a, %b), dimensions={1}, is_stable=true", UnseenKind.SORT, 8192),
        ("f32[1024,64] sort(%a), dimensions={1}, is_stable=true, to_apply=%c", UnseenKind.SORT, 256),
        ("f32[1024] sort(%a), dimensions={0}, to_apply=%c", None, None),
        ("c64[1024] fft(%a), fft_type=FFT, fft_length={1024}", UnseenKind.FFT, 8192),
        ("c64[32,32] fft(%a), fft_type=FFT, fft_length={32,32}", None, None),
        ('(f32[8,8], f32[8], s32[]) custom-call(%a), custom_call_target="lapack_ssyevd_ffi"', UnseenKind.LAPACK, 256),
        ('(f32[8,8], s32[]) custom-call(%a), custom_call_target="lapack_spotrf_ffi"', None, None),
        ('f32[8] add(%a, %a), metadata={op_name="x sort(y), dimensions={0}, is_stable=true"}', None, None),
    ],
)
def test_scratch_of_single_instructions(text: str, kind: UnseenKind | None, size_bytes: int | None) -> None:
    module = module_of_text(f"HloModule m\n\nENTRY %main () -> f32[] {{\n  ROOT %x = {text}\n}}\n".encode())
    instruction = module.instruction(module.row_of(b"x"))
    assert instruction
    found = unseen_by(instruction, module)
    assert found == (Unseen(kind, "x", size_bytes) if kind and size_bytes else None)
