#!/bin/sh
# The peak that XLA prints counts a buffer twice that a donated argument and an output share: a program that needs
# 262,144 bytes in one allocation prints a list of two buffers, which adds up to 524,288 bytes.
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

one = jax.ShapeDtypeStruct((256, 256), jnp.float32)
compiled = jax.jit(lambda x: x * 2, donate_argnums=0).lower(one).compile()
(name,) = glob.glob("dump/*lambda*-live-range.txt")
total = sum(map(int, re.findall(r"^allocation \d+: size (\d+)", open(name.replace("live-range", "buffer-assignment")).read(), re.M)))
printed = sum(map(int, re.findall(r": (\d+) bytes \(cumulative", open(name).read())))
print(f"jax {jax.__version__}: all allocations {total:,} bytes, the list at the printed peak {printed:,} bytes")
assert total == 4 * 256 * 256 == compiled.memory_analysis().alias_size_in_bytes
assert printed == 2 * total, "the buffer is counted once now"
END
JAX_PLATFORMS=cpu venv/bin/python program.py
