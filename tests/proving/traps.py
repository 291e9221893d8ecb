"""Programs that look like what a rule is about and are not: to follow its advice would break them, change what they
learn, or save nothing. Each is also right for some other advice.

`programs.py` compiles them with the others. Needs jax, but not XLA Lens.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

FULL, HALF, INT = jnp.float32, jnp.bfloat16, jnp.int32


def of(*shape: int, dtype: Any = FULL) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


Made = tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]
"""A function, its arguments, and the numbers of those that it donates."""


def trained(loss: Callable[..., Any], params: Any, *batch: Any) -> Made:
    """A step of gradient descent: `step(params, *batch)`."""

    def step(params: Any, *batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), value

    return step, (params, *batch), (0,)


def named(step: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A function with named arguments, as the code that people paste has them."""
    text = ", ".join(names)
    scope: dict[str, Any] = {"step": step}
    exec(f"def named_step({text}):\n    return step({text})", scope)
    function: Callable[..., Any] = scope["named_step"]
    return function


def normed(x: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def mlp_layers(layers: int, width: int, wide: int = 4) -> list[dict[str, Any]]:
    return [{"up": of(width, wide * width), "down": of(wide * width, width)} for _ in range(layers)]


def residual(weights: Any, x: Any) -> Any:
    return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]


# ---------------------------------------------------------------- microbatches


def graph() -> Made:
    """A graph network: one graph, whose list of edges is no batch."""
    nodes, edges, width, layers = 4096, 65536, 64, 3

    def loss(params: Any, features: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        x = features
        for weights in params:
            messages = jax.nn.relu(jnp.concatenate([x[senders], x[receivers]], -1) @ weights["message"])
            x = x + jax.ops.segment_sum(messages, receivers, nodes) @ weights["update"]
        return jnp.mean((x - targets) ** 2)

    params = [{"message": of(2 * width, width), "update": of(width, width)} for _ in range(layers)]
    indices = of(edges, dtype=INT)
    return trained(loss, params, of(nodes, width), indices, indices, of(nodes, width))


def stacked_graph() -> Made:
    """A graph network whose edges are in one array, with features of each edge."""
    nodes, edges, width = 4096, 65536, 64

    def loss(params: Any, features: Any, edge_index: Any, edge_features: Any, labels: Any) -> Any:
        x, e = features, edge_features
        for weights in params:
            e = jax.nn.relu(jnp.concatenate([e, x[edge_index[:, 0]], x[edge_index[:, 1]]], -1) @ weights["edge"])
            x = jax.nn.relu((x + jnp.zeros_like(x).at[edge_index[:, 1]].add(e)) @ weights["node"])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1))

    params = [{"edge": of(3 * width, width), "node": of(width, width)} for _ in range(2)]
    batch = of(nodes, width), of(edges, 2, dtype=INT), of(edges, width), of(nodes, dtype=INT)
    return trained(loss, params, *batch)


def encoder(params: Any, x: Any) -> Any:
    for weights in params["layers"]:
        x = residual(weights, x)
    return normed(x @ params["out"])


def contrastive(batch: int = 512) -> Made:
    """Two encoders whose examples are compared with all others of the batch."""
    width = 256

    def loss(params: Any, images: Any, texts: Any) -> Any:
        similarity = encoder(params["image"], images) @ encoder(params["text"], texts).T * 10
        own = jnp.arange(batch)
        rows, columns = jax.nn.log_softmax(similarity, 1), jax.nn.log_softmax(similarity, 0)
        return -jnp.mean(rows[own, own] + columns[own, own])

    tower = {"layers": mlp_layers(2, width), "out": of(width, 128)}
    return trained(loss, {"image": tower, "text": tower}, of(batch, width), of(batch, width))


def two_views() -> Made:
    """SimCLR: both views of all examples are compared with each other, in one array of twice the batch."""
    batch, width = 1024, 128

    def loss(params: Any, views: Any, others: Any) -> Any:
        x = encoder(params, jnp.concatenate([views, others]))
        similarity = x @ x.T * 10 - 1e9 * jnp.eye(2 * batch)
        partner = jnp.roll(jnp.arange(2 * batch), batch)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(similarity), partner[:, None], 1))

    params = {"layers": mlp_layers(2, width), "out": of(width, 64)}
    return trained(loss, params, of(batch, width), of(batch, width))


def distances() -> Made:
    """A loss of the distances of all pairs of examples: their sums exist only within fusions."""
    batch, width = 1024, 64

    def loss(params: Any, x: Any, y: Any) -> Any:
        z = encoder(params, x)
        apart = jnp.sum((z[:, None] - z[None]) ** 2, -1)
        return jnp.mean(jnp.exp(-apart)) + jnp.mean((z - y) ** 2)

    return trained(loss, {"layers": mlp_layers(2, width, 16), "out": of(width, 8)}, of(batch, width), of(batch, 8))


def decorrelated() -> Made:
    """VICReg: the loss has the covariance of features over the batch."""
    batch, width = 2048, 128

    def loss(params: Any, x: Any, y: Any) -> Any:
        z, w = encoder(params, x), encoder(params, y)
        z = z - jnp.mean(z, 0)
        covariance = z.T @ z / batch
        return jnp.mean((z - w) ** 2) + jnp.sum(covariance**2) - jnp.sum(jnp.diag(covariance) ** 2)

    params = {"layers": mlp_layers(2, width), "out": of(width, width)}
    return trained(loss, params, of(batch, width), of(batch, width))


def gradient_of_batch() -> Made:
    """The gradient of a sum over pairs with respect to the batch."""

    def loss(x: Any, y: Any, w: Any) -> Any:
        d = x[:, None] - y[None]
        return jnp.sum(jnp.sum(w * jnp.exp(-jnp.sum(d * d, -1) / 2), 1) ** 2)

    return jax.grad(loss), (of(4096, 3), of(2048, 3), of(2048)), ()


def saliency() -> Made:
    """The gradient of a network with respect to its inputs: for each example its own."""
    batch, width = 1024, 512

    def score(x: Any, params: Any) -> Any:
        return jnp.sum(encoder(params, x)[:, 0])

    return jax.grad(score), (of(batch, width), {"layers": mlp_layers(3, width), "out": of(width, 16)}), ()


def accumulating() -> Made:
    """A step that accumulates gradients already: it gets the batch in parts."""
    parts, batch, width = 8, 512, 256

    def step(params: Any, x: Any, y: Any) -> Any:
        def one_more(total: Any, part: Any) -> Any:
            gradients = jax.grad(lambda params: jnp.mean((encoder(params, part[0]) - part[1]) ** 2))(params)
            return jax.tree.map(jnp.add, total, gradients), None

        total = lax.scan(one_more, jax.tree.map(jnp.zeros_like, params), (x, y))[0]
        return jax.tree.map(lambda p, g: p - 1e-3 * g / parts, params, total)

    params = {"layers": mlp_layers(3, width), "out": of(width, width)}
    return named(step, "params", "x", "y"), (params, of(parts, batch, width), of(parts, batch, width)), (0,)


