"""Programs for `xla-lens run`, each a function of this name: `python run_programs.py NAME`."""

import os
import sys


def scan() -> None:
    import jax
    import jax.numpy as jnp

    def layer(hidden: jax.Array, matrix: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(hidden @ matrix), None

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        return (jax.lax.scan(layer, x, weights)[0] ** 2).sum()

    step = jax.jit(jax.grad(loss))
    print(float(step(jnp.ones((8, 64, 64)) / 64, jnp.ones((1024, 64)))[0, 0, 0]) > 0)


def sharded() -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec

    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))

    def step(x: jax.Array) -> jax.Array:
        return jax.lax.psum(x @ x.T, "data")

    f = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=PartitionSpec("data"), out_specs=PartitionSpec()))
    print(jax.device_count(), f(jnp.ones((512, 256))).shape)


def crash() -> None:
    scan()
    raise RuntimeError("step 3 failed")


def killed() -> None:
    scan()
    sys.stdout.flush()
    os.kill(os.getpid(), 9)


def too_big() -> None:
    import jax
    import jax.numpy as jnp

    print(jax.jit(lambda x: (x + jnp.arange(1 << 44, dtype=jnp.uint8)).sum())(jnp.uint8(1)))


def cached() -> None:
    import jax

    jax.config.update("jax_compilation_cache_dir", os.environ["CACHE"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    if "ON" in os.environ:
        jax.config.update("jax_enable_compilation_cache", True)
    scan()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
