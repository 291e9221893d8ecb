"""Programs with weights in float32 that they only read in bfloat16, each as it is and with these weights in bfloat16,
and loops that are shorter, or within layers. The traps look like them.

Each function returns what to compile, its arguments, and the numbers of those that are donated. Imported by
`programs.py`, which sets the environment of jax first.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from proving.compared import ALL, FULL, INT, Compiled, of, trained

HALF = jnp.bfloat16


def in_half(arrays: Any) -> Any:
    """The same arrays in bfloat16, but for what has one dimension."""
    return jax.tree.map(lambda array: of(*array.shape, dtype=HALF) if array.ndim > 1 else array, arrays)


def scaled(x: Any, scale: Any) -> Any:
    """A normalization in float32."""
    wide = x.astype(FULL)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def block(weights: Any, x: Any) -> Any:
    h = scaled(x, weights["scale"])
    return x + jax.nn.gelu(h @ weights["up"].astype(HALF)) @ weights["down"].astype(HALF)


def layer_of(width: int, layers: int = 0) -> dict[str, Any]:
    """The weights of a layer, or of some in one array."""
    first = (layers,) if layers else ()
    return {
        "scale": of(*first, width),
        "up": of(*first, width, 4 * width),
        "down": of(*first, 4 * width, width),
    }


# ---------------------------------------------------------------- arguments that are only converted


def adapters(is_changed: bool, batch: int = 8, length: int = 256, width: int = 1024, layers: int = 8) -> Compiled:
    """Adapters beside frozen layers."""

    def loss(own: Any, frozen: Any, x: Any, y: Any) -> Any:
        for weights, adapter in zip(frozen, own, strict=True):
            x = block(weights, x) + (x @ adapter["in"].astype(HALF)) @ adapter["out"].astype(HALF)
        return jnp.mean((x - y).astype(FULL) ** 2)

    own = [{"in": of(width, 8), "out": of(8, width)}] * layers
    frozen = [layer_of(width)] * layers
    x = of(batch, length, width, dtype=HALF)
    return trained(loss, own, in_half(frozen) if is_changed else frozen, x, x)


def taught(is_changed: bool, batch: int = 2048, width: int = 512, words: int = 8192) -> Compiled:
    """A small model learns what a large one answers."""

    def answers(weights: Any, labels: Any) -> Any:
        x = weights["words"].astype(HALF)[labels]
        for each in weights["layers"]:
            x = block(each, x)
        return x @ weights["head"].astype(HALF)

    def loss(student: Any, teacher: Any, labels: Any) -> Any:
        wanted = jax.nn.softmax(answers(teacher, labels).astype(FULL))
        return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(answers(student, labels).astype(FULL)), -1))

    def model(width: int, layers: int) -> Any:
        return {"words": of(words, width), "layers": [layer_of(width)] * layers, "head": of(width, 256)}

    teacher = model(2 * width, 6)
    return trained(loss, model(width, 2), in_half(teacher) if is_changed else teacher, of(batch, dtype=INT))


def answering(is_changed: bool, batch: int = 16, length: int = 128, width: int = 1024, layers: int = 8) -> Compiled:
    """A model that only answers, with its layers in a loop."""

    def answer(params: Any, x: Any) -> Any:
        x, _ = lax.scan(lambda x, weights: (block(weights, x), None), x, params["layers"])
        return jnp.mean(x, 1) @ params["head"].astype(HALF)

    # The scales of all layers have two dimensions.
    layers_of_model = layer_of(width, layers)
    half = {"layers": in_half(layers_of_model) | {"scale": layers_of_model["scale"]}, "head": of(width, 64, dtype=HALF)}
    params = {"layers": layers_of_model, "head": of(width, 64)}
    return answer, (half if is_changed else params, of(batch, length, width, dtype=HALF)), ()


# ---------------------------------------------------------------- loops


def rollout(is_changed: bool, steps: int = 64, segments: int = 8, size: int = 2048) -> Compiled:
    """The first field of a simulation, from its last one, by a loop over few steps."""

    def step(state: Any, _: None) -> tuple[Any, None]:
        old, new = state
        ahead = 2 * new - old + 0.1 * jnp.sin(jnp.roll(new, 1, 0) + jnp.roll(new, 1, 1) - 2 * new)
        return (new, ahead), None

    def loss(params: Any, wanted: Any) -> Any:
        state = (params["field"], params["field"])
        if is_changed:
            part = jax.checkpoint(lambda state, _: lax.scan(step, state, length=steps // segments))
            state, _ = lax.scan(part, state, length=segments)
        else:
            state, _ = lax.scan(step, state, length=steps)
        return jnp.mean((state[1] - wanted) ** 2)

    return trained(loss, {"field": of(size, size)}, of(size, size))


def decays(is_changed: bool, batch: int = 4, length: int = 512, width: int = 512, layers: int = 3) -> Compiled:
    """Layers that each have a loop over time, called by a Python loop. Each step is wrapped already."""

    def mixed(weights: Any, x: Any) -> Any:
        gate, value = jnp.split(x @ weights["in"], 2, -1)

        def step(state: Any, now: Any) -> tuple[Any, Any]:
            gate, value = now
            state = state * jax.nn.sigmoid(gate)[..., None] + value[..., None] * weights["spread"]
            return state, jnp.sum(jnp.tanh(state), -1)

        state = jnp.zeros((batch, width, weights["spread"].shape[-1]))
        _, y = lax.scan(jax.checkpoint(step), state, (gate.swapaxes(0, 1), value.swapaxes(0, 1)))
        return x + y.swapaxes(0, 1) @ weights["out"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            x = (jax.checkpoint(mixed) if is_changed else mixed)(weights, x)
        return jnp.mean((x - y) ** 2)

    layer = {"in": of(width, 2 * width), "spread": of(width, 8), "out": of(width, width)}
    return trained(loss, [layer] * layers, of(batch, length, width), of(batch, length, width))


# ---------------------------------------------------------------- lookalikes


def tied(_: bool, batch: int = 2048, width: int = 512, words: int = 16384) -> Compiled:
    """Frozen words that the program looks up in bfloat16, and compares with what it makes in float32."""

    def loss(own: Any, frozen: Any, labels: Any) -> Any:
        x = block(own, frozen.astype(HALF)[labels])
        return jnp.mean(jax.nn.logsumexp(x.astype(FULL) @ frozen.T, -1))

    return trained(loss, layer_of(width), of(words, width), of(batch, dtype=INT))


def gradients_of_all(_: bool, batch: int = 64, length: int = 128, width: int = 512) -> Compiled:
    """The gradients of weights that are only converted, for a step elsewhere. They would be in bfloat16, too."""

    def loss(params: Any, x: Any) -> Any:
        for weights in params:
            x = block(weights, x)
        return jnp.mean(x.astype(FULL) ** 2)

    return jax.value_and_grad(loss), ([layer_of(width)] * 4, of(batch, length, width, dtype=HALF)), ()


def layers_in_loop(_: bool, batch: int = 8, length: int = 128, width: int = 256, layers: int = 32) -> Compiled:
    """A loop over as many layers as another one might have steps. Each layer is wrapped, not some of them."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        x, _ = lax.scan(lambda x, weights: (block(weights, x), None), x, params)
        return jnp.mean((x - y).astype(FULL) ** 2)

    x = of(batch, length, width, dtype=HALF)
    return trained(loss, layer_of(width, layers), x, x)


