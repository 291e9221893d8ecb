"""Where the axes of arguments go, in programs of many layers and in those whose arguments are one tuple."""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of, module_of_text
from xla_lens.advice.advise import advise
from xla_lens.advice.axes import Axes, Parameter
from xla_lens.advice.codes import Rule
from xla_lens.advice.dimensions import FIRST_AXIS, OF_LEFT, OF_RIGHT, Dimension, regrouped

_BATCH, _FEATURES, _OTHERS = FIRST_AXIS, 2 * FIRST_AXIS, 4 * FIRST_AXIS


def _of_layers(layers: int, end: str) -> Axes:
    """The axes of a batch of 8 rows in a program that multiplies them by weights, one layer after another."""
    functions, lines = list[str](), list[str]()
    for layer in range(layers):
        functions.append(
            f"%tanh.{layer} (p.{layer}: f32[8,16]) -> f32[8,16] {{\n"
            f"  %p.{layer} = f32[8,16]{{1,0}} parameter(0)\n"
            f"  ROOT %t.{layer} = f32[8,16]{{1,0}} tanh(%p.{layer})\n}}\n"
        )
        lines.append(
            f"  %product.{layer} = f32[8,16]{{1,0}} dot(%x.{layer}, %w), lhs_contracting_dims={{1}}, "
            f'rhs_contracting_dims={{0}}, metadata={{op_name="jit(f)/layers_{layer}/dot"}}\n'
            f"  %x.{layer + 1} = f32[8,16]{{1,0}} fusion(%product.{layer}), kind=kLoop, calls=%tanh.{layer}"
        )
    arguments = "  %x.0 = f32[8,16]{1,0} parameter(0)\n  %w = f32[16,16]{1,0} parameter(1)"
    entry = "\n".join((arguments, *lines, f"  ROOT %end = {end.format(last=f'%x.{layers}')}"))
    module = module_of_text(f"HloModule f\n\n{''.join(functions)}\nENTRY %main {{\n{entry}\n}}\n\n".encode())
    batch = Parameter((_BATCH, _FEATURES), is_data=True, is_trained=False)
    weight = Parameter((0, 0), is_data=False, is_trained=True)
    return Axes(module, {(0,): batch, (1,): weight}, {_BATCH: 8, _FEATURES: 16})


@pytest.mark.parametrize("layers", [2, 12_000])
def test_equal_layers_are_followed_once(layers: int) -> None:
    """More instructions than `Axes` follows one by one."""
    axes = _of_layers(layers, "f32[8,16]{{1,0}} negate({last})")
    assert axes.is_complete
    assert [(result.lengths, result.axes) for result in axes.results] == [((8, 16), _BATCH)]
    assert not axes.joined & _BATCH


@pytest.mark.parametrize("layers", [2, 12_000])
def test_what_joins_a_batch_is_seen_behind_many_layers(layers: int) -> None:
    pairs = "f32[8,8]{{1,0}} dot({last}, {last}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}"
    axes = _of_layers(layers, pairs)
    assert axes.is_complete
    assert axes.joined & _BATCH


def test_a_kernel_for_a_softmax_and_a_product_does_not_join_the_batch() -> None:
    """libtpu puts it in place of both: see `findings/tpu_online_softmax.sh`."""
    kernel = (
        'f32[8,16]{{1,0}} custom-call({last}, %w), custom_call_target="tpu_custom_call", '
        'metadata={{op_name="online-softmax"}}'
    )
    axes = _of_layers(2, kernel)
    assert axes.is_complete
    assert [(result.lengths, result.axes) for result in axes.results] == [((8, 16), _BATCH)]
    assert not axes.joined & _BATCH
    other = _of_layers(2, kernel.replace("online-softmax", "jit(f)/pallas_call"))
    assert other.joined & _BATCH