def batch_normalized() -> Made:
    """A convolutional net with batch normalization: microbatches are right, but change the numbers."""
    batch, size, width = 256, 32, 64

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = images
        for kernel in params["kernels"]:
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu((x - jnp.mean(x, (0, 1, 2))) * lax.rsqrt(jnp.var(x, (0, 1, 2)) + 1e-5))
        logits = jnp.mean(x, (1, 2)) @ params["head"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))

    params = {"kernels": [of(3, 3, width, width)] * 4, "head": of(width, 10)}
    return trained(loss, params, of(batch, size, size, width), of(batch, dtype=INT))


def overlapping(batch: int = 64, size: int = 64, width: int = 32, *, is_entropy: bool = False) -> Made:
    """A convolutional net with batch normalization whose loss is a quotient of sums over the batch, or the entropy of
    a mean over it: the gradient of each example depends on all of them, by what no layer normalizes.
    """

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = images
        for kernel in params["kernels"]:
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu((x - jnp.mean(x, (0, 1, 2))) * lax.rsqrt(jnp.var(x, (0, 1, 2)) + 1e-5))
        found = jax.nn.softmax(x @ params["head"])
        if is_entropy:
            mean = jnp.mean(found, (0, 1, 2))
            return jnp.sum(mean * jnp.log(mean)) - jnp.mean(jnp.sum(found * jnp.log(found), -1))
        wanted = jax.nn.one_hot(labels, 8)
        both = jnp.sum(found * wanted, (0, 1, 2))
        return jnp.mean(1 - 2 * both / jnp.sum(found + wanted, (0, 1, 2)))

    params = {"kernels": [of(3, 3, width, width)] * 3, "head": of(width, 8)}
    return trained(loss, params, of(batch, size, size, width), of(batch, size, size, dtype=INT))


def hours(batch: int = 16384, width: int = 512) -> Made:
    """Rows that are hours, one after another: the net gets the time of each from its number."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        time = jnp.arange(batch)[:, None] / 24 * jnp.arange(1, 17)
        x = jnp.concatenate([x, jnp.sin(time), jnp.cos(time)], -1) @ params["in"]
        for weights in params["layers"]:
            x = residual(weights, x)
        return jnp.mean((x @ params["out"] - y) ** 2)

    params = {"in": of(96, width), "layers": mlp_layers(3, width), "out": of(width, 8)}
    return trained(loss, params, of(batch, 64), of(batch, 8))


def returns(batch: int = 16384, width: int = 512) -> Made:
    """The values of states of one trajectory, fitted to what a loop makes of the rewards that come later."""

    def loss(params: Any, x: Any, rewards: Any) -> Any:
        for weights in params["layers"]:
            x = residual(weights, x)

        def earlier(total: Any, reward: Any) -> Any:
            total = reward + 0.99 * total
            return total, total

        _, wanted = lax.scan(earlier, 0.0, rewards, reverse=True)
        return jnp.mean(((x @ params["out"])[:, 0] - wanted) ** 2)

    params = {"layers": mlp_layers(3, width), "out": of(width, 1)}
    return trained(loss, params, of(batch, width), of(batch))


def consistent(batch: int = 4096, width: int = 512) -> Made:
    """A model that learns from its own average, and from a frozen model. Both may begin as the model itself."""

    def through(layers: Any, x: Any) -> Any:
        for weights in layers:
            x = residual(weights, x)
        return x

    def step(params: Any, mean: Any, teacher: Any, x: Any) -> Any:
        def loss(params: Any) -> Any:
            near = lax.stop_gradient(through(mean, x - 0.1 * through(teacher, x)))
            return jnp.mean((through(params, x) - near) ** 2)

        params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, jax.grad(loss)(params))
        return params, jax.tree.map(lambda m, p: 0.99 * m + 0.01 * p, mean, params)

    layers = mlp_layers(4, width)
    return named(step, "params", "mean", "teacher", "x"), (layers, layers, layers, of(batch, width)), ()


def dropped() -> Made:
    """Dropout: microbatches are right, but draw other numbers."""
    batch, width = 4096, 256

    def loss(params: Any, x: Any, y: Any, key: Any) -> Any:
        for number, weights in enumerate(params):
            x = residual(weights, x)
            x = jnp.where(jax.random.bernoulli(jax.random.fold_in(key, number), 0.9, x.shape), x / 0.9, 0)
        return jnp.mean((x - y) ** 2)

    return trained(loss, mlp_layers(4, width), of(batch, width), of(batch, width), of(2, dtype=jnp.uint32))


# ---------------------------------------------------------------- attention


def square_mlp() -> Made:
    """A perceptron whose sequences are as long as it is wide."""
    batch, width = 16, 256

    def loss(params: Any, x: Any) -> Any:
        for weights in params:
            x = x + jnp.sin(jax.nn.gelu(x @ weights["up"]) @ weights["down"])
        return -jnp.mean(jax.nn.log_softmax(x)[..., 0])

    return trained(loss, mlp_layers(4, width), of(batch, width, width))


def attention_block(params: Any, x: Any) -> Any:
    """Nothing but a perceptron, whatever its name is."""
    return jax.nn.softmax(x @ params["up"]) @ params["down"]


def gated_mlp() -> Made:
    """Functions named after attention, a softmax over a hidden layer, and squares."""
    batch, width = 16, 256

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            x = x + attention_block(weights, x)
        return jnp.mean((x - y) ** 2)

    return trained(loss, mlp_layers(4, width, 1), of(batch, width, width), of(batch, width, width))


def pixels() -> Made:
    """Keypoints: a softmax over the pixels of each channel of square images."""
    batch, size, width = 8, 128, 16

    def loss(params: Any, images: Any, points: Any) -> Any:
        x = images
        for kernel in params["kernels"]:
            x = jax.nn.relu(
                lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            )
        heat = jax.nn.softmax(jnp.transpose(x, (0, 3, 1, 2)), axis=(2, 3))
        grid = jnp.linspace(-1, 1, size)
        found = jnp.stack([jnp.einsum("bchw,h->bc", heat, grid), jnp.einsum("bchw,w->bc", heat, grid)], -1)
        return jnp.mean((found - points) ** 2)

    params = {"kernels": [of(3, 3, width, width)] * 4}
    return trained(loss, params, of(batch, size, size, width), of(batch, width, 2))


def states() -> Made:
    """A state-space model: a scan over time in parallel, whose states have four dimensions, two of them alike."""
    batch, length, width, state = 4, 256, 256, 16

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            step = jax.nn.softplus(x @ weights["step"])
            decay = jnp.exp(-step[..., None] * jnp.exp(weights["decay"]))
            into = step[..., None] * (x @ weights["into"])[:, :, None] * x[..., None]

            def combine(left: Any, right: Any) -> Any:
                return left[0] * right[0], left[1] * right[0] + right[1]

            _, states = lax.associative_scan(combine, (decay, into), axis=1)
            x = x + jnp.einsum("bldn,bln->bld", states, x @ weights["out"])
        return jnp.mean((x - y) ** 2)

    params = [
        {"step": of(width, width), "decay": of(width, state), "into": of(width, state), "out": of(width, state)}
    ] * 2
    return trained(loss, params, of(batch, length, width), of(batch, length, width))


def attend(query: Any, key: Any, value: Any) -> Any:
    """Attention with fewer heads for keys and values than for queries."""
    groups = query.shape[2] // key.shape[2]
    query = query.reshape(*query.shape[:2], key.shape[2], groups, query.shape[-1])
    scores = jnp.einsum("bqhgd,bkhd->bhgqk", query, key) / query.shape[-1] ** 0.5
    mixed = jnp.einsum("bhgqk,bkhd->bqhgd", jax.nn.softmax(scores, -1), value)
    return mixed.reshape(*mixed.shape[:2], -1)


def language_model(heads: int = 8, shared: int = 2, *, is_scanned: bool = True) -> Made:
    """A transformer with grouped queries, by Flax's names of nothing: the program that the rules are about."""
    batch, length, width, words, layers = 8, 256, 256, 8192, 4
    size = width // heads

    def layer(x: Any, weights: Any) -> tuple[Any, None]:
        h = normed(x)
        query, key, value = ((h @ weights[name]).reshape(batch, length, -1, size) for name in ("query", "key", "value"))
        x = x + attend(query, key, value) @ weights["out"]
        return x + jax.nn.gelu(normed(x) @ weights["up"]) @ weights["down"], None

    def loss(params: Any, tokens: Any, targets: Any) -> Any:
        x = params["embed"][tokens]
        if is_scanned:
            x, _ = lax.scan(layer, x, params["layers"])
        else:
            for number in range(layers):
                x, _ = layer(x, jax.tree.map(lambda w, number=number: w[number], params["layers"]))
        logits = normed(x) @ params["embed"].T
        picked = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)

    shapes = {"query": width, "key": shared * size, "value": shared * size, "out": width, "up": 4 * width}
    weights = {name: of(layers, width, wide) for name, wide in shapes.items()} | {"down": of(layers, 4 * width, width)}
    tokens = of(batch, length, dtype=INT)
    return trained(loss, {"embed": of(words, width), "layers": weights}, tokens, tokens)


