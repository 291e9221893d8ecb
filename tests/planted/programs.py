"""Pairs of programs that differ by one planted change.

`python programs.py FOLDER` compiles them for the CPU with jax, and dumps both programs of each pair to FOLDER/NAME/old
and FOLDER/NAME/new.

`expected.py` has what a comparison must say of each pair.
"""

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    (FOLDER / "all").mkdir(parents=True)
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={FOLDER / 'all'} --xla_dump_hlo_as_text"
    os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and the shapes of its arguments."""


def _of(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def network(
    layers: int = 4,
    batch: int = 1024,
    width: int = 64,
    around: Callable[..., Any] = lambda layer: layer,
    extra: bool = False,
) -> Program:
    """A training step of some layers with two activations each."""

    def layer(hidden: Any, weights: Any) -> Any:
        return hidden + jnp.tanh(jnp.tanh(hidden @ weights[0]) @ weights[1])

    def step(params: Any, x: Any) -> Any:
        def loss(params: Any) -> Any:
            hidden = x
            for weights in params:
                hidden = around(layer)(hidden, weights)
            return (hidden**2).mean(), hidden

        (value, hidden), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        updated = jax.tree.map(lambda old, gradient: old - 0.1 * gradient, params, gradients)
        return (updated, value, hidden) if extra else (updated, value)

    return step, ([(_of(width, width),) * 2] * layers, _of(batch, width))


def stacked(is_scanned: bool) -> Program:
    """The same layers with stacked weights, in a loop or one after another."""

    def step(weights: Any, x: Any) -> Any:
        def layer(hidden: Any, matrix: Any) -> Any:
            return jnp.tanh(hidden @ matrix), None

        def loss(weights: Any) -> Any:
            hidden = x
            if is_scanned:
                hidden, _ = jax.lax.scan(layer, hidden, weights)
            else:
                for number in range(8):
                    hidden, _ = layer(hidden, weights[number])
            return (hidden**2).mean()

        return jax.grad(loss)(weights)

    return step, (_of(8, 64, 64), _of(1024, 64))


def attention(length: int) -> Program:
    def step(queries: Any, keys: Any, values: Any) -> Any:
        scores = jnp.einsum("bqd,bkd->bqk", queries, keys)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), values)

    return step, (_of(4, length, 32),) * 3


def lookup(dtype: Any) -> Program:
    def step(table: Any, rows: Any) -> Any:
        return table[rows].astype(jnp.float32)

    return step, (_of(4096, 64, dtype=dtype), _of(16, dtype=jnp.int32))


def update() -> Program:
    def step(state: Any, x: Any) -> Any:
        return 2 * state + x

    return step, (_of(512, 512), _of(512))


def update_in_place() -> Program:
    def step(state: Any, x: Any) -> Any:
        return state.at[0].set(x)

    return step, (_of(512, 512), _of(512))


def order(is_sorted: bool) -> Program:
    def step(x: Any) -> Any:
        doubled = 2 * x
        return (jnp.sort(doubled) if is_sorted else doubled)[1000:2000]

    return step, (_of(262144),)


def baked(is_constant: bool) -> Program:
    table = np.random.default_rng(0).standard_normal((256, 256), np.float32)

    def step(x: Any) -> Any:
        return x @ table if is_constant else x @ x.T @ x

    return step, (_of(256, 256),)


def shared(is_shared: bool) -> Program:
    """A sine that one fusion needs, or two operations, which makes it a buffer."""

    def step(x: Any, vector: Any) -> Any:
        wave = jnp.sin(x)
        return 2 * wave + 1, wave @ vector if is_shared else 2 * vector

    return step, (_of(512, 512), _of(512))


_remat = jax.checkpoint
_SAVE_DOTS = partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)

PAIRS: dict[str, tuple[Program, Program]] = {
    "one_more_layer": (network(4), network(5)),
    "one_layer_less": (network(5), network(4)),
    "wider_type": (lookup(jnp.float16), lookup(jnp.float32)),
    "donation_removed": (update(), update()),
    "donation_added": (update(), update()),
    "donation_replaced_by_copy": (update_in_place(), update_in_place()),
    "checkpoint_added": (network(8), network(8, around=_remat)),
    "other_policy": (network(8, around=_SAVE_DOTS), network(8, around=_remat)),
    "batch_doubled": (network(batch=512), network(batch=1024)),
    "longer_sequence": (attention(128), attention(256)),
    "wider_layers": (network(width=64), network(width=128)),
    "sort_inserted": (order(is_sorted=False), order(is_sorted=True)),
    "unrolled": (stacked(is_scanned=True), stacked(is_scanned=False)),
    "output_added": (network(extra=False), network(extra=True)),
    "constant_baked_in": (baked(is_constant=False), baked(is_constant=True)),
    "fusion_split": (shared(is_shared=False), shared(is_shared=True)),
    "other_flags": (network(), network()),
}

DONATED = {("donation_removed", "old"), ("donation_replaced_by_copy", "old"), ("donation_added", "new")}
OPTIONS: dict[tuple[str, str], dict[str, Any]] = {("other_flags", "new"): {"xla_backend_optimization_level": 0}}


def main() -> None:
    for name, programs in PAIRS.items():
        for side, (step, arguments) in zip(("old", "new"), programs, strict=True):
            donated = (0,) if (name, side) in DONATED else ()
            lowered = jax.jit(step, donate_argnums=donated).lower(*arguments)
            lowered.compile(compiler_options=OPTIONS.get((name, side)))
            folder = FOLDER / name / side
            folder.mkdir(parents=True)
            for path in sorted((FOLDER / "all").iterdir()):
                if ".jit_step." in path.name:
                    shutil.move(path, folder / path.name)


if __name__ == "__main__":
    main()