@pytest.mark.parametrize(
    ("part", "joins"),
    [
        # A GPU computes the products of two batches at once, and takes them apart again.
        ("[0:8], [0:16]", False),
        ("[8:12], [0:16]", False),
        # Examples in the places of others.
        ("[1:9], [0:16]", True),
        ("[0:4], [0:16]", True),
    ],
)
def test_a_slice_of_arrays_end_to_end_is_one_of_them_at_its_place_alone(part: str, joins: bool) -> None:
    first, end = part.partition(",")[0].strip("[]").split(":")
    shape = f"f32[{int(end) - int(first)},16]{{1,0}}"
    text = (
        "HloModule f\n\nENTRY %main {\n  %x = f32[8,16]{1,0} parameter(0)\n  %y = f32[4,16]{1,0} parameter(1)\n"
        "  %both = f32[12,16]{1,0} concatenate(%x, %y), dimensions={0}\n"
        f'  ROOT %part = {shape} slice(%both), slice={{{part}}}, metadata={{op_name="jit(f)/dot_general"}}\n}}\n\n'
    )
    x, y = (Parameter((axis, _FEATURES), is_data=True, is_trained=False) for axis in (_BATCH, _OTHERS))
    axes = Axes(module_of_text(text.encode()), {(0,): x, (1,): y}, {_BATCH: 8, _OTHERS: 4, _FEATURES: 16})
    (result,) = axes.results
    assert bool(axes.joined & (_BATCH | _OTHERS)) is joins
    if not joins:
        assert result.axes & ~_FEATURES == (_BATCH if first == "0" else _OTHERS)


def test_a_kernel_for_several_heads_does_not_join_the_batch() -> None:
    text = (
        "HloModule f\n\nENTRY %main {\n  %x = f32[8,16,16]{2,1,0} parameter(0)\n"
        "  %v = f32[8,16,4]{2,1,0} parameter(1)\n"
        '  ROOT %attended = f32[8,16,4]{2,1,0} custom-call(%x, %v), custom_call_target="tpu_custom_call", '
        'metadata={op_name="online-softmax"}\n}\n\n'
    )
    scores = Parameter((_BATCH, _FEATURES, _FEATURES), is_data=True, is_trained=False)
    values = Parameter((_BATCH, _FEATURES, 0), is_data=True, is_trained=False)
    axes = Axes(module_of_text(text.encode()), {(0,): scores, (1,): values}, {_BATCH: 8, _FEATURES: 16})
    (result,) = axes.results
    assert result.axes & _BATCH
    assert not axes.joined & _BATCH
    assert axes.joined & _FEATURES