def vision() -> Made:
    """A vision transformer: its positions are patches of images."""
    batch, size, patch, width, heads, layers = 16, 128, 8, 192, 3, 3

    def block(weights: Any, x: Any) -> Any:
        h = normed(x)
        query, key, value = jnp.split((h @ weights["qkv"]).reshape(batch, -1, 3 * heads, width // heads), 3, 2)
        x = x + attend(query, key, value) @ weights["out"]
        return x + jax.nn.gelu(normed(x) @ weights["up"]) @ weights["down"]

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = lax.conv_general_dilated(
            images, params["patches"], (patch, patch), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = x.reshape(batch, -1, width) + params["positions"]
        for weights in params["layers"]:
            x = block(weights, x)
        logits = jnp.mean(x, 1) @ params["head"]
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 1000), -1))

    layer = {
        "qkv": of(width, 3 * width),
        "out": of(width, width),
        "up": of(width, 4 * width),
        "down": of(4 * width, width),
    }
    params = {
        "patches": of(patch, patch, 3, width),
        "positions": of((size // patch) ** 2, width),
        "layers": [layer] * layers,
        "head": of(width, 1000),
    }
    return trained(loss, params, of(batch, size, size, 3), of(batch, dtype=INT))


# ---------------------------------------------------------------- logits


def wide_mlp() -> Made:
    """A perceptron with a hidden layer as wide as there are tokens, which no token selects elements of."""
    batch, length, width = 8, 256, 256
    hidden = 8192

    def loss(params: Any, x: Any, weights_of_tokens: Any, y: Any) -> Any:
        h = jax.nn.relu(x @ params["up"])
        return jnp.mean((h @ params["down"] - y) ** 2 * (weights_of_tokens[..., None] > 0))

    params = {"up": of(width, hidden), "down": of(hidden, width)}
    x = of(batch, length, width)
    return trained(loss, params, x, of(batch, length, dtype=INT), x)


def embedded_mlp() -> Made:
    """A model of tokens whose hidden layer is longer than its vocabulary; the loss is a regression."""
    batch, length, width, words, hidden = 16, 256, 256, 512, 8192

    def loss(params: Any, tokens: Any, y: Any) -> Any:
        x = params["embed"][tokens]
        return jnp.mean((jax.nn.relu(x @ params["up"]) @ params["down"] - y) ** 2)

    params = {"embed": of(words, width), "up": of(width, hidden), "down": of(hidden, width)}
    return trained(loss, params, of(batch, length, dtype=INT), of(batch, length, width))


# ---------------------------------------------------------------- donation and state


def preference() -> Made:
    """DPO: a frozen reference model has the shape of the one that is trained, and the next step needs it."""
    batch, length, width, words = 4, 32, 512, 4096

    def likelihood(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens]
        for weights in params["layers"]:
            x = residual(weights, normed(x))
        logits = jax.nn.log_softmax(x @ params["embed"].T)
        return jnp.sum(jnp.take_along_axis(logits[:, :-1], tokens[:, 1:, None], -1), (1, 2))

    def step(params: Any, ref_params: Any, opt_state: Any, chosen: Any, rejected: Any) -> Any:
        def loss(params: Any) -> Any:
            margins = [likelihood(params, tokens) - likelihood(ref_params, tokens) for tokens in (chosen, rejected)]
            return -jnp.mean(jax.nn.log_sigmoid(0.1 * (margins[0] - margins[1])))

        gradients = jax.grad(loss)(params)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        opt_state = jax.tree.map(lambda m, g: 0.9 * m + scale * g, opt_state, gradients)
        return jax.tree.map(lambda p, m: p - 1e-4 * m, params, opt_state), opt_state

    params = {"embed": of(words, width), "layers": mlp_layers(2, width)}
    tokens = of(batch, length, dtype=INT)
    function = named(step, "params", "ref_params", "opt_state", "chosen", "rejected")
    return function, (params, params, params, tokens, tokens), ()


def lora() -> Made:
    """Adapters are trained, the weights beside them are frozen."""
    batch, width, rank, layers = 256, 1024, 8, 3

    def step(base: Any, adapters: Any, x: Any, y: Any) -> Any:
        def loss(adapters: Any) -> Any:
            h = x
            for frozen, adapter in zip(base, adapters, strict=True):
                h = h + jnp.tanh(h @ frozen + h @ adapter["a"] @ adapter["b"])
            return jnp.mean((h - y) ** 2)

        return jax.tree.map(lambda p, g: p - 1e-2 * g, adapters, jax.grad(loss)(adapters))

    base = [of(width, width)] * layers
    adapters = [{"a": of(width, rank), "b": of(rank, width)}] * layers
    function = named(step, "base", "adapters", "x", "y")
    return function, (base, adapters, of(batch, width), of(batch, width)), ()


def averaged(optimizer: str) -> Made:
    """A step with an average of the weights, and an optimizer without a first moment."""
    width = 1024

    def step(params: Any, ema: Any, state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for weights in params:
                h = residual(weights, h)
            return jnp.mean((h - y) ** 2)

        gradients = jax.grad(loss)(params)
        keep = 1.0 if optimizer == "adagrad" else 0.99
        state = {"nu": jax.tree.map(lambda v, g: keep * v + g * g, state["nu"], gradients)}
        params = jax.tree.map(lambda p, v, g: p - 1e-3 * g * lax.rsqrt(v + 1e-8), params, state["nu"], gradients)
        return params, jax.tree.map(lambda e, p: 0.999 * e + 0.001 * p, ema, params), state

    params = mlp_layers(2, width)
    function = named(step, "params", "ema", "state", "x", "y")
    return function, (params, params, {"nu": params}, of(64, width), of(64, width)), (0, 1, 2)


# ---------------------------------------------------------------- the function to wrap


def conv(x: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def u_net() -> Made:
    """A U-Net of a helper that computes a convolution alone: to wrap it saves nothing, because its input and its
    output are those of the function that calls it.
    """
    batch, size, width = 16, 64, 32

    def block(x: Any, kernels: Any) -> Any:
        for kernel in kernels:
            x = jax.nn.relu(conv(x, kernel))
        return x

    def loss(params: Any, x: Any, noise: Any) -> Any:
        high = block(x, params["down"])
        low = block(lax.reduce_window(high, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), params["middle"])
        up = jnp.repeat(jnp.repeat(low, 2, 1), 2, 2)
        return jnp.mean((block(jnp.concatenate([high, up], -1), params["up"])[..., :3] - noise) ** 2)

    kernel = of(3, 3, width, width)
    params = {"down": [of(3, 3, 3, width), kernel], "middle": [kernel] * 2, "up": [of(3, 3, 2 * width, width), kernel]}
    return trained(loss, params, of(batch, size, size, 3), of(batch, size, size, 3))


# ---------------------------------------------------------------- others, as they are


def experts() -> Made:
    """A mixture of experts with a dispatch by one-hot numbers."""
    batch, length, width, count, room = 8, 256, 128, 8, 320

    def layer(weights: Any, x: Any) -> Any:
        tokens = x.reshape(-1, width)
        gates = jax.nn.softmax(tokens @ weights["gate"])
        chosen = jax.nn.one_hot(jnp.argmax(gates, -1), count)
        place = jnp.cumsum(chosen, 0) * chosen - 1
        dispatch = jax.nn.one_hot(place.astype(INT), room) * chosen[..., None]
        inside = jnp.einsum("tec,td->ecd", dispatch, tokens)
        outside = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inside, weights["up"]))
        outside = jnp.einsum("ecf,efd->ecd", outside, weights["down"])
        return x + jnp.einsum("tec,ecd->td", dispatch * jnp.max(gates, -1)[:, None, None], outside).reshape(x.shape)

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            x = layer(weights, x)
        return jnp.mean((x - y) ** 2)

    weights = {"gate": of(width, count), "up": of(count, width, 4 * width), "down": of(count, 4 * width, width)}
    return trained(loss, [weights] * 2, of(batch, length, width), of(batch, length, width))


def lstm() -> Made:
    """A recurrent net over tokens."""
    batch, length, width, words = 32, 128, 256, 8192

    def loss(params: Any, tokens: Any, targets: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(x @ params["x"] + h @ params["h"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        x = jnp.swapaxes(params["embed"][tokens], 0, 1)
        zero = jnp.zeros((batch, width))
        logits = lax.scan(cell, (zero, zero), x)[1] @ params["head"]
        picked = jnp.take_along_axis(logits, targets.T[..., None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)

    params = {"embed": of(words, width), "x": of(width, 4 * width), "h": of(width, 4 * width), "head": of(width, words)}
    tokens = of(batch, length, dtype=INT)
    return trained(loss, params, tokens, tokens)


def private(batch: int = 64, width: int = 256) -> Made:
    """DP-SGD: the gradient of each example is clipped, and noise added to their sum."""

    def step(params: Any, x: Any, y: Any, key: Any) -> Any:
        def loss(params: Any, x: Any, y: Any) -> Any:
            for weights in params:
                x = residual(weights, x)
            return jnp.mean((x - y) ** 2)

        def clipped(x: Any, y: Any) -> Any:
            gradients = jax.grad(loss)(params, x, y)
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
            return jax.tree.map(lambda g: g / jnp.maximum(1.0, norm), gradients)

        total = jax.tree.map(lambda g: jnp.sum(g, 0), jax.vmap(clipped)(x, y))
        return jax.tree.map(lambda p, g: p - 1e-3 * (g + jax.random.normal(key, g.shape)) / batch, params, total)

    params = mlp_layers(2, width)
    function = named(step, "params", "x", "y", "key")
    return function, (params, of(batch, width), of(batch, width), of(2, dtype=jnp.uint32)), (0,)


def recommender() -> Made:
    """A factorization model over tables of users and items."""
    batch, users, items, width = 4096, 65536, 16384, 64

    def loss(params: Any, pairs: Any, ratings: Any) -> Any:
        x = jnp.concatenate([params["users"][pairs[:, 0]], params["items"][pairs[:, 1]]], -1)
        for weights in params["layers"]:
            x = residual(weights, x)
        return jnp.mean((x[:, 0] - ratings) ** 2)

    params = {"users": of(users, width), "items": of(items, width), "layers": mlp_layers(2, 2 * width)}
    return trained(loss, params, of(batch, 2, dtype=INT), of(batch))


# ---------------------------------------------------------------- more styles


def checkpointed(length: int = 512, words: int = 16384) -> Made:
    """A transformer whose scan over layers has `jax.checkpoint` in place: nothing is left to wrap."""
    batch, width, layers, half = 4, 256, 4, jnp.bfloat16

    def layer(x: Any, weights: Any) -> Any:
        h = normed(x)
        query, key, value = (
            (h @ weights[name].astype(half)).reshape(batch, length, 4, -1) for name in ("query", "key", "value")
        )
        x = x + attend(query, key, value) @ weights["out"].astype(half)
        return x + jax.nn.gelu(normed(x) @ weights["up"].astype(half)) @ weights["down"].astype(half), None

    def loss(params: Any, tokens: Any, targets: Any) -> Any:
        x = params["embed"][tokens].astype(half)
        x, _ = lax.scan(jax.checkpoint(layer), x, params["layers"])
        logits = (normed(x) @ params["embed"].T.astype(half)).astype(FULL)
        picked = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)

    shapes = dict.fromkeys(("query", "key", "value", "out"), (width, width))
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    weights = {name: of(layers, *shape) for name, shape in shapes.items()}
    tokens = of(batch, length, dtype=INT)
    return trained(loss, {"embed": of(words, width), "layers": weights}, tokens, tokens)


def wrapped(batch: int = 64, length: int = 512, words: int = 3072) -> Made:
    """Layers in a Python loop, each with `jax.checkpoint`: what the layers begin with is all that they save."""
    width, layers = 512, 4

    @jax.checkpoint
    def layer(x: Any, up: Any, down: Any) -> Any:
        return x + jax.nn.gelu(x @ up) @ down

    def loss(params: Any, tokens: Any, targets: Any) -> Any:
        x = params["embed"][tokens]
        for weights in params["layers"]:
            x = layer(x, *weights)
        logits = jax.nn.log_softmax(x @ params["embed"].T)
        return -jnp.mean(jnp.take_along_axis(logits, targets[..., None], -1))

    weights = [(of(width, 2 * width), of(2 * width, width)) for _ in range(layers)]
    tokens = of(batch, length, dtype=INT)
    return trained(loss, {"embed": of(words, width), "layers": weights}, tokens, tokens)


def adversarial(batch: int = 8192, width: int = 256) -> Made:
    """Two models that are trained against each other in a step, the second one with the first one as it is then. Half
    of the first moments is kept.
    """

    def updated(params: Any, state: Any, gradients: Any) -> Any:
        mean = jax.tree.map(lambda m, g: 0.5 * m + 0.5 * g, state["mu"], gradients)
        square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["nu"], gradients)
        moved = jax.tree.map(lambda p, m, v: p - 1e-4 * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
        return moved, {"mu": mean, "nu": square}

    def through(layers: Any, x: Any) -> Any:
        for weights in layers:
            x = residual(weights, x)
        return x

    def step(maker: Any, judge: Any, maker_state: Any, judge_state: Any, real: Any, key: Any) -> Any:
        noise = jax.random.normal(key, real.shape)

        def judged(judge: Any) -> Any:
            good, bad = through(judge, real), through(judge, through(maker, noise))
            return jnp.mean(jax.nn.softplus(-good)) + jnp.mean(jax.nn.softplus(bad))

        judge, judge_state = updated(judge, judge_state, jax.grad(judged)(judge))

        def made(maker: Any) -> Any:
            return jnp.mean(jax.nn.softplus(-through(judge, through(maker, noise))))

        maker, maker_state = updated(maker, maker_state, jax.grad(made)(maker))
        return maker, judge, maker_state, judge_state

    layers = mlp_layers(2, width)
    state = {"mu": layers, "nu": layers}
    function = named(step, "maker", "judge", "maker_state", "judge_state", "real", "key")
    return function, (layers, layers, state, state, of(batch, width), of(2, dtype=jnp.uint32)), ()


def strided(batch: int = 128, size: int = 64) -> Made:
    """A residual net whose shortcuts are convolutions of single pixels with a stride."""

    def convolved(x: Any, kernel: Any, stride: int) -> Any:
        return lax.conv_general_dilated(x, kernel, (stride,) * 2, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def standardized(x: Any) -> Any:
        return (x - jnp.mean(x, (0, 1, 2))) * lax.rsqrt(jnp.var(x, (0, 1, 2)) + 1e-5)

    def loss(params: Any, x: Any, labels: Any) -> Any:
        for block in params["blocks"]:
            h = jax.nn.relu(standardized(convolved(x, block["first"], 2)))
            h = standardized(convolved(h, block["second"], 1))
            x = jax.nn.relu(h + convolved(x, block["short"], 2))
        logits = jnp.mean(x, (1, 2)) @ params["head"]
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 10), -1))

    blocks = [
        {"first": of(3, 3, before, width), "second": of(3, 3, width, width), "short": of(1, 1, before, width)}
        for before, width in ((3, 16), (16, 32))
    ]
    return trained(loss, {"blocks": blocks, "head": of(32, 10)}, of(batch, size, size, 3), of(batch, dtype=INT))


def translation(batch: int = 16, length: int = 64, words: int = 8192, width: int = 128) -> Made:
    """A recurrent encoder and a decoder with tables of their own. The loss is a mean over the words that are no
    padding.
    """

    def recurrent(weights: Any, xs: Any) -> Any:
        def cell(h: Any, x: Any) -> Any:
            gate = jax.nn.sigmoid(x @ weights["gate"] + h @ weights["back"])
            h = gate * h + (1 - gate) * jnp.tanh(x @ weights["new"])
            return h, h

        states = lax.scan(cell, jnp.zeros((batch, width)), xs.swapaxes(0, 1))[1]
        return states.swapaxes(0, 1)

    def step(params: Any, mu: Any, nu: Any, source: Any, target: Any) -> Any:
        def loss(params: Any) -> Any:
            read = recurrent(params["reader"], params["source"][source])
            written = recurrent(params["writer"], params["target"][target[:, :-1]])
            context = jax.nn.softmax(jnp.einsum("btd,bsd->bts", written, read)) @ read
            logits = jnp.concatenate([written, context], -1) @ params["head"]
            picked = jnp.take_along_axis(logits, target[:, 1:, None], -1)[..., 0]
            is_word = target[:, 1:] != 0
            return jnp.sum((jax.nn.logsumexp(logits, -1) - picked) * is_word) / jnp.sum(is_word)

        gradients = jax.grad(loss)(params)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, gradients)
        nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, nu, gradients)
        return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, mu, nu), mu, nu

    cell = dict.fromkeys(("gate", "back", "new"), of(width, width))
    params = dict.fromkeys(("source", "target"), of(words, width)) | dict.fromkeys(("reader", "writer"), cell)
    params |= {"head": of(2 * width, words)}
    function = named(step, "params", "mu", "nu", "source", "target")
    source, target = of(batch, length, dtype=INT), of(batch, length + 1, dtype=INT)
    return function, (params, params, params, source, target), (0, 1, 2)


