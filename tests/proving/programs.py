"""Realistic programs, each in variants that apply one piece of advice.

`python programs.py` lists the pairs, the plans and the traps as JSON. `python programs.py FOLDER NAME@BACKEND…`
compiles some of the programs, and leaves the dump of each in a folder of its name.

Compiling needs no data, so the programs are as large as real ones. Those for a TPU or a GPU are compiled ahead of
time, and need libtpu or the CUDA plugin of jax, but no device. Needs jax, but not XLA Lens.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

if len(sys.argv) > 1:
    FOLDER = Path(sys.argv[1])
    DUMPS = FOLDER / f"all{os.getpid()}"
    FLAGS = "--xla_dump_hlo_as_text --xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
    # The compiler for GPUs finds `ptxas` and libdevice in the packages of NVIDIA.
    for libraries in Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*"):
        FLAGS += f" --xla_gpu_autotune_level=0 --xla_gpu_cuda_data_dir={libraries}"
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={DUMPS} {FLAGS}"
    os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-8"}
    os.environ |= {"TPU_WORKER_HOSTNAMES": "localhost", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}

sys.path.append(str(Path(__file__).parents[1]))

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from proving import compared, encoded, forward, frozen, graphs, parts
from proving.traps import TRAPS

HALF, FULL = jnp.bfloat16, jnp.float32


@dataclass(frozen=True)
class Program:
    """What a program is, and what is done about its memory. Each piece of advice changes one field."""

    kind: str = "transformer"
    layers: int = 8
    width: int = 1024
    batch: int = 8
    length: int = 1024
    words: int = 4096
    heads: int = 8
    is_scanned: bool = False
    devices: int = 1
    is_replicated: bool = False
    """Whether each device has all of the weights and of the state."""
    dtype: Any = HALF
    """The type of the activations. Weights and optimizer state are float32."""
    donated: tuple[int, ...] = ()
    remat: str = ""
    """``layer`` recomputes each layer, ``dots`` all of it but its matrix products, which ``offload`` keeps on the host.
    """
    block: int = 0
    """How many queries attend at a time; 0 for all."""
    loss_chunks: int = 1
    is_flat: bool = False
    """Whether the logits are those of [tokens, words]."""
    microbatches: int = 1
    mean_dtype: Any = FULL
    """The type of the first moment of Adam."""
    segments: int = 0
    """In how many segments a recurrent program scans its steps; 0 for all at once."""
    chunks: int = 0
    """In how many chunks a program computes its associative scan; 0 for all positions at once."""
    batch_size: int = 0
    """How many examples a mapped program computes at a time; 0 for all."""
    flags: tuple[tuple[str, str], ...] = ()
    """Options of the compiler."""
    is_shifted: bool = False
    """Whether the targets are the inputs, one token later, the logits have a bias, and the moments have names, as with
    Flax and optax.
    """


def of(*shape: int, dtype: Any = FULL) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def normed(x: Any) -> Any:
    wide = x.astype(FULL)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(x.dtype)


def attention(one: Program, query: Any, key: Any, value: Any) -> Any:
    """Causal attention of [batch, heads, length, size], all queries at once or some at a time."""

    def attend(query: Any, start: Any) -> Any:
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, key, preferred_element_type=FULL) / query.shape[-1] ** 0.5
        is_past = jnp.arange(key.shape[2]) <= start + jnp.arange(query.shape[2])[:, None]
        weights = jax.nn.softmax(jnp.where(is_past, scores, -1e9), axis=-1).astype(value.dtype)
        return jnp.einsum("bhqk,bhkd->bhqd", weights, value)

    if not one.block:
        return attend(query, 0)
    batch, heads, length, size = query.shape
    blocks = query.reshape(batch, heads, length // one.block, one.block, size).transpose(2, 0, 1, 3, 4)
    starts = jnp.arange(0, length, one.block)
    attended = lax.map(jax.checkpoint(lambda args: attend(*args)), (blocks, starts))
    return attended.transpose(1, 2, 0, 3, 4).reshape(query.shape)


def layer(one: Program, x: Any, weights: Any) -> Any:
    """A layer of a transformer."""
    batch, length, width = x.shape
    heads = (batch, length, one.heads, width // one.heads)
    cast = jax.tree.map(lambda array: array.astype(one.dtype), weights)
    h = normed(x)
    query, key, value = ((h @ cast[name]).reshape(heads).transpose(0, 2, 1, 3) for name in ("query", "key", "value"))
    x = x + attention(one, query, key, value).transpose(0, 2, 1, 3).reshape(x.shape) @ cast["out"]
    return x + jax.nn.gelu(normed(x) @ cast["up"]) @ cast["down"]


def dense(one: Program, x: Any, weights: Any) -> Any:
    """A layer of a perceptron."""
    return jax.nn.gelu(x @ weights["up"].astype(one.dtype)) @ weights["down"].astype(one.dtype) + x


def convolution(one: Program, x: Any, weights: Any) -> Any:
    """A residual block of a convolutional net, NHWC."""
    h = x
    for name in ("first", "second"):
        kernel = weights[name].astype(one.dtype)
        h = lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        wide = h.astype(FULL)
        scale = lax.rsqrt(jnp.var(wide, (0, 1, 2)) + 1e-5)
        h = jax.nn.relu((wide - jnp.mean(wide, (0, 1, 2))) * scale).astype(one.dtype)
    return x + h


LAYERS: dict[str, Callable[..., Any]] = {"transformer": layer, "mlp": dense, "conv": convolution}


def shapes(one: Program) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of one layer."""
    width = one.width
    if one.kind == "conv":
        return dict.fromkeys(("first", "second"), (3, 3, width, width))
    wide: dict[str, tuple[int, ...]] = {"up": (width, 4 * width), "down": (4 * width, width)}
    return wide if one.kind == "mlp" else wide | dict.fromkeys(("query", "key", "value", "out"), (width, width))


