"""Compile a train step of 64 layers for the CPU and dump it: `python train_step.py FOLDER`. Needs jax."""

import os
import sys
from typing import Any

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={sys.argv[1]} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
    os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

_LAYERS = 64
_WIDTH = 256


def _of(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def train_step(params: Any, momentum: Any, x: Any, y: Any) -> Any:
    """One step of a transformer with momentum."""

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


if __name__ == "__main__":
    square, wide, narrow = _of(_WIDTH, _WIDTH), _of(_WIDTH, 4 * _WIDTH), _of(4 * _WIDTH, _WIDTH)
    params = [(square, square, square, square, wide, _of(4 * _WIDTH), narrow, _of(_WIDTH))] * _LAYERS
    batch = _of(128, _WIDTH)
    jax.jit(train_step).lower(params, params, batch, batch).compile()
