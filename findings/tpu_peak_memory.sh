#!/bin/sh
# On TPU, `peak_memory_in_bytes` adds the largest heap of any one memory space, also that of VMEM, which is not HBM. A
# program that needs 128 MiB of HBM on a TPU v5e has a "peak" of 224 MiB. Compiles ahead of time; no TPU is needed.
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
one = jax.ShapeDtypeStruct((4096, 4096), jnp.bfloat16, sharding=SingleDeviceSharding(topology.devices[0]))
compiled = jax.jit(lambda x, w1, w2: jax.nn.relu(x @ w1) @ w2).lower(one, one, one).compile()
found = compiled.memory_analysis()
needed = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
print(f"jax {jax.__version__}: arguments + outputs + temporaries {needed:,}")
print(f"peak_memory_in_bytes {found.peak_memory_in_bytes:,}")
assert needed == 128 << 20
assert found.peak_memory_in_bytes == 224 << 20, "VMEM is not counted any more"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
