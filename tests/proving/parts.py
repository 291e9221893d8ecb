"""Programs that compute of all points or examples at once what they could compute of some at a time, and programs
that return some of their state as it was, each as it is and as a piece of advice changes it. The traps look like them,
and must not get the advice.

Each function returns what to compile, its arguments, and the numbers of those that are donated. Imported by
`programs.py`, which sets the environment of jax first.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Compiled = tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]

FULL = jnp.float32


def of(*shape: int, dtype: Any = FULL) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _gradients(loss: Callable[..., Any], params: Any, *batch: Any, is_in_parts: bool) -> Any:
    """The gradients of a loss, of all examples or the sum of those of four microbatches."""

    def one_more(total: Any, part: Any) -> Any:
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *part)), None

    if not is_in_parts:
        return jax.grad(loss)(params, *batch)
    parts = jax.tree.map(lambda array: array.reshape(4, -1, *array.shape[1:]), batch)
    return lax.scan(one_more, jax.tree.map(jnp.zeros_like, params), parts)[0]


# ---------------------------------------------------------------- clusters


def clustered(is_changed: bool, count: int = 1 << 17, width: int = 32, clusters: int = 512) -> Compiled:
    """Lloyd's algorithm: the distances of all points from all centres in each iteration."""

    def f(points: Any, centres: Any) -> Any:
        def one_more(_: Any, centres: Any) -> Any:
            def nearest(points: Any) -> Any:
                squares = (points**2).sum(-1)[:, None] - 2 * points @ centres.T + (centres**2).sum(-1)
                return jnp.argmin(squares, -1)

            parts = points.reshape(8, -1, width)
            own = lax.map(nearest, parts).reshape(-1) if is_changed else nearest(points)
            sums = jnp.zeros_like(centres).at[own].add(points)
            return sums / jnp.maximum(1, jnp.bincount(own, length=clusters))[:, None]

        return lax.fori_loop(0, 20, one_more, centres)

    return f, (of(count, width), of(clusters, width)), ()


def clustered_by_products(is_changed: bool, count: int = 1 << 16, width: int = 64, clusters: int = 1024) -> Compiled:
    """Soft clusters, whose new centres are means of all points."""

    def f(points: Any, centres: Any) -> Any:
        def sums_of(centres: Any, points: Any) -> Any:
            apart = jnp.sum(points**2, 1, keepdims=True) - 2 * points @ centres.T + jnp.sum(centres**2, 1)
            own = jax.nn.softmax(-apart / 2)
            return own.T @ points, own.sum(0), -jnp.sum(jax.nn.logsumexp(-apart / 2, 1))

        def one_more(centres: Any, _: Any) -> Any:
            if is_changed:
                parts = lax.map(partial(sums_of, centres), points.reshape(8, -1, width))
                sums, sizes, loss = jax.tree.map(lambda part: part.sum(0), parts)
            else:
                sums, sizes, loss = sums_of(centres, points)
            return sums / sizes[:, None], loss

        return lax.scan(one_more, centres, None, length=10)

    return f, (of(count, width), of(clusters, width)), ()


# ---------------------------------------------------------------- reinforcement


def values_first(is_changed: bool, steps: int = 128, actors: int = 256, width: int = 1024) -> Compiled:
    """PPO: the values of all observations, then advantages, then minibatches."""

    def value(params: Any, x: Any) -> Any:
        for weights in params["layers"]:
            x = jnp.tanh(x @ weights)
        return (x @ params["value"])[..., 0]

    def step(params: Any, observations: Any, rewards: Any) -> Any:
        of_all = partial(value, params)
        values = lax.map(of_all, observations) if is_changed else of_all(observations)

        def backwards(after: Any, one: Any) -> Any:
            reward, value, following = one
            after = reward + 0.99 * following - value + 0.95 * 0.99 * after
            return after, after

        following = jnp.concatenate([values[1:], values[-1:]])
        _, advantages = lax.scan(backwards, jnp.zeros(actors), (rewards, values, following), reverse=True)
        targets = advantages + values

        def one_more(params: Any, part: Any) -> Any:
            gradients = jax.grad(lambda params: jnp.mean((value(params, part[0]) - part[1]) ** 2))(params)
            return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), None

        parts = jax.tree.map(lambda array: array.reshape(32, -1, *array.shape[2:]), (observations, targets))
        return lax.scan(one_more, params, parts)[0]

    params = {"layers": [of(64, width)] + [of(width, width)] * 3, "value": of(width, 1)}
    return step, (params, of(steps, actors, 64), of(steps, actors)), (0,)