def remat(one: Program, function: Callable[..., Any]) -> Callable[..., Any]:
    if one.remat == "layer":
        return jax.checkpoint(function)
    if one.remat == "dots":
        return jax.checkpoint(function, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    if one.remat == "offload":
        policy = jax.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
        return jax.checkpoint(function, policy=policy)
    return function


def through_layers(one: Program, weights: Any, x: Any) -> Any:
    block = remat(one, partial(LAYERS[one.kind], one))
    if one.is_scanned:
        return lax.scan(lambda x, weights: (block(x, weights), None), x, weights)[0]
    for weights_of_layer in weights:
        x = block(x, weights_of_layer)
    return x


def cross_entropy(one: Program, x: Any, table: Any, bias: Any, targets: Any) -> Any:
    """The loss of the next tokens: the logits of all positions at once, or of some at a time."""

    def loss(x: Any, targets: Any) -> Any:
        logits = (x @ table.astype(one.dtype).T).astype(FULL) + bias
        picked = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return jnp.sum(jax.nn.logsumexp(logits, -1) - picked)

    if one.is_flat:
        x, targets = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
    if one.loss_chunks == 1:
        return loss(x, targets) / targets.size
    axis = 0 if one.is_flat else 1
    x, targets = (jnp.moveaxis(array, axis, 0) for array in (x, targets))
    # Here the loss counts the padding, too, which changes nothing for the memory.
    missing = -len(x) % one.loss_chunks
    x, targets = (jnp.pad(array, ((0, missing), *[(0, 0)] * (array.ndim - 1))) for array in (x, targets))
    parts = [array.reshape(one.loss_chunks, -1, *array.shape[1:]) for array in (x, targets)]
    losses = lax.map(jax.checkpoint(lambda part: loss(*part)), tuple(parts))
    return jnp.sum(losses) / targets.size


def train_step(one: Program) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step with Adam: `step(params, state, batch)` returns the new params, the new state and the loss."""

    def forward(params: Any, inputs: Any, targets: Any) -> Any:
        if one.kind == "transformer":
            x = normed(through_layers(one, params["layers"], params["embed"].astype(one.dtype)[inputs]))
            if one.is_shifted:
                x, targets = x[:, :-1], inputs[:, 1:]
            return cross_entropy(one, x, params["embed"], params.get("bias", 0), targets)
        x = through_layers(one, params["layers"], inputs.astype(one.dtype))
        return jnp.mean((x.astype(FULL) - targets) ** 2)

    def gradients_of(params: Any, inputs: Any, targets: Any) -> Any:
        if one.microbatches == 1:
            return jax.value_and_grad(forward)(params, inputs, targets)

        def one_more(total: Any, part: Any) -> Any:
            value, gradients = jax.value_and_grad(forward)(params, *part)
            return jax.tree.map(jnp.add, total, (value, gradients)), None

        parts = jax.tree.map(lambda x: x.reshape(one.microbatches, -1, *x.shape[1:]), (inputs, targets))
        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        return lax.scan(one_more, zero, parts)[0]

    def step(params: Any, state: Any, inputs: Any, targets: Any) -> Any:
        value, gradients = gradients_of(params, inputs, targets)
        mean, square, *_ = jax.tree.leaves(state, is_leaf=lambda tree: isinstance(tree, dict))
        mean = jax.tree.map(lambda m, g: (0.9 * m + 0.1 * g).astype(one.mean_dtype), mean, gradients)
        square = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, square, gradients)
        params = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
        return params, state_of(one, mean, square), value

    if one.is_scanned:
        layers: Any = {name: of(one.layers, *shape) for name, shape in shapes(one).items()}
    else:
        layers = [{name: of(*shape) for name, shape in shapes(one).items()} for _ in range(one.layers)]
    params: dict[str, Any] = {"layers": layers}
    if one.kind == "transformer":
        params["embed"] = of(one.words, one.width)
        params |= {"bias": of(one.words)} if one.is_shifted else {}
        batch = (of(one.batch, one.length, dtype=jnp.int32),) * 2
    elif one.kind == "conv":
        batch = (of(one.batch, one.length, one.length, one.width),) * 2
    else:
        batch = (of(one.batch * one.length, one.width),) * 2
    mean = jax.tree.map(lambda array: of(*array.shape, dtype=one.mean_dtype), params)
    return step, (params, state_of(one, mean, params), *batch)


class Moments(NamedTuple):
    """The state of Adam as optax has it."""

    mu: Any
    nu: Any


def state_of(one: Program, mean: Any, square: Any) -> Any:
    return (Moments(mean, square), ()) if one.is_shifted else (mean, square)


def written(cache: Any, new: Any, position: Any) -> Any:
    """A cache with the keys or values of one more token."""
    return lax.dynamic_update_slice(cache, new, (0, position, 0, 0))


def decode_step(one: Program) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """One token for each sequence, with a cache of keys and values."""

    def cached(x: Any, weights: Any, cache: Any, position: Any) -> tuple[Any, Any]:
        heads = (one.batch, 1, one.heads, one.width // one.heads)
        h = normed(x)
        query, key, value = ((h @ weights[name]).reshape(heads) for name in ("query", "key", "value"))
        cache = jax.tree.map(lambda old, new: written(old, new, position), cache, {"keys": key, "values": value})
        keys, values = cache["keys"], cache["values"]
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys, preferred_element_type=FULL)
        scores = jnp.where(jnp.arange(one.length) <= position, scores, -1e9)
        attended = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(one.dtype), values)
        x = x + attended.reshape(x.shape) @ weights["out"]
        return x + jax.nn.gelu(normed(x) @ weights["up"]) @ weights["down"], cache

    def step(params: Any, cache: Any, tokens: Any, position: Any) -> Any:
        x = params["embed"][tokens][:, None]
        if one.is_scanned:
            x, cache = lax.scan(lambda x, one: cached(x, one[0], one[1], position), x, (params["layers"], cache))
        else:
            cache = list(cache)
            for number, weights in enumerate(params["layers"]):
                x, cache[number] = cached(x, weights, cache[number], position)
        return jnp.argmax(normed(x) @ params["embed"].T, -1), cache

    of_layer = {name: of(*shape, dtype=one.dtype) for name, shape in shapes(replace(one, kind="transformer")).items()}
    arrays = of(one.batch, one.length, one.heads, one.width // one.heads, dtype=one.dtype)
    of_cache = {"keys": arrays, "values": arrays}
    layers, cache = (
        jax.tree.map(lambda array: of(one.layers, *array.shape, dtype=one.dtype), tree)
        if one.is_scanned
        else [tree] * one.layers
        for tree in (of_layer, of_cache)
    )
    params = {"embed": of(one.words, one.width, dtype=one.dtype), "layers": layers}
    return step, (params, cache, of(one.batch, dtype=jnp.int32), of(dtype=jnp.int32))


def recurrent_step(one: Program) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step of SGD of a gated recurrent network, of [length, batch, width]."""

    def cell(params: Any, state: Any, x: Any) -> Any:
        new = jnp.tanh(state @ params["state"] + x @ params["input"])
        gate = jax.nn.sigmoid(state @ params["gate"] + x @ params["gate_input"])
        return gate * state + (1 - gate) * new

    def loss(params: Any, inputs: Any, targets: Any) -> Any:
        def advance(state: Any, x: Any) -> Any:
            state = cell(params, state, x)
            return state, state

        state = jnp.zeros(inputs.shape[1:])
        if one.segments:
            parts = inputs.reshape(one.segments, -1, *inputs.shape[1:])
            states = lax.scan(jax.checkpoint(lambda state, xs: lax.scan(advance, state, xs)), state, parts)[1]
            states = states.reshape(inputs.shape)
        else:
            states = lax.scan(advance, state, inputs)[1]
        return jnp.mean((states @ params["out"] - targets) ** 2)

    names = ("state", "input", "gate", "gate_input", "out")
    batch = (of(one.length, one.batch, one.width),) * 2
    return descent(loss), ({name: of(one.width, one.width) for name in names}, *batch)


def associative_step(one: Program) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step of SGD of a state-space model with `heads` states for each of `width` channels."""

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    def scanned(params: Any, state: Any, x: Any) -> Any:
        decay = jax.nn.sigmoid(x @ params["decay"])[..., None] * jax.nn.sigmoid(params["poles"])
        added = (x * jax.nn.softplus(x @ params["step"]))[..., None] * (x @ params["input"])[:, :, None, :]
        decays, states = lax.associative_scan(combine, (decay, added), axis=1)
        states += decays * state[:, None]
        return states[:, -1], jnp.einsum("btwn,btn->btw", states, x @ params["output"])

    def loss(params: Any, inputs: Any, targets: Any) -> Any:
        state = jnp.zeros((one.batch, one.width, one.heads))
        if one.chunks:
            parts = inputs.reshape(one.batch, one.chunks, -1, one.width).swapaxes(0, 1)
            outputs = lax.scan(jax.checkpoint(partial(scanned, params)), state, parts)[1]
            outputs = outputs.swapaxes(0, 1).reshape(inputs.shape)
        else:
            outputs = scanned(params, state, inputs)[1]
        return jnp.mean((outputs @ params["out"] - targets) ** 2)

    square, states = of(one.width, one.width), of(one.width, one.heads)
    params = dict.fromkeys(("decay", "step", "out"), square) | dict.fromkeys(("poles", "input", "output"), states)
    return descent(loss), (params, *((of(one.batch, one.length, one.width),) * 2))


def descent(loss: Callable[..., Any]) -> Callable[..., Any]:
    """A step of SGD."""

    def step(params: Any, inputs: Any, targets: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, inputs, targets))

    return step


def mapped_step(one: Program) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What a scientific program computes of each example of a batch: the powers of a padded spectrum, or the nearest
    neighbours of points.
    """

    def spectrum(signal: Any) -> Any:
        return jnp.abs(jnp.fft.rfft(signal, n=4 * one.length))[: one.length]

    def neighbours(points: Any) -> Any:
        return jnp.sort(jnp.abs(points[:, None] - points), axis=-1)[:, :8]

    function = spectrum if one.kind == "spectrum" else neighbours

    def step(batch: Any) -> Any:
        if one.batch_size:
            return lax.map(function, batch, batch_size=one.batch_size)
        return jax.vmap(function)(batch)

    return step, (of(one.batch, one.length),)


STEPS: dict[str, Callable[..., Any]] = {
    "decode": decode_step,
    "recurrent": recurrent_step,
    "associative": associative_step,
    "spectrum": mapped_step,
    "neighbours": mapped_step,
}
"""What is no train step of layers."""


def placed(one: Program, arguments: Any, devices: Any) -> Any:
    """The arguments with their shardings: weights and state, unless they are replicated, divided along their longest
    axis, batches along the first.
    """
    mesh = Mesh(devices[: one.devices], ("data",))

    def with_sharding(number: int, array: Any) -> Any:
        sharding: Any = SingleDeviceSharding(devices[0])
        if one.devices > 1:
            axis = max(range(array.ndim), key=lambda axis: array.shape[axis]) if number < 2 else 0
            divided: list[str | None] = [None] * axis
            is_whole = one.is_replicated and number < 2
            sharding = NamedSharding(mesh, PartitionSpec() if is_whole else PartitionSpec(*divided, "data"))
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)

    return tuple(jax.tree.map(partial(with_sharding, number), argument) for number, argument in enumerate(arguments))


