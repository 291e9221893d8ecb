#!/bin/sh
# `cost_analysis()` counts the body of a loop once, however often it runs: the FLOPs of eight layers in `jax.lax.scan` are
# those of one.
# Seen with jax and jaxlib 0.12.0.1. Needs Python 3.12 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.12.0.1 jaxlib==0.12.0.1
cd "$folder"
cat > program.py <<'END'
import jax
import jax.numpy as jnp


def scanned(weights, x):
    return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0]


def unrolled(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


x, layers = jax.ShapeDtypeStruct((256, 256), jnp.float32), (1, 8)
flops = {}
for function in (scanned, unrolled):
    for count in layers:
        weights = jax.ShapeDtypeStruct((count, 256, 256), jnp.float32)
        flops[function, count] = jax.jit(function).lower(weights, x).compile().cost_analysis()["flops"]
        print(f"jax {jax.__version__}: {function.__name__}, layers {count}: {flops[function, count]:,.0f} FLOPs")
assert flops[unrolled, 8] > 7.9 * flops[unrolled, 1]
assert flops[scanned, 8] < 1.1 * flops[scanned, 1], "the iterations of a loop are counted"
END
JAX_PLATFORMS=cpu venv/bin/python program.py
