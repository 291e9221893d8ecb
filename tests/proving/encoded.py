"""Training steps that encode each example alone and then compute something from all of them, each as it is and with the
examples encoded in parts. The traps look like them: something depends on all examples before it is encoded.

Each function returns what to compile, its arguments, and the numbers of those that are donated. Imported by
`programs.py`, which sets the environment of jax first.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from proving.compared import ALL, INT, Compiled, of, trained

PARTS = 8


def encoded(is_changed: bool, encode: Callable[..., Any], *examples: Any) -> Any:
    """What an encoder computes of examples, all at once or some at a time."""
    if not is_changed:
        return encode(*examples)
    parts = jax.tree.map(lambda array: array.reshape(PARTS, -1, *array.shape[1:]), examples)
    z = lax.map(jax.checkpoint(lambda part: encode(*part)), parts)
    return z.reshape(-1, *z.shape[2:])


def unit(z: Any) -> Any:
    return z * lax.rsqrt(jnp.sum(z * z, -1, keepdims=True) + 1e-6)


def dense(layers: Any, x: Any) -> Any:
    for weights in layers:
        x = jax.nn.gelu(x @ weights)
    return x


def of_layers(*widths: int) -> list[Any]:
    return [of(*shape) for shape in pairwise(widths)]


def entropy(similarity: Any) -> Any:
    """The mean cross-entropy of rows, of which each has its own column."""
    return -jnp.mean(jnp.diag(jax.nn.log_softmax(similarity)))


# ---------------------------------------------------------------- encoders


def domains(is_changed: bool, batch: int = 16384) -> Compiled:
    """A classifier whose features are to have the same covariance in two domains."""

    def covariance(z: Any) -> Any:
        centred = z - jnp.mean(z, 0)
        return centred.T @ centred / batch

    def loss(params: Any, x: Any, labels: Any, others: Any) -> Any:
        z, of_others = (encoded(is_changed, lambda part: dense(params["layers"], part), each) for each in (x, others))
        losses = jnp.take_along_axis(jax.nn.log_softmax(z @ params["out"]), labels[:, None], 1)
        return jnp.sum((covariance(z) - covariance(of_others)) ** 2) - jnp.mean(losses)

    params = {"layers": of_layers(256, 1024, 1024, 1024, 128), "out": of(128, 10)}
    return trained(loss, params, of(batch, 256), of(batch, dtype=INT), of(batch, 256))


def overlap(is_changed: bool, batch: int = 64, size: int = 96, width: int = 32) -> Compiled:
    """A segmentation of images by the overlap of all of them: a quotient of sums."""

    def convolve(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def segment(params: Any, x: Any) -> Any:
        for kernel in params["layers"]:
            groups = convolve(x, kernel).reshape(-1, size, size, 8, width // 8)
            mean, variance = (function(groups, (1, 2, 4), keepdims=True) for function in (jnp.mean, jnp.var))
            x = jax.nn.relu(((groups - mean) * lax.rsqrt(variance + 1e-5)).reshape(-1, size, size, width))
        return jax.nn.sigmoid(x @ params["out"])[..., 0]

    def loss(params: Any, images: Any, masks: Any) -> Any:
        found = encoded(is_changed, lambda part: segment(params, part), images)
        return 1 - 2 * jnp.sum(found * masks) / (jnp.sum(found) + jnp.sum(masks) + 1)

    params = {"layers": [of(3, 3, 3, width), *[of(3, 3, width, width)] * 3], "out": of(width, 1)}
    return trained(loss, params, of(batch, size, size, 3), of(batch, size, size))


def sentences(is_changed: bool, batch: int = 256, length: int = 64, width: int = 256, layers: int = 4) -> Compiled:
    """Sentences and their translations, which a transformer in a scan encodes, before the right one is found."""

    def layer(x: Any, weights: Any) -> tuple[Any, None]:
        heads = (*x.shape[:2], 8, width // 8)
        query, key, value = ((unit(x) @ weights[name]).reshape(heads) for name in ("query", "key", "value"))
        scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", query, key))
        x = x + jnp.einsum("bhqk,bkhd->bqhd", scores, value).reshape(x.shape) @ weights["out"]
        return x + jax.nn.gelu(unit(x) @ weights["up"]) @ weights["down"], None

    def encode(params: Any, tokens: Any) -> Any:
        return unit(jnp.mean(lax.scan(layer, params["words"][tokens], params["layers"])[0], 1))

    def loss(params: Any, one: Any, other: Any) -> Any:
        a, b = (encoded(is_changed, lambda part: encode(params, part), tokens) for tokens in (one, other))
        return entropy(a @ b.T * 20) + entropy(b @ a.T * 20)

    weights = {name: of(layers, width, width) for name in ("query", "key", "value", "out")}
    weights |= {"up": of(layers, width, 4 * width), "down": of(layers, 4 * width, width)}
    tokens = of(batch, length, dtype=INT)
    return trained(loss, {"words": of(8192, width), "layers": weights}, tokens, tokens)


def recordings(is_changed: bool, batch: int = 512, length: int = 128, width: int = 256) -> Compiled:
    """Recordings that a recurrent net encodes, each of which is to be nearer to the farthest of its speaker than to the
    nearest of another one.
    """

    def encode(params: Any, x: Any) -> Any:
        def step(state: Any, now: Any) -> tuple[Any, None]:
            h, c = state
            gates = jnp.split(now @ params["in"] + h @ params["own"], 4, -1)
            entry, keep, out = map(jax.nn.sigmoid, gates[:3])
            c = keep * c + entry * jnp.tanh(gates[3])
            return (out * jnp.tanh(c), c), None

        zeros = jnp.zeros((len(x), width))
        return unit(lax.scan(step, (zeros, zeros), x.swapaxes(0, 1))[0][0] @ params["out"])

    def loss(params: Any, x: Any, speakers: Any) -> Any:
        z = encoded(is_changed, lambda part: encode(params, part), x)
        distances, is_same = 2 - 2 * z @ z.T, speakers[:, None] == speakers[None]
        farthest = jnp.max(jnp.where(is_same, distances, -9), 1)
        return jnp.mean(jax.nn.relu(farthest - jnp.min(jnp.where(is_same, 9, distances), 1) + 0.2))

    params = {"in": of(64, 4 * width), "own": of(width, 4 * width), "out": of(width, 128)}
    return trained(loss, params, of(batch, length, 64), of(batch, dtype=INT))


def correlated(is_changed: bool, batch: int = 32768) -> Compiled:
    """Predictions whose correlation with what was measured is to be high."""

    def loss(params: Any, x: Any, measured: Any) -> Any:
        predicted = encoded(is_changed, lambda part: dense(params["layers"], part) @ params["out"], x)[:, 0]
        a, b = predicted - jnp.mean(predicted), measured - jnp.mean(measured)
        return -jnp.sum(a * b) / jnp.sqrt(jnp.sum(a * a) * jnp.sum(b * b) + 1e-6)

    params = {"layers": of_layers(128, 1024, 1024, 1024), "out": of(1024, 1)}
    return trained(loss, params, of(batch, 128), of(batch))


def messages(is_changed: bool, nodes: int = 4096, edges: int = 131072, width: int = 256) -> Compiled:
    """A graph of which each edge computes a message, before the messages are added up for each node."""

    def loss(params: Any, h: Any, features: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        def encode(features: Any, senders: Any, receivers: Any) -> Any:
            return dense(params["edges"], jnp.concatenate([features, h[senders], h[receivers]], -1))

        sent = encoded(is_changed, encode, features, senders, receivers)
        received = jax.ops.segment_sum(sent, receivers, nodes)
        return jnp.mean((dense(params["nodes"], received) - targets) ** 2)

    params = {"edges": of_layers(16 + 2 * 64, width, width, 64), "nodes": of_layers(64, 128, 1)}
    indices = of(edges, dtype=INT)
    return trained(loss, params, of(nodes, 64), of(edges, 16), indices, indices, of(nodes, 1))


def dropped(is_changed: bool, batch: int = 8192) -> Compiled:
    """Features with dropout, of which those with one label are to be alike, and all are to be uncorrelated."""

    def encode(params: Any, x: Any, key: Any) -> Any:
        for number, weights in enumerate(params):
            x = jax.nn.relu(x @ weights)
            x = x * jax.random.bernoulli(jax.random.fold_in(key, number), 0.9, x.shape)
        return unit(x)

    def loss(params: Any, x: Any, labels: Any, key: Any) -> Any:
        if is_changed:
            parts = x.reshape(PARTS, -1, *x.shape[1:]), jax.random.split(key, PARTS)
            z = lax.map(jax.checkpoint(lambda part: encode(params, *part)), parts).reshape(batch, -1)
        else:
            z = encode(params, x, key)
        centred = z - jnp.mean(z, 0)
        is_same = labels[:, None] == labels[None]
        return jnp.mean((z @ z.T - is_same) ** 2) + jnp.sum((centred.T @ centred / batch) ** 2)

    layers = of_layers(512, 1024, 1024, 1024, 64)
    return trained(loss, layers, of(batch, 512), of(batch, dtype=INT), of(2, dtype=jnp.uint32))


# ---------------------------------------------------------------- lookalikes


def graph_layers(_: bool, nodes: int = 32768, edges: int = 131072, width: int = 256) -> Compiled:
    """Layers of a net of graphs, each of which looks at neighbors."""

    def loss(params: Any, h: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        for weights in params:
            sent = jax.nn.relu(h @ weights["to"])[senders]
            h = jax.nn.relu(jax.ops.segment_sum(sent, receivers, nodes) + h @ weights["own"])
        return jnp.mean((h - targets) ** 2)

    params, indices = [{"to": of(width, width), "own": of(width, width)}] * 4, of(edges, dtype=INT)
    return trained(loss, params, of(nodes, width), indices, indices, of(nodes, width))


def normalized(_: bool, batch: int = 8192, width: int = 512) -> Compiled:
    """Layers that normalize over all examples, which are compared afterwards."""

    def loss(params: Any, x: Any, labels: Any) -> Any:
        for weights in params:
            x = x @ weights
            x = jax.nn.relu((x - jnp.mean(x, 0)) * lax.rsqrt(jnp.var(x, 0) + 1e-5))
        z = unit(x)
        return jnp.mean((z @ z.T - (labels[:, None] == labels[None])) ** 2)

    return trained(loss, of_layers(*[width] * 7), of(batch, width), of(batch, dtype=INT))


def wide_features(_: bool, batch: int = 1024, width: int = 8192) -> Compiled:
    """Features for a Gaussian process, from layers that are much larger than what they compute: sums of the gradients
    of parts would take more than that.
    """

    def loss(params: Any, x: Any, measured: Any) -> Any:
        z = dense(params, x)
        squares = jnp.sum(z * z, -1)
        kernel = jnp.exp(z @ z.T - (squares[:, None] + squares) / 2) + 1e-2 * jnp.eye(batch)
        factor = jnp.linalg.cholesky(kernel)
        solved = jax.scipy.linalg.cho_solve((factor, True), measured)
        return measured @ solved / 2 + jnp.sum(jnp.log(jnp.diag(factor)))

    return trained(loss, of_layers(1024, width, width, 16), of(batch, 1024), of(batch))


CASES: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "domains": ("encoded-batch", domains, ALL),
    "overlap": ("encoded-batch", overlap, ALL),
    "sentences": ("encoded-batch", sentences, ALL),
    "recordings": ("encoded-batch", recordings, ALL),
    "correlated": ("encoded-batch", correlated, ALL),
    "messages": ("encoded-batch", messages, ALL),
    "dropped_views": ("encoded-batch", dropped, ("cpu",)),
}
"""What advises a change, the program, and where it is compiled."""

TRAPS: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "graph_layers": ("encoded-batch", graph_layers, ALL),
    "normalized": ("encoded-batch", normalized, ALL),
    "wide_features": ("encoded-batch", wide_features, ALL),
}
"""What must not be advised, the program, and where it is compiled."""
