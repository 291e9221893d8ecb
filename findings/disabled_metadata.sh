#!/bin/sh
# With `--xla_dump_disable_metadata=true`, the list of values in the dump still has `stack_frame_id`s, but the HLO module
# beside it has neither metadata nor the tables that they are rows of. They point nowhere.
# Seen with jax and jaxlib 0.12.0.1. Needs Python 3.12 or later (PYTHON=python3.13 chooses one) and the package index.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.12.0.1 jaxlib==0.12.0.1
cd "$folder"
cat > program.py <<'END'
import os

os.environ["XLA_FLAGS"] = "--xla_dump_to=dump --xla_dump_hlo_as_text --xla_dump_disable_metadata=true"

import glob

import jax
import jax.numpy as jnp

jax.jit(lambda x: jnp.sin(x @ x)).lower(jax.ShapeDtypeStruct((64, 64), jnp.float32)).compile()
(values,) = glob.glob("dump/*lambda*-buffer-assignment-values.txt")
(module,) = glob.glob("dump/*lambda*cpu_after_optimizations.txt")
counts = [open(name).read().count("stack_frame_id=") for name in (values, module)]
has_table = "StackFrames" in open(module).read()
print(f"jax {jax.__version__}: stack_frame_id {counts[0]} times in the values, {counts[1]} times in the module, table: {has_table}")
assert counts[0] > 0, "the values have no stack frames any more"
assert counts[1] == 0, "the module has metadata"
assert not has_table
END
JAX_PLATFORMS=cpu venv/bin/python program.py
