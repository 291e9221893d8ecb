#!/bin/sh
# jax gives a TPU program with more than 2,000 arguments one argument, which is a tuple of them. In the buffer assignment, all
# its arrays are `parameter 0`, at a shape index each. With 2,000, each array is a parameter with a number of its own.
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
one = jax.ShapeDtypeStruct((128,), jnp.float32, sharding=SingleDeviceSharding(topology.devices[0]))
numbers = {}
for count in (2000, 2001):
    text = jax.jit(lambda *arrays: arrays[0] + arrays[-1], keep_unused=True).lower(*[one] * count).compile().as_text()
    entry = text[text.index("\nENTRY ") :]
    numbers[count] = sum(" parameter(" in line for line in entry.splitlines())
    print(f"jax {jax.__version__}: arguments {count:,}, parameters of the program {numbers[count]:,}")
assert numbers[2000] == 2000
assert numbers[2001] == 1, "each argument is a parameter again"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