def compile_program(name: str, devices: Any) -> None:
    """Compile the program of a name as a module of that name."""
    base, _, change = name.partition("__")
    if base in _CASES or base in _LOOKALIKES:
        _, function, _ = {**_CASES, **_LOOKALIKES}[base]
        changed, arguments, donated = function(change == CHANGED)

        # The arguments keep their names.
        @wraps(changed)
        def named(*arguments: Any) -> Any:
            return changed(*arguments)

        named.__name__ = name
        jax.jit(named, donate_argnums=donated).lower(*placed(Program(), arguments, devices)).compile()
        return
    if base in TRAPS:
        step, arguments, donated = TRAPS[base].make()
        step.__name__ = name
        jax.jit(step, donate_argnums=donated).lower(*placed(Program(), arguments, devices)).compile()
        return
    one = program(name)
    step, arguments = STEPS.get(one.kind, train_step)(one)
    step.__name__ = name
    arguments = placed(one, arguments, devices)
    options: dict[str, Any] = {}
    if one.kind not in STEPS and one.devices > 1:
        shardings = jax.tree.map(lambda array: array.sharding, arguments)
        options["out_shardings"] = (shardings[0], shardings[1], None)
    jax.jit(step, donate_argnums=one.donated, **options).lower(*arguments).compile(dict(one.flags))