def test_arguments_in_a_tuple_are_followed(tmp_path: Path) -> None:
    """JAX passes more than 2,000 arguments to a TPU as one tuple. `programs/tupled_arguments` has a train step whose
    few arguments are made one.
    """
    path = extracted("tupled_arguments", tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    assert [action.rule for action in advice.actions] == [Rule.MICROBATCHES, Rule.REMATERIALIZE]


@pytest.mark.parametrize(
    ("instruction", "is_joined"),
    [
        ("c64[8,4,3]{2,1,0} fft(%x), fft_type=RFFT, fft_length={4}", False),
        ("c64[8,4,3]{2,1,0} fft(%x), fft_type=RFFT, fft_length={8,4,4}", True),
        ("f32[8,4,4]{2,1,0} cholesky(%x), lower=true", False),
        ('(f32[8,4,4]{2,1,0}, s32[8]{0}) custom-call(%x), custom_call_target="lapack_spotrf_ffi"', False),
        ('(f32[8,4,4]{2,1,0}, s32[8]{0}) custom-call(%x), custom_call_target="unknown"', True),
    ],
)
def test_transforms_and_decompositions_are_of_each_example(instruction: str, is_joined: bool) -> None:
    lines = "  %x = f32[8,4,4]{2,1,0} parameter(0)\n  ROOT %end = " + instruction
    module = module_of_text(f"HloModule f\n\nENTRY %main {{\n{lines}\n}}\n\n".encode())
    batch = Parameter((_BATCH, 0, 0), is_data=True, is_trained=False)
    axes = Axes(module, {(0,): batch}, {_BATCH: 8})
    assert axes.is_complete
    assert bool(axes.results[0].joined & _BATCH) == is_joined


@pytest.mark.parametrize("size", [2, 3])
def test_a_convolution_may_be_a_product_for_each_example(size: int) -> None:
    """A TPU puts the examples where a window moves, with gaps between them: for two, the gaps are empty."""
    window = f"{{size={size} stride={size} pad={size - 1}_{size - 1} lhs_dilate={size - 1} rhs_reversal=1}}"
    lines = (
        f"%x = f32[{size},4,5]{{2,1,0}} parameter(0)",
        f"ROOT %end = f32[{size},4,4]{{2,1,0}} convolution(%x, %x), window={window}, dim_labels=0bf_0oi->0bf",
    )
    module = module_of_text(("HloModule f\n\nENTRY %main {\n  " + "\n  ".join(lines) + "\n}\n\n").encode())
    axes = Axes(module, {(0,): Parameter((_BATCH, 0, 0), is_data=True, is_trained=False)}, {_BATCH: size})
    assert axes.is_complete
    assert not axes.joined & _BATCH
    assert axes.results[0].axes & _BATCH


@pytest.mark.parametrize(("function", "is_joined"), [("jit(take_along_axis)", False), ("jit(_take)", True)])
def test_constant_numbers_take_an_element_of_each_example(function: str, is_joined: bool) -> None:
    """Labels that are all the same, as where each example is compared with a queue, become a constant."""
    lines = (
        "%x = f32[8,5]{1,0} parameter(0)",
        "%numbers = s32[8,2]{1,0} constant({...})",
        "ROOT %end = f32[8]{0} gather(%x, %numbers), offset_dims={}, collapsed_slice_dims={0,1}, "
        f"start_index_map={{0,1}}, index_vector_dim=1, slice_sizes={{1,1}}, "
        f'metadata={{op_name="jit(f)/{function}/gather"}}',
    )
    module = module_of_text(("HloModule f\n\nENTRY %main {\n  " + "\n  ".join(lines) + "\n}\n\n").encode())
    axes = Axes(module, {(0,): Parameter((_BATCH, 0), is_data=True, is_trained=False)}, {_BATCH: 8})
    assert axes.is_complete
    assert bool(axes.joined & _BATCH) == is_joined
    assert bool(axes.results[0].axes & _BATCH) != is_joined


def test_a_collective_that_starts_within_a_fusion_is_no_computation() -> None:
    text = (
        "HloModule f\n\n%start (p: s32[1,8]) -> (s32[1,8], s32[4,8], u32[]) {\n  %p = s32[1,8]{1,0} parameter(0)\n"
        "  %gathered = s32[4,8]{1,0} all-gather(%p), dimensions={0}\n"
        "  ROOT %r = (s32[1,8]{1,0}, s32[4,8]{1,0}, u32[]) custom-call(%gathered), "
        'custom_call_target="AsyncCollectiveStart"\n}\n\nENTRY %main {\n  %x = s32[1,8]{1,0} parameter(0)\n'
        "  %started = (s32[1,8]{1,0}, s32[4,8]{1,0}, u32[]) fusion(%x), kind=kCustom, calls=%start\n"
        "  %token = u32[] get-tuple-element(%started), index=2\n"
        "  %buffer = s32[4,8]{1,0} get-tuple-element(%started), index=1\n"
        "  ROOT %end = s32[4,8]{1,0} custom-call(%buffer, %token), "
        'custom_call_target="AsyncCollectiveDone"\n}\n\n'
    )
    argument = Parameter((0, _BATCH), is_data=True, is_trained=False)
    axes = Axes(module_of_text(text.encode()), {(0,): argument}, {_BATCH: 8})
    assert axes.is_complete
    assert not axes.joined & _BATCH
    assert [(result.lengths, result.axes) for result in axes.results] == [((4, 8), _BATCH)]


def test_a_sort_for_a_sum_of_two_scatters_does_not_join_the_batch() -> None:
    """XLA makes one of them, which a TPU does in the order of the rows: two models or two passes share a table."""
    lines = (
        "%x = s32[8]{0} parameter(0)",
        "%iota = s32[8]{0} iota(), iota_dimension=0",
        "ROOT %end = (s32[8]{0}, s32[8]{0}) sort(%x, %iota), dimensions={0}, to_apply=%less, "
        'metadata={op_name="jit(f)/transpose(jvp())/add_any"}',
    )
    module = module_of_text(("HloModule f\n\nENTRY %main {\n  " + "\n  ".join(lines) + "\n}\n\n").encode())
    axes = Axes(module, {(0,): Parameter((_BATCH,), is_data=True, is_trained=False)}, {_BATCH: 8})
    assert axes.is_complete
    assert not axes.joined & _BATCH


@pytest.mark.parametrize(
    ("compared", "is_of_keys"),
    [
        ("f32[2,4]{1,0} reduce(%scores, %zero), dimensions={2}, to_apply=%max", True),
        ("f32[2,4]{1,0} reduce(%scores, %zero), dimensions={1}, to_apply=%max", False),
        ("f32[2,4,4]{2,1,0} reduce-window(%scores, %zero), window={size=1x1x7 pad=0_0x0_0x3_3}, to_apply=%max", True),
        ("f32[2,4,4]{2,1,0} reduce-window(%scores, %zero), window={size=1x7x1 pad=0_0x3_3x0_0}, to_apply=%max", False),
        ("f32[2,4,4]{2,1,0} sort(%scores), dimensions={1}, to_apply=%less", False),
    ],
)
def test_scores_are_compared_along_the_keys_or_along_the_queries(compared: str, is_of_keys: bool) -> None:
    """Both are positions of one sequence."""
    forward = ', metadata={op_name="jit(f)/jvp()/attention"}'
    lines = (
        "%x = f32[2,4,3]{2,1,0} parameter(0)",
        "%zero = f32[] constant(0)",
        "%scores = f32[2,4,4]{2,1,0} dot(%x, %x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
        f"rhs_contracting_dims={{2}}{forward}",
        f"%compared = {compared}{forward}",
        "%values = f32[2,4,3]{2,1,0} dot(%scores, %x), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        f"lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}{forward}",
        "ROOT %end = (f32[2,4]{1,0}, f32[2,4,3]{2,1,0}) tuple(%compared, %values)",
    )
    functions = "".join(
        f"%{name} ({name}.a: f32[], {name}.b: f32[]) -> f32[] {{\n  %{name}.a = f32[] parameter(0)\n"
        f"  %{name}.b = f32[] parameter(1)\n  ROOT %{name}.r = {shape}[] {opcode}(%{name}.a, %{name}.b)\n}}\n\n"
        for name, shape, opcode in (("max", "f32", "maximum"), ("less", "pred", "compare"))
    )
    text = f"HloModule f\n\n{functions}ENTRY %main {{\n  " + "\n  ".join(lines) + "\n}\n\n"
    positions = Parameter((_BATCH, _FEATURES, 0), is_data=True, is_trained=False)
    axes = Axes(module_of_text(text.encode()), {(0,): positions}, {_BATCH: 2, _FEATURES: 4})
    assert axes.is_complete
    assert axes.averaged[32] == OF_RIGHT
    assert (axes.compared[32] == OF_RIGHT) == is_of_keys
    assert axes.compared[32] in (OF_LEFT, OF_RIGHT)


