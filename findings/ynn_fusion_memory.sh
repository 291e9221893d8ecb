#!/bin/sh
# The temporaries of a `ynn_fusion` are in no dump and in no `memory_analysis()`: XLA's CPU backend gives a chain of
# matrix products to a library as one fusion, which allocates memory by itself. The program has no temporaries on paper,
# and the process grows by three matrices of 64 MiB while it runs. Needs Linux.
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

import jax
import jax.numpy as jnp


def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


a = jax.block_until_ready(jnp.ones((4096, 4096)))
run = jax.jit(lambda a: jnp.sum(jnp.sin(a @ a) @ a)).lower(a).compile()
(module,) = [text for name in glob.glob("dump/*lambda*cpu_after_optimizations.txt") for text in [open(name).read()]]
temporaries = run.memory_analysis().temp_size_in_bytes
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")
before = status("VmRSS")
jax.block_until_ready(run(a))
grown = status("VmHWM") - before
print(f"jax {jax.__version__}: {temporaries:,} bytes of temporaries on paper, the process grew by {grown:,} bytes")
assert '"kind":"__ynn_fusion"' in module, "no ynn_fusion"
assert temporaries < 1024
assert grown > 2 * a.nbytes, "the memory is less now"
END
JAX_PLATFORMS=cpu venv/bin/python program.py
