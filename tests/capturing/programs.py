"""Captures functions of all kinds and prints what became of them as JSON. Runs in `.venv-jax`."""

import functools
import json
import os
import tempfile
from collections.abc import Callable
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 --xla_dump_hlo_module_re=no_such_module"
os.environ["JAX_PLATFORMS"] = "cpu"

import equinox
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import xla_lens
from xla_lens.model.memory.needed import reserved_parts

SIDE = 256
MATRIX = jax.ShapeDtypeStruct((SIDE, SIDE), jnp.float32)
MESH = Mesh(np.array(jax.devices()), ("d",))


def matrix() -> jax.Array:
    """A new array: those that were given away cannot be given twice."""
    return jnp.ones((SIDE, SIDE))


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Two matrices, multiplied."""
    return jnp.tanh(a @ b).sum()


def drawn(key: jax.Array, a: jax.Array) -> jax.Array:
    """A matrix with noise."""
    return jnp.tanh(a @ a + jax.random.normal(key, a.shape)).sum()


def step(state: jax.Array, batch: jax.Array) -> jax.Array:
    """A step of a training."""
    return state - jax.grad(product)(state, batch)


def nested(a: jax.Array) -> jax.Array:
    """A scan in a scan."""

    def outer(carry: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        def inner(carry: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            return carry @ a, carry.sum()

        return jax.lax.scan(inner, carry, None, length=3)

    return jax.lax.scan(outer, a, None, length=2)[0]


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of a user."""

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


class Model:
    """A class with a jitted method."""

    @functools.partial(jax.jit, static_argnums=0)
    def run(self, x: jax.Array) -> jax.Array:
        """A method."""
        return x @ x


@equinox.filter_jit
@equinox.filter_grad
def gradient(model: equinox.Module, x: jax.Array) -> jax.Array:
    """The gradient of a model of equinox, which has functions among its leaves."""
    return jax.vmap(model)(x).sum()


def outputs(a: jax.Array, b: jax.Array) -> tuple[jax.Array, ...]:
    """Several outputs, one of which is an argument."""
    return a @ b, (a + b).sum(axis=0), a, jnp.tanh(b)


donating = jax.jit(step, donate_argnums=0)
sharded = jax.shard_map(lambda a: jax.lax.psum(a, "d"), mesh=MESH, in_specs=P("d"), out_specs=P())
pair = (MATRIX, MATRIX)
gone = matrix()
donating(gone, matrix())

PROGRAMS: dict[str, tuple[Any, ...]] = {
    "plain": (product, *pair),
    "arrays": (product, matrix(), matrix()),
    "jit": (jax.jit(product), *pair),
    "grad of jit": (jax.grad(jax.jit(product)), *pair),
    "decorated grad": (timed(jax.grad(jax.jit(product))), *pair),
    "donating": (donating, *pair),
    "donated before": (donating, gone, MATRIX),
    "not donating": (jax.jit(step), *pair),
    "outputs": (outputs, *pair),
    "aliased outputs": (jax.jit(outputs, donate_argnums=(0, 1)), *pair),
    "decorated": (timed(timed(donating)), *pair),
    "partial": (functools.partial(donating, MATRIX), MATRIX),
    "method": (Model().run, MATRIX),
    "key": (drawn, jax.random.key(0), MATRIX),
    "scan": (nested, MATRIX),
    "shard_map": (sharded, MATRIX),
    "sharded": (jax.jit(product, in_shardings=NamedSharding(MESH, P("d"))), *pair),
    "pmap": (jax.pmap(lambda a: a @ a), jax.ShapeDtypeStruct((8, 64, 64), jnp.float32)),
    "lowered": (jax.jit(product).lower(*pair),),
    "traced": (jax.jit(product).trace(*pair),),
    "equinox": (gradient, equinox.nn.MLP(64, 64, 256, 2, key=jax.random.key(0)), jnp.ones((32, 64))),
}


def numbers(capture: xla_lens.Capture) -> dict[str, Any]:
    """The numbers of a capture, and those of jax."""
    compiled = capture.compiled
    sizes = compiled.memory_analysis() if hasattr(compiled, "memory_analysis") else None
    names = ("argument", "output", "temp", "alias")
    return {
        "name": capture.name,
        "peak": int(capture.peak()),
        "reserved": capture.peak().reserved_bytes,
        "needed": capture.needed,
        "space": capture.to_dict()["memory_spaces"][0],
        "measured": capture.to_dict()["measured"],
        "lines": sorted({line for line in capture.lines["line"] if line}),
        "parts": dict(reserved_parts(capture.analysis.dump, 0)),
        "jax": sizes and {name: getattr(sizes, f"{name}_size_in_bytes") for name in names},
    }