def sharpness(batch: int = 4096, width: int = 512) -> Made:
    """SAM: the gradient of the whole batch moves the weights before the one that trains them."""

    def step(params: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for weights in params:
                h = residual(weights, h)
            return jnp.mean((h - y) ** 2)

        gradients = jax.grad(loss)(params)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        gradients = jax.grad(loss)(jax.tree.map(lambda p, g: p + 0.05 * g / norm, params, gradients))
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)

    function = named(step, "params", "x", "y")
    return function, (mlp_layers(2, width), of(batch, width), of(batch, width)), (0,)


def linked(nodes: int = 16384, edges: int = 131072, batch: int = 4096, width: int = 64) -> Made:
    """A graph network that is trained to tell which nodes are linked. The batch is pairs of nodes, but all of the graph
    goes through the network for each part of it.
    """

    def loss(params: Any, features: Any, senders: Any, receivers: Any, pairs: Any, others: Any) -> Any:
        x = features
        for weights in params:
            messages = jax.nn.relu(x[senders] @ weights["message"])
            x = x + jax.ops.segment_sum(messages, receivers, nodes) @ weights["update"]

        def scores(pairs: Any) -> Any:
            return jnp.sum(x[pairs[:, 0]] * x[pairs[:, 1]], -1)

        return jnp.mean(jax.nn.softplus(-scores(pairs)) + jax.nn.softplus(scores(others)))

    params = [{"message": of(width, width), "update": of(width, width)}] * 2
    indices, pairs = of(edges, dtype=INT), of(batch, 2, dtype=INT)
    return trained(loss, params, of(nodes, width), indices, indices, pairs, pairs)