CPU, TPU, ALL = ("cpu",), ("tpu",), ("cpu", "tpu", "gpu")

SMALL = Program(layers=4, width=512, batch=4, length=512)
SCANNED = Program(layers=8, width=512, batch=8, length=512, donated=(0, 1), is_scanned=True)
SCANNED_MLP = Program("mlp", layers=8, batch=16, length=512, donated=(0, 1), is_scanned=True)
TRAINED = Program(donated=(0, 1))
"""What most people have: a step whose params and state are donated."""

BASES: dict[str, tuple[Program, tuple[str, ...]]] = {
    "mlp": (Program("mlp", layers=12, batch=16, length=512), ALL),
    "mlp_donated": (Program("mlp", layers=6, width=2048, batch=32, length=256, donated=(0, 1)), ALL),
    "small": (SMALL, ALL),
    "unrolled": (TRAINED, ALL),
    "scanned": (replace(TRAINED, layers=16, is_scanned=True), ALL),
    "kept": (replace(TRAINED, donated=(), is_scanned=True), ALL),
    "long": (replace(TRAINED, layers=4, batch=1, length=4096), ALL),
    "long_scanned": (replace(TRAINED, layers=12, batch=2, length=2048, is_scanned=True), ALL),
    "vocab": (replace(TRAINED, layers=2, words=65536), ALL),
    "vocab_flat": (replace(TRAINED, layers=2, batch=4, length=2048, words=50304, is_flat=True), ALL),
    "vocab_kept": (replace(TRAINED, layers=2, words=131072, donated=()), ALL),
    "shifted": (replace(TRAINED, layers=4, words=32768, is_shifted=True), ALL),
    "conv": (Program("conv", layers=8, width=64, batch=32, length=56), ALL),
    "conv_donated": (Program("conv", layers=6, width=128, batch=64, length=28, donated=(0, 1)), ALL),
    "accumulated": (replace(TRAINED, batch=32, donated=(), microbatches=4), ALL),
    "offloaded": (replace(SCANNED, remat="offload"), TPU),
    "offloaded_mlp": (replace(SCANNED_MLP, remat="offload"), TPU),
    "decode": (Program("decode", layers=8, width=1024, batch=16, length=2048), ALL),
    "decode_scanned": (Program("decode", layers=16, width=1024, batch=8, length=2048, is_scanned=True), ALL),
    "sharded": (replace(TRAINED, width=2048, batch=32, heads=16, devices=8), ALL),
    "sharded_scanned": (replace(TRAINED, layers=16, width=2048, batch=32, heads=16, devices=8, is_scanned=True), ALL),
    "replicated": (replace(TRAINED, batch=32, devices=8, is_replicated=True), ALL),
    "replicated_scanned": (
        replace(TRAINED, layers=16, remat="layer", batch=32, devices=8, is_scanned=True, is_replicated=True),
        ALL,
    ),
    "replicated_kept": (replace(TRAINED, layers=4, batch=16, devices=8, is_replicated=True, donated=()), ALL),
    "replicated_mlp": (
        Program("mlp", layers=4, width=2048, batch=16, length=128, devices=8, is_replicated=True, donated=(0, 1)),
        ALL,
    ),
    "recurrent": (Program("recurrent", width=256, batch=16, length=1024), ALL),
    "recurrent_long": (Program("recurrent", width=128, batch=8, length=8192, donated=(0,)), ALL),
    "recurrent_wide": (Program("recurrent", width=1024, batch=32, length=512, donated=(0,)), ALL),
    "scanned_states": (Program("associative", width=256, batch=2, length=1024, heads=16), ALL),
    "scanned_states_long": (Program("associative", width=128, batch=1, length=8192, heads=16, donated=(0,)), ALL),
    "scanned_states_wide": (Program("associative", width=512, batch=2, length=512, heads=32, donated=(0,)), ALL),
    "spectrum": (Program("spectrum", batch=512, length=4096), ALL),
    "spectrum_long": (Program("spectrum", batch=64, length=65536), ALL),
    "neighbours": (Program("neighbours", batch=128, length=1024), ALL),
    "state": (Program("mlp", layers=8, width=4096, batch=1, length=128, donated=(0, 1)), ALL),
    "state_small": (Program("mlp", layers=16, width=2048, batch=1, length=64, donated=(0, 1)), ALL),
}

