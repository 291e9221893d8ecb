#!/bin/sh
# On the CPU, a model that scans over its layers needs more memory if their weights are in bfloat16 than if they are in float32 and each
# layer converts its own: XLA computes products of bfloat16 in float32, and converts the weights of all layers before the loop, as they
# do not change in it. The arguments take half of the bytes, but beside them is an array in float32 as large as they were.
# Seen with jax and jaxlib 0.10.2. Needs Python 3.11 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2
cd "$folder"
cat > program.py <<'END'
import jax
import jax.numpy as jnp

HALF, FULL = jnp.bfloat16, jnp.float32
LAYERS, WIDTH = 8, 1024


def answer(layers, x):
    def layer(x, weights):
        up, down = (each.astype(HALF) for each in weights)
        return x + jax.nn.gelu(x @ up) @ down, None

    return jax.lax.scan(layer, x, layers)[0]


needed = {}
for type_ in (FULL, HALF):
    shapes = (LAYERS, WIDTH, 4 * WIDTH), (LAYERS, 4 * WIDTH, WIDTH)
    layers = tuple(jax.ShapeDtypeStruct(shape, type_) for shape in shapes)
    compiled = jax.jit(answer).lower(layers, jax.ShapeDtypeStruct((16, 128, WIDTH), HALF)).compile()
    memory = compiled.memory_analysis()
    sizes = memory.argument_size_in_bytes, memory.temp_size_in_bytes
    needed[type_.__name__] = [round(size / 2**20) for size in sizes]
print(f"jax {jax.__version__}: MiB of arguments and of temporaries, by the type of the weights: {needed}")
(full, of_full), (half, of_half) = needed.values()
assert half < 0.6 * full and full + of_full < half + of_half, needed
END
JAX_PLATFORMS=cpu "$folder/venv/bin/python" program.py