def private_sequences(batch: int = 64, length: int = 64, words: int = 1000, width: int = 64) -> Made:
    """DP-SGD of sequences that are as long as the model is wide. Each example has a gradient of the table, with a row
    for each word.
    """

    def loss(params: Any, tokens: Any, label: Any) -> Any:
        x = params["embed"][tokens]
        for weights in params["layers"]:
            x = residual(weights, x)
        return -jax.nn.log_softmax(jnp.mean(x, 0) @ params["head"])[label]

    def step(params: Any, tokens: Any, labels: Any) -> Any:
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(params, tokens, labels)
        squares = sum(jnp.sum(g * g, range(1, g.ndim)) for g in jax.tree.leaves(gradients))
        scale = jnp.minimum(1, lax.rsqrt(squares))
        return jax.tree.map(lambda p, g: p - 1e-3 * jnp.tensordot(scale, g, 1), params, gradients)

    params = {"embed": of(words, width), "layers": mlp_layers(2, width), "head": of(width, 10)}
    return step, (params, of(batch, length, dtype=INT), of(batch, dtype=INT)), (0,)


def with_policy(batch: int = 8, length: int = 512, width: int = 512, layers: int = 6) -> Made:
    """Layers that `jax.checkpoint` wraps already, with a policy that keeps products. A second one around it saves
    nothing.
    """

    def layer(x: Any, weights: Any) -> tuple[Any, None]:
        return x + jax.nn.silu(normed(x) @ weights["up"]) @ weights["down"], None

    def loss(params: Any, x: Any, y: Any) -> Any:
        wrapped = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        return jnp.mean((lax.scan(wrapped, x, params)[0] - y) ** 2)

    params = {"up": of(layers, width, 4 * width), "down": of(layers, 4 * width, width)}
    return trained(loss, params, of(batch, length, width), of(batch, length, width))