CHANGES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "donate": ("donate", {"donated": (0, 1)}, ("mlp", "small", "kept", "vocab_kept", "conv", "accumulated")),
    "donate_cache": ("donate", {"donated": (1,)}, ("decode", "decode_scanned")),
    "remat": (
        "rematerialize",
        {"remat": "layer"},
        (
            "mlp_donated",
            "small",
            "unrolled",
            "scanned",
            "long_scanned",
            "conv_donated",
            "shifted",
            "sharded",
            "sharded_scanned",
        ),
    ),
    "dots": ("rematerialize", {"remat": "dots"}, ("unrolled", "scanned")),
    "blocked": (
        "attention-scores",
        {"block": 128},
        ("small", "unrolled", "scanned", "long", "long_scanned", "shifted", "sharded"),
    ),
    "chunked": ("logits", {"loss_chunks": 8}, ("vocab", "vocab_flat", "vocab_kept", "shifted", "small")),
    "half_mean": ("optimizer-state", {"mean_dtype": HALF}, ("state", "state_small", "unrolled", "shifted")),
    "divided": (
        "replicated-state",
        {"is_replicated": False},
        ("replicated", "replicated_scanned", "replicated_kept", "replicated_mlp"),
    ),
    "segmented": ("segments", {"segments": 32}, ("recurrent", "recurrent_long", "recurrent_wide")),
    "in_chunks": ("associative-scan", {"chunks": 16}, ("scanned_states", "scanned_states_long", "scanned_states_wide")),
    "eighths": ("mapped-batch", {"batch_size": 64}, ("spectrum",)),
    "eighths_long": ("mapped-batch", {"batch_size": 8}, ("spectrum_long",)),
    "eighths_near": ("mapped-batch", {"batch_size": 16}, ("neighbours",)),
    "scheduled": (
        "cpu-scheduler",
        {"flags": (("xla_cpu_scheduler_type", "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"),)},
        ("small", "unrolled", "conv_donated", "shifted"),
    ),
    "recomputed": ("offloaded-values", {"remat": "layer"}, ("offloaded", "offloaded_mlp")),
    "parts": (
        "microbatches",
        {"microbatches": 4},
        ("mlp_donated", "unrolled", "scanned", "vocab", "shifted", "conv_donated"),
    ),
}
"""What is changed: the rule that advises it, the fields, and the programs."""


