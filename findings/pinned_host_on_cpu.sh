#!/bin/sh
# On the CPU, an output in `pinned_host` memory is S(5) only in `entry_computation_layout`. No instruction has it, and its
# buffer has the same color as all others, so the header of the module contradicts its root instruction.
# Seen with jax and jaxlib 0.12.0.1. Needs Python 3.12 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.12.0.1 jaxlib==0.12.0.1
cd "$folder"
cat > program.py <<'END'
import os

os.environ["XLA_FLAGS"] = "--xla_dump_to=dump --xla_dump_hlo_as_text"

import glob
import re

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

host = SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
one = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
jax.jit(lambda x: x + 1, out_shardings=host).lower(one).compile()
(name,) = glob.glob("dump/*lambda*cpu_after_optimizations.txt")
header, body = open(name).read().split("\n", 1)
print(f"jax {jax.__version__}: {re.search(r'entry_computation_layout=.*?}}', header)[0]}")
print(re.findall(r"ROOT .*", body)[-1][:60])
assert "S(5)" in header, "the header has no S(5) any more"
assert "S(5)" not in body, "the instructions have S(5) now"
END
JAX_PLATFORMS=cpu venv/bin/python program.py