def denoised(batch: int = 8192, width: int = 512) -> Made:
    """A net that adds something to its inputs, which the caller may need afterwards."""

    def step(params: Any, x: Any) -> Any:
        for weights in params:
            x = residual(weights, x)
        return x

    return named(step, "params", "x"), (mlp_layers(4, width), of(batch, width)), ()


def smoothed(batch: int = 256, width: int = 1024) -> Made:
    """RMSProp with an average of the weights that has the name of a first moment."""

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for weights in params:
                h = residual(weights, h)
            return jnp.mean((h - y) ** 2)

        gradients = jax.grad(loss)(params)
        square = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["square"], gradients)
        params = jax.tree.map(lambda p, g, v: p - 1e-3 * g * lax.rsqrt(v + 1e-8), params, gradients, square)
        average = jax.tree.map(lambda a, p: 0.99 * a + 0.01 * p, state["momentum"], params)
        return params, {"momentum": average, "square": square}

    params = mlp_layers(4, width)
    function = named(step, "params", "state", "x", "y")
    return function, (params, {"momentum": params, "square": params}, of(batch, width), of(batch, width)), (0, 1)


def every_fourth(batch: int = 2048, width: int = 512) -> Made:
    """Gradients that are added up over four calls of the step, which counts them: the count starts anew after that."""

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for weights in params:
                h = residual(weights, h)
            return jnp.mean((h - y) ** 2)

        added = jax.tree.map(lambda total, g: total + 0.25 * g, state["added"], jax.grad(loss)(params))
        is_last = state["count"] == 3
        moved = jax.tree.map(lambda p, g: jnp.where(is_last, p - 1e-3 * g, p), params, added)
        added = jax.tree.map(lambda total: jnp.where(is_last, 0, total), added)
        return moved, {"added": added, "count": (1 - is_last) * (state["count"] + 1)}

    params = mlp_layers(4, width)
    function = named(step, "params", "state", "x", "y")
    return function, (params, {"added": params, "count": of(dtype=INT)}, of(batch, width), of(batch, width)), ()


def keyed(batch: int = 256, width: int = 512) -> Made:
    """A state that is returned as a whole, with a key, which is drawn anew, and a rate, which stays as it is."""

    def step(state: Any, x: Any) -> Any:
        key, drawn = jax.random.split(state["key"])

        def loss(params: Any) -> Any:
            h = x + 0.1 * jax.random.normal(drawn, x.shape)
            for weights in params:
                h = residual(weights, h)
            return jnp.mean((h - x) ** 2)

        value, gradients = jax.value_and_grad(loss)(state["params"])
        params = jax.tree.map(lambda p, g: p - state["rate"] * g, state["params"], gradients)
        return {"key": key, "params": params, "rate": state["rate"]}, value

    state = {"key": of(2, dtype=jnp.uint32), "params": mlp_layers(4, width), "rate": of()}
    return named(step, "state", "x"), (state, of(batch, width)), ()


def with_rate(batch: int = 2048, width: int = 512) -> Made:
    """A rate beside the weights, which only are returned anew. The loss has the place among the outputs that it has."""

    def step(state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for weights in params:
                h = residual(weights, h)
            return jnp.mean((h - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(state["params"])
        return jax.tree.map(lambda p, g: p - state["rate"] * g, state["params"], gradients), value

    state = {"params": mlp_layers(4, width), "rate": of()}
    return named(step, "state", "x", "y"), (state, of(batch, width), of(batch, width)), ()


def plain_net(batch: int = 32768, width: int = 512) -> Made:
    """A net whose layers are in a Python loop in it. `jax.checkpoint` around the whole net saves nothing."""

    def net(params: Any, x: Any) -> Any:
        for weights in params["layers"]:
            x = normed(jax.nn.gelu(x @ weights))
        return x @ params["head"]

    def loss(params: Any, x: Any, labels: Any) -> Any:
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(net(params, x)), labels[:, None], 1))

    params = {"layers": [of(width, width)] * 6, "head": of(width, 21)}
    return trained(loss, params, of(batch, width), of(batch, dtype=INT))


def adapted(tasks: int = 64, batch: int = 64, width: int = 512) -> Made:
    """MAML: a net is adapted to each task in three steps, whose derivative is taken. `jax.checkpoint` around the net
    adds to what the steps save for that.
    """

    def net(params: Any, x: Any) -> Any:
        for weights, bias in params[:-1]:
            x = jax.nn.relu(x @ weights + bias)
        weights, bias = params[-1]
        return x @ weights + bias

    def error(params: Any, x: Any, y: Any) -> Any:
        return jnp.mean((net(params, x) - y) ** 2)

    def task(params: Any, x: Any, y: Any, other_x: Any, other_y: Any) -> Any:
        for _ in range(3):
            params = jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(error)(params, x, y))
        return error(params, other_x, other_y)

    def loss(params: Any, *batches: Any) -> Any:
        return jnp.mean(jax.vmap(task, (None, 0, 0, 0, 0))(params, *batches))

    params = [(of(wide, high), of(high)) for wide, high in ((32, width), (width, width), (width, 1))]
    x, y = of(tasks, batch, 32), of(tasks, batch, 1)
    return trained(loss, params, x, y, x, y)


