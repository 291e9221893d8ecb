#!/bin/sh
# On TPU v4, the memory usage report has a section "hbm (color=3)". That is no HBM but CMEM, memory on the chip: HBM is "default
# (color=0)" there. The compiler's own analysis, which counts HBM, leaves the 32 MiB of this section out. Adding both up gives 80 MiB of
# HBM for a program that needs 48. Compiles ahead of time; no TPU is needed.
# Seen with jax and jaxlib 0.12.0.1 and libtpu 0.0.52. Needs Python 3.12 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.12.0.1 jaxlib==0.12.0.1 libtpu==0.0.52
cd "$folder"
cat > program.py <<'END'
import glob
import re

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

topology = topologies.get_topology_desc(platform="tpu", topology_name="v4:2x2x1")
one = jax.ShapeDtypeStruct((2048, 2048), jnp.float32, sharding=SingleDeviceSharding(topology.devices[0]))
options = {"xla_dump_to": "dump", "xla_dump_hlo_as_text": True}
compiled = jax.jit(lambda x, w: jnp.tanh(jnp.tanh(jnp.tanh(x @ w) @ w) @ w)).lower(one, one).compile(options)
found = compiled.memory_analysis()
needed = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
(report,) = glob.glob("dump/*-memory-usage-report.txt")
spaces = re.findall(r"Memory Space: (\S+) \(color=(\d+)\)", open(report).read())
(assignment,) = glob.glob("dump/*-buffer-assignment.txt")
sizes = [int(size) for size in re.findall(r"^allocation \d+: size (\d+), color 3,", open(assignment).read(), re.MULTILINE)]
print(f"jax {jax.__version__}: arguments + outputs + temporaries {needed:,}, allocations of color 3 {sum(sizes):,}")
print(f"sections of the report: {spaces}")
assert needed == 48 << 20, "the analysis counts color 3"
assert sum(sizes) == 32 << 20
assert ("hbm", "3") in spaces, "the section has another name"
END
TPU_SKIP_MDS_QUERY=1 JAX_PLATFORMS=cpu venv/bin/python program.py