@pytest.mark.parametrize(
    ("dimensions", "lengths", "wanted"),
    [
        # A border that is not among the new ones mixes the factors around it, and no others.
        ((((16, 7), (16, 8)), ((8, 4),)), (8, 7, 4), (((16, 8),), ((16, 7),), ((8, 4),))),
        ((((8, 6),), ((16, 4),), ((32, 5),)), (8, 3, 5), (((24, 8),), ((24, 3),), ((32, 5),))),
        ((((8, 6),), ((16, 4),), ((32, 5),)), (4, 30), (((56, 4),), ((56, 30),))),
        ((((8, 16),), ((16, 3),)), (4, 12), (((8, 4),), ((8, 4), (16, 3)))),
        # A TPU divides positions behind a padding of 8 elements, which is not known here.
        (
            (((8, 4),), ((16, 8), (16, 16), (16, 8)), ((32, 5),)),
            (4, 8, 129, 5),
            (((8, 4),), ((16, 8),), ((16, 129),), ((32, 5),)),
        ),
        # An array without elements.
        ((((8, 0),), ((16, 4),)), (0, 4), (((8, 0),), ((16, 4),))),
        ((((8, 0),), ((16, 4),)), (4, 0), (((24, 4),), ((0, 0),))),
    ],
)
def test_dimensions_of_the_same_elements_are_divided_anew(
    dimensions: tuple[Dimension, ...], lengths: tuple[int, ...], wanted: tuple[Dimension, ...]
) -> None:
    assert regrouped(dimensions, lengths) == wanted
