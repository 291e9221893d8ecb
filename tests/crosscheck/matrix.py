"""Compile small programs for many targets and with flags that change the dump: `python matrix.py FOLDER ROW` compiles
one row of `ROWS` and prints the compiler's own memory analysis as JSON, or why it cannot be compiled here.

Needs jax, libtpu for the rows of TPUs, and the CUDA plugin of jax for those of GPUs; but no device, and not XLA Lens.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE = Path(__file__).parent


class Row(NamedTuple):
    """A program, the target that it is compiled for, and flags of XLA.

    `target` is `cpu`, `cuda`, or the name of a TPU topology.
    """

    program: str
    target: str = "cpu"
    flags: tuple[str, ...] = ()


_LONG: Final = ("--xla_dump_hlo_as_long_text=true",)
_FRAMES: Final = ("--xla_hlo_print_inline_stack_frames=true",)

ROWS: Final[dict[str, Row]] = {
    "cpu": Row("train"),
    "cpu-long-text": Row("train", flags=_LONG),
    "cpu-inline-stack-frames": Row("train", flags=_FRAMES),
    "cpu-large-constants": Row("constants", flags=("--xla_dump_large_constants=true",)),
    "cpu-no-metadata": Row("train", flags=("--xla_dump_disable_metadata=true",)),
    "cpu-subfolders": Row("train", flags=("--xla_dump_hlo_to_subfolder=true",)),
    "cpu-no-analysis": Row("train", flags=("--xla_dump_buffer_assignment_analysis=false",)),
    "cpu-host": Row("host"),
    "cpu-int4": Row("int4"),
    "cpu-sharded": Row("sharded"),
    "cpu-loop": Row("loop"),
    "cpu-names": Row("names"),
    "cuda": Row("train", "cuda"),
    "cuda-long-text": Row("train", "cuda", _LONG),
    "cuda-host": Row("host", "cuda"),
    "cuda-int4": Row("int4", "cuda"),
    "cuda-sharded": Row("sharded", "cuda"),
    "cuda-user-buffers": Row("sharded", "cuda", ("--xla_gpu_enable_nccl_user_buffers=true",)),
    "cuda-temp-color": Row("loop", "cuda", ("--xla_gpu_temp_buffer_use_separate_color=true",)),
    "cuda-no-latency-hiding": Row("sharded", "cuda", ("--xla_gpu_enable_latency_hiding_scheduler=false",)),
    "tpu-v2": Row("train", "v2:2x2"),
    "tpu-v3": Row("train", "v3:2x2"),
    "tpu-v4": Row("train", "v4:2x2x1"),
    "tpu-v5e": Row("train", "v5e:2x2"),
    "tpu-v5e-long-text": Row("train", "v5e:2x2", _LONG),
    "tpu-v5e-host": Row("host", "v5e:2x2"),
    "tpu-v5e-int4": Row("int4", "v5e:2x2"),
    "tpu-v5e-sharded": Row("sharded", "v5e:2x2"),
    "tpu-v5p": Row("train", "v5p:2x2x1"),
    "tpu-v6e-loop": Row("loop", "v6e:2x2"),
    "tpu-v6e-gather": Row("gather", "v6e:2x2"),
    "tpu-7x": Row("train", "tpu7x:2x2x1"),
}
"""What is compiled, by name."""

_ACCELERATORS: Final = {
    **{"v2": "v2-8", "v3": "v3-8", "v4": "v4-8", "v5e": "v5litepod-4"},
    **{"v5p": "v5p-8", "v6e": "v6e-4", "tpu7x": "tpu7x-8"},
}


def _environment(folder: str, row: Row) -> dict[str, str]:
    flags = [f"--xla_dump_to={folder}", "--xla_dump_hlo_as_text", *row.flags]
    if row.target == "cpu":
        return {"XLA_FLAGS": " ".join([*flags, "--xla_force_host_platform_device_count=4"])}
    if row.target == "cuda":
        # The compiler finds `ptxas` and libdevice in the packages of NVIDIA, if they are installed.
        [libraries, *_] = [*Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*"), Path(sys.prefix)]
        return {"XLA_FLAGS": " ".join([*flags, "--xla_gpu_autotune_level=0", f"--xla_gpu_cuda_data_dir={libraries}"])}
    found = {"XLA_FLAGS": " ".join(flags), "TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}
    generation = row.target.partition(":")[0]
    return found | {"TPU_ACCELERATOR_TYPE": _ACCELERATORS[generation], "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}


if __name__ == "__main__":
    row = ROWS[sys.argv[2]]
    os.environ |= {"JAX_PLATFORMS": "cpu", **_environment(sys.argv[1], row)}

    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

    def of(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
        """The shape of an argument; compiling needs no data."""
        return jax.ShapeDtypeStruct(shape, dtype)

    def devices() -> list[Any]:
        """The devices of the target, none of which exists."""
        if row.target == "cpu":
            return list(jax.devices())
        if row.target == "cuda":
            config = (HERE / "h100.pbtxt").read_text()
            topology = topologies.get_topology_desc("h100", platform="cuda", topology="1x1x4", target_config=config)
        else:
            topology = topologies.get_topology_desc(platform="tpu", topology_name=row.target)
        return list(topology.devices)

    def train(weights: Any, x: Any) -> Any:
        """A step that may write the new weights over the old ones."""
        gradients = jax.grad(lambda weights: jnp.mean(jnp.tanh(x @ weights[0]) @ weights[1]))(weights)
        return jax.tree.map(lambda old, gradient: old - 0.1 * gradient, weights, gradients)

    def constants(x: Any) -> Any:
        return x + jnp.asarray(np.arange(64, dtype=np.float32))

    def loop(weights: Any, x: Any) -> Any:
        return jax.grad(lambda weights: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0].sum())(weights)

    def int4(x: Any) -> Any:
        return (x.astype(jnp.int8) + 1).astype(jnp.int4), x.T

    def gather(table: Any, indices: Any) -> Any:
        return table[indices].sum(1)

    def names(arguments: Any) -> Any:
        with jax.named_scope('blöck "q" /*index=5*/'), jax.named_scope(", calls=%foo, metadata={"):
            return jnp.tanh(arguments["a, b"] @ arguments['{"}']), arguments["a, b"].sum()

    def compile_row() -> Any:
        """Compile the program of the row."""
        one = SingleDeviceSharding(found[0])
        if row.program == "host":
            # The state of an optimizer in the memory of the host.
            host = one.with_memory_kind("pinned_host")

            def step(weights: Any, state: Any, gradient: Any) -> Any:
                new = 0.9 * jax.device_put(state, one) + gradient
                return weights - new, jax.device_put(new, host)

            jitted = jax.jit(step, in_shardings=(one, host, one), out_shardings=(one, host), donate_argnums=(0, 1))
            return jitted.lower(*[of(64, 128)] * 3).compile()
        if row.program == "sharded":
            mesh = Mesh(np.array(found[:4]), ("x",))
            split, whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("x",), ()))
            jitted = jax.jit(lambda w, x: jnp.tanh(x @ w) @ w.T, in_shardings=(split, split), out_shardings=whole)
            return jitted.lower(of(256, 64), of(128, 256)).compile()
        weights = [of(64, 128), of(128, 32)]
        function, donated, arguments = {
            "train": (train, (0,), (weights, of(16, 64))),
            "constants": (constants, (), (of(64),)),
            "loop": (loop, (), (of(4, 64, 64), of(8, 64))),
            "int4": (int4, (), (of(32, 128, dtype=jnp.int4),)),
            "gather": (gather, (), (of(1 << 16, 64), of(256, 8, dtype=jnp.int32))),
            "names": (names, (), ({"a, b": of(8, 8), '{"}': of(8, 8)},)),
        }[row.program]
        jitted = jax.jit(function, in_shardings=one, out_shardings=one, donate_argnums=donated)
        return jitted.lower(*arguments).compile()

    # File names without the folders of the machine that compiles.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    try:
        found = devices()
    except Exception as error:  # jax raises many kinds of errors for a plugin that is missing
        print(json.dumps({"missing": " ".join(str(error).split())[:200]}))
        sys.exit()
    analysis = compile_row().memory_analysis()
    parts = ("argument", "output", "alias", "temp", "host_argument", "host_output", "host_alias", "host_temp")
    print(json.dumps({part: getattr(analysis, f"{part}_size_in_bytes", 0) for part in parts}))
