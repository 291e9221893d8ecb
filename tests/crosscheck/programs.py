"""Programs for the CPU: `python programs.py FOLDER` compiles each small one into a dump with texts and protos, and
`python programs.py FOLDER transformer` one of real size.

Needs jax, but not XLA Lens.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={sys.argv[1]} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def of(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """The shape of an argument; compiling needs no data."""
    return jax.ShapeDtypeStruct(shape, dtype)


def train_step(params: Any, x: Any, y: Any) -> Any:
    def loss(params: Any) -> Any:
        hidden = x
        for w, b in params[:-1]:
            hidden = jax.nn.gelu(hidden @ w + b)
        w, b = params[-1]
        return jnp.mean((hidden @ w + b - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value


def mlp(params: Any, x: Any, y: Any) -> Any:
    return train_step(params, x, y)


def mlp_donated(params: Any, x: Any, y: Any) -> Any:
    return train_step(params, x, y)


def scan(weights: Any, xs: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = jnp.tanh(x @ weights[0] + h @ weights[1])
        return h, jnp.sort(h, axis=-1)

    return lax.scan(cell, jnp.zeros((8, 64)), xs)


def conditional(which: Any, x: Any) -> Any:
    def body(step: Any, x: Any) -> Any:
        branches = [lambda x: x @ x, jnp.sort, lambda x: lax.fori_loop(0, 3, lambda i, a: a @ x, x)]
        return lax.switch((which + step) % 3, branches, x)

    return lax.fori_loop(0, 5, body, x)


def tuples(tree: Any) -> Any:
    def body(state: Any) -> Any:
        (a, (b, c)), step = state
        return (b @ c, (c, a)), step + 1

    loop = lax.while_loop(lambda state: state[1] < 7, body, ((tree["a"], (tree["b"][0], tree["b"][1][0])), 0))
    same = jnp.sin(tree["a"])
    return {"loop": loop, "same": (same, same, ()), "passed": tree["b"][1][1], "x": [tree["a"]]}


def matmul_chain(x: Any) -> Any:
    table = jnp.asarray(np.random.RandomState(0).randn(64, 64).astype(np.float32))
    for step in range(6):
        x = jnp.tanh(x @ table)[:, : 64 - 8 * step] @ table[: 64 - 8 * step]
    return x, jnp.float32(1.5)


def zero_size(a: Any, b: Any, c: Any) -> Any:
    return a + 1, jnp.concatenate([b, b]), a.sum(), c @ jnp.ones((0, 5)), jnp.zeros((0,)), jnp.sort(c.sum(axis=1))


def reuse(x: Any, y: Any) -> Any:
    """Values of many sizes whose live ranges overlap irregularly."""
    kept = [jnp.sort(x[: 16 * n] * y, axis=0) for n in (7, 3, 5, 2)]
    late = jnp.cumsum(kept[0], axis=0)[:32] @ jnp.fft.fft(kept[1][:32]).real.T
    return jnp.sort(late) @ kept[2][:32], jnp.argsort(kept[3], axis=1)


def transformer(params: Any, momentum: Any, x: Any, y: Any) -> Any:
    """A train step with momentum."""

    def loss(params: Any) -> Any:
        hidden = x
        for query, key, value, out, up, up_bias, down, down_bias in params:
            weights = jax.nn.softmax((hidden @ query) @ (hidden @ key).T)
            hidden = hidden + weights @ (hidden @ value) @ out
            hidden = hidden + jax.nn.gelu(hidden @ up + up_bias) @ down + down_bias
        return ((hidden - y) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(params)
    momentum = jax.tree.map(lambda old, gradient: 0.9 * old + gradient, momentum, gradients)
    return jax.tree.map(lambda old, change: old - 0.1 * change, params, momentum), momentum, value


LAYERS = [(of(128, 96), of(96)), (of(96, 64), of(64)), (of(64, 10), of(10))]

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = [
    (mlp, (LAYERS, of(32, 128), of(32, 10)), ()),
    (mlp_donated, (LAYERS, of(32, 128), of(32, 10)), (0,)),
    (scan, ((of(32, 64), of(64, 64)), of(20, 8, 32)), ()),
    (conditional, (of(dtype=jnp.int32), of(48, 48)), ()),
    (tuples, ({"a": of(32, 32), "b": (of(32, 32), (of(32, 32), of(3, 5)))},), (0,)),
    (matmul_chain, (of(64, 64),), ()),
    (zero_size, (of(0), of(3, 0), of(4, 0)), ()),
    (reuse, (of(112, 64), of(64)), ()),
]

BLOCKS = [(*(of(256, 256),) * 4, of(256, 1024), of(1024), of(1024, 256), of(256))] * 64
TRANSFORMER = (transformer, (BLOCKS, BLOCKS, of(128, 256), of(128, 256)), ())

if __name__ == "__main__":
    # File names without the folders of the machine that compiles.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    for function, arguments, donated in [TRANSFORMER] if "transformer" in sys.argv else PROGRAMS:
        jax.jit(function, donate_argnums=donated).lower(*arguments).compile()
