#!/bin/sh
# On a TPU, XLA puts a kernel in place of attention that is written as two products with a softmax between them: a program without
# Pallas has a tpu_custom_call. Of matrices, its op_name is "online-softmax", and no call stack tells which lines of the program it
# computes. Of batches of them, it has the op_name and the call stack of the second product alone.
# Compiles ahead of time; no TPU is needed.
# Seen with jax and jaxlib 0.12.0.1 and libtpu 0.0.52. Needs Python 3.12 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.12.0.1 jaxlib==0.12.0.1 libtpu==0.0.52
cd "$folder"
cat > program.py <<'END'
import re

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2")


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=SingleDeviceSharding(topology.devices[0]))


def recalled(queries, patterns):
    return jax.nn.softmax(queries @ patterns.T) @ patterns


def attended(queries, keys):
    return jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", queries, keys)) @ keys


found = {}
for step, shapes in ((recalled, ((2048, 256), (1024, 256))), (attended, ((8, 2048, 256), (8, 1024, 256)))):
    text = jax.jit(step).lower(*(array(*shape) for shape in shapes)).compile().as_text()
    kernels = [line for line in text.splitlines() if 'custom_call_target="tpu_custom_call"' in line]
    found[step.__name__] = [re.search(r'op_name="[^"]*"(?: stack_frame_id)?', line)[0] for line in kernels]
    print(f"jax {jax.__version__}, {step.__name__}: {found[step.__name__]}")
wanted = {"recalled": ['op_name="online-softmax"'], "attended": ['op_name="jit(attended)/dot_general" stack_frame_id']}
assert found == wanted, "other kernels, or other names"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