def cached() -> dict[str, Any]:
    """The number of entries in the persistent cache before and after a capture, and whether it works after it."""
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
        function = jax.jit(lambda a: a * 7 + 1)
        function(matrix())
        counts = [len(os.listdir(folder))]
        peaks = [int(xla_lens.capture(function, MATRIX).peak()) for _ in range(2)]
        counts.append(len(os.listdir(folder)))
        jax.jit(lambda a: a * 11 + 3)(matrix())
        counts.append(len(os.listdir(folder)))
        return {"counts": counts, "peaks": peaks, "is on": jax.config.jax_enable_compilation_cache}


def called() -> list[bool]:
    """Whether compiled functions return what the functions do."""
    state = step(matrix(), matrix())
    returned = xla_lens.capture(donating, *pair).compiled(matrix(), matrix())
    model, x = PROGRAMS["equinox"][1:]
    expected = gradient(model, x).layers[0].weight
    return [
        bool(jnp.allclose(returned, state)),
        bool(jnp.allclose(xla_lens.capture(gradient, model, x).compiled(model, x).layers[0].weight, expected)),
    ]


def _donation(capture: xla_lens.Capture) -> Any:
    return next(action for action in capture.advice if action["rule"] == "donate")


def donated() -> list[dict[str, Any]]:
    """What the advice promises, what came of it, and what jax aliases when the function is called later."""

    def adam(params: Any, mean: Any, square: Any, x: jax.Array) -> Any:
        slope = jax.grad(lambda params: jnp.tanh(jnp.tanh(x @ params["up"]) @ params["down"]).sum())(params)
        mean = jax.tree.map(lambda m, g: 0.9 * m + g, mean, slope)
        square = jax.tree.map(lambda v, g: 0.9 * v + g * g, square, slope)
        return jax.tree.map(lambda p, m, v: p - m / jnp.sqrt(v), params, mean, square), mean, square

    @equinox.filter_jit
    def descend(model: Any, x: jax.Array) -> Any:
        slope = equinox.filter_grad(lambda model: jax.vmap(model)(x).sum())(model)
        return equinox.apply_updates(model, slope)

    tree = {"up": MATRIX, "down": MATRIX}
    jitted, x = jax.jit(adam), jax.ShapeDtypeStruct((8, 256), jnp.float32)
    model = equinox.nn.MLP(64, 64, 256, 2, key=jax.random.key(0))
    found = []
    for function, arguments in ((jitted, (tree, tree, tree, x)), (descend, (model, jnp.ones((32, 64))))):
        capture = xla_lens.capture(function, *arguments)
        promised, compared = _donation(capture), capture.try_donation()
        needed, again = compared.memory_spaces[0].needed_bytes, xla_lens.capture(function, *arguments)
        found.append({"promised": promised, "measured": _donation(capture), "needed": (needed.old, needed.new)})
        found[-1] |= {"text": repr(compared), "aliased later": numbers(again)["space"]["aliased_bytes"]}
    return found


