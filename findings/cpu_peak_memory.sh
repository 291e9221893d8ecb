#!/bin/sh
# On the CPU, `peak_memory_in_bytes` leaves out temporaries: it is arguments + outputs - aliases + constants. A train step
# that needs 272 MiB has a "peak" of 96 MiB, which is less than its temporaries alone.
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


def step(weights, x):
    def loss(weights):
        h = x
        for weight in weights:
            h = jnp.tanh(h @ weight)
        return jnp.mean(h**2)

    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, jax.grad(loss)(weights))


weights, x = [jax.ShapeDtypeStruct((2048, 2048), jnp.float32)] * 4, jax.ShapeDtypeStruct((4096, 2048), jnp.float32)
found = jax.jit(step, donate_argnums=0).lower(weights, x).compile().memory_analysis()
kept = found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
print(f"jax {jax.__version__}: arguments + outputs - aliases {kept:,}, temporaries {found.temp_size_in_bytes:,}")
print(f"peak_memory_in_bytes {found.peak_memory_in_bytes:,}")
assert found.temp_size_in_bytes > 150 << 20
assert kept <= found.peak_memory_in_bytes < kept + 1024, "temporaries are counted now"
END
JAX_PLATFORMS=cpu venv/bin/python program.py