def some_at_a_time(_: bool, batch: int = 64, length: int = 128, width: int = 512) -> Compiled:
    """A model in float32 that answers some examples at a time. A TPU converts its weights before the loop."""

    def answer(params: Any, x: Any) -> Any:
        def of_some(x: Any) -> Any:
            for weights in params:
                h = x @ weights["up"]
                x = x + (h * (h > 0).astype(FULL)) @ weights["down"]
            return jnp.mean(x, 1)

        return lax.map(of_some, x.reshape(8, -1, length, width))

    return answer, ([layer_of(width)] * 4, of(batch, length, width)), ()


CASES: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "wide_adapters": ("converted-arguments", adapters, ALL),
    "taught": ("converted-arguments", taught, ALL),
    "answering": ("converted-arguments", answering, ("tpu", "gpu")),
    "rollout": ("segments", rollout, ALL),
    "rollout_of_few": ("segments", partial(rollout, steps=40, segments=5, size=3072), ALL),
    "decays": ("rematerialize", decays, ("tpu", "gpu")),
    "decays_of_many": ("rematerialize", partial(decays, batch=2, length=1024, layers=6), ("tpu", "gpu")),
}
"""What advises a change, the program, and where it is compiled."""

TRAPS: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "tied": ("converted-arguments", tied, ALL),
    "gradients_of_all": ("converted-arguments", gradients_of_all, ALL),
    "some_at_a_time": ("converted-arguments", some_at_a_time, ALL),
    "layers_in_loop": ("segments", layers_in_loop, ALL),
}
"""What must not be advised, the program, and where it is compiled."""
