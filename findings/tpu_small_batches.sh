#!/bin/sh
# A train step of a convolutional net on a TPU needs less memory for 8 images at a time than for 16, but several times as much for 4 at
# a time: XLA moves positions of the images into the batch (f32[64,4,72,128] in place of f32[4,64,64,128]), and then keeps the
# normalized values of all layers in f32 for the backward pass.
# Compiles ahead of time; no TPU is needed.
# Seen with jax and jaxlib 0.10.2 and libtpu 0.0.52. Needs Python 3.11 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2 libtpu==0.0.52
cd "$folder"
cat > program.py <<'END'
import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

HALF, FULL = jnp.bfloat16, jnp.float32
device = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices[0]


def array(*shape):
    return jax.ShapeDtypeStruct(shape, FULL, sharding=SingleDeviceSharding(device))


def convolved(x, weights):
    names = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x.astype(HALF), weights.astype(HALF), (1, 1), "SAME", dimension_numbers=names)


def normed(x, scale):
    groups = x.astype(FULL).reshape(*x.shape[:3], 8, -1)
    mean = groups.mean((1, 2, 4), keepdims=True)
    variance = ((groups - mean) ** 2).mean((1, 2, 4), keepdims=True)
    return (((groups - mean) * jax.lax.rsqrt(variance + 1e-6)).reshape(x.shape) * scale).astype(HALF)


def loss(params, x, y):
    layers, last = params
    for weights, scale in layers:
        x = jax.nn.silu(normed(convolved(x, weights), scale))
    return jnp.mean((convolved(x, last).astype(FULL) - y) ** 2)


def step(params, x, y):
    def add(total, part):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *part)), None

    gradients = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), (x, y))[0]
    return jax.tree.map(lambda one, gradient: one - 0.1 * gradient, params, gradients)


params = [(array(3, 3, 3 if number == 0 else 128, 128), array(128)) for number in range(6)], array(3, 3, 128, 3)
temporaries = {}
for images in (16, 8, 4):
    parts = array(16 // images, images, 64, 64, 3)
    compiled = jax.jit(step, donate_argnums=0).lower(params, parts, parts).compile()
    temporaries[images] = round(compiled.memory_analysis().temp_size_in_bytes / 2**20, 1)
print(f"jax {jax.__version__}: MiB of temporaries for 16 images, by how many at a time: {temporaries}")
assert temporaries[8] < temporaries[16] < temporaries[4] / 3, "another order"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