# ---------------------------------------------------------------- a queue of negatives


def queued(is_changed: bool, batch: int = 512, entries: int = 65536, width: int = 128) -> Compiled:
    """MoCo: each example is compared with a long queue of earlier ones."""

    def encoder(params: Any, x: Any) -> Any:
        z = jax.nn.gelu(x @ params["in"]) @ params["out"]
        return z * lax.rsqrt(jnp.sum(z * z, -1, keepdims=True) + 1e-6)

    def step(params: Any, average: Any, queue: Any, x: Any, other: Any) -> Any:
        average = jax.tree.map(lambda a, p: 0.99 * a + 0.01 * p, average, params)
        keys = encoder(average, other)

        def loss(params: Any) -> Any:
            z = encoder(params, x)
            logits = jnp.concatenate([jnp.sum(z * keys, -1, keepdims=True), z @ queue.T], 1) / 0.07
            return jnp.mean(jax.nn.logsumexp(logits, 1) - logits[:, 0])

        gradients = jax.grad(loss)(params)
        params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)
        return params, average, jnp.concatenate([queue[batch:], keys])

    params = {"in": of(256, 512), "out": of(512, width)}
    return (
        step,
        (params, params, of(entries, width), of(batch, 256), of(batch, 256)),
        (0, 1, 2) if is_changed else (0, 1),
    )


# ---------------------------------------------------------------- state that is returned as it was


def _error(params: Any, x: Any, y: Any) -> Any:
    """The loss of a net of some layers."""
    h = x
    for weights in params:
        h = jnp.tanh(h @ weights)
    return jnp.mean((h - y) ** 2)


def waved(is_changed: bool, size: int = 4096) -> Compiled:
    """A step of the wave equation, which returns the field that it got as the one before."""

    def step(field: Any, before: Any) -> Any:
        rolled = [jnp.roll(field, one, axis) for axis in (0, 1) for one in (-1, 1)]
        return 2 * field - before + 0.1 * (sum(rolled) - 4 * field), field

    return step, (of(size, size),) * 2, (0, 1) if is_changed else ()


def remembered(is_changed: bool, width: int = 2048, batch: int = 512) -> Compiled:
    """A step of gradient descent that also returns the weights as they were."""

    def step(state: Any, x: Any, y: Any) -> Any:
        gradients = jax.grad(_error)(state["params"], x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], gradients)
        params = jax.tree.map(lambda p, m: p - 1e-3 * m, state["params"], momentum)
        return {"params": params, "momentum": momentum, "before": state["params"]}

    params = [of(width, width)] * 6
    state = {"params": params, "momentum": params, "before": params}
    return step, (state, of(batch, width), of(batch, width)), (0,) if is_changed else ()


def reverted(is_changed: bool, width: int = 2048, batch: int = 512) -> Compiled:
    """A step with Adam that keeps the old state where a gradient is not finite."""

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(_error)(params, x, y)
        is_fine = jnp.isfinite(value)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], gradients)
        square = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["square"], gradients)
        new = jax.tree.map(lambda p, m, v: p - 1e-3 * m * lax.rsqrt(v + 1e-8), params, mean, square)
        old = params, state
        return *jax.tree.map(lambda a, b: jnp.where(is_fine, a, b), (new, {"mean": mean, "square": square}), old), value

    params = [of(width, width)] * 6
    state = {"mean": params, "square": params}
    return step, (params, state, of(batch, width), of(batch, width)), (0, 1) if is_changed else ()


def compared(is_changed: bool, width: int = 2048, batch: int = 512) -> Compiled:
    """A step that returns the new state and the old one beside it, for its caller to choose from."""

    def step(state: Any, x: Any, y: Any) -> Any:
        gradients = jax.grad(_error)(state["params"], x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], gradients)
        params = jax.tree.map(lambda p, m: p - 1e-3 * m, state["params"], momentum)
        return {"params": params, "momentum": momentum}, state

    params = [of(width, width)] * 6
    return step, ({"params": params, "momentum": params}, of(batch, width), of(batch, width)), (0,) * is_changed