def advantages(batch: int = 4096, width: int = 256) -> Made:
    """A policy gradient whose advantages are standardized over the batch: each microbatch has another mean of them."""

    def loss(params: Any, seen: Any, actions: Any, advantages: Any, before: Any) -> Any:
        x = seen
        for weights in params["layers"]:
            x = residual(weights, x)
        chances = jax.nn.log_softmax(x @ params["head"])
        ratios = jnp.exp(jnp.take_along_axis(chances, actions[:, None], 1)[:, 0] - before)
        advantages = (advantages - jnp.mean(advantages)) / (jnp.std(advantages) + 1e-8)
        return -jnp.mean(jnp.minimum(ratios * advantages, jnp.clip(ratios, 0.8, 1.2) * advantages))

    params = {"layers": mlp_layers(3, width), "head": of(width, 18)}
    return trained(loss, params, of(batch, width), of(batch, dtype=INT), of(batch), of(batch))


def shots(shots: int = 8, points: int = 128, steps: int = 100) -> Made:
    """A wave equation whose speeds are fitted to what receivers recorded of several shots. Each is where its number
    says.
    """

    def loss(speeds: Any, sources: Any, recorded: Any) -> Any:
        def step(state: Any, amplitudes: Any) -> Any:
            now, before = state
            around = sum(jnp.roll(now, by, axis) for by in (-1, 1) for axis in (-1, -2)) - 4 * now
            after = 2 * now - before + speeds**2 * around
            after = after.at[jnp.arange(shots), 10, jnp.arange(shots) * 8 + 4].add(amplitudes)
            return (after, now), after[:, 5]

        still = jnp.zeros((shots, points, points))
        return jnp.sum((lax.scan(step, (still, still), sources.T)[1] - recorded) ** 2)

    return trained(loss, of(points, points), of(shots, steps), of(steps, shots, points))


def fitted_field(points: int = 512, steps: int = 32) -> Made:
    """A field that is fitted to what becomes of it, in a spectral method. The rows of the target are no examples."""

    def loss(field: Any, target: Any) -> Any:
        numbers = jnp.fft.fftfreq(points, 1 / points)
        squares = numbers[:, None] ** 2 + numbers**2

        def step(waves: Any, _: Any) -> Any:
            now = jnp.fft.ifft2(waves).real
            return waves + 1e-3 * (jnp.fft.fft2(now * jnp.tanh(now)) - squares * waves), None

        waves = lax.scan(step, jnp.fft.fft2(field), None, steps)[0]
        return jnp.mean((jnp.fft.ifft2(waves).real - target) ** 2)

    return trained(loss, of(points, points), of(points, points))


def balanced(batch: int = 8192, width: int = 512, classes: int = 10) -> Made:
    """A loss with weights for the classes, by how often the batch has each of them."""

    def loss(params: Any, x: Any, labels: Any) -> Any:
        for weights in params["layers"]:
            x = residual(weights, x)
        counts = jnp.zeros(classes).at[labels].add(1.0)
        losses = -jnp.take_along_axis(jax.nn.log_softmax(x @ params["head"]), labels[:, None], 1)[:, 0]
        return jnp.mean(losses * (batch / classes / jnp.maximum(counts, 1.0))[labels])

    params = {"layers": mlp_layers(3, width), "head": of(width, classes)}
    return trained(loss, params, of(batch, width), of(batch, dtype=INT))


def attending(*, over: int, is_covered: bool = False) -> Made:
    """Layers of attention whose softmax is over the queries (`over` is -2) or the keys (-1), perhaps with a loss for
    keys that several queries attend to.
    """
    batch, length, width, heads = 16, 512, 512, 8

    def loss(params: Any, x: Any, labels: Any) -> Any:
        repeated = jnp.zeros(())
        for weights in params["layers"]:
            query, key, value = (jnp.split(normed(x) @ weights[name], heads, -1) for name in ("q", "k", "v"))
            scores = jnp.einsum("hbqd,hbkd->bhqk", jnp.stack(query), jnp.stack(key)) / 8
            attended = jax.nn.softmax(scores, over)
            if is_covered:
                before = jnp.cumsum(attended, 2) - attended
                repeated += jnp.mean(jnp.sum(jnp.minimum(before, attended), -1))
            x = x + jnp.einsum("bhqk,hbkd->bqhd", attended, jnp.stack(value)).reshape(x.shape) @ weights["o"]
        chances = jax.nn.log_softmax(jnp.mean(x, 1) @ params["head"])
        return 0.1 * repeated - jnp.mean(jnp.take_along_axis(chances, labels[:, None], 1))

    layer = {name: of(width, width) for name in ("q", "k", "v", "o")}
    params = {"layers": [layer] * 4, "head": of(width, 100)}
    return trained(loss, params, of(batch, length, width), of(batch, dtype=INT))


def slots(batch: int = 64, length: int = 1024, width: int = 128, count: int = 256) -> Made:
    """Slots that compete for positions: a softmax over the slots, and averages over the positions."""

    def loss(params: Any, x: Any, labels: Any) -> Any:
        key, value = normed(x) @ params["k"], normed(x) @ params["v"]
        found = jnp.broadcast_to(params["slots"], (batch, count, width))
        for _ in range(3):
            scores = jnp.einsum("bsd,btd->bst", normed(found) @ params["q"], key) / width**0.5
            shares = jax.nn.softmax(scores, 1) + 1e-8
            averages = jnp.einsum("bst,btd->bsd", shares / jnp.sum(shares, -1, keepdims=True), value)
            found = residual(params["mlp"], found + averages)
        chances = jax.nn.log_softmax(jnp.mean(found, 1) @ params["head"])
        return -jnp.mean(jnp.take_along_axis(chances, labels[:, None], 1))

    square = of(width, width)
    params = {"q": square, "k": square, "v": square, "slots": of(count, width), "head": of(width, 10)}
    params["mlp"] = mlp_layers(1, width)[0]
    return trained(loss, params, of(batch, length, width), of(batch, dtype=INT))


def chains(points: int = 20_000, width: int = 64, count: int = 128, steps: int = 500) -> Made:
    """Markov chains: their mean is no gradient, and where they are no weights."""

    def chance(place: Any, x: Any, y: Any) -> Any:
        scores = x @ place
        return jnp.sum(y * scores - jnp.logaddexp(0.0, scores)) - jnp.sum(place**2) / 2

    def chain(place: Any, key: Any, x: Any, y: Any) -> Any:
        def move(place: Any, key: Any) -> Any:
            place = place + 1e-3 * jax.grad(chance)(place, x, y) + 0.05 * jax.random.normal(key, place.shape)
            return place, place

        return lax.scan(move, place, jax.random.split(key, steps))[1]

    def sample(places: Any, keys: Any, x: Any, y: Any) -> Any:
        found = jax.vmap(chain, (0, 0, None, None))(places, keys, x, y)
        return jnp.mean(found, (0, 1)), found[:, -1]

    return sample, (of(count, width), of(count, 2, dtype=jnp.uint32), of(points, width), of(points)), ()