def layer(x: jax.Array, weights: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
    """A layer of a scan."""
    return jnp.tanh(x @ weights[0]) @ weights[1], None


def stack_loss(params: tuple[jax.Array, jax.Array], x: jax.Array, body: Any = layer) -> jax.Array:
    """The loss of a stack of layers. `body` is the layer, also changed by hand."""
    return (jax.lax.scan(body, x, params)[0] ** 2).mean()


def plain_loss(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """The loss of two layers."""
    return jnp.tanh(jnp.tanh(x @ params["up"]) @ params["down"]).sum()


def train(params: Any, opt_state: Any, x: jax.Array, loss: Any = stack_loss) -> Any:
    """A step of Adam."""
    slope = jax.grad(loss)(params, x)
    mu = jax.tree.map(lambda m, g: 0.9 * m.astype(g.dtype) + 0.1 * g, opt_state["mu"], slope)
    nu = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, opt_state["nu"], slope)
    params = jax.tree.map(lambda p, m, v: p - 0.1 * m / (jnp.sqrt(v) + 1e-8), params, mu, nu)
    return params, {"mu": jax.tree.map(lambda new, old: new.astype(old.dtype), mu, opt_state["mu"]), "nu": nu}


class Block:
    """A layer that is an object."""

    def __call__(self, x: jax.Array, weights: jax.Array, name: str = "block") -> jax.Array:
        """The layer. Its last argument is no array."""
        return jnp.tanh(jnp.tanh(x @ weights) @ weights.T) if name else x


BLOCK = Block()


def method_loss(params: jax.Array, x: jax.Array, block: Any = BLOCK) -> jax.Array:
    """The loss of a stack of objects."""
    return (jax.lax.scan(lambda x, weights: (block(x, weights), None), x, params)[0] ** 2).mean()


def tried_method() -> dict[str, Any]:
    """What `try_advice` measures for a method, and what the function needs that is changed by hand."""
    arguments = jax.ShapeDtypeStruct((8, 128, 512), jnp.float32), jax.ShapeDtypeStruct((2048, 128), jnp.float32)
    # jax gives the lines of another function to operations that it has traced there.
    jax.clear_caches()
    found = xla_lens.capture(jax.grad(method_loss), *arguments).try_advice()
    (row,) = (row for row in found if row["change"].startswith("Wrap"))
    by_hand = jax.grad(functools.partial(method_loss, block=jax.checkpoint(BLOCK)))
    return {"row": row, "by hand": xla_lens.capture(by_hand, *arguments).needed}


def recurrent_loss(params: dict[str, jax.Array], xs: jax.Array, ys: jax.Array) -> jax.Array:
    """The loss of a recurrent net, whose inputs have the time first."""

    def cell(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = jnp.tanh(x @ params["up"] + h @ params["down"])
        return h, h

    return ((jax.lax.scan(cell, jnp.zeros(xs.shape[1:]), xs)[1] - ys) ** 2).mean()


def tried_time_first() -> dict[str, Any]:
    """What `try_advice` measures for microbatches whose examples are the second dimension."""

    def step(params: Any, xs: jax.Array, ys: jax.Array) -> Any:
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(recurrent_loss)(params, xs, ys))

    square, xs = jax.ShapeDtypeStruct((256, 256), jnp.float32), jax.ShapeDtypeStruct((64, 32, 256), jnp.float32)
    arguments = {"up": square, "down": square}, xs, xs
    found = xla_lens.capture(jax.jit(step, donate_argnums=0), *arguments).try_advice()
    return next(dict(row) for row in found if row["rule"] == "microbatches")


def tried_on_devices() -> dict[str, Any]:
    """What `try_advice` measures for microbatches of a batch that devices share."""

    def loss(layers: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        for weights in layers:
            x = jax.nn.gelu(x @ weights)
        return jnp.mean((x - y) ** 2)

    def step(layers: Any, x: jax.Array, y: jax.Array) -> Any:
        return jax.tree.map(lambda p, g: p - 0.1 * g, layers, jax.grad(loss)(layers, x, y))

    square = jax.ShapeDtypeStruct((256, 256), jnp.float32, sharding=NamedSharding(MESH, P()))
    batch = jax.ShapeDtypeStruct((8192, 256), jnp.float32, sharding=NamedSharding(MESH, P("d")))
    found = xla_lens.capture(jax.jit(step, donate_argnums=0), [square] * 6, batch, batch).try_advice()
    return next(dict(row) for row in found if row["rule"] == "microbatches")


def tried() -> dict[str, Any]:
    """What `try_advice` measures, and what functions need that are changed by hand in the same way."""
    params = tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((8, 128, 512), (8, 512, 128)))
    wide, x = {"mu": params, "nu": params}, jax.ShapeDtypeStruct((2048, 128), jnp.float32)
    # With few examples, most of the memory is that of the optimizer.
    small, narrow = ({"up": square, "down": square} for square in (MATRIX, MATRIX.update(dtype=jnp.bfloat16)))
    few, plain = (
        jax.ShapeDtypeStruct((8, SIDE), jnp.float32),
        jax.jit(functools.partial(train, loss=plain_loss), donate_argnums=(0, 1)),
    )
    step, arguments = jax.jit(train), (params, wide, x)
    capture = xla_lens.capture(step, *arguments)
    needed = capture.needed
    found = capture.try_advice("40MiB")
    without = found.without(*(row for row, trial in enumerate(found) if trial["change"].startswith("Wrap")))
    options = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
    narrowed = {"mu": jax.tree.map(lambda shape: shape.update(dtype=jnp.bfloat16), params), "nu": params}
    wrapped = functools.partial(stack_loss, body=jax.checkpoint(layer))
    by_hand = {
        "Wrap": (jax.jit(functools.partial(train, loss=wrapped)), *arguments),
        "Donate": (jax.jit(train, donate_argnums=(0, 1)), *arguments),
        "Keep": (step, params, narrowed, x),
        "Keep of few": (plain, small, {"mu": narrow, "nu": small}, few),
        "Compile": (jax.jit(train, compiler_options=options), *arguments),
    }
    low = capture.try_advice(compiler_memory="1MiB")
    return {
        "needed": (needed, xla_lens.capture(step, *arguments).needed),
        "rows": [*found],
        "method": tried_method(),
        "time first": tried_time_first(),
        "on devices": tried_on_devices(),
        "few": [*xla_lens.capture(plain, small, {"mu": small, "nu": small}, few).try_advice()],
        "plan": [found.plan, found.planned_bytes, found.is_reached],
        "without": [without.plan, without.planned_bytes],
        "text": repr(found),
        "advice": [*xla_lens.capture(step, *arguments).advice],
        "by hand": {name: xla_lens.capture(*program).needed for name, program in by_hand.items()},
        "lowered": [row["reason"] for row in xla_lens.capture(step.lower(*arguments)).try_advice()],
        "low memory": repr(low),
    }


def main() -> None:
    """Print everything as one JSON object."""
    found = {name: numbers(xla_lens.capture(*program)) for name, program in PROGRAMS.items()}
    print(
        json.dumps({"programs": found, "cached": cached(), "called": called(), "donated": donated(), "tried": tried()})
    )


if __name__ == "__main__":
    main()