PLANS: dict[str, tuple[str, ...]] = {
    "small": ("donate", "blocked", "chunked"),
    "kept": ("donate", "remat"),
    "unrolled": ("remat", "parts", "half_mean"),
    "scanned": ("remat", "parts"),
    "long_scanned": ("remat", "blocked"),
    "vocab": ("chunked", "parts"),
    "vocab_kept": ("donate", "chunked"),
    "shifted": ("remat", "blocked", "chunked", "half_mean"),
    "mlp_donated": ("remat", "parts"),
    "sharded_scanned": ("remat", "blocked", "parts"),
}
"""What is changed together."""


def plans() -> list[tuple[str, list[str], list[str], str]]:
    """Each base, changes, rules and backend of `PLANS`."""
    return [
        (base, [*changes], [CHANGES[change][0] for change in changes], backend)
        for base, changes in PLANS.items()
        for backend in BASES[base][1]
    ]


def pairs() -> list[tuple[str, str, str, str]]:
    """Each base, change, rule and backend."""
    return [
        (base, change, rule, backend)
        for change, (rule, _, bases) in CHANGES.items()
        for base in bases
        for backend in (CPU if rule == "cpu-scheduler" else BASES[base][1])
    ] + [(base, CHANGED, rule, backend) for base, (rule, _, backends) in _CASES.items() for backend in backends]


