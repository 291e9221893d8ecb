"""Runs a program, then writes what JAX says about the programs that are loaded as JSON: PROGRAM FILE."""

import json
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(sys.argv[1], run_name="__main__")
    import jax

    names = ("argument", "output", "temp", "alias")
    found = []
    for program in jax.local_devices()[0].client.live_executables():
        stats, module = program.get_compiled_memory_stats(), program.hlo_modules()[0].name
        found.append([module, *(getattr(stats, f"{name}_size_in_bytes") for name in names)])
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
