#!/bin/sh
# On a CPU, a step of gradient descent whose 32 MiB of weights are donated reports that it takes over 32 MiB, but needs only 14 MiB less
# than without donation. XLA copies weights that the backward pass still reads when their new versions can be written, and what was
# in the buffers of the outputs before needs places of its own.
# Seen with jax and jaxlib 0.10.2. Needs Python 3.11 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2
cd "$folder"
cat > program.py <<'EOF'
import jax
import jax.numpy as jnp


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def loss(params, x):
    for weights in params:
        x = jnp.tanh(x @ weights)
    return jnp.mean(x**2)


def step(params, x):
    return [weights - 0.1 * gradient for weights, gradient in zip(params, jax.grad(loss)(params, x))]


def compiled(donated):
    program = jax.jit(step, donate_argnums=donated).lower([array(1024, 1024)] * 8, array(512, 1024)).compile()
    sizes = program.memory_analysis()
    shared = sizes.alias_size_in_bytes
    needed = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes - shared
    return round(needed / 2**20), round(shared / 2**20), program.as_text().count(" copy(")


(before, _, _), (after, shared, copies) = compiled(()), compiled(0)
print(f"jax {jax.__version__}: {before} MiB, with donation {after} MiB; taken over: {shared} MiB; copies: {copies}")
assert shared == 32 and copies >= 6 and before - after < shared / 2, "other copies"
EOF
JAX_PLATFORMS=cpu venv/bin/python program.py