def traps() -> list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """Each program that must not get some advice, the backend, this advice, and advice that it should get."""
    found = [(name, backend, trap.never, trap.right) for name, trap in TRAPS.items() for backend in ALL]
    others = _LOOKALIKES.items()
    return found + [(name, backend, (rule,), ()) for name, (rule, _, backends) in others for backend in backends]


CHANGED = "changed"
"""The change of the programs of `forward.py`, `compared.py`, `parts.py`, `encoded.py`, `graphs.py` and `frozen.py`."""

_CASES = {**forward.CASES, **compared.CASES, **parts.CASES, **encoded.CASES, **graphs.CASES, **frozen.CASES}
_LOOKALIKES = {**forward.TRAPS, **compared.TRAPS, **parts.TRAPS, **encoded.TRAPS, **graphs.TRAPS, **frozen.TRAPS}


def program(name: str) -> Program:
    """The program of a name such as ``scanned``, ``scanned__remat`` or ``scanned__remat__parts``."""
    base, *changes = name.split("__")
    fields: dict[str, Any] = {}
    for change in changes:
        fields |= CHANGES[change][1]
    return replace(BASES[base][0], **fields)


def main(names: list[str]) -> None:
    # File names without the folders of the machine that compiles.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    for key in names:
        name, _, backend = key.partition("@")
        before = set(DUMPS.iterdir()) if DUMPS.is_dir() else set()
        folder = FOLDER / key
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            compile_program(name, devices_of(backend))
        except jax.errors.JaxRuntimeError as error:
            # XLA writes the dump of a program that does not fit.
            print(key, str(error)[:200])
        for path in sorted({*DUMPS.iterdir()} - before):
            if f"jit_{name}." in path.name:
                shutil.move(path, folder / path.name)
    shutil.rmtree(DUMPS)


@cache
def devices_of(backend: str) -> Any:
    """The devices of a backend: of a CPU, or of a TPU v5e or H100s that are not there."""
    from jax.experimental import topologies

    if backend == "cpu":
        return jax.devices("cpu")
    if backend == "tpu":
        return topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4").devices
    config = (Path(__file__).parents[1] / "crosscheck" / "h100.pbtxt").read_text()
    return topologies.get_topology_desc("h100", platform="cuda", topology="1x1x8", target_config=config).devices


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[2:])
    else:
        print(json.dumps((pairs(), plans(), traps())))
