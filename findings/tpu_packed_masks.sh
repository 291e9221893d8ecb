#!/bin/sh
# On a TPU, XLA packs the mask of a relu that the backward pass reads into the bits of integers: 16 examples of a batch become the 16
# bits of u16[256,8192], where the program has pred[16,256,8192]. The bits are the examples, and what packs them has no op_name.
# Compiles ahead of time; no TPU is needed.
# Seen with jax and jaxlib 0.12.0.1 and libtpu 0.0.52. Needs Python 3.12 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.12.0.1 jaxlib==0.12.0.1 libtpu==0.0.52
cd "$folder"
cat > program.py <<'END'
import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2")


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=SingleDeviceSharding(topology.devices[0]))


def loss(up, down, x):
    return jnp.sum((jax.nn.relu(x @ up) @ down) ** 2)


packed = {}
for batch in (8, 16, 32):
    step = jax.jit(jax.grad(loss, (0, 1))).lower(array(256, 8192), array(8192, 256), array(batch, 256, 256))
    lines = step.compile().as_text().splitlines()
    packed[batch] = [line.strip() for line in lines if " reduce(" in line and f" = u{batch}[256,8192]" in line]
    for line in packed[batch]:
        print(f"jax {jax.__version__}, batch of {batch}: {line}")
assert all("dimensions={0}" in line and "op_name" not in line for lines in packed.values() for line in lines)
assert all(len(lines) == 1 for lines in packed.values()), "masks are no longer packed"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