# ---------------------------------------------------------------- masks


def masked_layers(is_changed: bool, batch: int = 16, length: int = 512, width: int = 512, layers: int = 4) -> Compiled:
    """Layers with relu, of which the backward pass needs a bit for each element."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            x = x + jax.nn.relu(x @ weights["up"]) @ weights["down"]
        return jnp.mean((x - y) ** 2)

    def step(params: Any, x: Any, y: Any) -> Any:
        gradients = _gradients(loss, params, x, y, is_in_parts=is_changed)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    params = [{"up": of(width, 8 * width), "down": of(8 * width, width)}] * layers
    return step, (params, of(batch, length, width), of(batch, length, width)), (0,)


# ---------------------------------------------------------------- images


def convolved(
    is_changed: bool, batch: int = 64, size: int = 64, width: int = 64, layers: int = 6, *, is_normed: bool = False
) -> Compiled:
    """Convolutional layers, called by a Python loop."""

    def layer(x: Any, weights: Any) -> Any:
        y = lax.conv_general_dilated(x, weights["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        if is_normed:
            groups = y.reshape(*y.shape[:3], 8, -1)
            centred = groups - groups.mean((1, 2, 4), keepdims=True)
            y = (centred * lax.rsqrt((centred**2).mean((1, 2, 4), keepdims=True) + 1e-5)).reshape(y.shape)
            return x + jax.nn.silu(y * weights["scale"])
        return jax.nn.relu(y + weights["scale"])

    def loss(params: Any, x: Any, labels: Any) -> Any:
        for weights in params["layers"]:
            x = (jax.checkpoint(layer) if is_changed else layer)(x, weights)
        logits = jax.nn.log_softmax(x.mean((1, 2)) @ params["head"])
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))

    def step(params: Any, x: Any, labels: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, jax.grad(loss)(params, x, labels))

    params = {"layers": [{"kernel": of(3, 3, width, width), "scale": of(width)}] * layers, "head": of(width, 10)}
    return step, (params, of(batch, size, size, width), of(batch, dtype=jnp.int32)), (0,)


# ---------------------------------------------------------------- pairs


def pulled(_: bool, count: int = 16384, others: int = 4096, width: int = 16) -> Compiled:
    """A trap: the gradient with respect to points, whose energies are logarithms of sums over the others."""

    def energy(points: Any, others: Any, weights: Any) -> Any:
        squares = (points**2).sum(-1, keepdims=True) - 2 * points @ others.T + (others**2).sum(-1)
        return jnp.sum(jnp.log1p(jnp.exp(-squares / 2) @ weights))

    return jax.grad(energy), (of(count, width), of(others, width), of(others)), ()


# ---------------------------------------------------------------- microbatches of numbers


def physics(is_changed: bool, points: int = 16384, width: int = 128) -> Compiled:
    """A net that solves a differential equation. Each point has a coordinate and a time, which are no features."""

    def net(params: Any, x: Any, t: Any) -> Any:
        h = jnp.stack([x, t])
        for weights in params[:-1]:
            h = jnp.tanh(h @ weights)
        return (h @ params[-1])[0]

    def loss(params: Any, x: Any, t: Any) -> Any:
        def residual(x: Any, t: Any) -> Any:
            u, u_x = jax.value_and_grad(net, 1)(params, x, t)
            u_xx = jax.grad(jax.grad(net, 1), 1)(params, x, t)
            return jax.grad(net, 2)(params, x, t) + u * u_x - 0.01 * u_xx

        return jnp.mean(jax.vmap(residual)(x, t) ** 2)

    def step(params: Any, x: Any, t: Any) -> Any:
        gradients = _gradients(loss, params, x, t, is_in_parts=is_changed)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    params = [of(2, width), *[of(width, width)] * 3, of(width, 1)]
    return step, (params, of(points), of(points)), (0,)


def residual_points(is_changed: bool, points: int = 50000, borders: int = 10000, width: int = 256) -> Compiled:
    """A net that solves a differential equation, by points inside and values at the border. A GPU computes some
    products of both at once, and others in parts, with a padding.
    """

    def net(params: Any, x: Any) -> Any:
        for weights in params[:-1]:
            x = jnp.tanh(x @ weights)
        return (x @ params[-1])[0]

    def loss(params: Any, inside: Any, border: Any, values: Any) -> Any:
        def residual(x: Any) -> Any:
            second = jax.hessian(net, 1)(params, x)
            return jax.grad(net, 1)(params, x)[2] - 0.01 * (second[0, 0] + second[1, 1])

        errors = jax.vmap(net, (None, 0))(params, border) - values
        return jnp.mean(jax.vmap(residual)(inside) ** 2) + jnp.mean(errors**2)

    def step(params: Any, *batch: Any) -> Any:
        gradients = _gradients(loss, params, *batch, is_in_parts=is_changed)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    params = [of(3, width), *[of(width, width)] * 3, of(width, 1)]
    return step, (params, of(points, 3), of(borders, 3), of(borders)), (0,)


def skips(is_changed: bool, batch: int = 32, side: int = 32, width: int = 128) -> Compiled:
    """A small U-Net with skips, whose features are normalized in groups. A TPU concatenates by padding."""

    def convolved(weights: Any, x: Any) -> Any:
        return lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normed(x: Any) -> Any:
        groups = x.reshape(*x.shape[:3], 8, -1)
        groups -= groups.mean((1, 2, 4), keepdims=True)
        return (groups * lax.rsqrt((groups**2).mean((1, 2, 4), keepdims=True) + 1e-5)).reshape(x.shape)

    def loss(params: Any, images: Any, wanted: Any) -> Any:
        outer = jax.nn.silu(normed(convolved(params["first"], images)))
        inner = jax.nn.silu(normed(convolved(params["down"], outer[:, ::2, ::2])))
        back = jnp.repeat(jnp.repeat(inner, 2, 1), 2, 2)
        joined = jax.nn.silu(convolved(params["up"], normed(jnp.concatenate([outer, back], -1))))
        return jnp.mean((convolved(params["last"], joined) - wanted) ** 2)

    def step(params: Any, *batch: Any) -> Any:
        gradients = _gradients(loss, params, *batch, is_in_parts=is_changed)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    widths = {"first": (3, width), "down": (width, width), "up": (2 * width, width), "last": (width, 3)}
    params = {name: of(3, 3, *pair) for name, pair in widths.items()}
    return step, (params, *[of(batch, side, side, 3)] * 2), (0,)


def mixed_up(is_changed: bool, batch: int = 8192, width: int = 512, classes: int = 100) -> Compiled:
    """Mixup: each example is mixed with another one, by a permutation, before a net gets it."""

    def loss(params: Any, x: Any, labels: Any, others: Any, share: Any) -> Any:
        for weights in params["layers"]:
            x += jax.nn.gelu(x @ weights[0]) @ weights[1]
        chances = jax.nn.log_softmax(x @ params["out"])
        one, other = (jnp.take_along_axis(chances, each[:, None], 1)[:, 0] for each in (labels, others))
        return -jnp.mean(share * one + (1 - share) * other)

    def step(params: Any, x: Any, labels: Any, share: Any, key: Any) -> Any:
        order = jax.random.permutation(key, batch)
        mixed = share[:, None] * x + (1 - share[:, None]) * x[order]
        gradients = _gradients(loss, params, mixed, labels, labels[order], share, is_in_parts=is_changed)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    params = {"layers": [(of(width, 4 * width), of(4 * width, width))] * 3, "out": of(width, classes)}
    key = jax.eval_shape(lambda: jax.random.key(0))
    return step, (params, of(batch, width), of(batch, dtype=jnp.int32), of(batch), key), (0,)


def one_hot_labels(
    is_changed: bool, batch: int = 64, length: int = 64, width: int = 256, words: int = 10000
) -> Compiled:
    """A recurrent language model whose loss multiplies one-hot labels with the logarithms of chances."""

    def chances(params: Any, h: Any, wanted: Any) -> Any:
        return -jnp.sum(jax.nn.one_hot(wanted, words) * jax.nn.log_softmax(h @ params["out"]), -1)

    def loss(params: Any, tokens: Any) -> Any:
        x = params["words"][tokens[:, :-1]].swapaxes(0, 1)
        zeros = jnp.zeros((batch, width))
        h = lax.scan(lambda h, x: (jnp.tanh(x + h @ params["again"]),) * 2, zeros, x)[1].swapaxes(0, 1)
        if not is_changed:
            return jnp.mean(chances(params, h, tokens[:, 1:]))
        rows = jax.tree.map(lambda array: array.reshape(8, -1, *array.shape[1:]), (h, tokens[:, 1:]))
        return jnp.mean(lax.map(jax.checkpoint(lambda part: chances(params, *part)), rows))

    def step(params: Any, tokens: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, jax.grad(loss)(params, tokens))

    params = {"words": of(words, width), "again": of(width, width), "out": of(width, words)}
    return step, (params, of(batch, length + 1, dtype=jnp.int32)), (0,)


def cached(_: bool, layers: int = 8, batch: int = 16, length: int = 1024, width: int = 512) -> Compiled:
    """A trap: a loop decodes tokens with caches whose second dimension is that of the sequences."""

    def layer(x: Any, weights_and_caches: Any) -> Any:
        weights, keys, values, place = weights_and_caches
        keys = lax.dynamic_update_slice_in_dim(keys, (x @ weights[0])[:, None], place, 1)
        values = lax.dynamic_update_slice_in_dim(values, (x @ weights[1])[:, None], place, 1)
        scores = jax.nn.softmax(jnp.einsum("bd,btd->bt", x @ weights[2], keys))
        return x + jnp.einsum("bt,btd->bd", scores, values), (keys, values)

    def decode(params: Any, keys: Any, values: Any, words: Any) -> Any:
        def one_more(place: Any, state: Any) -> Any:
            words, keys, values = state
            places = jnp.full(layers, place)
            x, (keys, values) = lax.scan(layer, params["words"][words], (params["layers"], keys, values, places))
            return jnp.argmax(x @ params["words"].T, -1).astype(jnp.int32), keys, values

        return lax.fori_loop(0, length, one_more, (words, keys, values))[0]

    caches = of(layers, batch, length, width)
    params = {"words": of(8000, width), "layers": of(layers, 3, width, width)}
    return decode, (params, caches, caches, of(batch, dtype=jnp.int32)), ()


def adapters(is_changed: bool, layers: int = 8, length: int = 512, width: int = 512, rank: int = 16) -> Compiled:
    """Adapters of frozen layers, of which there are as many as examples in the batch."""

    def layer(x: Any, weights: Any) -> Any:
        frozen, own = weights
        h = jax.nn.gelu(x @ frozen["up"] + x @ own["left"] @ own["right"])
        return x + h @ frozen["down"], None

    def loss(own: Any, frozen: Any, words: Any, wanted: Any) -> Any:
        x = lax.scan(layer, frozen["words"][words], (frozen["layers"], own))[0]
        chances = jax.nn.log_softmax(x @ frozen["words"].T)
        return -jnp.mean(jnp.take_along_axis(chances, wanted[..., None], -1))

    def step(own: Any, frozen: Any, words: Any, wanted: Any) -> Any:
        gradients = _gradients(
            lambda own, *batch: loss(own, frozen, *batch), own, words, wanted, is_in_parts=is_changed
        )
        return jax.tree.map(lambda p, g: p - 1e-3 * g, own, gradients)

    stacked = {"up": of(layers, width, 4 * width), "down": of(layers, 4 * width, width)}
    own = {"left": of(layers, width, rank), "right": of(layers, rank, 4 * width)}
    words = of(layers, length, dtype=jnp.int32)
    return step, (own, {"words": of(8000, width), "layers": stacked}, words, words), (0,)


def baseline(is_changed: bool, batch: int = 16384, width: int = 512) -> Compiled:
    """A policy gradient with the mean return of the batch as its baseline: each microbatch has another one."""

    def loss(params: Any, seen: Any, actions: Any, returns: Any) -> Any:
        chances = jax.nn.log_softmax(jnp.tanh(seen @ params["in"]) @ params["out"])
        chosen = jnp.take_along_axis(chances, actions[:, None], 1)[:, 0]
        return -jnp.mean(chosen * (returns - jnp.mean(returns)))

    def step(params: Any, *batch: Any) -> Any:
        gradients = _gradients(loss, params, *batch, is_in_parts=is_changed)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    params = {"in": of(64, width), "out": of(width, 16)}
    return step, (params, of(batch, 64), of(batch, dtype=jnp.int32), of(batch)), (0,)


# ---------------------------------------------------------------- donated averages, histories and banks


def twins(is_changed: bool, batch: int = 256, width: int = 1024) -> Compiled:
    """Two critics with an average of each. No average may begin as its critic if both are donated."""

    def values(weights: Any, x: Any) -> Any:
        return jnp.tanh(x @ weights["in"]) @ weights["out"]

    def step(critic: Any, twin: Any, average: Any, twin_average: Any, x: Any, rewards: Any) -> Any:
        target = rewards + 0.99 * jnp.minimum(values(average, x), values(twin_average, x))

        def loss(critics: Any) -> Any:
            return sum(jnp.mean((values(each, x) - target) ** 2) for each in critics)

        gradients = jax.grad(loss)((critic, twin))
        critic, twin = jax.tree.map(lambda p, g: p - 1e-3 * g, (critic, twin), gradients)
        averages = jax.tree.map(lambda a, p: 0.99 * a + 0.01 * p, (average, twin_average), (critic, twin))
        return critic, twin, *averages

    weights = {"in": of(width, width), "out": of(width, 1)}
    arguments = *[weights] * 4, of(batch, width), of(batch, 1)
    return step, arguments, (0, 1, 2, 3) if is_changed else ()


def history(is_changed: bool, steps: int = 256, batch: int = 256, width: int = 256) -> Compiled:
    """A trap on a CPU: XLA copies the history before it writes the shifted one over it."""

    def step(history: Any, x: Any) -> Any:
        history = jnp.concatenate([history[1:], x[None]])
        return history, history.mean(0)

    return step, (of(steps, batch, width), of(batch, width)), (0,) if is_changed else ()


def memory_bank(is_changed: bool, entries: int = 16384, width: int = 128, batch: int = 256) -> Compiled:
    """A trap on a CPU: the bank is read after a part of it is written, so that XLA copies it."""

    def step(params: Any, bank: Any, place: Any, x: Any, keys: Any) -> Any:
        def loss(params: Any) -> Any:
            z = x @ params
            logits = jnp.concatenate([jnp.sum(z * keys, -1, keepdims=True), z @ bank.T], 1)
            return -jnp.mean(jax.nn.log_softmax(logits)[:, 0])

        params = params - 1e-3 * jax.grad(loss)(params)
        return params, lax.dynamic_update_slice_in_dim(bank, keys, place, 0), (place + batch) % entries

    rows = of(batch, width)
    arguments = of(width, width), of(entries, width), of(dtype=jnp.int32), rows, rows
    return step, arguments, (0, 1) if is_changed else (0,)


ALL = ("cpu", "tpu", "gpu")

CASES: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "clustered": ("mapped-batch", clustered, ALL),
    "clustered_by_products": ("mapped-batch", clustered_by_products, ALL),
    "values_first": ("mapped-batch", values_first, ALL),
    "queued": ("donate", queued, ALL),
    "waved": ("donate", waved, ALL),
    "remembered": ("donate", remembered, ALL),
    "reverted": ("donate", reverted, ALL),
    "compared": ("donate", compared, ALL),
    "baseline": ("microbatches", baseline, ("cpu",)),
    "physics": ("microbatches", physics, ALL),
    "residual_points": ("microbatches", residual_points, ALL),
    "adapters": ("microbatches", adapters, ALL),
    "skips": ("microbatches", skips, ALL),
    "one_hot_labels": ("logits", one_hot_labels, ALL),
    "mixed_up": ("microbatches", mixed_up, ALL),
    "twins": ("donate", twins, ALL),
    "convolved": ("rematerialize", convolved, ("tpu",)),
    "convolved_normed": ("rematerialize", partial(convolved, is_normed=True), ("tpu",)),
    "masked_layers": ("microbatches", masked_layers, ALL),
}
"""What advises a change, the program, and where it is compiled."""

TRAPS: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "pulled": ("microbatches", pulled, ALL),
    "cached": ("mapped-batch", cached, ALL),
    "history": ("donate", history, ("cpu",)),
    "memory_bank": ("donate", memory_bank, ("cpu",)),
}
"""What must not be advised, the program, and where it is compiled."""
