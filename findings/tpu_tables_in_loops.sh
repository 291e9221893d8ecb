#!/bin/sh
# A train step with tables of embeddings on a TPU needs half as much again for a quarter of the batch at a time. A row has few elements
# (f32[60000,16]), so XLA lays the tables out by columns, and copies them to look rows up, by rows that are padded to 128 elements. It
# makes these copies one after another where the batch is computed at once. A loop over parts of it holds all of them, and the gradients.
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

device = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices[0]
TABLES, BATCH, PARTS = 6, 16384, 4


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(device))


def loss(params, items, y):
    tables, layers, last = params
    x = jnp.concatenate([table[items[:, number]] for number, table in enumerate(tables)], axis=-1)
    for weights in layers:
        x = jax.nn.relu(x @ weights)
    return jnp.mean(((x @ last)[:, 0] - y) ** 2)


def gradients_at_once(params, items, y):
    return jax.grad(loss)(params, items, y)


def gradients_in_parts(params, items, y):
    def add(total, part):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *part)), None

    parts = items.reshape(PARTS, -1, TABLES), y.reshape(PARTS, -1)
    total = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)[0]
    return jax.tree.map(lambda one: one / PARTS, total)


params = [array(60000, 16) for _ in range(TABLES)], [array(16 * TABLES, 1024), array(1024, 1024)], array(1024, 1)
batch = array(BATCH, TABLES, dtype=jnp.int32), array(BATCH)
temporaries = {}
for gradients in (gradients_at_once, gradients_in_parts):

    def step(params, momentum, items, y):
        momentum = jax.tree.map(lambda one, gradient: 0.9 * one + gradient, momentum, gradients(params, items, y))
        return jax.tree.map(lambda one, change: one - 0.1 * change, params, momentum), momentum

    compiled = jax.jit(step, donate_argnums=(0, 1)).lower(params, params, *batch).compile()
    temporaries[gradients.__name__] = round(compiled.memory_analysis().temp_size_in_bytes / 2**20, 1)
print(f"jax {jax.__version__}: MiB of temporaries: {temporaries}")
assert temporaries["gradients_in_parts"] > 1.3 * temporaries["gradients_at_once"], "not more in parts"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