def centred(batch: int = 2048) -> Made:
    """HSIC: how much two encoders have in common, by kernels of all examples less the means of rows and columns."""
    width = 256

    def kernel(x: Any) -> Any:
        squares = jnp.sum(jnp.square(x), 1)
        found = jnp.exp((2 * x @ x.T - squares[:, None] - squares) / width)
        return found - found.mean(0) - found.mean(1)[:, None] + found.mean()

    def loss(params: Any, images: Any, texts: Any) -> Any:
        one, other = encoder(params["image"], images), encoder(params["text"], texts)
        return -jnp.sum(kernel(one) * kernel(other)) / batch**2

    tower = {"layers": mlp_layers(2, width), "out": of(width, 128)}
    return trained(loss, {"image": tower, "text": tower}, of(batch, width), of(batch, width))


class Trap(NamedTuple):
    """A program, the advice that it must not get, and advice that it should. Advice is a rule, or a rule and a text in
    its words or its code: ``donate:ref_params``.
    """

    make: Callable[[], Made]
    never: tuple[str, ...]
    right: tuple[str, ...] = ()


TRAPS: dict[str, Trap] = {
    "shots": Trap(shots, ("microbatches", "mapped-batch", "encoded-batch")),
    "fitted_field": Trap(fitted_field, ("microbatches", "mapped-batch", "encoded-batch")),
    "graph": Trap(graph, ("microbatches", "padded-dimension")),
    "stacked_graph": Trap(stacked_graph, ("microbatches", "padded-dimension")),
    "contrastive": Trap(contrastive, ("microbatches", "attention-scores")),
    "contrastive_wide": Trap(partial(contrastive, 2048), ("microbatches", "attention-scores"), ("similarity",)),
    "two_views": Trap(two_views, ("microbatches", "attention-scores"), ("similarity",)),
    "centred": Trap(centred, ("microbatches", "attention-scores", "similarity")),
    "distances": Trap(distances, ("microbatches", "attention-scores")),
    "decorrelated": Trap(decorrelated, ("microbatches",)),
    "gradient_of_batch": Trap(gradient_of_batch, ("microbatches", "attention-scores", "donate")),
    "saliency": Trap(saliency, ("microbatches",)),
    "accumulating": Trap(accumulating, ("microbatches",)),
    "batch_normalized": Trap(batch_normalized, ("attention-scores", "logits"), ("microbatches:normalization",)),
    "overlapping": Trap(overlapping, ("microbatches",)),
    "spread_out": Trap(partial(overlapping, is_entropy=True), ("microbatches",)),
    "hours": Trap(hours, (), ("microbatches:Split the numbers of the examples",)),
    "returns": Trap(returns, (), ("microbatches:Compute first, of the whole batch",)),
    "consistent": Trap(consistent, ("donate:'teacher'",), ("donate:teacher must not be params itself",)),
    "dropped": Trap(dropped, ("attention-scores", "logits"), ("microbatches:random numbers",)),
    "square_mlp": Trap(square_mlp, ("attention-scores", "logits"), ("microbatches",)),
    "gated_mlp": Trap(gated_mlp, ("attention-scores", "logits"), ("microbatches",)),
    "pixels": Trap(pixels, ("attention-scores", "logits"), ("microbatches:batch",)),
    "state_space": Trap(states, ("attention-scores", "logits"), ("microbatches",)),
    "language_model": Trap(language_model, ("donate",), ("attention-scores", "logits", "microbatches:batch")),
    "language_model_unrolled": Trap(
        partial(language_model, is_scanned=False), ("donate",), ("attention-scores", "logits", "microbatches")
    ),
    "vision": Trap(vision, ("logits", "donate"), ("attention-scores", "microbatches")),
    "wide_mlp": Trap(wide_mlp, ("logits", "attention-scores"), ("microbatches",)),
    "embedded_mlp": Trap(embedded_mlp, ("logits", "attention-scores"), ("microbatches",)),
    "preference": Trap(preference, ("donate:'ref_params'", "optimizer-state"), ("donate:opt_state", "donate:'params'")),
    "lora": Trap(lora, ("donate:base",)),
    "adagrad": Trap(partial(averaged, "adagrad"), ("optimizer-state",)),
    "rmsprop": Trap(partial(averaged, "rmsprop"), ("optimizer-state",)),
    "u_net": Trap(u_net, ("rematerialize:Wrap conv", "attention-scores", "logits"), ("microbatches",)),
    "experts": Trap(experts, ("attention-scores", "logits"), ("one-hot",)),
    "lstm": Trap(lstm, ("attention-scores", "donate"), ("logits", "microbatches")),
    "private": Trap(private, ("attention-scores", "logits", "microbatches:random numbers"), ("microbatches",)),
    "checkpointed": Trap(checkpointed, ("rematerialize",), ("logits", "microbatches")),
    "wrapped": Trap(wrapped, ("rematerialize",), ("logits", "microbatches")),
    "adversarial": Trap(adversarial, (), ("microbatches:one model after the other", "donate:'maker_state'")),
    "strided": Trap(strided, ("attention-scores", "logits"), ("microbatches:normalization",)),
    "translation": Trap(translation, ("microbatches:normalization",), ("logits", "microbatches:number of targets")),
    "sharpness": Trap(sharpness, ("microbatches",)),
    "linked": Trap(linked, ("microbatches",)),
    "private_sequences": Trap(private_sequences, ("logits", "attention-scores"), ("microbatches",)),
    "with_policy": Trap(with_policy, (), ("rematerialize:without the policy",)),
    "denoised": Trap(denoised, ("donate:params",), ("donate:if nothing uses x",)),
    "advantages": Trap(advantages, ("logits",), ("microbatches:Compute from all examples first",)),
    "adapted": Trap(adapted, ("rematerialize",)),
    "plain_net": Trap(plain_net, ("rematerialize:Wrap net", "rematerialize:Wrap loss")),
    "smoothed": Trap(smoothed, ("optimizer-state",)),
    "every_fourth": Trap(every_fourth, (), ("donate:donate_argnames=('params', 'state')",)),
    "balanced": Trap(balanced, ("microbatches", "logits")),
    "keyed": Trap(keyed, (), ("donate:donate_argnames=('state',)",)),
    "with_rate": Trap(with_rate, ("donate:donate_argnames=('state',)",), ("donate:state['params']",)),
    "recommender": Trap(recommender, ("attention-scores", "logits")),
    "attending": Trap(partial(attending, over=-1), ("logits",), ("attention-scores", "microbatches")),
    "compared_queries": Trap(partial(attending, over=-2), ("attention-scores", "logits"), ("microbatches",)),
    "covered": Trap(partial(attending, over=-1, is_covered=True), ("attention-scores",), ("microbatches",)),
    "slots": Trap(slots, ("attention-scores", "logits"), ("microbatches",)),
    "chains": Trap(chains, ("microbatches",)),
}
"""The programs by name. Some are no traps at all but what the rules are about, unlike the base programs."""
